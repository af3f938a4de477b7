//! An allocator that counts: what a test binary that includes this file allocates.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its part")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a piece of work has cost.
pub struct Cost {
    /// Calls that allocated.
    pub allocations: u64,
    /// The most bytes held at once, beyond those held before.
    pub peak: i64,
}

/// Does `work` and counts. What it returns is dropped within the count.
pub fn cost<T>(work: impl FnOnce() -> T) -> Cost {
    let (before, base) = (ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    PEAK.store(base, Ordering::Relaxed);
    drop(work());
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    Cost { allocations, peak: PEAK.load(Ordering::Relaxed) - base }
}

fn grow(bytes: i64) {
    let now = BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call goes to the system allocator with the arguments it came with.
#[allow(unsafe_code, reason = "GlobalAlloc is an unsafe trait; this only counts and forwards")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        grow(layout.size() as i64);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        grow(-(layout.size() as i64));
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        grow(new_size as i64 - layout.size() as i64);
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}
