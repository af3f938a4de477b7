//! Proportional rate reduction: how much may be sent with each ACK of a recovery.

use crate::spec::Reduction;

/// The state of RFC 6937 §3 and RFC 9937 §6. All in bytes of full segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Prr {
    /// Whether it governs the recovery under way.
    pub(super) active: bool,
    /// `prr_delivered`.
    delivered: u64,
    /// `prr_out`.
    out: u64,
    /// `RecoverFS`.
    flight: u64,
    /// `sndcnt`: what may still be sent until the next ACK.
    allowance: i64,
    /// A share is rounded up to a multiple of so many bytes: one, as the RFCs have it, or a segment.
    unit: u64,
    /// The window that the last ACK has left, which Linux has for its `snd_cwnd`; before the first
    /// the one that is reduced.
    window: u32,
}

/// What an ACK in recovery tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// `DeliveredData`: newly acknowledged, cumulatively or selectively.
    pub(super) delivered: u32,
    /// `inflight`, in RFC 6937 `pipe`.
    pub(super) pipe: u32,
    pub(super) ssthresh: u32,
    /// Whether the ACK acknowledges new data and shows no further loss (`safeACK`).
    pub(super) safe: bool,
}

impl Prr {
    /// A recovery begins with so much outstanding. RFC 9937 leaves out what had been SACKed before
    /// (`delivered_before`), since it will not be delivered in this recovery.
    pub(super) fn begin(kind: Reduction, outstanding: u32, delivered_before: u32) -> Prr {
        let before = if kind == Reduction::Prr9937 { delivered_before } else { 0 };
        Prr {
            active: kind != Reduction::AtOnce,
            flight: u64::from(outstanding.saturating_sub(before)).max(1),
            unit: 1,
            window: outstanding,
            ..Prr::default()
        }
    }

    /// As Linux begins one (`tcp_init_cwnd_reduction`): it counts from the window, and shares are
    /// of whole segments of `mss` bytes.
    pub(super) fn begin_window(kind: Reduction, window: u32, mss: u32) -> Prr {
        Prr { unit: u64::from(mss), ..Prr::begin(kind, window, 0) }
    }

    /// An ACK has come in recovery, the one that began it included.
    pub(super) fn on_ack(&mut self, kind: Reduction, mss: u32, p: &Progress) {
        if kind == Reduction::Prr9937 && p.delivered == 0 {
            return;
        }
        self.delivered += u64::from(p.delivered);
        let mut count = if p.pipe > p.ssthresh {
            let share = (self.delivered * u64::from(p.ssthresh)).div_ceil(self.flight);
            let share = share.next_multiple_of(self.unit);
            share as i64 - self.out as i64
        } else {
            let owed = (self.delivered as i64 - self.out as i64).max(i64::from(p.delivered));
            let grows = kind == Reduction::Prr6937 || p.safe;
            let limit = owed + if grows { i64::from(mss) } else { 0 };
            limit.min(i64::from(p.ssthresh - p.pipe))
        };
        if self.out == 0 {
            // RFC 9937 §6: the first retransmission is sent whatever the sum; so has RFC 6675 it.
            count = count.max(i64::from(mss));
        }
        self.allowance = count.max(0);
        self.window = p.pipe + self.allowance();
    }

    /// What may still be sent until the next ACK.
    pub(super) fn allowance(&self) -> u32 {
        u32::try_from(self.allowance).unwrap_or(0)
    }

    /// See [`Prr::window`].
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// The window stays, with `flight` bytes in the network.
    pub(super) fn keep_window(&mut self, flight: u32) {
        self.allowance = i64::from(self.window.saturating_sub(flight));
    }

    /// A segment has been sent.
    pub(super) fn sent(&mut self, mss: u32) {
        self.out += u64::from(mss);
        self.allowance -= i64::from(mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn ack(delivered: u32, pipe: u32, safe: bool) -> Progress {
        Progress { delivered: delivered * MSS, pipe: pipe * MSS, ssthresh: 10 * MSS, safe }
    }

    /// Segments that each ACK lets go, all of which are sent.
    fn sent(prr: &mut Prr, kind: Reduction, acks: &[Progress]) -> Vec<u32> {
        let count = |p| {
            prr.on_ack(kind, MSS, p);
            let mut count = 0;
            while prr.allowance() >= MSS {
                prr.sent(MSS);
                count += 1;
            }
            count
        };
        acks.iter().map(count).collect()
    }

    /// Breaks if the window does not shrink in proportion to what arrives.
    ///
    /// 20 segments outstanding, the new window is 10. `CEIL(prr_delivered x 10 / 20) - prr_out`: the
    /// first ACK sends the retransmission in any case; then 1 - 1, 1.5 - 1, 2 - 1, 2.5 - 2, 3 - 2.
    #[test]
    fn one_segment_for_two_that_arrive() {
        let mut prr = Prr::begin(Reduction::Prr6937, 20 * MSS, 2 * MSS);
        let acks = [ack(1, 16, false); 6];
        assert_eq!(sent(&mut prr, Reduction::Prr6937, &acks), [1, 0, 0, 1, 0, 1]);
    }

    /// Breaks if a share counted in segments is not rounded up to one.
    ///
    /// 10 segments outstanding, the new window is 5: after n that have arrived `CEIL(n / 2)` may
    /// have been sent, so one with the first, third and fifth. In bytes n x 500 is enough for the
    /// second segment with the fourth, and for the third with the sixth.
    #[test]
    fn shares_of_whole_segments() {
        let acks = [Progress { ssthresh: 5 * MSS, ..ack(1, 9, false) }; 6];
        let bytes = Prr::begin(Reduction::Prr9937, 10 * MSS, 0);
        assert_eq!(sent(&mut bytes.clone(), Reduction::Prr9937, &acks), [1, 0, 0, 1, 0, 1]);
        let mut segments = Prr::begin_window(Reduction::Prr9937, 10 * MSS, MSS);
        assert_eq!(sent(&mut segments, Reduction::Prr9937, &acks), [1, 0, 1, 0, 1, 0]);
    }

    /// Breaks if RFC 9937 counts in `RecoverFS` what had been SACKed before: of 20, two. Then
    /// `CEIL(prr_delivered x 10 / 18)`: 0.556 (sent: 1), 1.112 - 1, 1.667 - 1, 2.223 - 1, 2.778 - 2,
    /// 3.334 - 2.
    #[test]
    fn what_was_sacked_before_is_no_part_of_the_flight() {
        let mut prr = Prr::begin(Reduction::Prr9937, 20 * MSS, 2 * MSS);
        let acks = [ack(1, 16, false); 6];
        assert_eq!(sent(&mut prr, Reduction::Prr9937, &acks), [1, 0, 0, 1, 0, 1]);
        let mut bytes = Prr::begin(Reduction::Prr9937, 20 * MSS, 2 * MSS);
        bytes.on_ack(Reduction::Prr9937, MSS, &ack(4, 16, false));
        assert_eq!(bytes.allowance, 2_223);
    }

    /// Breaks if, below the new window, the flight does not grow back by one segment an ACK (slow
    /// start reduction bound), or if RFC 9937 lets it grow by an ACK that tells of more losses.
    ///
    /// The pipe is at 6 of 10. Each ACK delivers one: RFC 6937 sends 1 + 1, and with the pipe at 9 one
    /// only. RFC 9937 the same if the ACK is safe, else 1.
    #[test]
    fn below_the_threshold_the_flight_grows_back() {
        let grown = [ack(1, 6, true), ack(1, 7, true), ack(1, 9, true)];
        for kind in [Reduction::Prr6937, Reduction::Prr9937] {
            let mut prr = Prr::begin(kind, 20 * MSS, 0);
            assert_eq!(sent(&mut prr, kind, &grown), [2, 2, 1], "{kind:?}");
        }
        let unsafe_acks = [ack(1, 6, false), ack(1, 6, false)];
        let mut bound = Prr::begin(Reduction::Prr9937, 20 * MSS, 0);
        assert_eq!(sent(&mut bound, Reduction::Prr9937, &unsafe_acks), [1, 1]);
    }
}
