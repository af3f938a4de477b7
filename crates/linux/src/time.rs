//! Messages about time: what a guest on a clock from outside and whoever keeps that clock tell each
//! other over a stream socket (Linux, `include/uapi/linux/um_timetravel.h`).
//!
//! Each is 16 bytes in the machine's order: operation (4), sequence number (4), nanoseconds (8). A guest
//! that shares memory with its clock ([`crate::schedule`]) asks for its next turn there, and needs
//! messages only to start, to wait and to be run.

/// Bytes of a message.
pub const BYTES: usize = 16;

/// What a message is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Op {
    /// The answer to the message of this sequence number.
    Ack = 0,
    /// The first message of a guest; the time is a name that it was given.
    Start = 1,
    /// The guest wants to run at this time; takes the place of its last request.
    Request = 2,
    /// The guest waits for its turn.
    Wait = 3,
    /// What is the time?
    Get = 4,
    /// The guest's time, before it reaches out to another.
    Update = 5,
    /// From the clock: it is the guest's turn, and this is the time.
    Run = 6,
    /// From the clock: nothing else happens before this time.
    FreeUntil = 7,
    /// What is the time of day?
    GetTod = 8,
    /// To all guests; the clock passes it on.
    Broadcast = 9,
}

const OPS: [Op; 10] = [
    Op::Ack,
    Op::Start,
    Op::Request,
    Op::Wait,
    Op::Get,
    Op::Update,
    Op::Run,
    Op::FreeUntil,
    Op::GetTod,
    Op::Broadcast,
];

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// What it is about.
    pub op: Op,
    /// Its number; an answer has that of its question.
    pub seq: u32,
    /// Nanoseconds, or whatever the operation says.
    pub time: u64,
}

impl Message {
    /// From its bytes.
    ///
    /// # Errors
    /// The operation's number, if there is no such operation.
    pub fn parse(bytes: [u8; BYTES]) -> Result<Message, u32> {
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        let op = u32::from_ne_bytes([a, b, c, d]);
        let known = OPS.get(op as usize).ok_or(op)?;
        let seq = u32::from_ne_bytes([e, f, g, h]);
        Ok(Message { op: *known, seq, time: u64::from_ne_bytes(time) })
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&(self.op as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }

    /// The answer to it.
    #[must_use]
    pub fn answer(self, time: u64) -> Message {
        Message { op: Op::Ack, seq: self.seq, time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Breaks if an operation has another's number (the header's enumeration), or a field another's
    /// place.
    #[test]
    fn a_message_is_sixteen_bytes() {
        let message = Message { op: Op::GetTod, seq: 7, time: 0x0102_0304_0506_0708 };
        let bytes = message.bytes();
        assert_eq!(bytes[..8], [[8, 0, 0, 0], [7, 0, 0, 0]].concat());
        assert_eq!(bytes[8..], [8, 7, 6, 5, 4, 3, 2, 1]);
        assert!(OPS.iter().enumerate().all(|(number, op)| *op as usize == number));
        assert_eq!(message.answer(3), Message { op: Op::Ack, seq: 7, time: 3 });
    }

    proptest! {
        /// Breaks if bytes are read as another message than they would be written from, or an
        /// operation that is not there is taken for one.
        #[test]
        fn what_is_read_is_written(bytes: [u8; BYTES], op in 0..20u32) {
            let mut bytes = bytes;
            bytes[..4].copy_from_slice(&op.to_ne_bytes());
            match Message::parse(bytes) {
                Ok(message) => prop_assert_eq!(message.bytes(), bytes),
                Err(found) => prop_assert!(found == op && op > 9),
            }
        }
    }
}
