//! Long calls: other Python threads go on meanwhile, and Ctrl-C ends them.

use std::{
    panic::resume_unwind,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, channel},
    },
    thread,
    time::Duration,
};

use pyo3::prelude::*;

/// How often Ctrl-C is looked for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Works without the interpreter's lock on a thread of its own, while this one looks for
/// Ctrl-C: signals are handled on Python's main thread only, and only when it asks.
///
/// # Errors
/// `KeyboardInterrupt`, or whatever a signal's handler raises; the work is told to stop.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    py.detach(|| {
        thread::scope(|scope| {
            let (working, done) = channel::<()>();
            let stop = &stop;
            let worker = scope.spawn(move || {
                // Dropped at the end, come what may, which ends the waiting.
                let _working = working;
                work(stop)
            });
            let mut interrupted = None;
            while let Err(RecvTimeoutError::Timeout) = done.recv_timeout(PATIENCE) {
                #[expect(
                    clippy::redundant_closure_for_method_calls,
                    reason = "the method alone is for one lifetime only"
                )]
                let signals = Python::attach(|py| py.check_signals());
                if let Err(error) = signals {
                    stop.store(true, Ordering::Relaxed);
                    interrupted.get_or_insert(error);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            interrupted.map_or(Ok(result), Err)
        })
    })
}
