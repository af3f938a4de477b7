//! Whatever a balancer is fed, it returns a live port and does not panic.

use leafspine_core::{Ecn, Flags, PacketMeta, PortId, Rng, Role, SchemeHeader, Span, Time, TorId};
use leafspine_schemes::lb::{self, Entry};
use leafspine_schemes::testing::{FakeLeaf, LEAVES, control, data, random_params};
use leafspine_schemes::{Backlog, Context, Params};
use proptest::prelude::*;

const HOSTS: u16 = 4;
const UPLINKS: u16 = 8;

/// One thing that happens to a switch.
#[derive(Clone, Debug)]
enum Op {
    /// A packet asks for a port towards a leaf; the random number fills what no field fixes.
    Pick { kind: u8, flow: u16, to: u16, random: u64 },
    /// The live uplinks become these bits (at least one), with capacities drawn from the number.
    Paths { bits: u8, random: u64 },
    /// Time passes, in picoseconds.
    Wait(u64),
    /// So many packets wait at a port.
    Backlog { port: u16, packets: u32 },
}

fn op() -> impl Strategy<Value = Op> {
    let wait = prop_oneof![0..1_000u64, 0..10_000_000_000u64, 0..10_000_000_000_000_000u64];
    prop_oneof![
        8 => (any::<u8>(), 0..12u16, 0..LEAVES, any::<u64>())
            .prop_map(|(kind, flow, to, random)| Op::Pick { kind, flow, to, random }),
        1 => (1u8.., any::<u64>()).prop_map(|(bits, random)| Op::Paths { bits, random }),
        2 => wait.prop_map(Op::Wait),
        2 => (0..HOSTS + UPLINKS, 0..300u32)
            .prop_map(|(port, packets)| Op::Backlog { port, packets }),
    ]
}

fn packet(kind: u8, flow: u16, to: u16, random: u64) -> PacketMeta {
    let (src, dst) = (random as u16 % (HOSTS * LEAVES), to * HOSTS + flow % HOSTS);
    let flags = [
        Flags::ACK,
        Flags::SYN,
        Flags::SYN.with(Flags::ACK),
        Flags::FIN,
        Flags::RST,
        Flags::PROBE,
        Flags::ACK.with(Flags::ECE),
    ];
    let mut packet = match kind % 12 {
        n @ 0..=6 => control(src, dst, flow, flags[usize::from(n)]),
        7 => data(src, dst, flow, 0).tap(|p| p.tuple = p.tuple.reversed()),
        8 => PacketMeta { size: 41, payload: 1, ..data(src, dst, flow, 7) },
        9 => PacketMeta { ecn: Ecn::Congested, ..data(src, dst, flow, 8) },
        _ => data(src, dst, flow, random as u32),
    };
    if kind & 128 != 0 {
        packet.header = SchemeHeader([(random >> 32) as u32, random as u32]);
        (packet.tag, packet.class) = ((random >> 8) as u8, (random >> 16) as u8);
        packet.path = (random >> 24) as u16;
    }
    packet
}

trait Tap: Sized {
    fn tap(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
impl Tap for PacketMeta {}

fn set_paths(leaf: &mut FakeLeaf, bits: u8, random: u64) {
    let up = |n: &u16| bits >> n & 1 == 1;
    leaf.live = (0..UPLINKS).filter(up).map(|n| PortId(HOSTS + n)).collect();
    for n in 0..UPLINKS {
        leaf.ports.ports[usize::from(HOSTS + n)].up = up(&n);
    }
    let mut rng = Rng::new(random, Role::Balancer, 0);
    let capacity = [0, 1, 200_000, 333_333, 1_000_000, 10_000_000, u32::MAX];
    let draw = |_: &PortId| capacity[rng.below(capacity.len() as u64) as usize];
    leaf.capacity = leaf.live.iter().map(draw).collect();
    let delays = [0, 1, 2_000_000, u64::MAX];
    leaf.delay = leaf.live.iter().map(|_| Span(delays[rng.below(4) as usize])).collect();
}

/// Feeds one packet through every hook of `balancer`; returns the port it picked.
fn pass(leaf: &mut FakeLeaf, balancer: &mut dyn lb::LoadBalancer, op: &Op) -> Option<PortId> {
    let &Op::Pick { kind, flow, to, random } = op else { return None };
    let mut packet = packet(kind, flow, to, random);
    let from = PortId(random as u16 % (HOSTS + UPLINKS));
    let mut cx = Context {
        now: leaf.now,
        rng: &mut leaf.rng,
        ports: &mut leaf.ports,
        outbox: &mut leaf.outbox,
    };
    balancer.arrived(&mut packet, from, &mut cx);
    let port = leaf.pick_towards(balancer, &mut packet, TorId(to));
    let mut cx = Context {
        now: leaf.now,
        rng: &mut leaf.rng,
        ports: &mut leaf.ports,
        outbox: &mut leaf.outbox,
    };
    let starts = Time(leaf.now.0 + random % 1_000_000_000);
    balancer.leaving(&mut packet, port, starts, &mut cx);
    let again = balancer.tick(&mut cx);
    assert!(again.is_none_or(|at| at > leaf.now), "a tick must lie ahead");
    leaf.outbox.clear();
    Some(port)
}

fn drive(entry: &Entry, params: &Params, ops: &[Op]) -> Result<(), TestCaseError> {
    let mut leaf = FakeLeaf::new(HOSTS, UPLINKS, 1);
    // Parameters that do not fit each other are refused, which is right.
    let Ok(mut balancer) = (entry.build)(params, &leaf.env) else { return Ok(()) };
    for op in ops {
        match *op {
            Op::Pick { .. } => {
                let port = pass(&mut leaf, &mut *balancer, op);
                let offered = port.is_some_and(|port| leaf.live.contains(&port));
                prop_assert!(offered, "{}: {:?} of {:?}", entry.info.name, port, leaf.live);
            }
            Op::Paths { bits, random } => set_paths(&mut leaf, bits, random),
            Op::Wait(span) => leaf.wait(Span(span)),
            Op::Backlog { port, packets } => {
                let waits = Backlog { packets, bytes: packets * 1500, in_service: 0 };
                leaf.ports.ports[usize::from(port)].queues[0] = waits;
            }
        }
    }
    Ok(())
}

proptest! {
    /// Breaks if any registered balancer, with any parameters in their declared ranges, returns a
    /// port that was not offered or panics: paths shrink and grow, time jumps, tables collide,
    /// packets of every kind carry anything in the fields a scheme may use.
    #[test]
    fn any_balancer_returns_a_live_port(
        seed in any::<u64>(),
        ops in proptest::collection::vec(op(), 1..120),
    ) {
        for entry in lb::ALL {
            let mut rng = Rng::new(seed, Role::Balancer, 1);
            drive(entry, &random_params(entry.info.params, &mut rng), &ops)?;
            drive(entry, &Params::defaults(entry.info.params), &ops)?;
        }
    }

    /// Breaks if a balancer keeps state anywhere but in itself and its stream: the same calls must
    /// give the same ports.
    #[test]
    fn any_balancer_repeats_itself(ops in proptest::collection::vec(op(), 1..60)) {
        for entry in lb::ALL {
            let run = || {
                let mut leaf = FakeLeaf::new(HOSTS, UPLINKS, 1);
                let params = Params::defaults(entry.info.params);
                let mut balancer = (entry.build)(&params, &leaf.env).unwrap();
                let ports = ops.iter().map(|op| pass(&mut leaf, &mut *balancer, op));
                ports.collect::<Vec<_>>()
            };
            prop_assert_eq!(run(), run(), "{}", entry.info.name);
        }
    }
}

/// Breaks if a balancer cannot be made from its own defaults.
#[test]
fn every_balancer_can_be_made() {
    let leaf = FakeLeaf::new(HOSTS, UPLINKS, 1);
    for entry in lb::ALL {
        let made = (entry.build)(&Params::defaults(entry.info.params), &leaf.env);
        assert!(made.is_ok(), "{}: {:?}", entry.info.name, made.err());
    }
}
