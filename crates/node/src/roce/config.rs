//! What all queue pairs of a run share.

use super::{CreditSpec, PairControl};
use leafspine_core::Span;
use leafspine_schemes::rdma::Hop;

/// How lost packets come again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// All from the first lost one on.
    GoBackN,
    /// The lost ones (IRN).
    Selective {
        /// The timeout while fewer packets than `few` are under way (IRN §3.1, RTO_low).
        low: Span,
        /// See `low` (IRN §3.1, N).
        few: u32,
        /// A missing packet is lost once a packet has come that was sent so many after it: more
        /// than 1 allows for reordering.
        after: u32,
    },
    /// Those that a switch has trimmed, and after a timeout all that have not come.
    Each,
}

/// RoCE as a scenario has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoceSpec {
    /// Congestion control.
    pub control: PairControl,
    /// How lost packets come again.
    pub recovery: Recovery,
    /// Bytes that a queue pair may have under way, if that is bounded.
    pub window: Option<u64>,
    /// Whether receivers say who sends when.
    pub credits: Option<CreditSpec>,
    /// Every so many packets ask for an acknowledgment, and the last one.
    pub ack_every: u32,
    /// The timeout; it doubles with each that follows without progress.
    pub timeout: Span,
    /// But not beyond this.
    pub max_timeout: Span,
    /// Go-back-N: a NAK for each packet beyond a gap, not only for the first.
    pub nak_each: bool,
    /// Whether the network card takes a NAK, which reordering causes as loss does, for a sign of
    /// congestion: it cuts the rate as a CNP does.
    pub nak_cuts: bool,
    /// The class (DSCP) of data, and of what is sent back.
    pub classes: (u8, u8),
}

impl RoceSpec {
    /// As fast as the line, go-back-N after a timeout that does not grow, an acknowledgment a packet, all in class 0: what
    /// a program that has no scenario file begins with.
    #[must_use]
    pub fn line_rate(timeout: Span) -> RoceSpec {
        RoceSpec {
            control: PairControl::LineRate,
            recovery: Recovery::GoBackN,
            window: None,
            credits: None,
            ack_every: 1,
            timeout,
            max_timeout: timeout,
            nak_each: false,
            nak_cuts: false,
            classes: (0, 0),
        }
    }
}

/// Constants of all queue pairs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RoceConfig {
    /// What the scenario says.
    pub spec: RoceSpec,
    /// Payload of a full packet.
    pub mss: u32,
    /// Header bytes of data: IP, UDP, base transport header and its check, and the telemetry's, if there is one.
    pub header: u32,
    /// Packets under way at most.
    pub window: u32,
    /// Whether the congestion control bounds what is under way. Every packet asks for it several times.
    pub(super) has_window: bool,
}

/// What an acknowledgment has beyond the base header (AETH), and a CNP.
pub(crate) const ACK_BYTES: u32 = 4;
pub(crate) const CNP_BYTES: u32 = 16;

impl RoceConfig {
    /// The constants of `spec` for packets with so much payload and header.
    #[must_use]
    pub fn new(spec: RoceSpec, mss: u32, header: u32) -> RoceConfig {
        let packets =
            |bytes: u64| u32::try_from(bytes.div_ceil(u64::from(mss))).unwrap_or(u32::MAX);
        let window = spec.window.map_or(u32::MAX, packets).max(1);
        let telemetry = if spec.control.has_telemetry() { u32::from(Hop::BASE) } else { 0 };
        let (header, has_window) = (header + telemetry, spec.control.has_window());
        RoceConfig { spec, mss, header, window, has_window }
    }

    /// Packets of an idle queue pair's first window.
    pub(super) fn first(&self, credits: CreditSpec) -> u32 {
        u32::try_from(credits.first / u64::from(self.mss + self.header)).unwrap_or(u32::MAX).max(1)
    }

    /// The bytes of its line that a receiver counts for a packet that it asks for.
    pub(crate) fn bytes_of_a_credit(&self) -> u64 {
        let full = f64::from(self.mss + self.header);
        self.spec.credits.map_or(0, |credits| (full / credits.share) as u64)
    }
}
