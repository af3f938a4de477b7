//! Memory: nothing is allocated once a run has warmed up, and a flow that waits or has finished
//! costs its result row and nothing else.
#![allow(unsafe_code, reason = "a counting allocator must implement GlobalAlloc; it only forwards")]

mod common;

use common::*;
use leafspine_sim::spec::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

fn grow(bytes: i64) {
    let now = BYTES.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: every call goes to the system allocator with the arguments it came with.
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

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Cost {
    allocations: u64,
    peak: i64,
}

fn cost(spec: &Spec) -> Cost {
    let (before, base) = (ALLOCATIONS.load(Ordering::Relaxed), BYTES.load(Ordering::Relaxed));
    PEAK.store(base, Ordering::Relaxed);
    let output = run(spec);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
    drop(output);
    Cost { allocations, peak: PEAK.load(Ordering::Relaxed) - base }
}

/// Breaks if anything on the way of a packet, or of a flow, allocates: ten times the flows may cost
/// only the few doublings of the result columns and of queues that find a new longest length.
/// And breaks if a waiting or finished flow keeps more than 300 bytes beyond its result row.
///
/// One test, because the allocator's counts are the process's.
#[test]
fn memory() {
    for balancer in ["ecmp", "rps", "letflow", "drb"] {
        let flows = |n| {
            let mut spec = base();
            spec.balancer = scheme(balancer);
            spec.workloads = vec![fixed_flows(n, 30_000, 0.5)];
            spec
        };
        let (few, many) = (cost(&flows(2_000)), cost(&flows(20_000)));
        let more = many.allocations.saturating_sub(few.allocations);
        assert!(more < 400, "{balancer}: {more} allocations for 18,000 more flows");
        // The result row of a flow is 70 bytes in 14 columns, and columns double.
        let per_flow = (many.peak - few.peak) as f64 / 18_000.0;
        println!("{balancer}: {more} more allocations, {per_flow:.0} bytes a flow");
        assert!(per_flow < 70.0 * 3.0 + 300.0, "{balancer}: {per_flow} bytes a flow");
    }
}
