//! Messages of vhost-user, by which a guest's kernel sets up a device that lives in another process
//! (QEMU, `docs/interop/vhost-user.rst`): a header of 12 bytes (request, flags, bytes of payload) and
//! the payload, all in the machine's order.
//!
//! Those that User-Mode Linux sends are read; any other is refused.

/// Bytes of a header.
pub const HEADER: usize = 12;
/// The largest payload that is read: `SET_MEM_TABLE` with two regions has 72.
pub const MOST_PAYLOAD: usize = 1024;
/// The most regions of memory that a guest may have: the protocol's own limit.
pub const MOST_REGIONS: usize = 8;

const VERSION: u32 = 1;
const VERSION_BITS: u32 = 3;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// The request of the device's own by which it interrupts the guest.
const VRING_CALL: u32 = 4;

/// A header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// What is requested.
    pub request: u32,
    /// Whether it is an answer.
    pub reply: bool,
    /// Whether an answer is wanted to what has none of its own.
    pub need_reply: bool,
    /// Bytes of payload that follow.
    pub size: usize,
}

/// What is wrong with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// A version other than 1.
    #[error("vhost-user version {0} where 1 was expected")]
    Version(u32),
    /// More payload than any message has.
    #[error("a vhost-user message of {0} bytes of payload, at most 1024 expected")]
    Size(u32),
    /// A request that User-Mode Linux does not make.
    #[error("vhost-user request {0} is not one that User-Mode Linux makes")]
    Unknown(u32),
    /// A payload that is too short for its request, or contradicts itself.
    #[error("the payload of vhost-user request {request} has {found} bytes, which is not its form")]
    Payload {
        /// The request.
        request: u32,
        /// Bytes found.
        found: usize,
    },
}

impl Header {
    /// From its bytes.
    ///
    /// # Errors
    /// If the version is another, or the payload too long.
    pub fn parse(bytes: [u8; HEADER]) -> Result<Header, MessageError> {
        let word = |at: usize| word(&bytes, at).expect("twelve bytes");
        let (request, flags, size) = (word(0), word(4), word(8));
        if flags & VERSION_BITS != VERSION {
            return Err(MessageError::Version(flags & VERSION_BITS));
        }
        if size as usize > MOST_PAYLOAD {
            return Err(MessageError::Size(size));
        }
        let (reply, need_reply) = (flags & REPLY != 0, flags & NEED_REPLY != 0);
        Ok(Header { request, reply, need_reply, size: size as usize })
    }

    fn bytes(self) -> [u8; HEADER] {
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        let flags = VERSION | flag(self.reply, REPLY) | flag(self.need_reply, NEED_REPLY);
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&self.request.to_ne_bytes());
        bytes[4..8].copy_from_slice(&flags.to_ne_bytes());
        bytes[8..].copy_from_slice(&(self.size as u32).to_ne_bytes());
        bytes
    }
}

/// A part of a guest's memory, as a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Its address in the guest.
    pub guest: u64,
    /// Its bytes.
    pub size: u64,
    /// Its address by which rings are named.
    pub user: u64,
    /// Where it begins in its file.
    pub offset: u64,
}

/// A request of a guest's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// Which features has the device?
    GetFeatures,
    /// The features that are used.
    SetFeatures(u64),
    /// The first of all.
    SetOwner,
    /// The guest's memory; each region comes with a file.
    SetMemTable(Vec<Region>),
    /// A ring's length.
    SetVringNum {
        /// The ring.
        ring: u32,
        /// Entries.
        entries: u32,
    },
    /// Where a ring is.
    SetVringAddr {
        /// The ring.
        ring: u32,
        /// Its descriptors.
        descriptors: u64,
        /// What the device has used.
        used: u64,
        /// What it may use.
        available: u64,
    },
    /// At which entry a ring begins.
    SetVringBase {
        /// The ring.
        ring: u32,
        /// The entry.
        base: u32,
    },
    /// Which features has the protocol?
    GetProtocolFeatures,
    /// Those that are used.
    SetProtocolFeatures(u64),
    /// A ring is to be served, or not.
    SetVringEnable {
        /// The ring.
        ring: u32,
        /// Whether it is.
        on: bool,
    },
    /// The socket for the device's own requests; it comes as a file.
    SetSlaveReqFd,
    /// So much of the device's configuration, from its beginning.
    GetConfig {
        /// Bytes.
        size: u32,
    },
    /// There is something in a ring.
    VringKick {
        /// The ring.
        ring: u32,
    },
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl Request {
    /// From the number of a request and its payload.
    ///
    /// # Errors
    /// If there is no such request, or the payload is not of its form.
    pub fn parse(request: u32, payload: &[u8]) -> Result<Request, MessageError> {
        let known = matches!(request, 1..=3 | 5 | 8..=10 | 15 | 16 | 18 | 21 | 24 | 35);
        if !known {
            return Err(MessageError::Unknown(request));
        }
        let found = payload.len();
        Request::read(request, payload).ok_or(MessageError::Payload { request, found })
    }

    fn read(request: u32, payload: &[u8]) -> Option<Request> {
        let state = || Some((word(payload, 0)?, word(payload, 4)?));
        Some(match request {
            1 => Request::GetFeatures,
            2 => Request::SetFeatures(long(payload, 0)?),
            3 => Request::SetOwner,
            5 => Request::SetMemTable(regions(payload)?),
            8 => state().map(|(ring, entries)| Request::SetVringNum { ring, entries })?,
            9 => Request::SetVringAddr {
                ring: word(payload, 0)?,
                descriptors: long(payload, 8)?,
                used: long(payload, 16)?,
                available: long(payload, 24)?,
            },
            10 => state().map(|(ring, base)| Request::SetVringBase { ring, base })?,
            15 => Request::GetProtocolFeatures,
            16 => Request::SetProtocolFeatures(long(payload, 0)?),
            18 => state().map(|(ring, on)| Request::SetVringEnable { ring, on: on != 0 })?,
            21 => Request::SetSlaveReqFd,
            24 => Request::GetConfig { size: word(payload, 4)? },
            35 => state().map(|(ring, _)| Request::VringKick { ring })?,
            _ => return None,
        })
    }
}

/// Their number and a word that is not used, then each region.
fn regions(payload: &[u8]) -> Option<Vec<Region>> {
    const HEAD: usize = 8;
    const BYTES: usize = 32;
    let many = word(payload, 0)? as usize;
    if many > MOST_REGIONS || payload.len() < HEAD {
        return None;
    }
    let region = |index: usize| {
        let at = HEAD + index * BYTES;
        Some(Region {
            guest: long(payload, at)?,
            size: long(payload, at + 8)?,
            user: long(payload, at + 16)?,
            offset: long(payload, at + 24)?,
        })
    };
    (0..many).map(region).collect()
}

/// The answer to `request`.
#[must_use]
pub fn answer(request: u32, payload: &[u8]) -> Vec<u8> {
    let header = Header { request, reply: true, need_reply: false, size: payload.len() };
    [&header.bytes(), payload].concat()
}

/// The answer to `GET_CONFIG` of `size` bytes by a device whose configuration begins with `config`.
#[must_use]
pub fn config_answer(size: u32, config: &[u8]) -> Vec<u8> {
    const GET_CONFIG: u32 = 24;
    let size = size.min(256);
    let mut payload = Vec::new();
    for word in [0, size, 0] {
        payload.extend(u32::to_ne_bytes(word));
    }
    payload.extend(config.iter().copied().chain(std::iter::repeat(0)).take(size as usize));
    answer(GET_CONFIG, &payload)
}

/// The device's request that interrupts the guest for a ring; it is answered.
#[must_use]
pub fn call(ring: u32) -> Vec<u8> {
    let header = Header { request: VRING_CALL, reply: false, need_reply: true, size: 8 };
    [&header.bytes()[..], &ring.to_ne_bytes(), &[0; 4]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Breaks if a field is read from another place than the protocol has it.
    #[test]
    fn fields_are_in_their_places() {
        let longs = |longs: &[u64]| longs.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
        let read = |request, longs_: &[u64]| Request::parse(request, &longs(longs_)).unwrap();
        // Two words in one: the first is the lower half.
        let state = 1 | 256 << 32;
        assert_eq!(read(8, &[state]), Request::SetVringNum { ring: 1, entries: 256 });
        assert_eq!(read(10, &[state]), Request::SetVringBase { ring: 1, base: 256 });
        assert_eq!(read(18, &[state]), Request::SetVringEnable { ring: 1, on: true });
        assert_eq!(read(35, &[state]), Request::VringKick { ring: 1 });
        let addresses = Request::SetVringAddr { ring: 1, descriptors: 2, used: 3, available: 4 };
        assert_eq!(read(9, &[1, 2, 3, 4, 5]), addresses);
        let region = Region { guest: 5, size: 6, user: 7, offset: 8 };
        assert_eq!(read(5, &[1, 5, 6, 7, 8]), Request::SetMemTable(vec![region]));
        assert_eq!(read(24, &[12 << 32, 0]), Request::GetConfig { size: 12 });
    }

    /// Breaks if a message that is too short, too long, of another version or unknown is taken.
    #[test]
    fn what_is_wrong_is_refused() {
        let header = |flags: u32, size: u32| {
            let words = [1, flags, size].map(u32::to_ne_bytes).concat();
            Header::parse(words.try_into().unwrap())
        };
        assert_eq!(header(2, 0), Err(MessageError::Version(2)));
        assert_eq!(header(1, 1025), Err(MessageError::Size(1025)));
        assert!(header(1 | 8, 8).unwrap().need_reply);
        assert_eq!(Request::parse(4, &[]), Err(MessageError::Unknown(4)));
        let short = MessageError::Payload { request: 2, found: 7 };
        assert_eq!(Request::parse(2, &[0; 7]), Err(short));
        let nine = [9u64, 0, 0].map(u64::to_ne_bytes).concat();
        let wrong = MessageError::Payload { request: 5, found: 24 };
        assert_eq!(Request::parse(5, &nine), Err(wrong));
        let half = MessageError::Payload { request: 5, found: 4 };
        assert_eq!(Request::parse(5, &[0; 4]), Err(half));
    }

    /// Breaks if an answer has another form than the guest's kernel reads.
    #[test]
    fn answers() {
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.chunks_exact(4).map(|w| u32::from_ne_bytes(w.try_into().unwrap())).collect()
        };
        assert_eq!(words(&answer(1, &7u64.to_ne_bytes())), [1, 5, 8, 7, 0]);
        assert_eq!(words(&call(1)), [4, 9, 8, 1, 0]);
        let config = config_answer(8, &[1, 0, 0, 0, 2]);
        assert_eq!(words(&config), [24, 5, 20, 0, 8, 0, 1, 2]);
    }

    proptest! {
        /// Breaks if any bytes make the reader panic, or a header is not what was written.
        #[test]
        fn any_bytes(request in 0..40u32, payload: Vec<u8>, header: [u8; HEADER]) {
            let _ = Request::parse(request, &payload);
            if let Ok(read) = Header::parse(header) {
                prop_assert_eq!(Header::parse(read.bytes()), Ok(read));
            }
        }
    }
}
