//! A switch and a host, driven by hand: no driver, no event queue. The example of `docs/nodes.md`.

mod common;

use common::{Notebook, leaf_spine, network, port};
use leafspine_core::{
    Bytes, Ecn, FiveTuple, Flags, HostId, Pace, PacketMeta, PortId, Rate, Rng, Role, Span,
    SwitchId, Time,
};
use leafspine_fabric::{Graph, Owner};
use leafspine_node::pfc::Pfc;
use leafspine_node::spec::{PfcSpec, PfcThreshold, SchedulerKind};
use leafspine_node::{
    Asks, Chooser, Class, Egress, FlowId, GeneralPort, Host, Key, Limit, Manager, Network, Opening,
    Scheduler, Shared, Store, Switch,
};
use leafspine_schemes::lb::LoadBalancer;
use leafspine_schemes::rdma::Hop;
use leafspine_schemes::testing::FakeLeaf;
use leafspine_schemes::{Amount, Context, Params, Paths, Value, registry};

/// A leaf-spine of two leaves, two spines and two hosts a leaf, 10 Gb/s and 1 us everywhere.
fn graph() -> Graph {
    leaf_spine([2, 2, 1, 2], Rate::from_gbps(10))
}

/// Always the last of the paths.
struct Last;

impl LoadBalancer for Last {
    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, _: &mut Context<'_>) -> PortId {
        *paths.ports.last().expect("there is a path")
    }
}

fn leaf(graph: &Graph, room: u32) -> Switch {
    let id = SwitchId(0);
    let ports = graph.ports_of(id).map(|global| port(graph, global, room)).collect();
    let chooser = Chooser::new(Box::new(Last), Rng::new(1, Role::Balancer, 0));
    let egress = Egress::new(Owner::Switch(id), graph.switch(id).first_port, ports, Some(chooser));
    Switch::new(id, 0, egress)
}

/// Breaks if a switch sends by a port that its balancer did not pick, at another time than the line
/// and the wire take, or if a full port takes one packet more.
#[test]
fn a_switch_by_hand() {
    let graph = graph();
    let (net, mut world) = (network(&graph), Notebook::default());
    let mut leaf = leaf(&graph, 2);
    leaf.open_flow(PortId(0), 0);

    // Host 0 is at port 0; host 2 is under the other leaf.
    let tuple = FiveTuple::new(HostId(0), HostId(2), 1024, 5001);
    let data = PacketMeta { tuple, size: 1500, flags: Flags::DATA, ..PacketMeta::default() };
    world.now = Time(5_000_000);
    for _ in 0..4 {
        leaf.arrive(PortId(0), &mut data.clone(), &net, &mut world);
    }

    // One on the line, two wait: 1.2 us each on the line, then 1 us on the wire. The fourth is dropped.
    let uplink = leaf.egress.first + 3;
    let sent: Vec<(u32, u64)> = world.delivered.iter().map(|(port, at, _)| (*port, at.0)).collect();
    assert_eq!(sent, [(uplink, 7_200_000), (uplink, 8_400_000), (uplink, 9_600_000)]);
    assert_eq!(world.record.counters.dropped, [1, 0, 0, 0]);
    assert!(world.scheduled.is_empty(), "a one-event port needs no second event");
}

/// Breaks if a flow does not open with a SYN when it is told to start, if its timer is not asked for,
/// or if the answer does not start the data.
#[test]
fn a_host_by_hand() {
    let graph = graph();
    let (net, mut world) = (network(&graph), Notebook::default());
    let global = graph.host_port[0];
    let ports = vec![port(&graph, global, 256)];
    let egress = Egress::new(Owner::Host(HostId(0)), global, ports, None);
    let mut host = Host::new(HostId(0), egress, None, None);

    let tuple = FiveTuple::new(HostId(0), HostId(2), 1024, 5001);
    let none = PacketMeta::NO_PATH;
    let flow = Opening { number: 7, tuple, bytes: 3000, path: none, ack_path: none, class: None };
    let slot = host.open_sending(&net, &flow).expect("its first flow");
    host.name_sending(FlowId { sending: slot, receiving: 4 });
    let address = leafspine_node::Address::new(HostId(0), slot);
    host.on_timer(Key::new(Class::FlowStart, 7), address.item(), &net, &mut world);

    // The SYN is on the wire, and the host wants to be called if no answer comes.
    let (port, _, syn) = world.delivered.remove(0);
    assert_eq!((port, syn.flags, FlowId::of(&syn).receiving), (global, Flags::SYN, 4));
    let timer = (Time(10_000_000_000), Key::new(Class::Retransmit, 7), address.item());
    assert_eq!(world.scheduled, [timer]);

    // The answer comes after 20 us: three segments go out back to back.
    world.now = Time(20_000_000);
    let mut answer = PacketMeta {
        tuple: tuple.reversed(),
        flags: Flags::SYN.with(Flags::ACK),
        notes: PacketMeta::REPLY,
        ..syn
    };
    host.arrive(&mut answer, &net, &mut world);
    let segments: Vec<u32> = world.delivered.iter().map(|(.., packet)| packet.seq).collect();
    assert_eq!(segments, [0, 1, 2]);
    assert!(world.delivered.iter().all(|(_, _, packet)| packet.is_data()));
}

/// Three packets of 1,000 bytes and an answer come to an idle port of 10 Gb/s at 5 us. The first
/// two carry telemetry. The first goes at once: 0 bytes wait, 0 are sent, and its header grows to
/// 1,008 bytes, 806.4 ns. The second goes then; the third and the answer wait, 1,064 bytes, and
/// 1,008 are sent.
///
/// Breaks if a port writes another queue, count or time into a packet, itself among what waits or
/// has been sent, or into one without telemetry, or an answer; or if a packet does not grow, or
/// takes the time on the line that it took before, on the way of those that wait or the short one.
#[test]
fn telemetry_by_hand() {
    for asks in [None, Some(false), Some(true)] {
        telemetry_at_ports(asks);
    }
}

/// At ports with the short way, if anybody is asked there, or without.
fn telemetry_at_ports(asks: Option<bool>) {
    let graph = graph();
    let (net, mut world) = (network(&graph), Notebook::default());
    let mut leaf = leaf(&graph, 9);
    for port in &mut leaf.egress.ports {
        let scheduler = Scheduler::new(SchedulerKind::Fifo, &[1], 1500);
        let mut general = GeneralPort::new(Pace::new(port.rate), 1, scheduler);
        if let Some(asks) = asks {
            let asks = Asks { at_release: asks, admits_idle: asks, releases_idle: asks };
            general.set_asks(asks, true);
        }
        port.store = Store::General(Box::new(general));
    }
    leaf.open_flow(PortId(0), 0);
    let tuple = FiveTuple::new(HostId(0), HostId(2), 1024, 5001);
    let data = PacketMeta { tuple, size: 1000, flags: Flags::DATA, ..PacketMeta::default() };
    let answer = PacketMeta { size: 64, flags: Flags::ACK, ..data };
    world.now = Time(5_000_000);
    for (mut packet, carries) in [(data, true), (data, true), (data, false), (answer, true)] {
        if carries {
            world.record.telemetry.attach(&mut packet, Vec::new());
        }
        leaf.arrive(PortId(0), &mut packet, &net, &mut world);
    }
    while let Some((at, key, item)) = world.scheduled.pop() {
        world.now = at;
        leaf.on_timer(key, item, &net, &mut world);
    }
    let (port, rate) = (leaf.egress.first + 3, Rate::from_gbps(10));
    let hop = |queue, sent, at| Hop { port, queue, sent, at: Time(at), rate };
    let sent = world.delivered.clone();
    let told: Vec<Vec<Hop>> = sent.iter().map(|(.., p)| world.record.telemetry.detach(p)).collect();
    assert_eq!(
        told,
        [vec![hop(0, 0, 5_000_000)], vec![hop(1_064, 1_008, 5_806_400)], vec![], vec![]]
    );
    assert_eq!(sent.iter().map(|(.., p)| p.size).collect::<Vec<_>>(), [1_008, 1_008, 1_000, 64]);
    // A bit takes 0.1 ns and the link 1 us.
    let arrived: Vec<u64> = sent.iter().map(|(_, at, _)| at.0).collect();
    assert_eq!(arrived, [6_806_400, 7_612_800, 8_412_800, 8_464_000]);
    assert_eq!(world.record.telemetry.in_use(), 0);
}

fn takes_turns(kind: SchedulerKind) -> bool {
    matches!(kind, SchedulerKind::Wrr | SchedulerKind::Dwrr)
}

/// Where a switch's packets have their room: at each port, in a buffer that ports share, or there without loss.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Room {
    Own,
    Shared,
    Lossless,
}

impl Room {
    fn give(self, egress: &mut Egress) {
        if self == Room::Own {
            return;
        }
        egress.shared = Some(Shared::new(30_000, 1.0));
        egress.ports.iter_mut().for_each(|port| port.limit = Limit::SHARED);
        if self == Room::Lossless {
            let spec = PfcSpec {
                lossless: 0b101,
                threshold: PfcThreshold::Dynamic(1.0),
                reserve: Bytes(1_500),
                resume: Bytes(3_000),
                headroom: None,
                watchdog: None,
            };
            egress.set_pfc(Pfc::new(&spec, egress.ports.iter().map(|_| 4_000)));
        }
    }
}

/// A switch whose general ports take the short way where they may, or never. Three queues, or one.
fn managed_leaf(
    graph: &Graph,
    (manager, kind, room): (&str, SchedulerKind, Room),
    short: bool,
) -> Switch {
    let mut leaf = leaf(graph, 20);
    let (manager, follows) = match manager {
        "red that follows its queue" => ("red", true),
        other => (other, false),
    };
    let entry = registry::queue_manager(manager).expect("there is one");
    let mut params = Params::defaults(entry.info.params);
    if follows {
        let threshold = |bytes| Value::Amount(Amount::Bytes(bytes));
        params = params
            .with("weight", Value::Float(1.0))
            .with("min_threshold", threshold(90_000))
            .with("max_threshold", threshold(140_000));
        leaf.egress.ports.iter_mut().for_each(|port| port.limit = Limit::NONE);
    }
    let queues = if kind == SchedulerKind::Fifo { 1 } else { 3 };
    let mut env = FakeLeaf::new(2, 2, 1).env;
    env.queues = queues;
    (env.weights, env.in_turns) = (vec![3, 1, 2], takes_turns(kind));
    for port in &mut leaf.egress.ports {
        let aqm = (entry.build)(&params, &env, port.local);
        let aqm = aqm.expect("its defaults are valid");
        let needs = aqm.needs();
        let scheduler = Scheduler::new(kind, &[3, 1, 2][..usize::from(queues)], 1500);
        let mut general = GeneralPort::new(Pace::new(port.rate), queues, scheduler);
        let asks = Asks {
            at_release: needs.release,
            admits_idle: !(short && needs.passes_idle),
            releases_idle: needs.release && !(short && needs.sends_idle),
        };
        general.set_asks(asks, short);
        general.set_admits_from(if short { needs.passes_below } else { 0 });
        (port.store, port.manager) = (Store::General(Box::new(general)), Manager::own(aqm));
    }
    room.give(&mut leaf.egress);
    leaf.open_flow(PortId(0), 0);
    leaf
}

/// What a switch makes of packets of many flows that come as `draw` has it, one after the other.
/// Bursts, and pauses in which the line becomes idle, both of at most so many nanoseconds: how often there is none.
fn what_becomes_of(
    leaf: &mut Switch,
    net: &Network,
    mut draw: Rng,
    (bursts, gap, pause): (f64, u64, u64),
) -> (Notebook, String) {
    let mut world = Notebook::default();
    let mut comes = Time::ZERO;
    for seq in 0..20_000 {
        let gap = if draw.chance(bursts) { draw.below(gap) } else { draw.below(pause) };
        comes += Span::from_nanos(gap);
        while let Some(at) = (0..world.scheduled.len()).min_by_key(|at| world.scheduled[*at])
            && world.scheduled[at].0 <= comes
        {
            let (at, key, item) = world.scheduled.swap_remove(at);
            world.now = at;
            leaf.on_timer(key, item, net, &mut world);
        }
        world.now = comes;
        let tuple = FiveTuple::new(HostId(0), HostId(2), draw.below(50) as u16, 5001);
        let ecn = if draw.chance(0.8) { Ecn::Capable } else { Ecn::NotCapable };
        let size = if draw.chance(0.5) { 1500 } else { 64 };
        let mut packet = PacketMeta { tuple, size, seq, ecn, ..PacketMeta::default() };
        packet.flags = Flags::DATA;
        if draw.chance(0.3) {
            world.record.telemetry.attach(&mut packet, Vec::new());
        }
        leaf.arrive(PortId(0), &mut packet, net, &mut world);
    }
    let stats: String = leaf.egress.ports.iter().map(|port| format!("{:?}", port.stats)).collect();
    (world, format!("{stats} {:?} {:?}", leaf.egress.shared, leaf.egress.pfc()))
}

/// What each packet that was sent carries of its way.
fn told(world: &mut Notebook) -> Vec<Vec<Hop>> {
    let telemetry = &mut world.record.telemetry;
    world.delivered.iter().map(|(.., packet)| telemetry.detach(packet)).collect()
}

/// Breaks if a packet is sent, marked, dropped, counted (where it waits, in the buffer, where it came in), told
/// of its way or announced to its sender otherwise by the short ways, of packets that find an idle line and of
/// ports where no scheme follows what waits, than by the long one; or if these leave a scheduler or a manager
/// in another state.
#[test]
fn the_short_way_makes_no_difference() {
    for room in [Room::Own, Room::Shared, Room::Lossless] {
        the_short_way_is_the_long_one(room);
    }
}

fn the_short_way_is_the_long_one(room: Room) {
    let graph = graph();
    let mut net = network(&graph);
    net.measuring = true;
    let kinds =
        [SchedulerKind::Fifo, SchedulerKind::Strict, SchedulerKind::Wrr, SchedulerKind::Dwrr];
    let managers = ["ecn-threshold", "red", "codel", "mq-ecn", "tcn", "a-ecn", "ml-ecn"];
    let all = kinds.into_iter().flat_map(|kind| managers.map(|manager| (kind, manager)));
    // MQ-ECN measures turns.
    for (kind, manager) in all.filter(|(kind, name)| *name != "mq-ecn" || takes_turns(*kind)) {
        let draws = || Rng::new(5, Role::Balancer, 7);
        let case = (manager, kind, room);
        let mut ways = [true, false].map(|short| managed_leaf(&graph, case, short));
        let [(mut short, counted), (mut long, by_hand)] =
            ways.each_mut().map(|leaf| what_becomes_of(leaf, &net, draws(), (0.98, 1_000, 50_000)));
        assert_eq!(short.delivered, long.delivered, "{case:?}");
        assert_eq!(short.scheduled, long.scheduled, "{case:?}");
        assert_eq!(short.record.counters, long.record.counters, "{case:?}");
        assert_eq!(counted, by_hand, "{case:?}");
        assert_eq!(told(&mut short), told(&mut long), "{case:?}");
        assert!(long.delivered.len() > 10_000, "{case:?}");
        let frames = long.record.counters.pause_frames;
        assert_eq!(frames > 10, room == Room::Lossless, "{case:?}: {frames} pause frames");
    }
}

/// RED that follows its queue marks from 90 KB on: where less than 24,465 bytes wait, plain ports do not ask it, and
/// a queue that rises from there to 90 KB has packets by which it is asked on the way. The queue does so often, to
/// 140 KB and beyond.
///
/// Breaks if a packet is marked otherwise than where RED is asked of each, in particular the first ones above the
/// threshold, which by Fig. 2 go by how many were not marked since the average was below it.
#[test]
fn a_manager_is_not_asked_of_what_it_always_takes() {
    let graph = graph();
    let mut net = network(&graph);
    net.measuring = true;
    let case = ("red that follows its queue", SchedulerKind::Fifo, Room::Own);
    let draws = || Rng::new(6, Role::Balancer, 7);
    let mut ways = [true, false].map(|short| managed_leaf(&graph, case, short));
    let [(mut short, counted), (mut long, by_hand)] =
        ways.each_mut().map(|leaf| what_becomes_of(leaf, &net, draws(), (0.997, 700, 250_000)));
    assert_eq!(short.delivered, long.delivered);
    assert_eq!((counted, told(&mut short)), (by_hand, told(&mut long)));
    let marks = long.record.counters.marks;
    assert!((2_000..16_000).contains(&marks), "{marks} of 20,000 packets are marked");
}
