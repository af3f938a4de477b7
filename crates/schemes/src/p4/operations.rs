//! The arithmetic of the P4 programs, written once: every operation below is a Rust function and the
//! text of a P4 function with the same expression.
//!
//! All operations work on words of 64 bits that wrap, as `bit<64>` does. None divides. Their errors are in
//! `tests.rs`, beside the ranges within which nothing wraps.

use std::ops::{Add, BitAnd, Mul, Shl, Shr, Sub};

/// P4's `bit<64>`: arithmetic modulo 2^64, also with whole numbers on the right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Word(pub(crate) u64);

macro_rules! wrapping {
    ($($trait:ident $method:ident $wrapping:ident),*) => {$(
        impl $trait for Word {
            type Output = Word;

            #[inline]
            fn $method(self, other: Word) -> Word {
                Word(self.0.$wrapping(other.0))
            }
        }

        impl $trait<u64> for Word {
            type Output = Word;

            #[inline]
            fn $method(self, other: u64) -> Word {
                Word(self.0.$wrapping(other))
            }
        }
    )*};
}

wrapping!(Add add wrapping_add, Sub sub wrapping_sub, Mul mul wrapping_mul);

impl Shr<u32> for Word {
    type Output = Word;

    #[inline]
    fn shr(self, by: u32) -> Word {
        Word(self.0 >> by)
    }
}

impl Shl<u32> for Word {
    type Output = Word;

    #[inline]
    fn shl(self, by: u32) -> Word {
        Word(self.0 << by)
    }
}

impl BitAnd<u64> for Word {
    type Output = Word;

    #[inline]
    fn bitand(self, mask: u64) -> Word {
        Word(self.0 & mask)
    }
}

impl PartialEq<u64> for Word {
    fn eq(&self, other: &u64) -> bool {
        self.0 == *other
    }
}

/// An operation as P4 has it.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Name of the function.
    pub name: &'static str,
    /// What it is, a line each.
    pub doc: &'static [&'static str],
    /// Its parameters, all `bit<64>`.
    pub parameters: &'static [&'static str],
    /// The expression that it returns.
    pub body: &'static str,
}

/// `a` or `b`, whichever is smaller. P4 writes it with `?:`, which Rust does not have.
#[inline]
pub(crate) fn smaller(a: Word, b: Word) -> Word {
    a.min(b)
}

/// `a - b`, at least 0: P4's `|-|`.
#[inline]
pub(crate) fn above(a: Word, b: Word) -> Word {
    Word(a.0.saturating_sub(b.0))
}

/// A number as a word: P4 needs no sign of it.
#[inline]
fn word(number: u64) -> Word {
    Word(number)
}

macro_rules! operations {
    ($($(#[doc = $doc:literal])* fn $name:ident($($parameter:ident),*) = $body:expr;)*) => {
        $(
            $(#[doc = $doc])*
            #[inline]
            #[allow(clippy::too_many_arguments, reason = "P4 has no arrays")]
            pub(crate) fn $name($($parameter: Word),*) -> Word {
                $body
            }
        )*

        /// All of them, in an order in which none is used before it is declared.
        pub const OPERATIONS: &[Operation] = &[$(Operation {
            name: stringify!($name),
            doc: &[$($doc),*],
            parameters: &[$(stringify!($parameter)),*],
            body: stringify!($body),
        }),*];
    };
}

operations! {
    /// QALL's L: what waits in whole percent of the buffer. `per_unit` is 100 x 2^40 over the buffer,
    /// rounded up: exact for buffers of at most 2^20 packets.
    fn percent(waiting, per_unit) = smaller((waiting * per_unit) >> 40, word(100));

    /// QALL's eq. 4: L (tau - T) V.
    fn derived_index(occupancy, interval, trend, tau) = occupancy * above(tau, interval) * trend;

    /// The product of two numbers with ten fraction bits.
    fn product(a, b) = (a * b) >> 10;

    /// QALL's T between 0 and 1, with ten fraction bits. `step` is 2^42 over the range, rounded up.
    fn normalised(interval, from, to, step)
        = smaller((above(smaller(interval, to), from) * step) >> 32, word(1024));

    /// QALL's eqs. 11 to 13. Negative coefficients are their complement: the sum wraps.
    fn fitted_index(l, t, c0, cl, ct, cll, clt, ctt, clll, cllt, cltt, cttt)
        = c0 * 1024 + cl * l + ct * t
        + cll * product(l, l) + clt * product(l, t) + ctt * product(t, t)
        + clll * product(product(l, l), l) + cllt * product(product(l, l), t)
        + cltt * product(l, product(t, t)) + cttt * product(product(t, t), t);

    /// A number below `total`, from a random number of 32 bits.
    fn draw(number, total) = number * (total >> 32) + ((number * (total & 0xffffffff)) >> 32);

    /// The place of a hash of 32 bits in a table of so many entries.
    fn place32(crc, entries) = (crc * entries) >> 32;

    /// The same of a hash of 16 bits.
    fn place16(crc, entries) = (crc * entries) >> 16;

    /// The time of so many bytes on a line, in 1/1024 us. `per_byte` has 20 fraction bits more.
    fn line_time(bytes, per_byte) = (bytes * per_byte) >> 20;

    /// Microseconds of the switch's clock in 1/1024 us.
    fn fine(micros) = micros << 10;
}
