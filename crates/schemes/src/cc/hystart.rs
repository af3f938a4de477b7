//! HyStart and HyStart++: slow start that ends before it loses packets.

use super::AckSample;
use leafspine_core::{Span, Time};

/// How slow start ends without a loss or a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowStart {
    /// It does not (RFC 5681).
    #[default]
    Standard,
    /// When round trips grow longer, or a train of ACKs is as long as half the shortest round trip
    /// (Ha and Rhee, 2011).
    HyStart,
    /// When round trips grow longer, by way of a slower growth (RFC 9406).
    HyStartPlusPlus,
}

/// Samples of a round that its delay is judged by: `N_RTT_SAMPLE` (RFC 9406 §4.3), and the same
/// number in HyStart.
const SAMPLES: u32 = 8;
/// `MIN_RTT_THRESH`, and HyStart's lower bound of the threshold.
const LEAST: Span = Span::from_millis(4);
/// `MAX_RTT_THRESH`, and HyStart's upper bound.
const MOST: Span = Span::from_millis(16);
/// HyStart looks at windows of so many segments or more.
const LOW_WINDOW: u32 = 16;
/// HyStart: ACKs no further apart belong to one train.
const TRAIN_GAP: Span = Span::from_millis(2);
/// Where segments leave in trains, ACKs of four of the longest may come apart, as far as they do so within this
/// time (Linux: `hystart_ack_delay`).
const TRAINS: (u64, Span) = (4 * 65_215, Span::from_millis(1));
/// `CSS_GROWTH_DIVISOR`.
const CSS_GROWTH_DIVISOR: u32 = 4;
/// `CSS_ROUNDS`.
const CSS_ROUNDS: u32 = 5;

/// What slow start is to do with an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Growth {
    /// Grow as it does.
    Full,
    /// Grow by so small a part.
    Divided(u32),
    /// End: the threshold is the window.
    End,
}

/// A flow's first slow start. Later ones, after timeouts, have a threshold to stop at (RFC 9406
/// §4.3: only the initial slow start). Linux looks at those as well.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    plus: bool,
    /// Segments leave in trains.
    gso: bool,
    /// Segments below this belong to the round.
    round_end: u32,
    round_start: Time,
    /// `rttSampleCount`.
    samples: u32,
    /// `currentRoundMinRTT`; [`Span::MAX`] is infinity.
    round_rtt: Span,
    /// `lastRoundMinRTT`, or in HyStart the shortest of all.
    before: Span,
    /// `cssBaselineMinRtt`.
    baseline: Span,
    /// Rounds in conservative slow start; 0: not in it.
    conservative: u32,
    last_ack: Time,
}

impl HyStart {
    /// What watches a flow's slow start, if anything does.
    pub(super) fn new(kind: SlowStart, gso: bool) -> Option<HyStart> {
        let plus = match kind {
            SlowStart::Standard => return None,
            SlowStart::HyStart => false,
            SlowStart::HyStartPlusPlus => true,
        };
        Some(HyStart {
            plus,
            gso,
            round_end: 0,
            round_start: Time::ZERO,
            samples: 0,
            round_rtt: Span::MAX,
            before: Span::MAX,
            baseline: Span::MAX,
            conservative: 0,
            last_ack: Time::ZERO,
        })
    }

    /// An ACK of new data has come in slow start; `window` is in segments and in bytes.
    pub(super) fn on_ack(&mut self, ack: &AckSample, window: (u32, u32), now: Time) -> Growth {
        if self.plus { self.plus_plus(ack, now) } else { self.classic(ack, window, now) }
    }

    pub(super) fn is_plus(&self) -> bool {
        self.plus
    }

    /// The same before its first ACK, for a slow start after a timeout (Linux:
    /// `bictcp_hystart_reset`); `None` for HyStart++.
    pub(super) fn anew(&self) -> Option<HyStart> {
        if self.plus { None } else { HyStart::new(SlowStart::HyStart, self.gso) }
    }

    /// Segments are counted from 0 again: the round ends with the next ACK.
    pub(super) fn recount(&mut self) {
        self.round_end = 0;
    }

    fn new_round(&mut self, ack: &AckSample, now: Time) {
        self.round_end = ack.nxt;
        self.round_start = now;
        self.last_ack = now;
        self.samples = 0;
        self.round_rtt = Span::MAX;
    }

    /// The shortest of the round's first samples.
    fn sample(&mut self, rtt: Span) {
        self.round_rtt = self.round_rtt.min(rtt);
        self.samples += 1;
    }

    /// RFC 9406 §4.2: `RttThresh = max(MIN, min(lastRoundMinRTT / 8, MAX))`.
    fn threshold(base: Span) -> Span {
        Span(base.0 / 8).clamp(LEAST, MOST)
    }

    /// RFC 9406 §4.2.
    fn plus_plus(&mut self, ack: &AckSample, now: Time) -> Growth {
        if ack.una > self.round_end {
            self.before = self.round_rtt;
            if self.conservative > 0 {
                self.conservative += 1;
                if self.conservative > CSS_ROUNDS {
                    return Growth::End;
                }
            }
            self.new_round(ack, now);
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        if self.conservative > 0 {
            // The delay is gone: it was no queue of ours, and slow start goes on.
            if self.samples >= SAMPLES && self.round_rtt < self.baseline {
                self.baseline = Span::MAX;
                self.conservative = 0;
                return Growth::Full;
            }
            return Growth::Divided(CSS_GROWTH_DIVISOR);
        }
        let known = self.round_rtt != Span::MAX && self.before != Span::MAX;
        if self.samples >= SAMPLES
            && known
            && self.round_rtt >= self.before + HyStart::threshold(self.before)
        {
            self.baseline = self.round_rtt;
            self.conservative = 1;
            return Growth::Divided(CSS_GROWTH_DIVISOR);
        }
        Growth::Full
    }

    /// What trains add to a train of ACKs: how long four of the longest take at twice the window a round
    /// trip, the rate of slow start.
    fn slack(&self, window: u32, srtt: Span) -> Span {
        let (bytes, most) = TRAINS;
        if !self.gso {
            return Span::ZERO;
        }
        Span((bytes.saturating_mul(srtt.0) / (2 * u64::from(window.max(1)))).min(most.0))
    }

    /// Ha and Rhee: the delay of the first samples of a round against the shortest round trip, and
    /// the length of a train of ACKs against half of it.
    fn classic(&mut self, ack: &AckSample, (segments, bytes): (u32, u32), now: Time) -> Growth {
        let Some(rtt) = ack.rtt else { return Growth::Full };
        self.before = self.before.min(rtt);
        if ack.una > self.round_end {
            self.new_round(ack, now);
        }
        if segments < LOW_WINDOW {
            return Growth::Full;
        }
        if now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = now;
            let shortest = self.before + self.slack(bytes, ack.srtt);
            if now.since(self.round_start).0 > shortest.0 / 2 {
                return Growth::End;
            }
        }
        if self.samples < SAMPLES {
            self.sample(rtt);
        } else if self.round_rtt > self.before + HyStart::threshold(self.before) {
            return Growth::End;
        }
        Growth::Full
    }
}
