//! Whatever a queue manager is fed, it marks only what is ECN-capable and does not panic.

use leafspine_core::{Ecn, Flags, PacketMeta, PortId, Rate, Rng, Role, Span, Time};
use leafspine_schemes::aqm::{self, Admit, Entry, Release};
use leafspine_schemes::testing::{FakeLeaf, control, data, random_params};
use leafspine_schemes::{Backlog, Params, QueueView};
use proptest::prelude::*;

/// One packet at one queue.
#[derive(Clone, Debug)]
struct Step {
    packet: PacketMeta,
    queue: QueueView,
    pause: u64,
    waited: u64,
}

fn packet() -> impl Strategy<Value = PacketMeta> {
    let ecn = prop_oneof![Just(Ecn::NotCapable), Just(Ecn::Capable), Just(Ecn::Congested)];
    (any::<bool>(), ecn, 40u16..=1500, 0..8u16).prop_map(|(is_data, ecn, size, flow)| {
        if is_data {
            PacketMeta { ecn, size, payload: size - 40, ..data(0, 9, flow, 0) }
        } else {
            control(0, 9, flow, Flags::ACK)
        }
    })
}

fn backlog() -> impl Strategy<Value = Backlog> {
    let packets = prop_oneof![Just(0u32), 0..20u32, 0..2_000u32];
    (packets, 40..=1500u32, prop_oneof![Just(0u32), Just(1500)]).prop_map(
        |(packets, size, in_service)| Backlog { packets, bytes: packets * size, in_service },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let rate = prop_oneof![Just(1_000_000u64), Just(1_000_000_000), Just(400_000_000_000)];
    let pause = prop_oneof![Just(0u64), 0..10_000_000u64, 0..100_000_000_000_000u64];
    (packet(), backlog(), backlog(), 0..2u8, rate, pause, 0..10_000_000_000u64).prop_map(
        |(packet, this, others, queue, rate, pause, waited)| {
            let port_total = Backlog {
                packets: this.packets + others.packets,
                bytes: this.bytes + others.bytes,
                in_service: this.in_service.max(others.in_service),
            };
            let queue = QueueView { port: PortId(4), queue, this, port_total, rate: Rate(rate) };
            Step { packet, queue, pause, waited }
        },
    )
}

/// The verdicts of a manager made from `params`; `None` if they are refused.
fn drive(entry: &Entry, params: &Params, steps: &[Step]) -> Option<Vec<(Admit, Release)>> {
    let env = FakeLeaf::new(4, 4, 1).env;
    let mut aqm = (entry.build)(params, &env, PortId(4)).ok()?;
    let mut rng = Rng::new(1, Role::Aqm, 4);
    let mut now = Time::ZERO;
    let mut verdict = |step: &Step| {
        now += Span(step.pause);
        let admit = aqm.admit(&step.packet, &step.queue, now, &mut rng);
        let mut release = Release::Send;
        if aqm.needs_release() {
            let (mut packet, waited) = (step.packet, Span(step.waited));
            release = aqm.release(&mut packet, &step.queue, waited, now, &mut rng);
        }
        aqm.turn_ended(step.queue.queue, Time(now.0 / 2), now);
        (admit, release)
    };
    Some(steps.iter().map(&mut verdict).collect())
}

proptest! {
    /// Breaks if any registered manager marks a packet that is not ECN-capable, panics, or answers
    /// the same calls differently.
    #[test]
    fn any_manager_marks_only_what_is_capable(
        seed in any::<u64>(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        for entry in aqm::ALL {
            let mut rng = Rng::new(seed, Role::Aqm, 1);
            let drawn = random_params(entry.info.params, &mut rng);
            for params in [drawn, Params::defaults(entry.info.params)] {
                let Some(verdicts) = drive(entry, &params, &steps) else { continue };
                for (step, (admit, release)) in steps.iter().zip(&verdicts) {
                    let marked = *admit == Admit::Mark || *release == Release::Mark;
                    let capable = step.packet.ecn != Ecn::NotCapable;
                    prop_assert!(capable || !marked, "{}: {:?}", entry.info.name, step);
                }
                prop_assert_eq!(drive(entry, &params, &steps), Some(verdicts));
            }
        }
    }
}

/// Breaks if a manager cannot be made from its own defaults, or drops a lone packet.
#[test]
fn every_manager_takes_a_lone_packet() {
    let idle = leafspine_schemes::testing::queue_view(0, false);
    let step = Step { packet: data(0, 9, 1, 0), queue: idle, pause: 0, waited: 0 };
    for entry in aqm::ALL {
        let verdicts =
            drive(entry, &Params::defaults(entry.info.params), std::slice::from_ref(&step));
        let expected = Some(vec![(Admit::Take, Release::Send)]);
        assert_eq!(verdicts, expected, "{}", entry.info.name);
    }
}
