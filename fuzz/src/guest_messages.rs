//! What guests say: messages about time and of vhost-user, rings in their memory, frames and reports.
//! Any bytes are read or refused; nothing outside of the memory is touched, and no ring is without an end.

use leafspine_linux::frame::{Segment, set_destination, set_service};
use leafspine_linux::orders::Report;
use leafspine_linux::time::{BYTES, Message};
use leafspine_linux::vhost::message::{HEADER, Header, MOST_PAYLOAD, Request};
use leafspine_linux::vhost::ring::{MOST_FRAME, Memory, Ring};
use std::cell::RefCell;

/// A guest's memory: the input itself.
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

/// The first byte chooses what the others are.
///
/// # Panics
/// If a reader does, or what was read says more than was there.
pub fn check(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 4 {
        0 => messages(rest),
        1 => frames(rest),
        _ => ring(rest),
    }
}

fn messages(data: &[u8]) {
    if let Some(bytes) = data.first_chunk::<BYTES>()
        && let Ok(message) = Message::parse(*bytes)
    {
        assert_eq!(message.bytes(), *bytes, "a message that reads as another");
    }
    let Some((header, payload)) = data.split_first_chunk::<HEADER>() else { return };
    let Ok(header) = Header::parse(*header) else { return };
    assert!(header.size <= MOST_PAYLOAD);
    let payload = &payload[..payload.len().min(header.size)];
    if let Ok(Request::SetMemTable(regions)) = Request::parse(header.request, payload) {
        assert!(8 + 32 * regions.len() <= payload.len(), "a region that is not there");
    }
}

fn frames(data: &[u8]) {
    let _ = Report::parse(data);
    let mut frame = data.to_vec();
    let before = Segment::parse(&frame);
    assert!(before.is_none_or(|segment| usize::from(segment.ip_bytes) + 14 <= frame.len()));
    set_service(&mut frame, 3);
    set_destination(&mut frame, [2; 6]);
    let after = before.map(|segment| Segment { service: 3, ..segment });
    assert_eq!(Segment::parse(&frame), after, "a mark that changes more");
}

fn ring(data: &[u8]) {
    let Some((head, memory)) = data.split_first_chunk::<8>() else { return };
    let short = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]) % 1024);
    let mut ring = Ring::new(1 << (head[0] % 9));
    (ring.descriptors, ring.available, ring.used) = (short(2), short(4), short(6));
    ring.event_index = head[1] & 1 != 0;
    let memory = Bytes(RefCell::new(memory.to_vec()));
    for _ in 0..64 {
        let mut out = Vec::new();
        let taken = ring.take_sent(&memory, &mut out);
        assert!(out.len() <= MOST_FRAME, "a frame of {} bytes", out.len());
        let _ = ring.fill(&memory, &data[..data.len().min(32)]);
        let _ = (ring.wants_call(&memory), ring.ask_for_kick(&memory));
        match taken {
            Ok(Some(head)) => {
                let _ = ring.give_back(&memory, head, 0);
            }
            _ => return,
        }
    }
}
