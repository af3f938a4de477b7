//! Delivery rates: what each segment knew of the flow when it was sent, and the sample that its delivery gives
//! (draft-ietf-ccwg-bbr §4.1, draft-cheng-iccrg-delivery-rate-estimation §3).
//!
//! Also what a control that goes by rates is told of losses and recoveries.

use super::TcpConfig;
use super::sender::Sender;
use super::ticks::micros_between;
use super::train::in_a_millisecond;
use crate::spec::Timestamps;
use leafspine_core::{Flags, PacketMeta, Rng, Role, Span, Time};
use leafspine_schemes::cc::{CongestionControl, LostSegment, RateSample, Repair};

/// What a segment takes along (§4.1.2.1.2).
#[derive(Clone, Copy, Debug, Default)]
struct Shot {
    /// `P.delivered`, `P.lost`, and what had been delivered under marks.
    delivered: u64,
    lost: u64,
    marked: u64,
    delivered_at: Time,
    first_sent: Time,
    tx_in_flight: u32,
    app_limited: bool,
}

/// The newest segment that the ACK at hand delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    segment: u32,
    sent: Time,
    shot: Shot,
    /// Whether it is known which transmission of it arrived.
    unambiguous: bool,
}

/// A sender's rate sampler (§4.1.2.1.1).
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// The flow's number, which names its random stream.
    pub(super) number: u32,
    /// By segment, as wide as the window has been.
    shots: Box<[Shot]>,
    /// `C.delivered`, `C.lost`.
    delivered: u64,
    lost: u64,
    /// The same in segments, of which the last of a flow may be short.
    lost_segments: u64,
    marked: u64,
    /// `C.delivered_time`, `C.first_send_time`.
    delivered_at: Time,
    first_sent: Time,
    /// `C.app_limited`: until so much has been delivered; 0: not.
    app_limited: u64,
    /// `C.min_rtt`; `None` before the first.
    min_rtt: Option<Span>,
    /// As Linux has it (`whole_windows`): times are in microseconds, what a timeout has given up is
    /// outstanding, and what came twice is delivered.
    as_linux: bool,
    newest: Option<Newest>,
    /// The round trip that a kernel takes from the ACK at hand.
    timed: Option<Span>,
    /// The ACK at hand is of one short segment alone.
    runt: bool,
    newly_acked: u32,
    newly_marked: u32,
    newly_lost: u32,
    prior_in_flight: u32,
    /// Whether the window was used up in this round trip and in the one before, and when this one ends.
    full_now: bool,
    full_before: bool,
    full_until: u64,
    /// What is sent next was lost, and not in flight.
    pub(super) resending: bool,
}

/// Where the flow is, in bytes.
#[derive(Clone, Copy, Debug)]
struct Flight {
    in_flight: u32,
    /// Whether the window, and nothing lost or unsent, would let more go.
    dry: bool,
    full: bool,
}

impl Rate {
    /// Makes this another flow's, and keeps the heap memory.
    pub(super) fn reset(&mut self) {
        *self = Rate { shots: std::mem::take(&mut self.shots), ..Rate::default() };
    }

    /// Nothing is under way: what is delivered from now on takes from now on.
    fn begin_interval(&mut self, now: Time) {
        self.first_sent = now;
        self.delivered_at = now;
    }

    /// `OnPacketSent`. `before` is what was in flight without it.
    fn sent(&mut self, una: u32, segment: u32, before: u32, mss: u32, now: Time) {
        self.reserve(una, segment);
        if before == 0 && !self.as_linux {
            self.begin_interval(now);
        }
        let at = self.at(segment);
        self.shots[at] = Shot {
            delivered: self.delivered,
            lost: self.lost,
            marked: self.marked,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            tx_in_flight: before + mss,
            app_limited: self.is_app_limited(),
        };
    }

    fn at(&self, segment: u32) -> usize {
        segment as usize & (self.shots.len() - 1)
    }

    /// Widens the ring for `una..=segment`.
    fn reserve(&mut self, una: u32, segment: u32) {
        let needed = (segment - una + 1) as usize;
        if needed <= self.shots.len() {
            return;
        }
        let width = needed.next_power_of_two().max(64);
        let mut wider = vec![Shot::default(); width].into_boxed_slice();
        if !self.shots.is_empty() {
            for known in una..segment {
                wider[known as usize & (width - 1)] = self.shots[self.at(known)];
            }
        }
        self.shots = wider;
    }

    /// Whether what is sent now counts as limited by the application.
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// The round trip of the ACK at hand, as a kernel takes it, and whether it may have been delayed.
    #[cfg(test)]
    pub(super) fn of_ack(&self) -> (Option<Span>, bool) {
        (self.timed, self.runt)
    }

    /// What an ACK's sample begins with.
    fn begin_ack(&mut self, flight: &Flight) {
        self.newest = None;
        self.timed = None;
        self.runt = false;
        self.newly_acked = 0;
        self.newly_marked = 0;
        self.newly_lost = 0;
        self.prior_in_flight = flight.in_flight;
        self.full_now |= flight.full;
    }

    /// `MarkConnectionAppLimited`.
    fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// `UpdateRateSample`, of one segment of `size` bytes, in the order of their numbers.
    pub(super) fn arrived(
        &mut self,
        (segment, size): (u32, u32),
        sent: Time,
        (unambiguous, marked): (bool, bool),
        now: Time,
    ) {
        self.delivered += u64::from(size);
        self.delivered_at = now;
        self.newly_acked += size;
        if marked {
            self.marked += u64::from(size);
            self.newly_marked += size;
        }
        self.note_newest(segment, sent, unambiguous);
    }

    /// Of the segments that an ACK delivers, the one that was sent last makes the sample.
    fn note_newest(&mut self, segment: u32, sent: Time, unambiguous: bool) {
        let newest = self.newest.is_none_or(|newest| {
            sent > self.first_sent || (sent == self.first_sent && segment > newest.segment)
        });
        if newest {
            let shot = self.shots[self.at(segment)];
            self.newest = Some(Newest { segment, sent, shot, unambiguous });
            self.first_sent = sent;
        }
    }

    /// So many bytes have come twice, which is a delivery to Linux (`tcp_dsack_seen`).
    fn came_twice(&mut self, size: u32, now: Time) {
        self.delivered += u64::from(size);
        self.delivered_at = now;
        self.newly_acked += size;
    }

    /// `segment` of `size` bytes counts as lost.
    fn is_lost(&mut self, segment: u32, size: u32) -> LostSegment {
        self.lost += u64::from(size);
        self.lost_segments += 1;
        self.newly_lost += size;
        let shot = self.shots[self.at(segment)];
        LostSegment {
            number: segment,
            size,
            tx_in_flight: shot.tx_in_flight,
            lost: self.lost - shot.lost,
            app_limited: shot.app_limited,
            total: self.delivered,
        }
    }

    /// From one time to another, on the flow's clock.
    fn between(&self, from: Time, to: Time) -> Span {
        if self.as_linux { micros_between(from, to) } else { to.since(from) }
    }

    /// `GenerateRateSample`.
    fn sample(&mut self, srtt: Span, flight: &Flight, now: Time) -> RateSample {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let mut sample = RateSample {
            total: self.delivered,
            total_lost: self.lost_segments,
            delivered_at: self.delivered_at,
            newly_acked: self.newly_acked,
            newly_marked: self.newly_marked,
            newly_lost: self.newly_lost,
            srtt,
            prior_in_flight: self.prior_in_flight,
            in_flight: flight.in_flight,
            ..RateSample::default()
        };
        let Some(Newest { sent, shot, unambiguous, .. }) = self.newest else { return sample };
        sample.rtt = self.timed.or_else(|| unambiguous.then(|| self.between(sent, now)));
        if let Some(rtt) = sample.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let interval =
            self.between(shot.first_sent, sent).max(self.between(shot.delivered_at, now));
        sample.prior = shot.delivered;
        sample.delivered = self.delivered - shot.delivered;
        sample.marked = self.marked - shot.marked;
        sample.lost = self.lost - shot.lost;
        sample.tx_in_flight = shot.tx_in_flight;
        sample.app_limited = shot.app_limited;
        sample.ack_delayed = self.runt && sample.delivered == u64::from(self.newly_acked);
        // Shorter than any round trip it is no rate, and before the first round trip that is unknown.
        if interval > Span::ZERO && self.min_rtt.is_some_and(|least| interval >= least) {
            sample.interval = Some(interval);
            sample.rate = sample.delivered as f64 / interval.as_secs_f64();
        }
        sample.cwnd_limited = self.full_now || self.full_before;
        if shot.delivered >= self.full_until {
            self.full_until = self.delivered;
            self.full_before = std::mem::take(&mut self.full_now);
        }
        sample
    }
}

impl Sender {
    /// Names the flow, after [`Sender::reset`]: its control may draw random numbers.
    pub fn identify(&mut self, number: u32) {
        if let Some(rate) = self.extra.as_mut().and_then(|x| x.rate.as_mut()) {
            rate.number = number;
        }
    }

    /// Data may be sent from now on.
    pub(super) fn begin_rates(&mut self, cfg: &TcpConfig, now: Time) {
        let Some(x) = &mut self.extra else { return };
        let Some(rate) = &mut x.rate else { return };
        rate.as_linux = cfg.stack.whole_windows;
        // The timestamp's unit is coarser than a kernel's clock.
        let known = if rate.as_linux { x.rack.min_rtt() } else { Span::ZERO };
        let srtt = if known > Span::ZERO { known } else { self.rtt.srtt() };
        rate.min_rtt = (srtt > Span::ZERO).then_some(srtt);
        let random = Rng::new(cfg.seed, Role::Transport, u64::from(rate.number));
        if let Some(control) = self.control.by_rate() {
            control.begin(srtt, random, now);
        }
        self.note_pacing_rate();
    }

    /// `C.inflight`: what is neither acknowledged, nor SACKed, nor lost and not sent again.
    fn flight(&self, cfg: &TcpConfig) -> Flight {
        let lost = self.extra.as_ref().map_or(0, |x| x.rack.lost.len());
        let in_flight = (self.high - self.una - self.board.sacked() - lost) * cfg.mss;
        let window = self.window(cfg);
        let full = in_flight + cfg.mss > window;
        let dry = self.high == self.written(cfg) && in_flight < window && lost == 0;
        Flight { in_flight, dry, full }
    }

    fn payload(&self, cfg: &TcpConfig, segment: u32) -> u32 {
        if segment + 1 == self.total { u32::from(self.last_payload) } else { cfg.mss }
    }

    /// A segment is sent: what it takes along.
    pub(super) fn shoot(&mut self, cfg: &TcpConfig, out: &PacketMeta, now: Time) {
        let mut before = self.flight(cfg).in_flight;
        let una = self.una;
        let Some(rate) = self.extra.as_mut().and_then(|x| x.rate.as_mut()) else { return };
        if std::mem::take(&mut rate.resending) {
            before -= cfg.mss;
        }
        let restarts = before == 0 && rate.is_app_limited();
        if rate.as_linux && una == self.high {
            rate.begin_interval(now);
        }
        rate.sent(una, out.seq, before, cfg.mss, now);
        if let Some(control) = self.control.by_rate().filter(|_| restarts) {
            control.on_restart(now);
            self.note_pacing_rate();
        }
    }

    /// The control's rate, by which trains are cut and the host's port is full.
    fn note_pacing_rate(&mut self) {
        let rate = self.control.by_rate().map(|control| control.pacing_rate());
        if let (Some(x), Some(rate)) = (&mut self.extra, rate) {
            x.in_a_millisecond = Some(in_a_millisecond(rate as u64));
        }
    }

    /// Whether nothing else than the application holds the flow back, before it writes
    /// (`tcp_rate_check_app_limited`).
    pub(super) fn is_dry(&mut self, cfg: &TcpConfig, now: Time) -> bool {
        let dry = cfg.by_rate && self.flight(cfg).dry;
        dry && self.extra.as_mut().is_some_and(|x| x.backlog.is_empty(now))
    }

    /// It was so when the application wrote.
    pub(super) fn note_dry(&mut self, cfg: &TcpConfig) {
        let in_flight = self.flight(cfg).in_flight;
        if let Some(rate) = self.extra.as_mut().and_then(|x| x.rate.as_mut()) {
            rate.mark_app_limited(in_flight);
        }
    }

    /// An ACK has come, before anything is concluded from it; or a timer has fired.
    pub(super) fn begin_sample(&mut self, cfg: &TcpConfig) {
        if !cfg.by_rate {
            return;
        }
        let flight = self.flight(cfg);
        if let Some(rate) = self.extra.as_mut().and_then(|x| x.rate.as_mut()) {
            // `CheckIfApplicationLimited`. Of an application that writes it is known when: Linux
            // looks then.
            if flight.dry && !cfg.stack.gso {
                rate.mark_app_limited(flight.in_flight);
            }
            rate.begin_ack(&flight);
        }
    }

    /// The segments that the ACK at hand delivers, as `Extra::fresh` has them.
    pub(super) fn sample_fresh(&mut self, cfg: &TcpConfig, p: &PacketMeta, now: Time) {
        let marked = cfg.ecn && p.flags.has(Flags::ECE);
        let (total, last) = (self.total, u32::from(self.last_payload));
        let by_kernel = cfg.stack.whole_windows && cfg.stack.kernel_timers;
        let timed = if by_kernel { self.timed(cfg, self.una, p, now) } else { None };
        let sacked = self.board.sacked() > 0;
        let Some(x) = &mut self.extra else { return };
        let Some(rate) = &mut x.rate else { return };
        if rate.as_linux && p.seq < self.una {
            // An old ACK: what it SACKs never counts as delivered (`tcp_ack`, `old_ack`).
            rate.newest = None;
            let fresh = x.fresh.iter();
            fresh.for_each(|s| rate.note_newest(*s, x.sent.at(*s), !x.sent.again(*s)));
            return;
        }
        rate.timed = timed.map(|rtt| rtt.latest);
        let only = x.fresh.len() == 1 && x.fresh[0] < p.seq && !sacked && !marked;
        rate.runt = only && p.seq == total && last < cfg.mss;
        if rate.as_linux && x.twice > 0 {
            rate.came_twice(x.twice * cfg.mss, now);
        }
        for segment in &x.fresh {
            let sent = x.sent.at(*segment);
            let size = if *segment + 1 == total { last } else { cfg.mss };
            // Which transmission a cumulative ACK is of, the timestamp says (RFC 7323 §4.3).
            let newer = p.stamp.wrapping_sub(super::config::stamp(sent)) as i32 >= 0;
            let by_stamp = cfg.stack.timestamps != Timestamps::Off && *segment < p.seq && newer;
            let unambiguous = by_stamp || !x.sent.again(*segment);
            rate.arrived((*segment, size), sent, (unambiguous, marked), now);
        }
    }

    /// All has been concluded from the ACK: the control learns what it tells of the path.
    pub(super) fn end_sample(&mut self, cfg: &TcpConfig, now: Time) {
        if !cfg.by_rate {
            return;
        }
        let (flight, srtt, window) = (self.flight(cfg), self.rtt.srtt(), self.control.window());
        let Some(x) = &mut self.extra else { return };
        let Some(rate) = &mut x.rate else { return };
        let sample = RateSample { next_at: x.free_at, ..rate.sample(srtt, &flight, now) };
        let Some(control) = self.control.by_rate() else { return };
        if control.on_rate(&sample, now) {
            rate.mark_app_limited(flight.in_flight);
        }
        self.note_pacing_rate();
        self.note_window(cfg, window, now);
    }

    /// RACK has marked segments.
    pub(super) fn tell_lost(&mut self, cfg: &TcpConfig, now: Time) {
        if !cfg.by_rate {
            return;
        }
        let marked = match &mut self.extra {
            Some(x) => std::mem::take(&mut x.rack.marked),
            None => return,
        };
        for segment in &marked {
            let size = self.payload(cfg, *segment);
            let Some(rate) = self.extra.as_mut().and_then(|x| x.rate.as_mut()) else { return };
            let lost = rate.is_lost(*segment, size);
            if let Some(control) = self.control.by_rate() {
                control.on_lost(&lost, now);
            }
        }
        if let Some(x) = &mut self.extra {
            x.rack.marked = marked;
        }
    }

    /// A recovery begins.
    pub(super) fn tell_repair(&mut self, cfg: &TcpConfig, repair: Repair, now: Time) {
        if !cfg.by_rate {
            return;
        }
        let (in_flight, window) = (self.flight(cfg).in_flight, self.control.window());
        let rate = self.extra.as_ref().and_then(|x| x.rate.as_ref());
        let newly_acked = rate.map_or(0, |rate| rate.newly_acked);
        if let Some(control) = self.control.by_rate() {
            control.on_repair(repair, in_flight, newly_acked, now);
        }
        self.note_window(cfg, window, now);
    }

    /// A recovery has ended.
    pub(super) fn tell_repaired(&mut self, cfg: &TcpConfig, now: Time) {
        let window = self.control.window();
        if let Some(control) = self.control.by_rate() {
            control.on_repaired(now);
        }
        self.note_window(cfg, window, now);
    }

    /// A tail loss probe has made good a loss.
    pub(super) fn tell_tail_loss(&mut self, now: Time) {
        let rate = self.extra.as_ref().and_then(|x| x.rate.as_ref());
        let total = rate.map_or(0, |rate| rate.delivered);
        if let Some(control) = self.control.by_rate() {
            control.on_tail_loss(total, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    fn flight(segments: u32) -> Flight {
        Flight { in_flight: segments * MSS, dry: false, full: false }
    }

    /// Ten segments, sent one a microsecond from 0 on.
    fn ten() -> Rate {
        let mut rate = Rate::default();
        (0..10).for_each(|n| rate.sent(0, n, n * MSS, MSS, us(u64::from(n))));
        rate
    }

    fn acked(rate: &mut Rate, segment: u32, sent: u64, at: u64, left: u32) -> RateSample {
        rate.begin_ack(&flight(left + 1));
        rate.arrived((segment, MSS), us(sent), (true, false), us(at));
        rate.sample(Span::ZERO, &flight(left), us(at))
    }

    /// Breaks if a rate is anything but what was delivered since a segment was sent, over the longer of the times in
    /// which it was sent and acknowledged (§4.1.1.2).
    ///
    /// By hand. 0 goes at 0 and is acknowledged at 100: one segment in 100 us. 4 goes at 4, before anything was
    /// delivered, and its ACK is the fifth, at 108: five segments since 0, in 108 us. What is sent at 108 knows
    /// five delivered at 108; its ACK at 208 is the eleventh: six in 100 us, but sent over the 104 us since 4.
    #[test]
    fn rates_by_hand() {
        let mut rate = ten();
        let first = acked(&mut rate, 0, 0, 100, 9);
        assert_eq!((first.delivered, first.prior, first.tx_in_flight), (1000, 0, 1000));
        assert!((first.rate - 1e7).abs() < 1e-3, "{}", first.rate);
        assert_eq!(first.rtt, Some(Span::from_micros(100)));
        for n in 1..4 {
            acked(&mut rate, n, u64::from(n), 100 + 2 * u64::from(n), 9 - n);
        }
        let fifth = acked(&mut rate, 4, 4, 108, 5);
        assert_eq!((fifth.delivered, fifth.tx_in_flight), (5_000, 5_000));
        assert!((fifth.rate - 5_000.0 / 108e-6).abs() < 1e-3, "{}", fifth.rate);
        rate.sent(5, 10, 5 * MSS, MSS, us(108));
        for n in 5..10 {
            acked(&mut rate, n, u64::from(n), 110 + 2 * u64::from(n - 5), 10 - n);
        }
        let last = acked(&mut rate, 10, 108, 208, 0);
        assert_eq!((last.prior, last.delivered), (5_000, 6_000));
        assert!((last.rate - 6_000.0 / 104e-6).abs() < 1e-3, "{}", last.rate);
    }

    /// Breaks if a kernel's rates are not by its own clock, which counts whole microseconds: from
    /// 0.9 to 100.1 us are 100.
    #[test]
    fn rates_in_microseconds() {
        let after = |as_linux| {
            let mut rate = Rate { as_linux, ..Rate::default() };
            rate.begin_interval(Time(900_000));
            rate.sent(0, 0, 0, MSS, Time(900_000));
            rate.begin_ack(&flight(1));
            rate.arrived((0, MSS), Time(900_000), (true, false), Time(100_100_000));
            let sample = rate.sample(Span::ZERO, &flight(0), Time(100_100_000));
            [sample.interval, sample.rtt]
        };
        assert_eq!(after(true), [Some(Span::from_micros(100)); 2]);
        assert_eq!(after(false), [Some(Span(99_200_000)); 2]);
    }

    /// Breaks if an ACK that may answer either of two transmissions makes a rate before a round
    /// trip is known: sent again after a timeout, a segment whose first transmission is
    /// acknowledged 1 us later would give 1 GB/s.
    #[test]
    fn no_rate_without_a_round_trip() {
        let mut rate = Rate::default();
        rate.sent(0, 0, 0, MSS, us(0));
        rate.sent(0, 0, 0, MSS, us(3000));
        rate.begin_ack(&flight(1));
        rate.arrived((0, MSS), us(3000), (false, false), us(3001));
        let sample = rate.sample(Span::ZERO, &flight(0), us(3001));
        assert_eq!((sample.rtt, sample.rate), (None, 0.0));
        rate.sent(1, 1, 0, MSS, us(3001));
        let known = acked(&mut rate, 1, 3001, 3101, 0);
        assert!((known.rate - 1e7).abs() < 1e-3, "{}", known.rate);
    }

    /// Breaks if ACKs that come in a bunch make a rate above that at which segments were sent (§4.1.1.2.3): ten in
    /// the 10 us that 10 to 19 took, and not at one instant.
    #[test]
    fn a_bunch_of_acks_is_no_rate() {
        let mut rate = ten();
        for n in 0..10 {
            acked(&mut rate, n, u64::from(n), 100, 9 - n);
        }
        for n in 10..20 {
            rate.sent(10, n, (n - 10) * MSS, MSS, us(100 + 20 * u64::from(n - 10)));
        }
        let mut sample = RateSample::default();
        for n in 10..20 {
            sample = acked(&mut rate, n, 100 + 20 * u64::from(n - 10), 290, 19 - n);
        }
        // Nothing of them was acknowledged before 290; the last was sent 180 us after the first.
        assert_eq!(sample.delivered, 10_000);
        assert!((sample.rate - 10_000.0 / 190e-6).abs() < 1e-3, "{}", sample.rate);
    }

    /// Breaks if an interval shorter than the shortest round trip gives a rate (all was given up, the first is
    /// sent again, and its original arrives), or an ambiguous segment a round trip.
    #[test]
    fn what_came_too_soon_gives_no_rate() {
        let mut rate = ten();
        acked(&mut rate, 0, 0, 100, 9);
        rate.sent(1, 1, 0, MSS, us(101));
        rate.begin_ack(&flight(9));
        rate.arrived((1, MSS), us(101), (false, false), us(103));
        let sample = rate.sample(Span::ZERO, &flight(8), us(103));
        assert_eq!((sample.rate, sample.rtt, sample.delivered), (0.0, None, 1_000));
    }

    /// Breaks if what is sent after the data ran out is not marked until all of that has been delivered
    /// (§4.1.1.3), or what was sent before is.
    #[test]
    fn a_flow_that_ran_dry_says_so() {
        let mut rate = ten();
        rate.mark_app_limited(10 * MSS);
        rate.sent(0, 10, 10 * MSS, MSS, us(50));
        let limited: Vec<bool> = (0..11)
            .map(|n| acked(&mut rate, n, if n < 10 { u64::from(n) } else { 50 }, 200, 10 - n))
            .map(|sample| sample.app_limited)
            .collect();
        assert_eq!(limited, [[false; 10].as_slice(), &[true]].concat());
        rate.sent(11, 11, 0, MSS, us(300));
        assert!(!acked(&mut rate, 11, 300, 400, 0).app_limited, "11,000 of 10,000 were delivered");
    }

    /// Breaks if losses are counted from anything but the segment's own departure.
    #[test]
    fn losses_since_a_segment_was_sent() {
        let mut rate = ten();
        rate.is_lost(0, MSS);
        rate.sent(0, 10, 9 * MSS, MSS, us(50));
        assert_eq!(rate.is_lost(1, MSS).lost, 2_000);
        assert_eq!(
            rate.is_lost(10, MSS),
            LostSegment {
                number: 10,
                size: MSS,
                tx_in_flight: 10 * MSS,
                lost: 2_000,
                app_limited: false,
                total: 0,
            }
        );
        let sample = acked(&mut rate, 2, 2, 100, 6);
        assert_eq!((sample.lost, sample.newly_lost), (3_000, 0));
    }

    /// Breaks if the ring mixes up segments when it widens.
    #[test]
    fn the_ring_widens_with_the_window() {
        let mut rate = Rate::default();
        (0..1_000).for_each(|n| rate.sent(n / 2, n, n, MSS, us(u64::from(n))));
        for n in 500..1_000 {
            assert_eq!(rate.shots[rate.at(n)].tx_in_flight, n + MSS);
        }
    }
}
