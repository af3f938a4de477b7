//! How one thing goes from one thread to another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How often one looks before one blocks.
const SPINS: u32 = 2_000;

/// A place for one thing, from one thread to another. It has cache lines of its own: who waits at it looks
/// at none that the other writes for another reason.
#[repr(align(128))]
pub(super) struct Tray<T> {
    full: AtomicBool,
    it: Mutex<Option<T>>,
}

impl<T> Default for Tray<T> {
    fn default() -> Tray<T> {
        Tray { full: AtomicBool::new(false), it: Mutex::new(None) }
    }
}

impl<T> Tray<T> {
    pub(super) fn put(&self, it: T) {
        let mut place = self.it.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(it);
        self.full.store(true, Ordering::Release);
    }

    /// What is there, if the other side has not taken it.
    pub(super) fn take(&self) -> Option<T> {
        if !self.full.load(Ordering::Acquire) {
            return None;
        }
        let mut place = self.it.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: what the other side puts down next must not be called taken.
        self.full.store(false, Ordering::Release);
        place.take()
    }

    /// What is there next; `None` if nothing will be.
    pub(super) fn wait(&self, closed: &AtomicBool) -> Option<T> {
        let mut looks = 0;
        loop {
            if let Some(it) = self.take() {
                return Some(it);
            }
            if closed.load(Ordering::Acquire) {
                return None;
            }
            looks += 1;
            if looks < SPINS { std::hint::spin_loop() } else { thread::park() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if something is lost, or taken twice, where the one that has put it takes it back just when the
    /// other does, and puts down the next.
    #[test]
    fn what_is_put_down_is_taken_once() {
        const LAST: u64 = 100_000;
        let (tray, closed) = (Tray::default(), AtomicBool::new(false));
        let taken = thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut sum = 0;
                while let Some(it) = tray.wait(&closed) {
                    sum += it;
                    if it == LAST {
                        break;
                    }
                }
                sum
            });
            let mut sum = 0;
            for it in 1..LAST {
                tray.put(it);
                while let Some(back) = tray.take() {
                    sum += back;
                }
            }
            tray.put(LAST);
            other.thread().unpark();
            sum + other.join().expect("it ends")
        });
        assert_eq!(taken, LAST * (LAST + 1) / 2);
    }
}
