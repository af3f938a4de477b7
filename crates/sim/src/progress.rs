//! How far a run is, readable from another thread.

use leafspine_core::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is made of a fabric, in this order.
const PARTS: [&str; 5] = ["routes", "ideal times", "switches", "ports", "hosts"];

/// A part of a fabric that is being made: those of [`PARTS`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Next hops of every switch.
    Routes,
    /// Ideal completion times.
    Ideal,
    /// Switches with their balancers.
    Switches,
    /// Ports with their queue managers.
    Ports,
    /// Hosts with their edges.
    Hosts,
}

/// Somebody has asked for an end: [`Progress::cancel`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// A run's progress, and the flag that stops it. Share it between the thread that runs and the
/// one that shows a bar.
#[derive(Debug, Default)]
pub struct Progress {
    finished: AtomicU64,
    /// Flows in all, or as many as are to be expected, plus one; zero while that is unknown.
    total: AtomicU64,
    time: AtomicU64,
    hops: AtomicU64,
    /// 1000 a part of the fabric that is made, the share of the one under way in it, plus one; zero
    /// while none is.
    building: AtomicU64,
    cancel: Arc<AtomicBool>,
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

    /// The part of the fabric that is being made, and how many percent of it are; nothing before and
    /// after.
    #[must_use]
    pub fn building(&self) -> Option<(&'static str, u32)> {
        let now = self.building.load(Ordering::Relaxed).checked_sub(1)?;
        Some((PARTS[(now / 1000) as usize], (now % 1000 / 10) as u32))
    }

    /// Asks the run to stop soon; it then ends with `RunError::Cancelled`, or is not even built.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Notes that `done` of `all` pieces of a part are made. Called often: no two calls are to be
    /// further apart than a fraction of a second.
    #[inline]
    pub(crate) fn built(&self, part: Part, done: usize, all: usize) -> Result<(), Cancelled> {
        let share = (done * 999 / all.max(1)) as u64;
        self.building.store(part as u64 * 1000 + share + 1, Ordering::Relaxed);
        if self.cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The fabric is there.
    pub(crate) fn all_built(&self) {
        self.building.store(0, Ordering::Relaxed);
    }

    /// What [`Progress::cancel`] sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancel)
    }

    /// Whether [`Progress::cancel`] was called.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, finished: u64, total: Option<u64>, time: Time, hops: u64) {
        self.finished.store(finished, Ordering::Relaxed);
        self.total.store(total.map_or(0, |n| n + 1), Ordering::Relaxed);
        self.time.store(time.0, Ordering::Relaxed);
        self.hops.store(hops, Ordering::Relaxed);
    }
}
