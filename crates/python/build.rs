//! How macOS links an extension module, whose interpreter is found when it is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
