//! A split virtqueue from the device's side (Virtual I/O Device 1.2, section 2.7), with the suppression
//! of notifications by event index (2.7.10).
//!
//! Everything that the driver wrote is checked: lengths, indices, and that a chain of descriptors has
//! an end. The memory is behind a trait, so that any bytes can be fed to it.

/// A guest's memory.
pub trait Memory {
    /// Copies what is at `at`; `None` if not all of it is the guest's.
    fn read(&self, at: u64, into: &mut [u8]) -> Option<()>;

    /// Writes there; `None` if not all of it is the guest's, and nothing was written.
    fn write(&self, at: u64, bytes: &[u8]) -> Option<()>;
}

/// What is wrong with a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RingError {
    /// An address that is not in the guest's memory.
    #[error("a ring names {0:#x}, which is not in the guest's memory")]
    Address(u64),
    /// A descriptor that is not there, or a chain without an end.
    #[error("a ring of {entries} entries names descriptor {found}, or leads round in a circle")]
    Chain {
        /// Its length.
        entries: u16,
        /// The descriptor.
        found: u16,
    },
    /// More entries are said to be new than there are.
    #[error("a ring of {entries} entries is said to have {found} new ones")]
    Index {
        /// Its length.
        entries: u16,
        /// The new ones.
        found: u16,
    },
    /// A ring that has not been set up.
    #[error("a ring is used before it is set up")]
    NotReady,
    /// A frame that does not fit what the guest has put ready for it.
    #[error("a frame of {frame} bytes for a buffer of {room}")]
    NoRoom {
        /// Its bytes with the device's header.
        frame: usize,
        /// What there is.
        room: usize,
    },
    /// A frame to send that is longer than any.
    #[error("a frame of more than {0} bytes to send")]
    Long(usize),
}

/// Frames are shorter than this: the guest's largest without segmentation offload has 1,514 bytes, or
/// 9,014 with jumbo frames.
pub const MOST_FRAME: usize = 1 << 16;

const DESCRIPTOR_BYTES: u64 = 16;
/// Descriptors' flags: the chain goes on; the device writes.
const NEXT: u16 = 1;
const WRITE: u16 = 2;

/// A ring.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// Entries, a power of two; 0: not set up.
    pub entries: u16,
    /// Addresses of its three parts.
    pub descriptors: u64,
    /// See `descriptors`.
    pub available: u64,
    /// See `descriptors`.
    pub used: u64,
    /// The next entry that the device takes.
    next_available: u16,
    /// The next that it gives back.
    next_used: u16,
    /// What it had given back when the guest was last looked at for a call.
    called: u16,
    /// Whether the driver asks to be called by event index.
    pub event_index: bool,
}

/// A buffer of a chain.
#[derive(Clone, Copy)]
struct Buffer {
    address: u64,
    bytes: usize,
    writable: bool,
}

fn get<const N: usize>(memory: &dyn Memory, at: u64) -> Result<[u8; N], RingError> {
    let mut bytes = [0; N];
    memory.read(at, &mut bytes).ok_or(RingError::Address(at))?;
    Ok(bytes)
}

fn short(memory: &dyn Memory, at: u64) -> Result<u16, RingError> {
    get(memory, at).map(u16::from_le_bytes)
}

impl Ring {
    /// A ring of so many entries, whose parts are not known yet; the driver asks to be called by event
    /// index.
    #[must_use]
    pub fn new(entries: u16) -> Ring {
        Ring { entries, event_index: true, ..Ring::default() }
    }

    /// The first entry that is taken and given back.
    pub fn begin_at(&mut self, entry: u16) {
        (self.next_available, self.next_used, self.called) = (entry, entry, entry);
    }

    fn slot(&self, index: u16) -> Result<u64, RingError> {
        if self.entries == 0 {
            return Err(RingError::NotReady);
        }
        Ok(u64::from(index % self.entries))
    }

    /// Entries that the driver has put there and the device has not taken.
    ///
    /// # Errors
    /// If the ring is not set up or says nonsense.
    pub fn waiting(&self, memory: &dyn Memory) -> Result<u16, RingError> {
        self.slot(0)?;
        let index = short(memory, self.available.wrapping_add(2))?;
        let found = index.wrapping_sub(self.next_available);
        if found > self.entries {
            return Err(RingError::Index { entries: self.entries, found });
        }
        Ok(found)
    }

    /// The head of the next chain; `None` if there is none.
    fn take(&mut self, memory: &dyn Memory) -> Result<Option<u16>, RingError> {
        if self.waiting(memory)? == 0 {
            return Ok(None);
        }
        let at = self.available.wrapping_add(4 + 2 * self.slot(self.next_available)?);
        let head = short(memory, at)?;
        self.next_available = self.next_available.wrapping_add(1);
        Ok(Some(head))
    }

    /// Calls `visit` with every buffer of a chain.
    fn chain(
        &self,
        memory: &dyn Memory,
        head: u16,
        visit: &mut dyn FnMut(Buffer) -> Result<(), RingError>,
    ) -> Result<(), RingError> {
        let mut found = head;
        for _ in 0..self.entries {
            if found >= self.entries {
                break;
            }
            let at = self.descriptors.wrapping_add(DESCRIPTOR_BYTES * u64::from(found));
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = get(memory, at)?;
            let flags = u16::from_le_bytes([m, n]);
            visit(Buffer {
                address: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
                bytes: u32::from_le_bytes([i, j, k, l]) as usize,
                writable: flags & WRITE != 0,
            })?;
            if flags & NEXT == 0 {
                return Ok(());
            }
            found = u16::from_le_bytes([o, p]);
        }
        Err(RingError::Chain { entries: self.entries, found })
    }

    /// Takes the next buffer that the driver wants sent, and appends what is in it to `out`. Gives what
    /// [`Ring::give_back`] wants to have; `None` if there is none.
    ///
    /// # Errors
    /// If the ring says nonsense.
    pub fn take_sent(
        &mut self,
        memory: &dyn Memory,
        out: &mut Vec<u8>,
    ) -> Result<Option<u16>, RingError> {
        let Some(head) = self.take(memory)? else { return Ok(None) };
        let begin = out.len();
        self.chain(memory, head, &mut |buffer| {
            if buffer.writable {
                return Ok(());
            }
            let at = out.len();
            if at - begin + buffer.bytes.min(MOST_FRAME) >= MOST_FRAME {
                return Err(RingError::Long(MOST_FRAME));
            }
            out.resize(at + buffer.bytes, 0);
            memory.read(buffer.address, &mut out[at..]).ok_or(RingError::Address(buffer.address))
        })?;
        Ok(Some(head))
    }

    /// Fills the next buffer that the driver has put ready with a frame. Gives `false` if there is none.
    ///
    /// # Errors
    /// If the ring says nonsense, or the buffer is too small.
    pub fn fill(&mut self, memory: &dyn Memory, frame: &[u8]) -> Result<bool, RingError> {
        let Some(head) = self.take(memory)? else { return Ok(false) };
        let (mut rest, mut room) = (frame, 0);
        self.chain(memory, head, &mut |buffer| {
            if !buffer.writable || rest.is_empty() {
                return Ok(());
            }
            room += buffer.bytes;
            let (now, later) = rest.split_at(rest.len().min(buffer.bytes));
            rest = later;
            memory.write(buffer.address, now).ok_or(RingError::Address(buffer.address))
        })?;
        if !rest.is_empty() {
            return Err(RingError::NoRoom { frame: frame.len(), room });
        }
        self.give_back(memory, head, frame.len() as u32)?;
        Ok(true)
    }

    /// Gives a chain back to the driver, with so many bytes written into it.
    ///
    /// # Errors
    /// If the ring is not in the guest's memory.
    pub fn give_back(
        &mut self,
        memory: &dyn Memory,
        head: u16,
        written: u32,
    ) -> Result<(), RingError> {
        let put = |at: u64, bytes: &[u8]| memory.write(at, bytes).ok_or(RingError::Address(at));
        let entry = [u32::from(head).to_le_bytes(), written.to_le_bytes()].concat();
        put(self.used.wrapping_add(4 + 8 * self.slot(self.next_used)?), &entry)?;
        self.next_used = self.next_used.wrapping_add(1);
        put(self.used.wrapping_add(2), &self.next_used.to_le_bytes())
    }

    /// Whether the driver wants to be called for what has been given back since the last look.
    ///
    /// # Errors
    /// If the ring is not in the guest's memory.
    pub fn wants_call(&mut self, memory: &dyn Memory) -> Result<bool, RingError> {
        const NO_INTERRUPT: u16 = 1;
        let before = std::mem::replace(&mut self.called, self.next_used);
        let new = self.next_used.wrapping_sub(before);
        if new == 0 {
            return Ok(false);
        }
        if !self.event_index {
            return Ok(short(memory, self.available)? & NO_INTERRUPT == 0);
        }
        // used_event stands behind the available entries: call when it is passed (2.7.7.2).
        let after = self.available.wrapping_add(4 + 2 * u64::from(self.entries));
        let event = short(memory, after)?;
        Ok(self.next_used.wrapping_sub(event).wrapping_sub(1) < new)
    }

    /// Tells the driver to kick when it puts the next entry there.
    ///
    /// # Errors
    /// If the ring is not in the guest's memory.
    pub fn ask_for_kick(&self, memory: &dyn Memory) -> Result<(), RingError> {
        // avail_event stands behind the used entries.
        let at = self.used.wrapping_add(4 + 8 * u64::from(self.entries));
        memory.write(at, &self.next_available.to_le_bytes()).ok_or(RingError::Address(at))
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
