//! The memory that a clock and its guests share: whose turn it is, what time it is, how long nothing
//! else happens, and when each guest wants to run next (Linux, `struct um_timetravel_schedshm`, version
//! 2). All times are nanoseconds.
//!
//! A page of header, then 128 bytes for each member; the clock itself is member 0, which says that it
//! reads the memory, so that guests write their requests there while it is the clock's turn.

use crate::memory::{Mapping, memory_file};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const VERSION: u32 = 2;
const HEADER: usize = 4096;
const MEMBER: usize = 128;
/// In the header.
const FREE_UNTIL: usize = 8;
const CURRENT_TIME: usize = 16;
const RUNNING: usize = 24;
const MEMBERS: usize = 26;
/// In a member's part.
const CAPABILITIES: usize = 0;
const FLAGS: usize = 4;
const REQUEST: usize = 8;

/// It reads and writes this memory.
const SHARES_TIME: u32 = 1;
/// It wants to run.
const WANTS_TO_RUN: u32 = 1;

/// The clock's own number.
pub const CLOCK: u16 = 0;

/// The memory.
#[derive(Debug)]
pub struct Schedule {
    file: OwnedFd,
    mapping: Mapping,
    guests: u16,
}

impl Schedule {
    /// For so many guests, which have the numbers from 1 on.
    ///
    /// # Errors
    /// If the system refuses the memory.
    ///
    /// # Panics
    /// If they are more than 65,534.
    pub fn new(guests: u16) -> std::io::Result<Schedule> {
        assert!(guests < u16::MAX, "member numbers have 16 bits");
        let bytes = HEADER + MEMBER * (usize::from(guests) + 1);
        let file = memory_file("leafspine-time", bytes)?;
        let schedule = Schedule { mapping: Mapping::new(&file, bytes)?, file, guests };
        schedule.put(0, &VERSION.to_ne_bytes());
        schedule.put(4, &(bytes as u32).to_ne_bytes());
        schedule.put(MEMBERS, &(guests + 1).to_ne_bytes());
        schedule.put(HEADER + CAPABILITIES, &SHARES_TIME.to_ne_bytes());
        Ok(schedule)
    }

    /// The file that guests map.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        self.mapping.write(at, bytes).expect("within the memory");
    }

    fn get<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        self.mapping.read(at, &mut bytes).expect("within the memory");
        bytes
    }

    fn member(&self, number: u16) -> usize {
        assert!(number <= self.guests, "member {number} of {}", self.guests);
        HEADER + MEMBER * usize::from(number)
    }

    /// It is the turn of this member, at this time.
    pub fn turn(&self, member: u16, time: u64) {
        self.put(CURRENT_TIME, &time.to_ne_bytes());
        self.put(RUNNING, &member.to_ne_bytes());
    }

    /// Nothing else happens before this time: so far may the running guest set its own clock.
    pub fn free_until(&self, time: u64) {
        self.put(FREE_UNTIL, &time.to_ne_bytes());
    }

    /// The time: a running guest sets it before it reaches out to another.
    #[must_use]
    pub fn time(&self) -> u64 {
        u64::from_ne_bytes(self.get(CURRENT_TIME))
    }

    /// When a guest wants to run next, if it does.
    #[must_use]
    pub fn request(&self, guest: u16) -> Option<u64> {
        let at = self.member(guest);
        let flags = u32::from_ne_bytes(self.get(at + FLAGS));
        (flags & WANTS_TO_RUN != 0).then(|| u64::from_ne_bytes(self.get(at + REQUEST)))
    }

    /// Notes a request that came by message.
    pub fn set_request(&self, guest: u16, time: u64) {
        let at = self.member(guest);
        let flags = u32::from_ne_bytes(self.get(at + FLAGS)) | WANTS_TO_RUN;
        self.put(at + REQUEST, &time.to_ne_bytes());
        self.put(at + FLAGS, &flags.to_ne_bytes());
    }

    /// Whether a guest has said that it uses this memory.
    #[must_use]
    pub fn is_shared_by(&self, guest: u16) -> bool {
        u32::from_ne_bytes(self.get(self.member(guest) + CAPABILITIES)) & SHARES_TIME != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a field is not where the kernel's header has it, or the clock does not say that it
    /// reads the memory.
    #[test]
    fn the_kernels_layout() {
        let schedule = Schedule::new(2).unwrap();
        schedule.free_until(11);
        schedule.turn(2, 12);
        let header: [u8; 28] = schedule.get(0);
        let bytes = (4096 + 3 * 128u32).to_ne_bytes();
        let longs = [11u64, 12].map(u64::to_ne_bytes).concat();
        assert_eq!(header[..], [&2u32.to_ne_bytes()[..], &bytes, &longs, &[2, 0, 3, 0]].concat());
        assert_eq!(schedule.get::<4>(4096), [1, 0, 0, 0]);
        assert_eq!(schedule.time(), 12);
    }

    /// Breaks if one guest's request is taken for another's, or one that it has withdrawn for one.
    #[test]
    fn requests_are_each_guests_own() {
        let schedule = Schedule::new(3).unwrap();
        schedule.put(4096 + 2 * 128, &[1, 0, 0, 0, 1, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!([1, 2, 3].map(|guest| schedule.request(guest)), [None, Some(77), None]);
        assert_eq!([1, 2, 3].map(|guest| schedule.is_shared_by(guest)), [false, true, false]);
        schedule.put(4096 + 2 * 128 + 4, &[0]);
        assert_eq!(schedule.request(2), None);
        schedule.set_request(1, 5);
        assert_eq!(schedule.request(1), Some(5));
    }
}
