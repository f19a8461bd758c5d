//! `.npy` matrices, as both graphs: no bytes panic or ask for memory without end.
#![no_main]

use std::path::Path;

use fedcompetitors_files::parse_graphs;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let matrix = Path::new("matrix.npy");
    let _ = parse_graphs((Path::new("here"), &b"a,b\nv1,v2\n"[..]), (matrix, bytes), None);
    let benefit = (Path::new("here"), &b"from,to,benefit\nx,y,1\n"[..]);
    let _ = parse_graphs((matrix, bytes), benefit, None);
});
