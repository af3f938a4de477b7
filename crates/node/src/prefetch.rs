//! Memory that will be needed is prefetched.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks the processor to bring the cache line in which `items[at]` begins, and the one in which it
/// ends, and goes on at once. Changes nothing that a program can see; what lies outside of `items`
/// is not touched. A hint that only x86-64 has in stable Rust: elsewhere nothing is done.
#[inline(always)]
pub fn prefetch<T>(items: &[T], at: usize) {
    let Some(item) = items.get(at) else { return };
    line_of(item, 0);
    if size_of::<T>() > LINE {
        line_of(item, size_of::<T>() - 1);
    }
}

#[inline(always)]
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "the hint takes a pointer, which is that of a reference")]
fn line_of<T>(item: &T, byte: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    let line = std::ptr::from_ref(item).cast::<i8>().wrapping_add(byte);
    // SAFETY: a prefetch neither reads nor writes, and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line) }
}

#[inline(always)]
#[cfg(not(target_arch = "x86_64"))]
fn line_of<T>(_: &T, _: usize) {}
