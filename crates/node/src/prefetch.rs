//! Memory that will be needed is prefetched.

/// Asks the processor to bring the cache line in which `items[at]` begins, and goes on at once. Changes
/// nothing that a program can see; what lies outside of `items` is not touched. A hint that only x86-64
/// has in stable Rust: elsewhere nothing is done.
#[inline(always)]
pub fn prefetch<T>(items: &[T], at: usize) {
    let Some(item) = items.get(at) else { return };
    line_of(item);
}

#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the hint takes a pointer, which is that of a reference")]
fn line_of<T>(item: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch neither reads nor writes, and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) }
}

#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
fn line_of<T>(_: &T) {}
