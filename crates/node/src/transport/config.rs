//! What all flows of a run share.

use super::extra::Extra;
use super::send_buffer::LONGEST;
use crate::spec::{Stack, TransportSpec};
use leafspine_core::{Ecn, Span, Time};
use leafspine_schemes::cc::{CongestionControl, Control, FlowEnv};

/// The largest window that a TCP header can advertise: 65,535 scaled by 2^14 (RFC 7323 §2.3).
const LARGEST_WINDOW: u64 = 65_535 << 14;

/// TCP's constants: one per run, shared by all flows. Windows in bytes of payload.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// Payload of a full segment.
    pub mss: u32,
    /// Header bytes of every packet.
    pub header: u32,
    /// Upper bound of the window.
    pub max_cwnd: u32,
    /// Duplicate ACKs that mean a loss.
    pub dupack_threshold: u32,
    /// Selective acknowledgments.
    pub sack: bool,
    /// Limited transmit.
    pub limited_transmit: bool,
    /// Three-way handshake.
    pub handshake: bool,
    /// The handshake's third ACK is a packet of its own.
    pub handshake_ack: bool,
    /// Source ports that the flows of a pair of hosts use in turn; `None`: one a flow.
    pub source_ports: Option<u16>,
    /// Whether data packets are ECN-capable.
    pub ecn: bool,
    /// Whether receivers echo marks precisely (RFC 8257 §3.2).
    pub precise_echo: bool,
    /// How long an ACK may wait for a second segment.
    pub delayed_ack: Option<Span>,
    /// Lower bound of the retransmission timeout.
    pub min_rto: Span,
    /// Upper bound of the retransmission timeout, backed off.
    pub max_rto: Span,
    /// Timeout before there is a round-trip sample.
    pub initial_rto: Span,
    /// The window that a flow begins with.
    pub init_cwnd: u32,
    /// What is done beyond RFC 5681 and 6675.
    pub stack: Stack,
    /// Whether the sender keeps an [`Extra`](super::extra::Extra) for that.
    pub(super) extra: bool,
    /// Whether packets are paced, by the window or by the control's rate.
    pub(super) paced: bool,
    /// Whether the control goes by delivery rates, and paces.
    pub(super) by_rate: bool,
    /// What flows' random streams come from.
    pub seed: u64,
    /// The control that every flow starts from.
    pub control: Control,
}

impl TcpConfig {
    /// What a sender takes beyond itself: with some switches, a block with what it knows of the window's
    /// segments.
    #[must_use]
    pub fn extra_bytes(stack: &Stack) -> u64 {
        if stack.keeps_more() { (size_of::<Extra>() + 3 * 64 * size_of::<u64>()) as u64 } else { 0 }
    }

    /// Whether what a fast recovery counts outlives it: without SACK alone.
    #[inline]
    pub(super) fn lingers(&self) -> bool {
        self.stack.lingering_recovery && !self.sack
    }

    /// The ECN field of what is no data, on a connection that has ECN or not: not capable (RFC 3168
    /// §6.1.1, §6.1.4) but under DCTCP with `ecn_all`.
    #[inline]
    pub(super) fn other_ecn(&self, has: bool) -> Ecn {
        if self.stack.ecn_all && self.precise_echo && self.ecn && has {
            Ecn::Capable
        } else {
            Ecn::NotCapable
        }
    }

    /// What a congestion control is made from.
    #[must_use]
    pub fn flow_env(spec: &TransportSpec) -> FlowEnv {
        FlowEnv {
            mss: spec.mss,
            init_cwnd: window(spec.init_cwnd.in_bytes(spec.mss), spec.mss),
            slow_start: spec.stack.slow_start,
            gso: spec.stack.gso,
            whole: spec.stack.whole_windows,
            quantum: if spec.stack.gso {
                LONGEST as u32
            } else {
                spec.stack.pacing_quantum.max(1).saturating_mul(spec.mss)
            },
        }
    }

    /// The constants that `spec` describes. `control` is made from [`TcpConfig::flow_env`];
    /// `ecn` is whether the control's data is ECN-capable when the scenario does not say.
    #[must_use]
    ///
    /// # Panics
    /// If the control goes by delivery rates and the spec has no RACK: losses of single segments are RACK's.
    pub fn new(spec: &TransportSpec, mut control: Control, ecn: bool) -> TcpConfig {
        let by_rate = control.by_rate().is_some();
        assert!(!by_rate || (spec.stack.rack && spec.sack), "rates need RACK");
        let max = spec.max_cwnd.map_or(LARGEST_WINDOW, |amount| amount.in_bytes(spec.mss));
        TcpConfig {
            mss: spec.mss,
            header: spec.header,
            max_cwnd: window(max, spec.mss),
            dupack_threshold: spec.dupack_threshold.max(1),
            sack: spec.sack,
            limited_transmit: spec.limited_transmit,
            handshake: spec.handshake,
            handshake_ack: spec.handshake_ack,
            source_ports: spec.source_ports,
            ecn: spec.ecn.unwrap_or(ecn),
            precise_echo: control.needs().precise_echo,
            delayed_ack: spec.delayed_ack,
            min_rto: spec.min_rto,
            max_rto: spec.max_rto.max(spec.min_rto),
            initial_rto: spec.initial_rto.unwrap_or(spec.min_rto),
            init_cwnd: TcpConfig::flow_env(spec).init_cwnd,
            stack: spec.stack,
            extra: spec.stack.keeps_more(),
            paced: spec.stack.pacing || by_rate,
            by_rate,
            seed: 0,
            control,
        }
    }
}

/// A window of `bytes`, at least one segment and at most what a header can advertise.
fn window(bytes: u64, mss: u32) -> u32 {
    u32::try_from(bytes.min(LARGEST_WINDOW)).unwrap_or(u32::MAX).max(mss)
}

const STAMP_SHIFT: u32 = 16;
/// The longest round trip of an empty fabric: 140 s, less than half of what timestamps hold.
pub const LONGEST_ROUND_TRIP: Span = Span::from_millis(140_000);
const _: () = assert!(LONGEST_ROUND_TRIP.0 < 1 << (31 + STAMP_SHIFT));

/// What a stamp counts in.
pub(super) const STAMP_UNIT: Span = Span(1 << STAMP_SHIFT);

/// The timestamp clock: units of 65,536 ps, wrapping after 281 s. Stamps are compared over half of
/// that, which is longer than the longest timeout (60 s by default).
#[inline]
pub(crate) fn stamp(now: Time) -> u32 {
    (now.0 >> STAMP_SHIFT) as u32
}

/// When `echo` was stamped, or a unit of the clock later at most: what leaves with a timer leaves
/// as a tick begins, and is of that tick.
pub(super) fn stamped(now: Time, echo: u32) -> Time {
    let begun = now.0 >> STAMP_SHIFT << STAMP_SHIFT;
    Time((begun.saturating_sub(since_stamp(now, echo).0) + STAMP_UNIT.0 - 1).min(now.0))
}

/// The time since `echo` was stamped.
#[inline]
pub(crate) fn since_stamp(now: Time, echo: u32) -> Span {
    Span(u64::from(stamp(now).wrapping_sub(echo)) << STAMP_SHIFT)
}
