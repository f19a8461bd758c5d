//! Ctrl-C: a search ends with the best it has found; anything else ends at once, and
//! leaves nothing half written but the parts of what is being fetched, which the next call
//! goes on with.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use fedcompetitors_files::remove_temporaries;

static SEARCHING: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(false);
static ADVICE: Mutex<Option<String>> = Mutex::new(None);

/// Signals that follow each other faster than anybody can press keys are one: some
/// programs signal both a process and its group.
const ONE_SIGNAL: Duration = Duration::from_millis(300);

/// From now on Ctrl-C is handled here.
pub fn listen() {
    let last: Mutex<Option<Instant>> = Mutex::new(None);
    // Without a handler the program would still end, but leave half-written files.
    let _ = ctrlc::set_handler(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < ONE_SIGNAL) {
            return;
        }
        *last = Some(Instant::now());
        let first = !STOP.swap(true, Ordering::Relaxed);
        if first && SEARCHING.load(Ordering::Relaxed) {
            return;
        }
        remove_temporaries();
        if let Some(advice) = &*ADVICE.lock().unwrap_or_else(PoisonError::into_inner) {
            // A bar may stand on this line.
            eprintln!("\n{advice}");
        }
        std::process::exit(130);
    });
}

/// What to tell whoever presses Ctrl-C from now on.
pub fn advise(advice: String) {
    *ADVICE.lock().unwrap_or_else(PoisonError::into_inner) = Some(advice);
}

/// Runs a search that ends early once the flag that it is given is set.
pub fn while_searching<T>(search: impl FnOnce(&'static AtomicBool) -> T) -> T {
    SEARCHING.store(true, Ordering::Relaxed);
    let result = search(&STOP);
    SEARCHING.store(false, Ordering::Relaxed);
    // A second Ctrl-C ends the program, whatever the first one did.
    result
}

/// Has a search been ended by Ctrl-C?
pub fn was_interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}
