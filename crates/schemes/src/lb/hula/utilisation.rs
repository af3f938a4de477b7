//! The utilisation of a port's link as its switch estimates it (HULA §3.2).
//!
//! `U = D + U (1 - dt / tau)` at every packet of D bytes, dt after the one before. A link sent at rate R
//! for long has U = R x tau. U has 16 fractional bits; dt / tau is a multiplication by a reciprocal.

use super::super::departures::Departures;
use leafspine_core::{Rate, Span, Time};

/// Fractional bits of U.
const POINT: u32 = 16;

/// tau, and its reciprocal.
#[derive(Clone, Copy)]
pub(super) struct Window {
    tau: Span,
    /// `2^64 / tau`, rounded down: dt times this is a fraction of `2^64`.
    reciprocal: u64,
}

impl Window {
    /// Of a tau above zero.
    pub(super) fn new(tau: Span) -> Window {
        Window { tau, reciprocal: u64::MAX / tau.0 }
    }

    /// `u (1 - passed / tau)`, at least 0.
    #[inline]
    fn fade(self, u: u64, passed: Span) -> u64 {
        if passed >= self.tau {
            return 0;
        }
        let lost = (u128::from(u) * u128::from(passed.0 * self.reciprocal)) >> 64;
        u - lost as u64
    }
}

/// The estimator of one port.
#[derive(Clone, Copy, Default)]
pub(super) struct Estimate {
    u: u64,
    last: Time,
}

impl Estimate {
    /// A packet's transmission begins.
    #[inline]
    fn sent(&mut self, bytes: u32, at: Time, window: Window) {
        // HULA §3.2: U = D + U (1 - dt / tau).
        let kept = window.fade(self.u, at.since(self.last));
        self.u = kept.saturating_add(u64::from(bytes) << POINT);
        self.last = at;
    }
}

/// An estimator and the packets that its port has announced but not sent yet.
#[derive(Default)]
pub(super) struct PortState {
    estimate: Estimate,
    departures: Departures,
}

impl PortState {
    /// Bytes that a switch keeps.
    pub(super) const BYTES: u32 = size_of::<Estimate>() as u32;

    /// A packet is queued, and its transmission begins at `at`.
    #[inline]
    pub(super) fn queued(&mut self, bytes: u32, at: Time, now: Time, window: Window) {
        // Only so that what is kept of the queue does not outgrow it.
        self.catch_up(now, window);
        self.departures.queued(at, bytes);
    }

    #[inline]
    fn catch_up(&mut self, now: Time, window: Window) {
        while let Some((at, bytes)) = self.departures.next_begun(now) {
            self.estimate.sent(bytes, at, window);
        }
    }

    /// The utilisation now, in 256ths of the rate, clamped to what eight bits hold.
    pub(super) fn utilisation(&mut self, now: Time, rate: Rate, window: Window) -> u8 {
        self.catch_up(now, window);
        let Estimate { u, last } = self.estimate;
        let u = u128::from(window.fade(u, now.since(last)));
        let full = u128::from(rate.0) * u128::from(window.tau.0) / 8_000_000_000_000;
        ((u << 8) / (full << POINT).max(1)).min(255) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Rate = Rate::from_gbps(10);

    fn at(us: u64) -> Time {
        Time(Span::from_micros(us).0)
    }

    /// tau = 400 us: twice the period of 200 us.
    fn paper() -> Window {
        Window::new(Span::from_micros(400))
    }

    fn bytes(estimate: Estimate) -> f64 {
        estimate.u as f64 / f64::from(1 << POINT)
    }

    /// Breaks if U is not D + U (1 - dt / tau). By hand, tau 400 us: 1000 at 0; 100 us later 3/4 of it
    /// and 600: 1350; 200 us later half of it and 40: 715; 400 us later nothing but 64.
    #[test]
    fn u_is_the_packet_and_what_is_left() {
        let mut estimate = Estimate::default();
        for (us, size, expected) in
            [(0, 1000, 1000.0), (100, 600, 1350.0), (300, 40, 715.0), (700, 64, 64.0)]
        {
            estimate.sent(size, at(us), paper());
            assert!((bytes(estimate) - expected).abs() < 0.01, "at {us} us: {}", bytes(estimate));
        }
    }

    /// Breaks if a link that is always busy is not full, or one busy half the time not half: 10 Gb/s,
    /// packets of 1500 bytes every 1.2 or 2.4 us. U stands at rate x tau plus at most a packet (1/333
    /// of it).
    #[test]
    fn a_busy_link_is_full_and_a_half_busy_one_half() {
        for (apart, expected) in [(1_200_000, 255), (2_400_000, 128), (12_000_000, 25)] {
            let mut port = PortState::default();
            for packet in 0..2_000 {
                let now = Time(packet * apart);
                port.queued(1500, now, now, paper());
            }
            let found = port.utilisation(Time(2_000 * apart), TEN, paper());
            assert!(found.abs_diff(expected) <= 1, "{found} of 256 for {expected}");
        }
    }

    /// Breaks if the estimate of a line that has fallen idle stays: half of tau later it is half, after
    /// tau nothing. 500,000 bytes fill 400 us at 10 Gb/s.
    #[test]
    fn an_idle_link_fades() {
        let mut port = PortState::default();
        for _ in 0..10 {
            port.queued(50_000, at(0), at(0), paper());
        }
        for (us, expected) in [(0, 255), (100, 192), (200, 128), (399, 0), (400, 0), (9_999, 0)] {
            assert_eq!(port.utilisation(at(us), TEN, paper()), expected, "at {us} us");
        }
        assert_eq!(paper().fade(u64::MAX, Span::from_micros(400)), 0, "no rest of the rounding");
    }

    /// Breaks if bytes that wait count as sent, or if the rate is not the link's.
    #[test]
    fn waiting_bytes_do_not_count() {
        let mut port = PortState::default();
        port.queued(50_000, at(0), at(0), paper());
        port.queued(50_000, at(50), at(0), paper());
        assert_eq!(port.utilisation(at(0), TEN, paper()), 25);
        assert_eq!(port.utilisation(at(49), TEN, paper()), 22);
        // 50,000 (1 - 1/8) + 50,000 of 500,000; of 50,000 at 1 Gb/s.
        assert_eq!(port.utilisation(at(50), TEN, paper()), 48);
        assert_eq!(port.utilisation(at(50), Rate::from_gbps(1), paper()), 255);
        // A line on which not a byte is sent in tau is full.
        assert_eq!(port.utilisation(at(50), Rate(1), paper()), 255);
    }
}
