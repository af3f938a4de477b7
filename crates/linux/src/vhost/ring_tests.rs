//! A driver by hand, in memory that is a vector.

use super::*;
use proptest::prelude::*;
use std::cell::RefCell;

const ENTRIES: u16 = 4;
const AVAILABLE: u64 = 0x100;
const USED: u64 = 0x200;
const BUFFERS: u64 = 0x400;

struct Bytes(RefCell<Vec<u8>>);

impl Memory for Bytes {
    fn read(&self, at: u64, into: &mut [u8]) -> Option<()> {
        let (bytes, at) = (self.0.borrow(), usize::try_from(at).ok()?);
        into.copy_from_slice(bytes.get(at..at.checked_add(into.len())?)?);
        Some(())
    }

    fn write(&self, at: u64, from: &[u8]) -> Option<()> {
        let (mut bytes, at) = (self.0.borrow_mut(), usize::try_from(at).ok()?);
        bytes.get_mut(at..at.checked_add(from.len())?)?.copy_from_slice(from);
        Some(())
    }
}

fn memory() -> Bytes {
    Bytes(RefCell::new(vec![0; 0x1000]))
}

fn ring() -> Ring {
    let parts = Ring { available: AVAILABLE, used: USED, ..Ring::default() };
    Ring { entries: ENTRIES, event_index: true, ..parts }
}

impl Bytes {
    fn short(&self, at: u64, value: u16) {
        self.write(at, &value.to_le_bytes()).unwrap();
    }

    fn describe(&self, index: u16, address: u64, bytes: u32, flags: u16, next: u16) {
        let at = 16 * u64::from(index);
        self.write(at, &address.to_le_bytes()).unwrap();
        self.write(at + 8, &bytes.to_le_bytes()).unwrap();
        self.short(at + 12, flags);
        self.short(at + 14, next);
    }

    /// Makes a chain available as the one before the `index`-th.
    fn offer(&self, index: u16, head: u16) {
        self.short(AVAILABLE + 4 + 2 * u64::from((index - 1) % ENTRIES), head);
        self.short(AVAILABLE + 2, index);
    }

    fn used(&self, at: u64) -> u16 {
        short(self, USED + at).unwrap()
    }
}

/// Breaks if a chain's buffers are read in another order, or are not given back.
#[test]
fn a_frame_in_two_buffers() {
    let (memory, mut ring, mut out) = (memory(), ring(), b"-".to_vec());
    memory.write(BUFFERS, b"header--payload").unwrap();
    memory.describe(2, BUFFERS, 6, NEXT, 0);
    memory.describe(0, BUFFERS + 8, 7, 0, 9);
    memory.offer(1, 2);
    assert_eq!(ring.take_sent(&memory, &mut out), Ok(Some(2)));
    assert_eq!(out, b"-headerpayload");
    assert_eq!(ring.take_sent(&memory, &mut out), Ok(None));
    ring.give_back(&memory, 2, 0).unwrap();
    assert_eq!((memory.used(2), memory.used(4)), (1, 2));
}

/// Breaks if a frame is cut to the first buffer, or one without a buffer is lost in silence.
#[test]
fn a_frame_to_the_driver() {
    let (memory, mut ring) = (memory(), ring());
    assert_eq!(ring.fill(&memory, b"frame"), Ok(false));
    memory.describe(0, BUFFERS, 2, WRITE | NEXT, 1);
    memory.describe(1, BUFFERS + 0x10, 8, WRITE, 0);
    memory.offer(1, 0);
    assert_eq!(ring.fill(&memory, b"frame"), Ok(true));
    let mut got = [0; 3];
    memory.read(BUFFERS + 0x10, &mut got).unwrap();
    assert_eq!((&got, memory.used(2), memory.used(8)), (b"ame", 1, 5));
    memory.offer(2, 0);
    let small = RingError::NoRoom { frame: 11, room: 10 };
    assert_eq!(ring.fill(&memory, b"eleven byte"), Err(small));
}

/// Breaks if the driver is called before the entry it named is used, or twice for one.
#[test]
fn calls_by_event_index() {
    let (memory, mut ring) = (memory(), ring());
    let mut after = |many: u16, event: u16| {
        memory.short(AVAILABLE + 4 + 2 * u64::from(ENTRIES), event);
        (0..many).for_each(|_| ring.give_back(&memory, 0, 0).unwrap());
        ring.wants_call(&memory).unwrap()
    };
    assert!(!after(0, 0));
    assert!(after(1, 0));
    assert!(!after(1, 0), "it was called for that one");
    assert!(!after(2, 4), "only three more are used");
    assert!(after(1, 4));
}

/// Breaks if a call is made that the driver has switched off (2.7.7).
#[test]
fn calls_by_flag() {
    let (memory, mut ring) = (memory(), Ring { event_index: false, ..ring() });
    ring.give_back(&memory, 0, 0).unwrap();
    assert_eq!(ring.wants_call(&memory), Ok(true));
    memory.short(AVAILABLE, 1);
    ring.give_back(&memory, 0, 0).unwrap();
    assert_eq!(ring.wants_call(&memory), Ok(false));
}

/// Breaks if the driver is not asked to kick for the very next entry.
#[test]
fn asks_for_kicks() {
    let (memory, ring) = (memory(), Ring { next_available: 7, ..ring() });
    ring.ask_for_kick(&memory).unwrap();
    assert_eq!(memory.used(4 + 8 * u64::from(ENTRIES)), 7);
}

/// Breaks if a circle, a descriptor outside, or too many entries are followed.
#[test]
fn nonsense_is_refused() {
    let (memory, mut out) = (memory(), Vec::new());
    memory.describe(0, BUFFERS, 1, NEXT, 1);
    memory.describe(1, BUFFERS, 1, NEXT, 0);
    memory.offer(1, 0);
    let circle = RingError::Chain { entries: 4, found: 0 };
    assert_eq!(ring().take_sent(&memory, &mut out), Err(circle));
    memory.offer(1, 4);
    let outside = RingError::Chain { entries: 4, found: 4 };
    assert_eq!(ring().take_sent(&memory, &mut out), Err(outside));
    memory.short(AVAILABLE + 2, 5);
    assert_eq!(ring().waiting(&memory), Err(RingError::Index { entries: 4, found: 5 }));
    memory.describe(0, 0xfff, 2, 0, 0);
    memory.offer(1, 0);
    assert_eq!(ring().take_sent(&memory, &mut out), Err(RingError::Address(0xfff)));
    memory.describe(0, BUFFERS, u32::MAX, 0, 0);
    assert_eq!(ring().take_sent(&memory, &mut out), Err(RingError::Long(MOST_FRAME)));
    assert_eq!(Ring::default().waiting(&memory), Err(RingError::NotReady));
}

proptest! {
    /// Breaks if any memory makes the device panic, loop or allocate without bound.
    #[test]
    fn any_memory(
        bytes in proptest::collection::vec(any::<u8>(), 0x300),
        parts: [u16; 3],
        entries in 0..9u32,
    ) {
        let memory = Bytes(RefCell::new(bytes));
        let [descriptors, available, used] = parts.map(|at| u64::from(at % 0x300));
        let entries = if entries == 0 { 0 } else { 1 << (entries - 1) };
        let mut ring = Ring { entries, descriptors, available, used, event_index: true, ..Ring::default() };
        let mut out = Vec::new();
        for _ in 0..300 {
            let sent = ring.take_sent(&memory, &mut out);
            let _ = (ring.fill(&memory, b"frame"), ring.wants_call(&memory), ring.ask_for_kick(&memory));
            prop_assert!(out.len() < 300 * MOST_FRAME);
            if !matches!(sent, Ok(Some(_))) {
                break;
            }
        }
    }
}
