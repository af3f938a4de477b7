//! HULA's probes and what switches make of them.

use super::*;
use crate::Value;
use crate::testing::{FakeLeaf, LEAVES, control, data, stated};
use leafspine_core::Rate;

const HOSTS: u16 = 4;
const PERIOD: Span = Span::from_micros(200);
const GAP: Span = Span::from_micros(500);

/// A switch and its balancer.
struct Switch {
    at: FakeLeaf,
    hula: Box<dyn LoadBalancer>,
}

fn defaults() -> Params {
    stated(ENTRY.info.params, &[("gap", "500us")])
}

/// A leaf with four uplinks to four spines.
fn leaf() -> Switch {
    Switch::new(FakeLeaf::new(HOSTS, 4, 1), &defaults())
}

fn uplink(number: u16) -> PortId {
    PortId(HOSTS + number)
}

fn probe(tor: u16, utilisation: u8) -> PacketMeta {
    Probe { tor: TorId(tor), utilisation, born: 0 }.packet(64)
}

impl Switch {
    fn new(at: FakeLeaf, params: &Params) -> Switch {
        let hula = build(params, &at.env).unwrap();
        Switch { at, hula }
    }

    /// A probe of `tor` comes in by `from`; returns what is passed on, as (port, ToR, utilisation).
    fn gets(&mut self, tor: u16, utilisation: u8, from: PortId) -> Vec<(u16, u16, u8)> {
        let mut packet = probe(tor, utilisation);
        let arrival = self.at.with(|cx| self.hula.arrived(&mut packet, from, cx));
        assert_eq!(arrival, Arrival::Consume);
        self.sent()
    }

    fn sent(&mut self) -> Vec<(u16, u16, u8)> {
        let seen = |(port, packet): (PortId, PacketMeta)| {
            let Probe { tor, utilisation, .. } = Probe::read(&packet).expect("a probe");
            assert_eq!((packet.size, packet.payload, packet.tuple.0), (64, 0, 0));
            assert_eq!(packet.header.0[1], 0);
            (port.0, tor.0, utilisation)
        };
        self.at.outbox.drain(..).map(seen).collect()
    }

    /// So many bytes leave by `port` now.
    fn load(&mut self, port: PortId, bytes: u32) {
        let now = self.at.now;
        for _ in 0..bytes / 1000 {
            let mut packet = PacketMeta { size: 1000, ..data(0, 9, 1, 0) };
            self.at.with(|cx| self.hula.leaving(&mut packet, port, now, cx));
        }
    }

    /// The port of a new flow to leaf 1.
    fn pick(&mut self, sport: u16) -> PortId {
        self.at.pick(&mut *self.hula, &mut data(0, HOSTS, sport, 0))
    }

    /// Whether all of 50 new flows take `port`.
    fn all_take(&mut self, port: PortId, sports_from: u16) -> bool {
        (sports_from..sports_from + 50).all(|sport| self.pick(sport) == port)
    }
}

/// Breaks if a ToR does not probe all its live uplinks once a period, the first time at a random
/// time within one, or if it probes its hosts (§3.1).
#[test]
fn tors_probe_their_uplinks() {
    let mut firsts = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let mut leaf = Switch::new(FakeLeaf::new(HOSTS, 4, seed), &defaults());
        let first = leaf.at.with(|cx| leaf.hula.tick(cx)).expect("a ToR goes on");
        assert!(first > Time::ZERO && first <= Time(PERIOD.0) && leaf.sent().is_empty());
        firsts.insert(first);
        leaf.at.wait(first.since(Time::ZERO));
        let next = leaf.at.with(|cx| leaf.hula.tick(cx));
        assert_eq!(next, Some(first + PERIOD));
        assert_eq!(leaf.sent(), [(4, 0, 0), (5, 0, 0), (6, 0, 0), (7, 0, 0)]);
        leaf.at.ports.ports[5].up = false;
        leaf.at.wait(PERIOD);
        leaf.at.with(|cx| leaf.hula.tick(cx));
        assert_eq!(leaf.sent(), [(4, 0, 0), (6, 0, 0), (7, 0, 0)]);
    }
    assert_eq!(firsts.len(), 20);
    let spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
    let both = Needs { arrived: true, leaving: true, ..Needs::default() };
    assert_eq!(spine.hula.needs(), both);
    assert_eq!(leaf().hula.needs(), Needs { tick: true, ..both });
}

/// Breaks if a spine does not send a leaf's probe to all other leaves, by every parallel link, and
/// only to them (§3.1).
#[test]
fn spines_pass_probes_to_the_other_leaves() {
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
    assert_eq!(spine.gets(1, 0, PortId(1)), [(0, 1, 0), (2, 1, 0), (3, 1, 0)]);
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 2, 1), &defaults());
    let to: Vec<u16> = spine.gets(1, 0, PortId(3)).iter().map(|(port, ..)| *port).collect();
    assert_eq!(to, [0, 1, 4, 5, 6, 7]);
    spine.at.ports.ports[6].up = false;
    let to: Vec<u16> = spine.gets(2, 0, PortId(4)).iter().map(|(port, ..)| *port).collect();
    assert_eq!(to, [0, 1, 2, 3, 7]);
}

/// Breaks if a switch with switches above it sends a probe from above up again, or one from below
/// not up: an aggregation switch with four edge switches and two cores (§3.1).
#[test]
fn probes_climb_turn_once_and_descend() {
    let mut at = FakeLeaf::spine(HOSTS, 1, 1);
    for core in [100, 101] {
        let info = at.env.ports[0];
        let neighbour = Neighbour::Switch(SwitchId(core), PortId(0));
        at.env.ports.push(crate::PortInfo { neighbour, ..info });
        at.ports.ports.push(at.ports.ports[0].clone());
    }
    at.env.tors = 9;
    let mut aggregation = Switch::new(at, &defaults());
    let mut to = |tor, from| {
        let sent = aggregation.gets(tor, 0, PortId(from));
        sent.into_iter().map(|(port, ..)| port).collect::<Vec<_>>()
    };
    assert_eq!(to(1, 1), [0, 2, 3, 4, 5]);
    assert_eq!(to(8, 4), [0, 1, 2, 3]);
}

/// Breaks if a ToR passes probes on, or takes note of its own.
#[test]
fn probes_end_at_tors() {
    let mut leaf = leaf();
    assert_eq!(leaf.gets(1, 0, uplink(0)), []);
    assert_eq!(leaf.gets(0, 0, uplink(0)), []);
    let to_own = |sport| leaf.at.pick_towards(&mut *leaf.hula, &mut data(0, 5, sport, 0), TorId(0));
    assert!((0..50).map(to_own).any(|port| port != uplink(0)));
}

/// Breaks if a probe does not carry the largest utilisation on the way: that of the port by which it
/// came, where data to the ToR will go, or what it had, whichever is more. 250,000 bytes are half of 10
/// Gb/s for 400 us (§3.2).
#[test]
fn probes_carry_the_largest_utilisation() {
    for (bytes, carried, expected) in [(250_000, 0, 128), (250_000, 200, 200), (0, 77, 77)] {
        let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
        spine.load(PortId(1), bytes);
        spine.load(PortId(0), 400_000);
        assert_eq!(spine.gets(1, carried, PortId(1))[0], (0, 1, expected));
    }
}

/// Breaks if a probe's way is not taken when it is better, is taken when it is not, if the best way's
/// own news is ignored when bad, or if a tie moves anything (§3.2).
#[test]
fn the_best_way_is_kept() {
    let mut leaf = leaf();
    leaf.gets(1, 50, uplink(0));
    assert!(leaf.all_take(uplink(0), 0));
    leaf.gets(1, 60, uplink(1));
    leaf.gets(1, 50, uplink(2));
    assert!(leaf.all_take(uplink(0), 100));
    leaf.gets(1, 49, uplink(3));
    assert!(leaf.all_take(uplink(3), 200));
    // The best has become worse than uplink 0 was, but that is unknown until uplink 0 has a probe again.
    leaf.gets(1, 90, uplink(3));
    assert!(leaf.all_take(uplink(3), 300));
    leaf.gets(1, 70, uplink(0));
    assert!(leaf.all_take(uplink(0), 400));
    // Another leaf's ways are another matter.
    leaf.gets(2, 0, uplink(2));
    assert!(leaf.all_take(uplink(0), 500));
}

/// Breaks if a best way that is no longer heard of cannot be replaced by a worse one, or can before
/// three periods are over (§3.4).
#[test]
fn a_silent_best_way_is_replaced_after_three_periods() {
    let mut leaf = leaf();
    leaf.gets(1, 10, uplink(0));
    leaf.at.wait(PERIOD * 3);
    leaf.gets(1, 90, uplink(1));
    assert!(leaf.all_take(uplink(0), 0));
    leaf.at.wait(Span(1));
    leaf.gets(1, 90, uplink(1));
    assert!(leaf.all_take(uplink(1), 100));
}

/// Breaks if new flows still follow an entry that has aged with nothing to replace it, or one whose
/// port is not offered, or none: all of these follow the hash, over all that is offered.
#[test]
fn without_a_best_way_flows_are_hashed() {
    let hashed = |switch: &mut Switch, from: u16| {
        let taken = (from..from + 200).map(|sport| switch.pick(sport));
        taken.collect::<std::collections::BTreeSet<_>>().len()
    };
    let mut leaf = leaf();
    assert_eq!(hashed(&mut leaf, 0), 4, "before the first probe");
    leaf.gets(1, 10, uplink(0));
    leaf.at.wait(GAP);
    assert_eq!(hashed(&mut leaf, 1_000), 1);
    leaf.at.wait(PERIOD);
    assert_eq!(hashed(&mut leaf, 2_000), 4, "aged");
    leaf.gets(1, 10, uplink(0));
    leaf.at.live.remove(0);
    assert_eq!(hashed(&mut leaf, 3_000), 3, "gone");
}

/// Breaks if a flowlet leaves its port within the gap, or does not follow the best way after it
/// (§3.3).
#[test]
fn flowlets_stay_and_then_follow_the_best_way() {
    let mut leaf = leaf();
    leaf.gets(1, 50, uplink(0));
    assert_eq!(leaf.pick(1), uplink(0));
    leaf.gets(1, 10, uplink(1));
    leaf.at.wait(GAP);
    assert_eq!(leaf.pick(1), uplink(0));
    leaf.gets(1, 10, uplink(1));
    leaf.at.wait(Span(GAP.0 + 1));
    assert_eq!(leaf.pick(1), uplink(1));
    leaf.at.live.remove(1);
    assert_ne!(leaf.pick(1), uplink(1));
}

/// Breaks if a switch passes on more than one probe a ToR and period, forgets what the others said,
/// or does not tell its own best view (§3.2, §3.5): the copies of a round come by two parallel links.
#[test]
fn one_probe_a_round_is_passed_on_with_the_best_view() {
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 2, 1), &defaults());
    assert_eq!(spine.gets(1, 80, PortId(2)).len(), 6);
    spine.at.wait(Span::from_micros(5));
    assert_eq!(spine.gets(1, 30, PortId(3)), []);
    assert_eq!(spine.gets(2, 30, PortId(4)).len(), 6, "another ToR's round");
    spine.at.wait(Span::from_micros(195));
    // The copy by the worse link comes first again; the view is that of the better one.
    let sent = spine.gets(1, 80, PortId(2));
    assert!(sent.len() == 6 && sent.iter().all(|(_, tor, view)| (*tor, *view) == (1, 30)));
    spine.at.wait(Span::from_micros(100));
    assert_eq!(spine.gets(1, 30, PortId(3)), []);
    spine.at.wait(Span(1));
    assert_eq!(spine.gets(1, 30, PortId(3)).len(), 6);
}

/// Breaks if another scheme's probe, or data that looks like one, ends here, or if a probe of a ToR
/// that does not exist does anything.
#[test]
fn only_hulas_probes_are_taken() {
    let mut leaf = leaf();
    let mut other = control(0, 5, 1, Flags::PROBE);
    let mut fake = probe(1, 0);
    fake.flags = Flags::DATA;
    for packet in [&mut other, &mut fake] {
        let arrival = leaf.at.with(|cx| leaf.hula.arrived(packet, uplink(0), cx));
        assert_eq!(arrival, Arrival::Forward);
    }
    assert_eq!(leaf.gets(60_000, 0, uplink(0)), []);
    // Nor one that a host has forged.
    leaf.gets(1, 0, PortId(2));
    leaf.gets(1, 90, uplink(0));
    assert!(leaf.all_take(uplink(0), 0));
}

/// Breaks if a slow port's utilisation is counted against another rate than its own, as it is now.
#[test]
fn utilisation_is_of_the_ports_own_rate() {
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
    spine.at.ports.ports[1].rate = Rate::from_gbps(2);
    spine.load(PortId(1), 50_000);
    assert_eq!(spine.gets(1, 0, PortId(1))[0].2, 128);
}

/// Breaks if the state is not what is kept.
#[test]
fn the_footprint_is_what_is_kept() {
    let params = defaults().with("entries", Value::Int(64));
    let mut leaf = Switch::new(FakeLeaf::new(HOSTS, 3, 1), &params);
    leaf.pick(1);
    let footprint = leaf.hula.inspect().footprint(leaf.at.now);
    assert_eq!(Best::BYTES, 32);
    assert_eq!(footprint.bytes, 64 * 16 + u64::from(LEAVES) * 32 + 3 * 16);
    assert_eq!((footprint.per_flow, footprint.per_port), (16, 16));
    assert_eq!((footprint.slots, footprint.occupied), (64, 1));
    assert!(leaf.hula.inspect().slot(&data(0, 5, 1, 0)).is_some());
}

/// Breaks if information is not as old as the last probe that confirmed the best way, or if a probe that is
/// not taken makes it younger: ToR 1 by uplink 0 at 0 and at 30 us, ToR 2 at 10 us, a worse way at 40.
#[test]
fn information_ages_from_the_last_probe_on() {
    let mut leaf = leaf();
    assert_eq!(leaf.hula.inspect().information_age(leaf.at.now), None);
    let mut get = |at: u64, tor: u16, utilisation: u8, by: u16| {
        leaf.at.wait(Span::from_micros(at) - leaf.at.now.since(Time::ZERO));
        leaf.gets(tor, utilisation, uplink(by));
        leaf.hula.inspect().information_age(leaf.at.now)
    };
    let micros = |us| Some(Span::from_micros(us));
    assert_eq!(get(0, 1, 9, 0), micros(0));
    assert_eq!(get(10, 2, 9, 1), micros(5));
    assert_eq!(get(30, 1, 9, 0), micros(10));
    assert_eq!(get(40, 1, 200, 2), micros(20));
}

/// Breaks if the decision delay does not count a probe's way ("the time required for the probe packets to reach
/// each switch", QALL §VI-D1), also over a switch that passes its view on, or if it is another best way's: ToR 1
/// sends at 20 us, the spine has it at 50 and a worse one at 70, and the leaf has the spine's at 90.
#[test]
fn the_decision_delay_counts_the_probes_way() {
    let at = |switch: &mut Switch, us: u64| {
        switch.at.wait(Span::from_micros(us) - switch.at.now.since(Time::ZERO));
    };
    let near = |found: Option<Span>, us: u64| {
        let found = found.expect("informed").0;
        let unit = 1 << Probe::UNIT_BITS;
        assert!(found.abs_diff(us * 1_000_000) <= unit, "{found} ps, {us} us");
    };
    let born = |us: u64| Probe::stamp(Time::ZERO + Span::from_micros(us));
    let mut spine = Switch::new(FakeLeaf::spine(HOSTS, 1, 1), &defaults());
    let mut passed = Vec::new();
    for (came, sent, utilisation) in [(50, 20, 9), (70, 65, 200)] {
        at(&mut spine, came);
        let from = PortId(if utilisation == 9 { 1 } else { 2 });
        let mut packet = Probe { tor: TorId(1), utilisation, born: born(sent) }.packet(64);
        spine.at.with(|cx| spine.hula.arrived(&mut packet, from, cx));
        passed.append(&mut spine.at.outbox);
        near(spine.hula.inspect().decision_delay(spine.at.now), came - 20);
    }
    let mut leaf = leaf();
    assert_eq!(leaf.hula.inspect().decision_delay(leaf.at.now), None);
    at(&mut leaf, 90);
    let (_, mut packet) = passed.remove(0);
    leaf.at.with(|cx| leaf.hula.arrived(&mut packet, uplink(0), cx));
    near(leaf.hula.inspect().decision_delay(leaf.at.now), 70);
    assert_eq!(leaf.hula.inspect().information_age(leaf.at.now), Some(Span::ZERO));
    at(&mut leaf, 100);
    near(leaf.hula.inspect().decision_delay(leaf.at.now), 80);
}
