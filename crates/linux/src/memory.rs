//! Memory that is shared with guests. This is the unsafe part of the crate, with [`crate::launch`]:
//! a file mapped into this process, read and written by copying alone. No reference into it is ever
//! made, so that what another process does to it at the same time can give wrong bytes and nothing
//! worse; bytes are checked by whoever reads them. A file system that is full when a page is
//! touched for the first time ends this process (SIGBUS), as it would the guest:
//! [`crate::fleet::Setup`] asks for the room before.
#![allow(unsafe_code, reason = "memory that another process has mapped, too")]

use crate::vhost::message::Region;
use crate::vhost::ring::Memory;
use rustix::mm::{MapFlags, ProtFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// A part of a file in this process' memory.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, and may be used and unmapped by any thread.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `bytes` of `file` from its beginning.
    ///
    /// # Errors
    /// If the file is shorter, or the system refuses.
    pub fn new(file: impl AsFd, bytes: usize) -> std::io::Result<Mapping> {
        let file = file.as_fd();
        // Beyond a file's end a page is mapped, and reading it kills the process.
        if bytes == 0 || (rustix::fs::fstat(file)?.st_size as u64) < bytes as u64 {
            return Err(std::io::Error::other("a file shorter than the memory that it should be"));
        }
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at a place that the kernel chooses touches no memory of this process.
        let start =
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, access, shared, file, 0)? };
        let start =
            NonNull::new(start.cast()).ok_or_else(|| std::io::Error::other("mapped at 0"))?;
        Ok(Mapping { start, bytes })
    }

    fn place(&self, at: usize, bytes: usize) -> Option<*mut u8> {
        if at.checked_add(bytes)? > self.bytes {
            return None;
        }
        // SAFETY: `at` is within the mapping, which is one allocation.
        Some(unsafe { self.start.as_ptr().add(at) })
    }

    /// Copies what is at `at`; `None` if it is not all within.
    pub fn read(&self, at: usize, into: &mut [u8]) -> Option<()> {
        let from = self.place(at, into.len())?;
        // What another process wrote before it told us of it is seen.
        fence(Ordering::Acquire);
        // SAFETY: `from` has as many bytes (`place`), and `into` is this process' own, so they do not
        // overlap. No reference into the mapping exists.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Some(())
    }

    /// Writes there; `None` if it is not all within.
    pub fn write(&self, at: usize, bytes: &[u8]) -> Option<()> {
        let to = self.place(at, bytes.len())?;
        // SAFETY: as in `read`, the other way round.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        fence(Ordering::Release);
        Some(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A guest's memory, by the addresses that its rings have.
#[derive(Debug, Default)]
pub struct Regions(Vec<(Region, Mapping)>);

impl Regions {
    /// Maps each region of its file.
    ///
    /// # Errors
    /// If there are not as many files as regions, one is too short, or the system refuses.
    pub fn new(regions: &[Region], files: &[OwnedFd]) -> std::io::Result<Regions> {
        let wrong = || std::io::Error::other("a memory table that contradicts itself");
        if regions.len() != files.len() {
            return Err(wrong());
        }
        let mut mapped = Vec::with_capacity(regions.len());
        for (region, file) in regions.iter().zip(files) {
            region.guest.checked_add(region.size).ok_or_else(wrong)?;
            let end = region.offset.checked_add(region.size).ok_or_else(wrong)?;
            let mapping = Mapping::new(file, usize::try_from(end).map_err(|_| wrong())?)?;
            mapped.push((*region, mapping));
        }
        Ok(Regions(mapped))
    }

    fn find(&self, at: u64, bytes: usize) -> Option<(&Mapping, usize)> {
        let end = at.checked_add(bytes as u64)?;
        let within = |region: &Region| at >= region.guest && end <= region.guest + region.size;
        let (region, mapping) = self.0.iter().find(|(region, _)| within(region))?;
        Some((mapping, usize::try_from(at - region.guest + region.offset).ok()?))
    }
}

impl Memory for Regions {
    fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        let (mapping, at) = self.find(at, into.len())?;
        mapping.read(at, into)
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Option<()> {
        let (mapping, at) = self.find(at, bytes.len())?;
        mapping.write(at, bytes)
    }
}

/// A file that is memory alone.
///
/// # Errors
/// If the system refuses.
pub fn memory_file(name: &str, bytes: usize) -> std::io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
    rustix::fs::ftruncate(&file, bytes as u64)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if bytes outside of a region can be reached, or an address is another's.
    #[test]
    fn regions_have_ends() {
        let file = memory_file("test", 0x2000).unwrap();
        let whole = Mapping::new(&file, 0x2000).unwrap();
        whole.write(0x1010, b"here").unwrap();
        let region = Region { guest: 0x50_0000, size: 0x1000, user: 0, offset: 0x1000 };
        let regions = Regions::new(&[region], std::slice::from_ref(&file)).unwrap();
        let mut got = [0; 4];
        assert_eq!((regions.read(0x50_0010, &mut got), &got), (Some(()), b"here"));
        assert_eq!(regions.write(0x50_0ffc, b"last"), Some(()));
        assert_eq!((whole.read(0x1ffc, &mut got), &got), (Some(()), b"last"));
        for outside in [0x50_0ffd, 0x4f_ffff, 0x1010, u64::MAX - 1] {
            assert_eq!(regions.read(outside, &mut got), None, "{outside:#x}");
            assert_eq!(regions.write(outside, &got), None, "{outside:#x}");
        }
        assert_eq!(whole.read(usize::MAX, &mut got), None);
    }

    /// Breaks if a region is mapped that its file does not have: reading it would kill the process.
    #[test]
    fn short_files_are_refused() {
        let file = memory_file("test", 0x1000).unwrap();
        let region = |size, offset| Region { guest: 0, size, user: 0, offset };
        let files = [file];
        assert!(Regions::new(&[region(0x1000, 0)], &files).is_ok());
        for wrong in [region(0x1001, 0), region(0x1000, 1), region(u64::MAX, 2), region(0, 0)] {
            assert!(Regions::new(&[wrong], &files).is_err(), "{wrong:?}");
        }
        assert!(Regions::new(&[], &files).is_err());
    }
}
