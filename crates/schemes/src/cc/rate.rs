//! Congestion controls that go by delivery rates and pace: what they are told besides, and what of it
//! they remember.

use leafspine_core::{Rng, Span, Time};

/// What an ACK tells of the path (draft-ietf-ccwg-bbr §4.1.2.1.3, RS;
/// draft-cheng-iccrg-delivery-rate-estimation-00 §3.1.3). Bytes of payload.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct RateSample {
    /// All that the flow has delivered (`C.delivered`), this ACK's included.
    pub total: u64,
    /// Segments that were ever marked lost.
    pub total_lost: u64,
    /// When something was last delivered, or sent while nothing was outstanding
    /// (`C.delivered_time`).
    pub delivered_at: Time,
    /// What this ACK delivers, by its number and by SACKs (`RS.newly_acked`). Where it is 0, so is all
    /// that a sample takes from the newest segment delivered.
    pub newly_acked: u32,
    /// Of which under a mark.
    pub newly_marked: u32,
    /// `total` when the newest segment that this ACK delivers was sent (`RS.prior_delivered`).
    pub prior: u64,
    /// What has been delivered since then (`RS.delivered`).
    pub delivered: u64,
    /// Of which under a mark.
    pub marked: u64,
    /// In what time that was (`RS.interval`); `None` if the ACK tells nothing reliable.
    pub interval: Option<Span>,
    /// Bytes a second (`RS.delivery_rate`); 0 without an interval.
    pub rate: f64,
    /// Whether the flow ran out of data while the segment was under way (`RS.is_app_limited`).
    pub app_limited: bool,
    /// How long the newest segment took, if it is known which transmission arrived (`RS.rtt`).
    pub rtt: Option<Span>,
    /// Whether the receiver may have waited with the ACK: it is of one short segment that was alone
    /// in flight.
    pub ack_delayed: bool,
    /// The smoothed round trip (RFC 6298); zero before the first.
    pub srtt: Span,
    /// When pacing lets the next segment go.
    pub next_at: Time,
    /// In flight when the segment was sent, itself included (`RS.tx_in_flight`).
    pub tx_in_flight: u32,
    /// What was marked lost since it was sent (`RS.lost`).
    pub lost: u64,
    /// What was marked lost with this ACK (`RS.newly_lost`).
    pub newly_lost: u32,
    /// In flight before this ACK.
    pub prior_in_flight: u32,
    /// In flight now (`C.inflight`).
    pub in_flight: u32,
    /// Whether the window held the sender back in this round trip (`C.is_cwnd_limited`).
    pub cwnd_limited: bool,
}

/// A segment that counts as lost from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// Its number in the flow.
    pub number: u32,
    /// Its payload.
    pub size: u32,
    /// In flight when it was sent, itself included (`P.tx_in_flight`).
    pub tx_in_flight: u32,
    /// What was marked lost since it was sent, itself included (`C.lost - P.lost`).
    pub lost: u64,
    /// Whether the flow had run out of data when it was sent (`P.is_app_limited`).
    pub app_limited: bool,
    /// All that the flow has delivered (`C.delivered`).
    pub total: u64,
}

/// What the transport repairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Repair {
    /// Nothing.
    #[default]
    Nothing,
    /// Losses that ACKs tell of: fast recovery.
    Fast,
    /// All that a timeout gave up.
    Timeout,
}

/// A control that is told of delivery rates, and paces.
pub trait RateControl {
    /// The flow may send data from now on. `srtt` is the handshake's round trip, zero without one;
    /// `random` a stream of the flow's own.
    fn begin(&mut self, srtt: Span, random: Rng, now: Time);
    /// An ACK has come, and the transport has drawn its conclusions. `true`: what is sent from now on counts as
    /// limited by the application, for its rate is the control's own doing (`MarkConnectionAppLimited`).
    fn on_rate(&mut self, sample: &RateSample, now: Time) -> bool;
    /// A segment counts as lost. Before [`RateControl::on_repair`], and before the ACK's
    /// [`RateControl::on_rate`].
    fn on_lost(&mut self, segment: &LostSegment, now: Time);
    /// A recovery begins, or a timeout overtakes one. `in_flight` is what still is, without what was
    /// given up; `newly_acked` what the ACK at hand delivers.
    fn on_repair(&mut self, repair: Repair, in_flight: u32, newly_acked: u32, now: Time);
    /// All that was outstanding when it began has been acknowledged.
    fn on_repaired(&mut self, now: Time);
    /// A tail loss probe has made good a loss that nothing else told of; `total` is `C.delivered`.
    fn on_tail_loss(&mut self, total: u64, now: Time);
    /// The recovery under way, or the last one, answered no loss.
    fn on_spurious(&mut self, now: Time);
    /// Data is sent when nothing is in flight, after the application had run dry.
    fn on_restart(&mut self, now: Time);
    /// Bytes of payload a second at which segments may leave.
    fn pacing_rate(&self) -> f64;
    /// Bytes that may leave in one burst (`C.send_quantum`).
    fn quantum(&self) -> u32;
}

/// The largest of the values of the last rounds, `N` at most, the present one among them.
#[derive(Clone, Debug)]
pub(super) struct WindowedMax<const N: usize> {
    rounds: [(u64, f64); N],
}

impl<const N: usize> WindowedMax<N> {
    pub(super) fn new() -> WindowedMax<N> {
        WindowedMax { rounds: [(0, 0.0); N] }
    }

    /// A value of `round`, which is no earlier than any before.
    pub(super) fn add(&mut self, round: u64, value: f64) {
        let slot = &mut self.rounds[(round % N as u64) as usize];
        *slot = if slot.0 == round { (round, slot.1.max(value)) } else { (round, value) };
    }

    /// The largest of the last `window` rounds up to `round`.
    pub(super) fn largest(&self, round: u64, window: u64) -> f64 {
        let recent = self.rounds.iter().filter(|(of, _)| of + window > round);
        recent.fold(0.0, |most, (_, value)| value.max(most))
    }
}

/// How much may leave in one burst: what the rate sends in a millisecond, at least two segments, within
/// what the hosts' offloading takes at once (`SetSendQuantum`).
pub(super) fn quantum(rate: f64, mss: u32, most: u32) -> u32 {
    ((rate * 1e-3) as u32).max(2 * mss).min(most)
}
