//! Ctrl-C: a search ends with the best it has found; anything else ends at once, and
//! leaves nothing half written.

use std::sync::atomic::{AtomicBool, Ordering};

use fedcompetitors_files::remove_temporaries;

static SEARCHING: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C is handled here.
pub fn listen() {
    // Without a handler the program would still end, but leave half-written files.
    let _ = ctrlc::set_handler(|| {
        let first = !STOP.swap(true, Ordering::Relaxed);
        if first && SEARCHING.load(Ordering::Relaxed) {
            return;
        }
        remove_temporaries();
        std::process::exit(130);
    });
}

/// Runs a search that ends early once the flag that it is given is set.
pub fn while_searching<T>(search: impl FnOnce(&'static AtomicBool) -> T) -> T {
    SEARCHING.store(true, Ordering::Relaxed);
    let result = search(&STOP);
    SEARCHING.store(false, Ordering::Relaxed);
    // A second Ctrl-C ends the program, whatever the first one did.
    result
}
