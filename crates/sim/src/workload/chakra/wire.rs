//! Protocol Buffers' encoding, as far as traces need it: fields by number, each a number or a run of bytes
//! ("Encoding", protobuf.dev).

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value<'a> {
    /// Of any integer but `sint`s and `fixed`s.
    Varint(u64),
    /// Of four or eight bytes.
    Fixed(u64),
    /// A text, a message, or numbers packed together.
    Bytes(&'a [u8]),
}

/// What ends before it should, or is none: what, and how many bytes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Broken {
    pub(super) at: usize,
    pub(super) what: &'static str,
}

/// Bytes that are read from the front.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    fn broken<T>(&self, what: &'static str) -> Result<T, Broken> {
        Err(Broken { at: self.at, what })
    }

    /// Seven bits a byte, the lowest first.
    pub(super) fn varint(&mut self) -> Result<u64, Broken> {
        let start = *self;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.bytes.get(self.at) else {
                return start.broken("a number that the file's end cuts off");
            };
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        start.broken("a number of more than 64 bits")
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], Broken> {
        let left = &self.bytes[self.at.min(self.bytes.len())..];
        match usize::try_from(count).ok().and_then(|count| left.get(..count)) {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => self.broken("a length beyond the end"),
        }
    }

    /// A run of bytes behind its length.
    pub(super) fn delimited(&mut self) -> Result<&'a [u8], Broken> {
        let count = self.varint()?;
        self.take(count)
    }

    /// The next field: its number and what it holds.
    pub(super) fn field(&mut self) -> Result<(u64, Value<'a>), Broken> {
        let start = *self;
        let key = self.varint()?;
        let little =
            |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed(little(self.take(8)?)),
            2 => Value::Bytes(self.delimited()?),
            5 => Value::Fixed(little(self.take(4)?)),
            _ => return start.broken("a field of no known kind"),
        };
        match key >> 3 {
            0 => start.broken("a field without a number"),
            number => Ok((number, value)),
        }
    }
}

/// A field that may stand several times, one number each or all of them packed together.
pub(super) fn numbers(value: Value<'_>, to: &mut Vec<u64>) -> Result<(), Broken> {
    match value {
        Value::Varint(one) => to.push(one),
        Value::Bytes(packed) => {
            let mut cursor = Cursor::new(packed);
            while !cursor.is_empty() {
                to.push(cursor.varint()?);
            }
        }
        Value::Fixed(_) => return Err(Broken { at: 0, what: "a dependency that is no varint" }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a number is read other than the encoding's own example (150 is 96 01), or beyond 64 bits.
    #[test]
    fn varints() {
        assert_eq!(Cursor::new(&[0x96, 0x01]).varint(), Ok(150));
        assert_eq!(Cursor::new(&[0xff; 9]).varint().map_err(|broken| broken.at), Err(0));
        let all: Vec<u8> = [0xff; 9].into_iter().chain([1]).collect();
        assert_eq!(Cursor::new(&all).varint(), Ok(u64::MAX));
        assert_eq!(
            Cursor::new(&[0xff; 11]).varint().map_err(|broken| broken.what),
            Err("a number of more than 64 bits")
        );
    }

    /// Breaks if a field is read as another, or one that is cut off is read at all.
    #[test]
    fn fields() {
        assert_eq!(Cursor::new(&[0x08, 0x96, 0x01]).field(), Ok((1, Value::Varint(150))));
        assert_eq!(Cursor::new(&[0x12, 2, b'a', b'b']).field(), Ok((2, Value::Bytes(b"ab"))));
        assert_eq!(Cursor::new(&[0x1d, 1, 0, 0, 0]).field(), Ok((3, Value::Fixed(1))));
        assert!(Cursor::new(&[0x12, 3, b'a']).field().is_err());
        assert!(Cursor::new(&[0x0b]).field().is_err());
        assert!(Cursor::new(&[0x00, 1]).field().is_err());
    }
}
