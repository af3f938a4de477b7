//! How the C library's allocator treats large blocks.

/// Large blocks go back to the system as soon as they are freed.
///
/// A simulation is built once to see whether it can be, and once to run. The GNU allocator learns from the
/// first large block that is freed to keep such blocks for later, so that a process would hold the tables of
/// simulations that are gone: a run would take more memory than it needs, by luck of the order of frees.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn settle() {
    const LARGE: libc::c_int = 512 << 10;
    // SAFETY: mallopt only sets a parameter of the allocator, and may be called at any time.
    #[allow(unsafe_code, reason = "a call of the C library, without a pointer")]
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE) };
}

/// Other allocators are left alone.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn settle() {}
