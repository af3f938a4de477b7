//! CoDel: marks or drops at dequeue once packets have waited too long for an interval, ever faster
//! until they no longer do.
//!
//! Source: RFC 8289 (Nichols, Jacobson, McGregor, Iyengar, 2018), §3 and the pseudocode of §5. A
//! packet's sojourn time is compared with `target`. When it has stayed above for `interval`, and
//! more than one full-sized packet waits, the queue enters the dropping state: one packet is
//! dropped at once, the n-th after a further `interval / sqrt(n)` (§5.6's control law), until a
//! sojourn time below the target is seen (§5.5). Re-entered soon after leaving it, it goes on with
//! about the rate it had.
//!
//! State per service queue: 40 bytes. Cost per packet: two comparisons; an integer square root per
//! drop. Decisions are at dequeue, so ports keep real queues.
//!
//! Unspecified in the source: the RFC mentions marking instead of dropping for ECN-capable packets
//! and leaves it open. Here a mark takes the place of a drop in the control law, and the marked packet
//! is the one that is sent. The RFC's 100 ms and 5 ms are for the Internet; §4.3 asks for an
//! interval around the largest round-trip time and §4.4 for a target of 5 % to 10 % of it. In a datacenter
//! nothing else makes sense, so the defaults are ten round trips of the empty fabric and a
//! twentieth of that.
//!
//! Provenance: RFC.

use super::{Admit, Aqm, Entry, Needs, Release};
use crate::{
    Demands, Footprint, Inspect, Kind, Param, ParamError, Params, Provenance, QueueView,
    SchemeInfo, SwitchEnv, parameters,
};
use leafspine_core::{Ecn, PacketMeta, PortId, Rng, Span, Time};

/// One service queue's variables, by the names of RFC 8289 §5.2.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// When the sojourn time will have been above the target for an interval.
    first_above: Option<Time>,
    /// When to drop next.
    drop_next: Time,
    /// Drops since the dropping state was entered.
    count: u32,
    /// `count` as it was when the state was last entered.
    last_count: u32,
    dropping: bool,
    /// What the packet after a dropped one is to be judged as.
    after: After,
}

/// The pseudocode drops and takes the next packet within one call; here that is a call of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum After {
    #[default]
    Nothing,
    /// The first drop of a dropping state: the next packet is sent.
    Entry,
    /// A later drop: the next packet may be dropped, too.
    Drop,
}

struct CoDel {
    target: Span,
    interval: Span,
    mtu: u32,
    ecn: bool,
    queues: Vec<Queue>,
}

impl CoDel {
    /// RFC 8289 §5.6, `dodequeue`: whether the sojourn time has been above the target for long
    /// enough. No more than a full-sized packet behind it is no standing queue.
    fn ok_to_drop(&mut self, view: &QueueView, waited: Span, now: Time) -> bool {
        let queue = &mut self.queues[usize::from(view.queue)];
        if waited < self.target || view.this.bytes <= self.mtu {
            queue.first_above = None;
            return false;
        }
        match queue.first_above {
            None => {
                queue.first_above = Some(now + self.interval);
                false
            }
            Some(time) => now >= time,
        }
    }

    /// RFC 8289 §5.6, `control_law`: an interval over the square root of the count later.
    fn control_law(&self, from: Time, count: u32) -> Time {
        let square = u128::from(self.interval.0) * u128::from(self.interval.0);
        from + Span((square / u128::from(count.max(1))).isqrt() as u64)
    }

    /// RFC 8289 §5.5: enters the dropping state. If it was left a short while ago, the rate that
    /// controlled the queue then is a good guess.
    fn enter(&mut self, at: usize, now: Time) {
        let queue = self.queues[at];
        let delta = queue.count.wrapping_sub(queue.last_count);
        let recent = now.0 < queue.drop_next.0.saturating_add(self.interval.0.saturating_mul(16));
        let count = if delta > 1 && recent { delta } else { 1 };
        let drop_next = self.control_law(now, count);
        let queue = &mut self.queues[at];
        (queue.dropping, queue.count, queue.last_count) = (true, count, count);
        queue.drop_next = drop_next;
    }

    /// RFC 8289 §5.5, `dequeue`, for one packet: whether it is to be dropped (or marked).
    fn judge(&mut self, view: &QueueView, waited: Span, now: Time, marks: bool) -> bool {
        let at = usize::from(view.queue);
        let ok = self.ok_to_drop(view, waited, now);
        let after = std::mem::take(&mut self.queues[at].after);
        if after == After::Entry {
            return false;
        }
        if !self.queues[at].dropping {
            if ok {
                self.enter(at, now);
                self.queues[at].after = if marks { After::Nothing } else { After::Entry };
            }
            return ok;
        }
        if !ok {
            self.queues[at].dropping = false;
            return false;
        }
        if after == After::Drop {
            let queue = self.queues[at];
            self.queues[at].drop_next = self.control_law(queue.drop_next, queue.count);
        }
        let due = now >= self.queues[at].drop_next;
        if due {
            let count = self.queues[at].count.saturating_add(1);
            self.queues[at].count = count;
            if marks {
                self.queues[at].drop_next = self.control_law(self.queues[at].drop_next, count);
            } else {
                self.queues[at].after = After::Drop;
            }
        }
        due
    }
}

impl Aqm for CoDel {
    fn needs(&self) -> Needs {
        Needs { release: true, passes_idle: true, sends_idle: false }
    }

    fn admit(&mut self, _: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> Admit {
        Admit::Take
    }

    fn release(
        &mut self,
        packet: &mut PacketMeta,
        view: &QueueView,
        waited: Span,
        now: Time,
        _: &mut Rng,
    ) -> Release {
        let marks = self.ecn && packet.ecn != Ecn::NotCapable;
        match (self.judge(view, waited, now, marks), marks) {
            (false, _) => Release::Send,
            (true, true) => Release::Mark,
            (true, false) => Release::Drop,
        }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }
}

impl Inspect for CoDel {
    fn footprint(&self, _: Time) -> Footprint {
        let bytes = self.queues.len() * size_of::<Queue>();
        Footprint { bytes: bytes as u64, per_port: bytes as u32, ..Footprint::default() }
    }
}

parameters! {
    struct Settings {
        interval: Option<Span> = Param::new(
            Kind::SpanOr(1, 1_000_000_000_000_000, "fabric"),
            "10rtt",
            "How long the sojourn time must stay above the target before the first drop; \
             \"fabric\" is ten round trips of the empty fabric.",
        ),
        target: Option<Span> = Param::new(
            Kind::SpanOr(1, 1_000_000_000_000_000, "share"),
            "share",
            "The sojourn time that is acceptable; \"share\" is a twentieth of the interval.",
        ),
        ecn: bool = Param::new(
            Kind::Bool,
            "true",
            "Whether ECN-capable packets are marked instead of dropped.",
        ),
    }
}

fn build(params: &Params, env: &SwitchEnv, _: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    let settings = Settings::read(params)?;
    let interval = settings.interval.unwrap_or(Span(env.base_rtt.0 * 10));
    let target = settings.target.unwrap_or(Span(interval.0 / 20));
    if target > interval {
        let of_interval = format!("at least the target, {target}");
        return Err(ParamError::new("target", target, format!("at most the interval, {interval}"))
            .or(ParamError::new("interval", interval, of_interval)));
    }
    Ok(Box::new(CoDel {
        target,
        interval,
        mtu: env.mtu,
        ecn: settings.ecn,
        queues: vec![Queue::default(); usize::from(env.queues)],
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "codel",
        summary: "Marks or drops at dequeue while packets have waited too long for an interval, ever \
                  faster.",
        source: "RFC 8289 §5",
        provenance: Provenance::Rfc,
        unspecified: &[
            "An ECN-capable packet is marked where another is dropped; a mark counts as a drop in \
             the control law.",
            "The interval is ten round trips of the empty fabric and the target a twentieth of the \
             interval, unless given: the RFC's 100 ms and 5 ms are for the Internet.",
            "Each service queue has a state of its own.",
        ],
        params: Settings::PARAMS,
        demands: Demands::NONE,
    },
    build,
    marks: |params| Settings::read(params).is_ok_and(|settings| settings.ecn),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::testing::{FakeLeaf, data, queue_view, stated};
    use leafspine_core::Role;

    /// Interval 100 ms, target 5 ms: the RFC's own.
    fn rfc(ecn: bool) -> Box<dyn Aqm> {
        let params = stated(ENTRY.info.params, &[("interval", "fabric")])
            .with("interval", Value::Span(Span::from_millis(100)))
            .with("target", Value::Span(Span::from_millis(5)))
            .with("ecn", Value::Bool(ecn));
        build(&params, &FakeLeaf::new(1, 1, 1).env, PortId(0)).unwrap()
    }

    fn release(codel: &mut dyn Aqm, waiting: u32, waited_ms: u64, now_ms: u64) -> Release {
        let (waited, now) = (Span::from_millis(waited_ms), Time(Span::from_millis(now_ms).0));
        let mut rng = Rng::new(1, Role::Aqm, 0);
        codel.release(&mut data(0, 1, 1, 0), &queue_view(waiting, false), waited, now, &mut rng)
    }

    /// A standing queue of 10 packets whose head has always waited 20 ms, served every
    /// millisecond: when the packets that are not simply sent leave.
    fn struck(codel: &mut dyn Aqm, until_ms: u64) -> Vec<u64> {
        let mut times = Vec::new();
        for now in 0..until_ms {
            while release(codel, 10, 20, now) == Release::Drop {
                times.push(now);
            }
        }
        times
    }

    /// Breaks if the first drop does not come an interval after the target was passed, or the n-th
    /// not after interval / sqrt(n) (RFC 8289 §5.6): 100, then 100/sqrt(1) and 100/sqrt(2), ... later.
    #[test]
    fn drops_follow_the_control_law() {
        let expected = [100.0, 100.0, 70.7, 57.7, 50.0, 44.7].iter().scan(0.0, |at, gap| {
            *at += gap;
            Some(f64::ceil(*at) as u64)
        });
        assert_eq!(struck(&mut *rfc(false), 425), expected.collect::<Vec<_>>());
    }

    /// Breaks if marks do not come at the times of drops, or a marked packet is not the one sent.
    #[test]
    fn marks_take_the_place_of_drops() {
        let mut codel = rfc(true);
        let marked: Vec<u64> =
            (0..425).filter(|now| release(&mut *codel, 10, 20, *now) == Release::Mark).collect();
        assert_eq!(marked, struck(&mut *rfc(false), 425));
    }

    /// Breaks if the times of drops or marks drift with those of packets: served every 30 ms, the state is
    /// entered at 120; drops are due at 220, then 70.7, 57.7, 50 and 44.7 after each other (290.7,
    /// 348.4, 398.4, 443.2), and come with the next packet (§5.5: from `drop_next`, not from now).
    #[test]
    fn the_schedule_does_not_drift() {
        for ecn in [false, true] {
            let mut codel = rfc(ecn);
            let mut times = Vec::new();
            for now in (0..=450).step_by(30) {
                loop {
                    let verdict = release(&mut *codel, 10, 20, now);
                    if verdict != Release::Send {
                        times.push(now);
                    }
                    if verdict != Release::Drop {
                        break;
                    }
                }
            }
            assert_eq!(times, [120, 240, 300, 360, 420, 450], "ecn {ecn}");
        }
    }

    /// Breaks if a packet that cannot be marked is, or if one that another switch has marked is dropped
    /// instead of marked again.
    #[test]
    fn what_is_not_capable_is_dropped() {
        for (ecn, expected) in [
            (Ecn::NotCapable, Release::Drop),
            (Ecn::Capable, Release::Mark),
            (Ecn::Congested, Release::Mark),
        ] {
            let mut codel = rfc(true);
            release(&mut *codel, 10, 20, 0);
            let mut packet = PacketMeta { ecn, ..data(0, 1, 1, 0) };
            let (waited, now) = (Span::from_millis(20), Time(Span::from_millis(100).0));
            let mut rng = Rng::new(1, Role::Aqm, 0);
            let view = queue_view(10, false);
            assert_eq!(codel.release(&mut packet, &view, waited, now, &mut rng), expected);
        }
    }

    /// Breaks if a sojourn time of just the target counts as below it (§5.6).
    #[test]
    fn the_target_itself_is_too_long() {
        let mut codel = rfc(false);
        release(&mut *codel, 10, 5, 0);
        assert_eq!(release(&mut *codel, 10, 5, 100), Release::Drop);
    }

    /// Breaks if the defaults are not ten round trips of the empty fabric (20 us here) and a twentieth of
    /// that: 200 us and 10 us.
    #[test]
    fn the_defaults_follow_the_fabric() {
        let params =
            stated(ENTRY.info.params, &[("interval", "fabric")]).with("ecn", Value::Bool(false));
        let mut codel = build(&params, &FakeLeaf::new(1, 1, 1).env, PortId(0)).unwrap();
        let mut rng = Rng::new(1, Role::Aqm, 0);
        let mut ask = |waited_ns, now_us| {
            let (waited, now) = (Span::from_nanos(waited_ns), Time(Span::from_micros(now_us).0));
            codel.release(&mut data(0, 1, 1, 0), &queue_view(10, false), waited, now, &mut rng)
        };
        assert_eq!([ask(9_999, 0), ask(9_999, 300)], [Release::Send; 2]);
        assert_eq!([ask(10_000, 400), ask(10_000, 599)], [Release::Send; 2]);
        assert_eq!(ask(10_000, 600), Release::Drop);
    }

    /// Breaks if one sojourn time below the target does not end the dropping state and the count
    /// towards it (§5.5).
    #[test]
    fn one_short_wait_ends_it() {
        let mut codel = rfc(false);
        assert_eq!(struck(&mut *codel, 150), [100]);
        assert_eq!(release(&mut *codel, 10, 4, 150), Release::Send);
        // 201 would have been the next drop; now an interval must pass again.
        for now in 151..251 {
            assert_eq!(release(&mut *codel, 10, 20, now), Release::Send, "{now} ms");
        }
        assert_eq!(release(&mut *codel, 10, 20, 251), Release::Drop);
    }

    /// Breaks if re-entering soon starts at the slowest rate again (§5.5): after 6 drops, the
    /// next state begins with a count of 5.
    #[test]
    fn soon_again_goes_on_fast() {
        let mut codel = rfc(false);
        assert_eq!(struck(&mut *codel, 425).len(), 6);
        release(&mut *codel, 10, 1, 425);
        let again: Vec<u64> = (426..580)
            .flat_map(|now| {
                let mut count = 0;
                while release(&mut *codel, 10, 20, now) == Release::Drop {
                    count += 1;
                }
                std::iter::repeat_n(now, count)
            })
            .collect();
        // 426 + 100, then 100 / sqrt(5) = 44.7 later.
        assert_eq!(again, [526, 571]);
        // One drop more than the 5 that it began with: no rate to go on with. 681, then 100 later.
        release(&mut *codel, 10, 1, 580);
        let third: Vec<u64> =
            (581..800).filter(|now| release(&mut *codel, 10, 20, *now) == Release::Drop).collect();
        assert_eq!(third, [681, 781]);
    }

    /// Breaks if the rate of a state left long ago is gone on with: 16 intervals after the next drop would have
    /// been due, at 464.0 here, are over at 2064.0 (§5.5).
    #[test]
    fn much_later_it_begins_anew() {
        for (resumes, second) in [(1_963, 45), (1_965, 100)] {
            let mut codel = rfc(false);
            assert_eq!(struck(&mut *codel, 425).len(), 6);
            release(&mut *codel, 10, 1, 425);
            let mut from = |from: u64, until: u64| {
                (from..until).find(|now| release(&mut *codel, 10, 20, *now) == Release::Drop)
            };
            assert_eq!(from(resumes, resumes + 200), Some(resumes + 100));
            let next = from(resumes + 101, resumes + 300);
            assert_eq!(next, Some(resumes + 100 + second));
        }
    }

    /// Breaks if a queue of one packet or less is taken for a standing queue (§5.6).
    #[test]
    fn the_last_packet_is_never_dropped() {
        let mut codel = rfc(false);
        for now in 0..1_000 {
            assert_eq!(release(&mut *codel, 1, 500, now), Release::Send);
        }
    }

    /// Breaks if a target above its interval is taken.
    #[test]
    fn the_target_is_within_the_interval() {
        let params = stated(ENTRY.info.params, &[("interval", "fabric")])
            .with("interval", Value::Span(Span::from_millis(1)))
            .with("target", Value::Span(Span::from_millis(2)));
        let error = build(&params, &FakeLeaf::new(1, 1, 1).env, PortId(0)).err().unwrap();
        assert_eq!(error.to_string(), "target: found 2ms; allowed: at most the interval, 1ms");
    }
}
