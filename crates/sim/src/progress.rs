//! How far a run is, readable from another thread.

use leafspine_core::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A run's progress, and the flag that stops it. Share it between the thread that runs and the
/// one that shows a bar.
#[derive(Debug, Default)]
pub struct Progress {
    finished: AtomicU64,
    /// Flows in all, or as many as are to be expected, plus one; zero while that is unknown.
    total: AtomicU64,
    time: AtomicU64,
    hops: AtomicU64,
    cancel: AtomicBool,
}

impl Progress {
    /// Flows that have ended, flows in all (where a duration lasts, as many as are to be expected;
    /// if known yet), simulated time, packet-hops so far.
    #[must_use]
    pub fn read(&self) -> (u64, Option<u64>, Time, u64) {
        (
            self.finished.load(Ordering::Relaxed),
            self.total.load(Ordering::Relaxed).checked_sub(1),
            Time(self.time.load(Ordering::Relaxed)),
            self.hops.load(Ordering::Relaxed),
        )
    }

    /// Asks the run to stop soon; it then ends with `RunError::Cancelled`.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, finished: u64, total: Option<u64>, time: Time, hops: u64) {
        self.finished.store(finished, Ordering::Relaxed);
        self.total.store(total.map_or(0, |n| n + 1), Ordering::Relaxed);
        self.time.store(time.0, Ordering::Relaxed);
        self.hops.store(hops, Ordering::Relaxed);
    }
}
