//! What QALL, QDAPS and TAM are on a P4 switch (`arithmetic = "p4"`, `hardware/p4/`).
//!
//! The target is P4_16 with v1model: whole numbers only, no division, a clock of whole microseconds, CRCs
//! for hashes, 32 random bits a packet, queue occupancies as the ingress pipeline can know them, and every
//! register read and written at one place of the program. A scheme with `arithmetic = "p4"` decides under
//! the same restrictions as its program, by the same `operations`; with `"exact"` by what its paper says.

mod control;
mod hash;
mod operations;
#[cfg(test)]
mod tests;
mod text;
pub(crate) mod uplinks;

pub use control::{ControlPlane, Register, TableEntry};
pub(crate) use hash::crc32;
pub(crate) use operations::*;
pub use operations::{OPERATIONS, Operation};
pub use text::arithmetic;

use crate::{Param, ParamError, words};
use leafspine_core::{Rate, Rng, Span, Time};

words! {
    /// What computes a scheme's decisions.
    pub(crate) enum Arithmetic {
        Exact = "exact",
        P4 = "p4",
    }
}

/// The parameter of the three schemes. Quiet: what was resolved before there was one stays as it is.
pub(crate) const ARITHMETIC: Param = Param::new(
    Arithmetic::KIND,
    "exact",
    "Whether decisions are the paper's, or those of the P4 program in hardware/p4: whole microseconds, no \
     division, CRCs for hashes, one random number of 32 bits a packet (docs/hardware.md).",
)
.quiet();

/// Picoseconds of the switch's clock.
const TICK: u64 = 1_000_000;

/// What the switch's clock says: whole microseconds.
#[inline]
pub(crate) fn clock(time: Time) -> Word {
    Word(time.0 / TICK)
}

/// The time at which the clock began to say what it says at `time`.
#[inline]
pub(crate) fn ticked(time: Time) -> Time {
    Time(time.0 - time.0 % TICK)
}

/// A span in whole microseconds for the control plane to write down: rounded up, at least 1.
pub(crate) fn ticks(span: Span) -> u64 {
    span.0.div_ceil(TICK).max(1)
}

/// A span that the switch compares with, in whole microseconds.
pub(crate) fn in_ticks(span: Span) -> Span {
    Span(ticks(span).saturating_mul(TICK))
}

/// The entries of a flow table.
///
/// # Errors
/// If the program's register has fewer words.
pub(crate) fn table(entries: usize) -> Result<usize, ParamError> {
    const WORDS: usize = 1 << 16;
    if entries > WORDS {
        let allowed = format!(
            "at most {WORDS} with arithmetic = \"p4\": the program's register has so many words"
        );
        return Err(ParamError::new("entries", entries, allowed));
    }
    Ok(entries)
}

/// The random number of one packet.
#[inline]
pub(crate) fn random(rng: &mut Rng) -> Word {
    Word(rng.next_u64() >> 32)
}

/// `per_byte` of [`line_time`]: 8 x 10^6 / rate us a byte, with 10 + 20 fraction bits, rounded down.
pub(crate) fn per_byte(rate: Rate) -> u64 {
    let micros = 8_000_000_u128 << 30;
    u64::try_from(micros / u128::from(rate.0.max(1))).unwrap_or(u64::MAX)
}

/// `per_unit` of [`percent`].
pub(crate) fn per_unit(buffer: u64) -> u64 {
    (100_u64 << 40).div_ceil(buffer.max(1))
}

/// A host's address on the wire: 10.0.x.y.
#[must_use]
pub fn address(host: u16) -> u64 {
    0x0a00_0000 | u64::from(host)
}

/// A span in 1/1024 us, rounded down.
#[must_use]
pub fn fine_span(span: Span) -> u64 {
    u64::try_from((u128::from(span.0) << 10) / u128::from(TICK)).unwrap_or(u64::MAX)
}
