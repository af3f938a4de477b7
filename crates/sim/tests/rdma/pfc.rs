//! Priority-based flow control in running fabrics.

use crate::common::*;
use crate::uet_table::SPRAYS;
use leafspine_core::{Bytes, Rate, Span, Time};
use leafspine_fabric::kinds::{Defaults, Edge, Vertex, Wiring};
use leafspine_schemes::{Amount, Value};
use leafspine_sim::spec::*;
use leafspine_sim::{
    Cause, Column, Deadlock, Factories, Output, Progress, RunError, Simulation, Stuck,
};
use proptest::prelude::*;
use std::sync::Arc;

/// A fabric of switches and links in Mb/s and us, with a host at each switch, of its number.
fn fabric(
    switches: usize,
    host_mbps: &[u64],
    links: &[(usize, usize)],
    delay: u64,
) -> TopologyKind {
    let vertex = |name: String, host| Vertex { name, host, tier: None };
    let hosts = (0..switches).map(|n| vertex(format!("h{n}"), Some(true)));
    let vertices: Vec<Vertex> =
        hosts.chain((0..switches).map(|n| vertex(format!("s{n}"), Some(false)))).collect();
    let edge = |ends, mbps| Edge {
        ends,
        rate: Some(Rate::from_mbps(mbps)),
        delay: Some(Span::from_micros(delay)),
        loss: None,
    };
    let host_links = host_mbps.iter().enumerate().map(|(n, mbps)| edge((n, switches + n), *mbps));
    let fabric_links = links.iter().map(|(a, b)| edge((switches + a, switches + b), 10_000));
    let edges: Vec<Edge> = host_links.chain(fabric_links).collect();
    let none = Defaults { host: None, fabric: None };
    TopologyKind::File(Arc::new(Wiring::new(&vertices, &edges, &none).expect("a fabric")))
}

fn pfc(threshold: u64) -> PfcSpec {
    PfcSpec {
        lossless: 1,
        threshold: PfcThreshold::Static(Bytes(threshold)),
        reserve: Bytes(0),
        resume: Bytes(3_000),
        headroom: None,
        watchdog: None,
    }
}

/// NewReno that sends so many packets at once, without a handshake or marks.
fn bursts(kind: TopologyKind, packets: u32, flows: Vec<WorkloadSpec>) -> Spec {
    let mut spec = base();
    spec.topology.kind = kind;
    spec.aqm = scheme("droptail");
    spec.transport.scheme = scheme("newreno");
    spec.transport.handshake = false;
    spec.transport.init_cwnd = Amount::Packets(packets);
    spec.switch.shared = Some(SharedBuffer { size: Bytes(1_000_000), alpha: 1.0 });
    spec.switch.pfc = Some(pfc(6_000));
    spec.workloads = flows;
    spec.measure.window = Window::All;
    spec
}

/// Host 0 sends over two switches to host 1, whose link is slow.
fn two_switches(slow_mbps: u64, packets: u32) -> Spec {
    let kind = fabric(2, &[10_000, slow_mbps], &[(0, 1)], 1);
    let bytes = u64::from(packets) * 1460;
    bursts(kind, packets, vec![long_flows(1, bytes, hosts(&[0]), hosts(&[1]))])
}

fn starts(output: &Output) -> &[u64] {
    let column = output.probes[0].columns.iter().find(|(name, _)| *name == "time_ps");
    let Some((_, Column::U64(times))) = column else { panic!("no times") };
    times
}

/// Packets of 1,500 bytes leave host 0 every 1.2 us from 0 on; packet `k` (from 1) is at s0 at `1.2
/// k + 1` us and at s1 at `1.2 k + 3.2`. There the first is sent at 4.4 us, for 12 us. Five wait at
/// 10.4 us: 7,500 bytes, more than 6,000, so a pause frame leaves (the way back is idle) for 51.2
/// ns and 1 us: s0 stops at 11.4512 us. Packet 8 is on the line; 9 is the first that waits. At s1
/// packets 2 to 8 wait; each leaves every 12 us from 16.4 on, and 3,000 bytes are left at 64.4: s0
/// goes on at 65.4512, after 54 us. Meanwhile five packets wait at s0 at 16.6 us (9 to 13), so host
/// 0 stops at 17.6512, with 14 and 15 on their way: 10,500 bytes, of which 3,000 are left when
/// packet 13 leaves at 65.4512 + 4.8 us: it goes on at 71.3024. And s1 has 7,500 again when packet
/// 11 is there, at 65.4512 + 2.4 + 2.2 us: s0 stops at 71.1024.
///
/// Breaks if a pause takes effect before the frame is there, cuts a packet off, or begins or ends a
/// packet early or late.
#[test]
fn pauses_on_two_switches_by_hand() {
    let mut spec = two_switches(1_000, 100);
    spec.run.until = Some(Time(75_000_000));
    spec.probes = vec![
        ProbeSpec {
            kind: ProbeKind::Packets,
            ports: "s0-s1".to_owned(),
            flows: Vec::new(),
            every: Span::ZERO,
            name: "packets".to_owned(),
        },
        ProbeSpec {
            kind: ProbeKind::Pause,
            ports: "*".to_owned(),
            flows: Vec::new(),
            every: Span::from_micros(20),
            name: "pause".to_owned(),
        },
    ];
    let output = run(&spec);
    assert_eq!(starts(&output)[7..11], [10_600_000, 65_451_200, 66_651_200, 67_851_200]);
    let (uplink, host) = (port(&output, "s0-s1"), port(&output, "h0-s0"));
    assert_eq!((uplink.pause_ps, uplink.pauses), (54_000_000 + 75_000_000 - 71_102_400, 2));
    assert_eq!((host.pause_ps, host.pauses), (71_302_400 - 17_651_200, 1));
    assert_eq!(port(&output, "s1-h1").pauses, 0);
    assert_eq!(
        output.counters.pause_frames, 5,
        "two of s1 to stop and one to go on, one each of s0"
    );
    assert_eq!(output.counters.dropped, [0; 4]);
    // The probe's samples are the same time in parts, as far as they go: up to 60 us.
    let columns = &output.probes[1].columns;
    let (Column::U64(paused), Column::Index(which)) = (&columns[2].1, &columns[1].1) else {
        panic!("other columns")
    };
    let at = output.probes[1].ports.iter().position(|name| name == "s0-s1").expect("a port") as u32;
    let sum: u64 = paused.iter().zip(which).filter(|(_, port)| **port == at).map(|(p, _)| p).sum();
    assert_eq!(sum, 60_000_000 - 11_451_200);
}

/// Two queue pairs of host 0 over s0 and s1, of two lossless priorities: 3 to host 1, whose link is
/// slow, and 4 to host 2 under a third switch. Packets have 1,500 bytes and nothing is acknowledged.
fn two_priorities() -> Spec {
    let kind = fabric(3, &[10_000, 1_000, 10_000], &[(0, 1), (1, 2)], 1);
    let flow = |to, class| WorkloadSpec {
        class: Some(class),
        ..long_flows(1, 100 * 1_450, hosts(&[0]), hosts(&[to]))
    };
    let roce = RoceSpec { ack_every: 1 << 16, ..roce() };
    let mut spec = pairs(kind, roce, vec![flow(1, 3), flow(2, 4)]);
    spec.transport.mss = 1_450;
    spec.switch.queues = 5;
    spec.switch.scheduler = SchedulerKind::Wrr;
    spec.switch.weights = vec![1; 5];
    spec.switch.stage_queues = vec![0, 1, 2, 3, 4];
    spec.switch.classifier = Classifier::Dscp;
    spec.switch.shared = Some(SharedBuffer { size: Bytes(1_000_000), alpha: 1.0 });
    spec.switch.pfc = Some(PfcSpec { lossless: 0b11000, ..pfc(6_000) });
    spec
}

/// The queue pairs take turns: packet `k` (from 1) of priority 3 leaves host 0 at `2.4 (k - 1)` us,
/// of priority 4 at 1.2 us more; they are at s0 2.2 and at s1 4.4 us later. The way to host 1 takes
/// 12 us a packet: from 4.4 us on the first, from 16.4 us on the second. Packet 7 is at s1 at 18.8 us,
/// the fifth that waits: 7,500 bytes, more than 6,000. The frame is at s0 after 51.2 ns and 1 us, at
/// 19.8512 us, and stops priority 3 after packet 8, which is on the line since 19 us. At s0 packets
/// 9 to 13 wait by 31 us: host 0 is stopped at 32.0512 us, during packet 14. At 33.6 us it is
/// packet 15's turn, which waits at the port for the end of the pause. Priority 4 has never had to
/// stop, and has all turns from then on: its packet 14 leaves at 32.4 us, and others each 1.2 us.
///
/// Breaks if a pause stops another priority, at a switch or at the host, whose card has one line for
/// all; if pauses are not told apart in a port's row and in the probe's.
#[test]
fn a_priority_goes_on_while_another_is_paused() {
    let mut spec = two_priorities();
    spec.run.until = Some(Time(61_000_000));
    let probe = |kind, ports, every| probe_of(kind, ports, Span::from_micros(every));
    spec.probes = vec![
        probe(ProbeKind::Packets, "h0-s0", 0),
        probe(ProbeKind::Packets, "s0-s1", 0),
        probe(ProbeKind::Pause, "s0-s1", 20),
    ];
    let output = run(&spec);
    let sent = |probe: usize, flow: u64| sent_of(&output, probe, flow);
    let turns = |from: u64, count: u64, step: u64| (0..count).map(move |k| from + k * step);
    assert_eq!(sent(0, 0), turns(0, 14, 2_400_000).collect::<Vec<_>>());
    let alone = turns(33_600_000, 23, 1_200_000);
    let expected: Vec<u64> = turns(1_200_000, 14, 2_400_000).chain(alone).collect();
    assert_eq!(sent(0, 1), expected);
    assert_eq!(sent(1, 0), turns(2_200_000, 8, 2_400_000).collect::<Vec<_>>());
    let early = |times: Vec<u64>| -> Vec<u64> {
        times.into_iter().filter(|time| *time < 60_000_000).collect()
    };
    let later = expected.iter().map(|time| time + 2_200_000).collect();
    assert_eq!(early(sent(1, 1)), early(later));
    assert_eq!(output.priorities, [3, 4]);
    let (uplink, host) = (port(&output, "s0-s1"), port(&output, "h0-s0"));
    assert_eq!(uplink.own_pauses, [(61_000_000 - 19_851_200, 1), (0, 0)]);
    assert_eq!(host.own_pauses, [(61_000_000 - 32_051_200, 1), (0, 0)]);
    assert_eq!((host.pause_ps, host.pauses), host.own_pauses[0]);
    assert_eq!(output.counters.pause_frames, 2);
    let pauses = |column| numbers_of(&output.probes[2], column);
    assert_eq!(pauses("paused_ps_3"), [0, 148_800, 20_000_000, 20_000_000]);
    assert_eq!(pauses("pauses_3"), [0, 1, 0, 0]);
    assert_eq!(pauses("paused_ps_4"), [0; 4]);
    assert_eq!(pauses("paused_ps"), pauses("paused_ps_3"));
}

/// When a flow's packets left by the port of a probe.
fn sent_of(output: &Output, probe: usize, flow: u64) -> Vec<u64> {
    let series = &output.probes[probe];
    let flows = numbers_of(series, "flow");
    let times = numbers_of(series, "time_ps").into_iter().zip(flows);
    times.filter(|(_, own)| *own == flow).map(|(time, _)| time).collect()
}

/// As above, by 61 us: 14 packets of priority 3, and 37 of priority 4.
///
/// Breaks if behind a host's edge or its jitter a pause of one priority stops the other, or the same
/// priority puts a packet more into the port for each that is on its way there.
#[test]
fn a_priority_goes_on_behind_an_edge_and_with_jitter() {
    let mut spec = two_priorities();
    spec.run.until = Some(Time(61_000_000));
    spec.probes = vec![probe_of(ProbeKind::Packets, "h0-s0", Span::ZERO)];
    let counts = |spec: &Spec| {
        let output = run(spec);
        let host = port(&output, "h0-s0");
        ([0, 1].map(|flow| sent_of(&output, 0, flow).len()), host.queue_max_packets)
    };
    let plain = counts(&spec);
    assert_eq!(plain.0, [14, 37]);
    for name in SPRAYS {
        spec.edge = Some(edge(name));
        assert_eq!(counts(&spec), plain, "{name}");
    }
    spec.edge = None;
    // Of ten queue pairs of priority 3 one has its packet in the port.
    for _ in 0..9 {
        spec.workloads.push(spec.workloads[0].clone());
    }
    let (_, waits) = counts(&spec);
    spec.topology.host_jitter = Span::from_nanos(50);
    let ([_, four], with_jitter) = counts(&spec);
    assert!(four >= 20 && with_jitter <= waits, "{four} {with_jitter} {waits}");
}

/// Priority 4 is paused alone, then 3 with it: each goes to a slow host. Breaks if queue pairs that a
/// pause has held back do not go on when it is over, or if a lossless packet is dropped meanwhile.
#[test]
fn two_priorities_are_paused_each_for_itself() {
    let mut spec = two_priorities();
    spec.topology.kind = fabric(3, &[10_000, 1_000, 400], &[(0, 1), (1, 2)], 1);
    let output = run(&spec);
    assert_eq!((output.counters.dropped, output.flows.retransmits.clone()), ([0; 4], vec![0, 0]));
    let [three, four] = port(&output, "h0-s0").own_pauses[..] else { panic!("two priorities") };
    // 100 packets take 1.2 ms at 1 Gb/s and 3 ms at 400 Mb/s; some twenty of them do not wait at the host.
    assert!((800_000_000..1_150_000_000).contains(&three.0), "{three:?}");
    assert!((2_000_000_000..2_900_000_000).contains(&four.0), "{four:?}");
    let all = port(&output, "h0-s0").pause_ps;
    assert!(all >= four.0 && all < three.0 + four.0, "{all}");
}

/// Breaks if a frame does not wait for the packet that is being sent, or overtakes it.
#[test]
fn a_pause_frame_waits_for_the_packet_on_the_line() {
    let mut spec = two_switches(1_000, 100);
    // Host 1 sends, too: its packets are on the line of 1 Gb/s from 0 on and at s1 from 13 us on; the third begins its
    // 1.2 us to s0 at 37 us.
    spec.workloads.push(long_flows(1, 1460 * 30, hosts(&[1]), hosts(&[0])));
    spec.workloads[0].start = Time(26_000_000);
    spec.run.until = Some(Time(60_000_000));
    let output = run(&spec);
    // Five wait 10.4 us after the start, at 36.4 us: the line is idle. Moved by 0.7 us, it is not.
    assert_eq!(port(&output, "s0-s1").pause_ps, 60_000_000 - 37_451_200);
    spec.workloads[0].start = Time(26_700_000);
    let output = run(&spec);
    assert_eq!(port(&output, "s0-s1").pause_ps, 60_000_000 - (38_200_000 + 51_200 + 1_000_000));
}

/// Breaks if a pause that lasts longer than a frame can say (33.6 ms at 1 Gb/s, 3.4 ms at 10) is
/// not renewed in time: what comes then finds no headroom.
#[test]
fn long_pauses_are_renewed() {
    let mut spec = two_switches(1, 40);
    spec.transport.min_rto = Span::from_millis(60_000);
    let output = run(&spec);
    assert_eq!(output.counters.dropped, [0; 4]);
    let frames = output.counters.pause_frames;
    assert!(frames > 100, "{frames} frames in half a second");
    assert_eq!(output.flows.retransmits, [0]);
}

/// Host 1 takes 10 Mb/s, so that s0 and host 0 are paused for long; the link between the switches
/// becomes ten times as fast while the first pause frame is on it, for 5 us.
///
/// Breaks if the frame's pause is then shorter than the time after which it is renewed (336 us, and
/// half of 3.4 ms): s0 goes on unasked, and what it sends finds no headroom.
#[test]
fn a_link_that_becomes_faster_under_a_pause_frame_stays_paused() {
    for at in (14..30).step_by(2) {
        let kind = fabric(2, &[10_000, 10], &[(0, 1)], 5);
        let flows = long_flows(1, 3_000 * 1460, hosts(&[0]), hosts(&[1]));
        let mut spec = bursts(kind, 3_000, vec![flows]);
        spec.transport.min_rto = Span::from_millis(60_000);
        spec.run.until = Some(Time(5_000_000_000));
        spec.changes = vec![LinkChange {
            rate: Some(Rate::from_gbps(100)),
            ..change("s0-s1", Span::from_micros(at))
        }];
        let output = run(&spec);
        assert_eq!(output.counters.lossless_drops, 0, "at {at} us");
        assert_eq!(port(&output, "s0-s1").pauses, 1, "at {at} us");
    }
}

/// Breaks if a pause outlives the link on which it was asked for.
#[test]
fn a_link_that_comes_up_is_not_paused() {
    let mut spec = two_switches(1_000, 100);
    let down = LinkChange { up: Some(false), ..change("s0-s1", Span::from_micros(30)) };
    let up = LinkChange { up: Some(true), ..change("s0-s1", Span::from_micros(40)) };
    spec.changes = vec![down, up];
    // What still waits at s1 has it pause s0 again: the frame leaves at 40 us and takes 51.2 ns and 1 us.
    let paused_until = |us: u64| {
        spec.run.until = Some(Time(us * 1_000_000));
        port(&run(&spec), "s0-s1").pause_ps
    };
    let before = 30_000_000 - 11_451_200;
    assert_eq!([41, 43].map(paused_until), [before, before + 43_000_000 - 41_051_200]);
}

/// Four hosts send to a fifth under one switch each.
fn incast(packets: u32) -> Spec {
    let kind = TopologyKind::Star { hosts: 5 };
    let bytes = u64::from(packets) * 1460;
    bursts(kind, packets, vec![long_flows(4, bytes, hosts(&[0, 1, 2, 3]), hosts(&[4]))])
}

/// Breaks if packets of a lossless priority are dropped though the headroom is what the link needs, or if those that
/// are dropped without it are not counted.
#[test]
fn headroom_is_what_keeps_packets() {
    let mut spec = incast(200);
    let output = run(&spec);
    assert_eq!((output.counters.dropped, output.counters.lossless_drops), ([0; 4], 0));
    assert_eq!(output.flows.retransmits, [0; 4]);
    spec.switch.pfc.as_mut().expect("on").headroom = Some(Bytes(0));
    let output = run(&spec);
    let lost = output.counters.lossless_drops;
    assert!(lost > 0, "nothing comes after a pause frame has left");
    assert_eq!(output.counters.dropped, [lost, 0, 0, 0]);
}

/// Breaks if one priority's pause stops another, or a lossy one is spared.
#[test]
fn only_a_lossless_priority_is_paused() {
    let mut spec = incast(200);
    spec.switch.queues = 2;
    spec.switch.scheduler = SchedulerKind::Strict;
    spec.switch.weights = vec![1, 1];
    spec.switch.pfc.as_mut().expect("on").lossless = 0b10;
    spec.switch.shared = Some(SharedBuffer { size: Bytes(150_000), alpha: 0.5 });
    // Flows are in queue 0 or 1 by their hash, and both are full.
    spec.workloads = vec![long_flows(16, 1460 * 200, hosts(&[0, 1, 2, 3]), hosts(&[4]))];
    let output = run(&spec);
    assert!(output.counters.dropped[0] > 0, "queue 0 drops");
    assert_eq!(output.counters.lossless_drops, 0);
    let hosts = output.ports.iter().filter(|port| port.name.starts_with("host"));
    assert!(hosts.map(|port| port.pauses).sum::<u64>() > 0);
}

/// Breaks if what a hold has kept in its own memory is counted where it came in once it is let go:
/// hundreds of ACKs at once, of which the far end could not know, were more than the headroom.
#[test]
fn what_a_hold_lets_go_is_never_dropped() {
    let kind = fabric(2, &[1_000, 10_000], &[(0, 1)], 1);
    let mut spec = bursts(kind, 400, vec![long_flows(1, 400 * 1460, hosts(&[1]), hosts(&[0]))]);
    spec.switch.pfc = Some(PfcSpec { resume: Bytes(500), ..pfc(4_500) });
    let hold = scheme_with("abq", "threshold", Value::Amount(Amount::Packets(1)));
    spec.hold = Some(SchemeSpec {
        params: hold.params.with("floor", Value::Amount(Amount::Packets(1))),
        ..hold
    });
    let output = run(&spec);
    assert_eq!((output.counters.lossless_drops, output.counters.dropped), (0, [0; 4]));
}

/// A ring of five switches: each host sends to the one two further on, so that every link's packets go on by the
/// next.
fn ring() -> Spec {
    let links: Vec<_> = (0..5).map(|n| (n, (n + 1) % 5)).collect();
    let kind = fabric(5, &[10_000; 5], &links, 1);
    let flows = long_flows(5, 1460 * 2_000, hosts(&[0, 1, 2, 3, 4]), hosts(&[2, 3, 4, 0, 1]));
    bursts(kind, 2_000, vec![flows])
}

/// All ways to run a spec: looked at closely or not, by each driver.
fn all_ways(spec: &Spec) -> Vec<Result<Output, RunError>> {
    use DriverKind::{Calendar, Threads, Windows};
    let mut found = Vec::new();
    for (driver, threads) in [(Calendar, 1), (Windows, 1), (Windows, 3), (Threads, 2)] {
        let spec = Spec { run: RunSpec { driver, threads, ..spec.run }, ..spec.clone() };
        let simulation = || Simulation::with(&spec, &Factories::default()).expect("a valid spec");
        for simulation in [simulation(), simulation().checked()] {
            found.push(simulation.run(&Progress::default()));
        }
    }
    found
}

/// The ring's ports, all of which are alike and paused at once: at 26 us a packet has come to each switch, 1.2 us
/// after another, with which more than 6,000 bytes wait, and the frame takes 51.2 ns and 1 us.
fn deadlock() -> Deadlock {
    let ring = "s0-s1 waits for s1-s2 waits for s2-s3 waits for s3-s4 waits for s4-s0 waits for \
                s0-s1 (priority 0)";
    Deadlock { since: Time(27_051_200), ring: ring.to_owned() }
}

/// Breaks if a ring of ports that wait for each other is not seen, or not named, or if when that is depends on who
/// drives the run or on whether it is checked.
#[test]
fn a_deadlock_ends_a_run_that_has_no_end() {
    let stuck = |result: Result<Output, RunError>| match result {
        Err(RunError::Stuck(stuck)) => *stuck,
        other => panic!("it ends: {:?}", other.map(|output| output.end)),
    };
    let found: Vec<Stuck> = all_ways(&ring()).into_iter().map(stuck).collect();
    assert_eq!(found[0].why, deadlock().to_string());
    assert_eq!(found[0].time, Time(1_000_000_000), "the first look");
    assert!(found.iter().all(|other| *other == found[0]), "{found:?}");
}

/// The ring is there from 27 us on; a link of it goes down just when it is looked for.
///
/// Breaks if that look is before the change, wherever that stands among changes: the run would end,
/// though its flows need not wait for each other for ever.
#[test]
fn a_change_at_the_time_of_a_look_is_seen() {
    let other = LinkChange { up: Some(true), ..change("s1-s2", Span::from_micros(10)) };
    let down = LinkChange { up: Some(false), ..change("s0-s1", Span::from_micros(1_000)) };
    for changes in [vec![down.clone(), other.clone()], vec![other, down]] {
        let spec = Spec { changes, ..ring() };
        for output in all_ways(&spec) {
            assert_eq!(output.expect("it goes on").deadlock, None);
        }
    }
}

/// Breaks if a run with an end of its own does not go on to it, or does not tell of the ring then; if a change of a
/// link that it does not live to see keeps it from that, or if it is told of before it is there.
#[test]
fn a_deadlock_is_told_of_at_the_end_that_a_run_has() {
    let ended = |us: u64| {
        let mut spec = ring();
        spec.run.until = Some(Time(us * 1_000_000));
        spec.changes =
            vec![LinkChange { up: Some(true), ..change("s0-s1", Span::from_micros(40_000)) }];
        let found: Vec<Output> =
            all_ways(&spec).into_iter().map(|run| run.expect("it goes on")).collect();
        for output in &found {
            assert_eq!(output.end, Time(us * 1_000_000));
            assert_eq!(output.trace_hash, found[0].trace_hash);
            assert_eq!(output.deadlock, found[0].deadlock);
        }
        found[0].deadlock.clone()
    };
    assert_eq!([10, 20_000].map(ended), [None, Some(deadlock())]);
}

/// Breaks if a watchdog leaves a queue paused, by either action, if it acts where nothing is stuck, or if what it
/// drops is not counted.
#[test]
fn a_watchdog_ends_a_deadlock() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
        let ms = Span::from_millis(1);
        let watchdog = Some(WatchdogSpec { detect: ms, restore: ms, action });
        let mut spec = ring();
        spec.switch.pfc.as_mut().expect("on").watchdog = watchdog;
        let output = run(&spec);
        assert!(output.counters.storms > 0, "{action:?}");
        // Of these priorities a queue manager drops nothing, so what is counted as its is the watchdog's.
        let dropped = output.counters.dropped[Cause::Manager as usize];
        assert_eq!(output.counters.storm_drops, dropped, "{action:?}");
        assert_eq!(dropped > 0, action == WatchdogAction::Drop);
        let mut spec = incast(200);
        spec.switch.pfc.as_mut().expect("on").watchdog = watchdog;
        assert_eq!(run(&spec).counters.storms, 0);
    }
}

/// Host 1 is slow until its link is mended, and what is for it waits in both switches; the link between these fails
/// and comes back meanwhile.
fn flapping(down: u64, up: u64) -> Spec {
    let mut spec = two_switches(100, 400);
    let us = Span::from_micros;
    spec.transport.min_rto = Span::from_millis(1);
    spec.changes = vec![
        LinkChange { up: Some(false), ..change("s0-s1", us(down)) },
        LinkChange { up: Some(true), ..change("s0-s1", us(up)) },
        LinkChange { rate: Some(Rate::from_gbps(10)), ..change("h1-s1", us(2_000)) },
    ];
    spec
}

/// Breaks if a port whose link goes down in a storm stays in it for ever: with nothing paused any more nobody
/// would look at it again, and all that it is given would be dropped.
#[test]
fn a_storm_ends_though_the_link_goes_down_in_it() {
    for action in [WatchdogAction::Drop, WatchdogAction::Forward] {
        let mut spec = flapping(900, 1_000);
        let detect = Span::from_micros(100);
        spec.switch.pfc.as_mut().expect("on").watchdog =
            Some(WatchdogSpec { detect, restore: detect, action });
        spec.run.until = Some(Time(60_000_000_000_000));
        let output = run(&spec);
        assert!(output.counters.storms > 0, "{action:?}");
        assert!(output.flows.fct_ps[0] < 20_000_000_000_000, "{action:?}");
    }
}

/// Breaks if a switch that still has too much of what came in by a link says so only when the next packet has come,
/// after the link has come up again.
#[test]
fn who_is_full_says_so_when_the_link_comes_up() {
    let mut spec = flapping(900, 1_000);
    spec.probes = vec![probe_of(ProbeKind::Packets, "s1-s0", Span::ZERO)];
    let output = run(&spec);
    let (start, size) =
        (numbers_of(&output.probes[0], "time_ps"), numbers_of(&output.probes[0], "size"));
    let up = Time::ZERO + Span::from_micros(1_000);
    assert!(start.iter().zip(&size).any(|sent| sent == (&up.0, &64)), "{start:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Breaks if with the stated headroom any lossless packet is dropped, whatever the fabric, the load, the
    /// threshold and the links' changes of rate and delay.
    #[test]
    fn nothing_lossless_is_dropped(
        (leaves, spines, hosts_per_leaf) in (1u32..4, 1u32..4, 1u32..5),
        (host_gbps, fabric_gbps, delay) in (1u64..40, 1u64..40, 1u64..30),
        (dynamic, level, reserve, resume) in (any::<bool>(), 1u64..100_000, 0u64..9_000, 0u64..9_000),
        (window, packets, mss) in (1u32..200, 1u64..300, 100u32..9_000),
        (rate, later, seed) in (1u64..40, 1u64..30, 0u64..1_000),
        balancer in proptest::sample::select(&["ecmp", "rps", "letflow", "drill", "conga"][..]),
    ) {
        prop_assume!(leaves * hosts_per_leaf > 1);
        let flows = WorkloadSpec {
            kind: WorkloadKind::AllToAll { stagger: Span::from_micros(1) },
            ..long_flows(1, packets * u64::from(mss), HostSet::All, HostSet::First(2))
        };
        let mut spec = bursts(leaf_spine(leaves, spines, hosts_per_leaf), window, vec![flows]);
        spec.topology.host_link = link(Rate::from_gbps(host_gbps), Span::from_micros(delay));
        spec.topology.fabric_link = link(Rate::from_gbps(fabric_gbps), Span::from_micros(delay));
        spec.transport.mss = mss;
        spec.balancer = scheme(balancer);
        flow_controlled(&mut spec, (dynamic, level), (reserve, resume));
        spec.changes = vec![LinkChange {
            rate: Some(Rate::from_gbps(rate)),
            delay: Some(Span::from_micros(later)),
            ..change("leaf0-spine0", Span::from_micros(20 + seed % 100))
        }];
        spec.run.seed = seed;
        let output = run(&spec);
        prop_assert_eq!(output.counters.lossless_drops, 0);
        prop_assert_eq!(output.counters.dropped, [0; 4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Pauses that last for so long that they are renewed: host 1 takes 10 Mb/s, and the links over
    /// which its packets come become faster and slower, longer and shorter, at any time.
    ///
    /// Breaks if with the stated headroom any lossless packet is dropped, or if a port goes on that has
    /// been told to stop, which the check sees.
    #[test]
    fn nothing_lossless_is_dropped_in_long_pauses(
        (first, delay) in (proptest::sample::select(RATES), 1u64..50),
        changes in proptest::collection::vec(
            (any::<bool>(), 1u64..600, proptest::sample::select(RATES), any::<bool>(), 1u64..400),
            1..8,
        ),
        (mss, level, seed) in (100u32..9_000, 1u64..100_000, 0u64..1_000),
    ) {
        let kind = fabric(2, &[first, 10], &[(0, 1)], delay);
        let flows = long_flows(1, 1 << 30, hosts(&[0]), hosts(&[1]));
        let mut spec = bursts(kind, 1 << 16, vec![flows]);
        spec.transport.mss = mss;
        spec.transport.min_rto = Span::from_millis(60_000);
        spec.switch.shared = Some(SharedBuffer { size: Bytes(20_000_000_000), alpha: 1.0 });
        spec.switch.pfc = Some(pfc(level));
        spec.run.until = Some(Time(6_000_000_000));
        spec.run.seed = seed;
        let mut at = 0;
        for (host, gap, rate, longer, delay) in changes {
            at += gap;
            let link = if host { "h0-s0" } else { "s0-s1" };
            spec.changes.push(LinkChange {
                rate: Some(Rate::from_mbps(rate)),
                delay: longer.then(|| Span::from_micros(delay)),
                ..change(link, Span::from_micros(at))
            });
        }
        let output = run(&spec);
        prop_assert_eq!(output.counters.lossless_drops, 0);
        prop_assert_eq!(output.counters.dropped, [0; 4]);
    }
}

/// Mb/s.
const RATES: &[u64] = &[100, 1_000, 10_000, 40_000, 100_000, 400_000];

/// Flow control in a shared buffer of 20 MB, with a threshold of so many bytes, or of so many
/// ten-thousandths of what is free.
fn flow_controlled(spec: &mut Spec, (dynamic, level): (bool, u64), (reserve, resume): (u64, u64)) {
    spec.switch.shared = Some(SharedBuffer { size: Bytes(20_000_000), alpha: 1.0 });
    let threshold = match dynamic {
        true => PfcThreshold::Dynamic(level as f64 / 10_000.0),
        false => PfcThreshold::Static(Bytes(level)),
    };
    let (reserve, resume) = (Bytes(reserve), Bytes(resume));
    spec.switch.pfc = Some(PfcSpec { threshold, reserve, resume, ..pfc(0) });
}

/// Queue pairs by each control and each recovery that expects no loss.
fn transports() -> Vec<RoceSpec> {
    let hpcc = leafspine_schemes::rdma::HpccSettings {
        base_rtt: Span::from_micros(50),
        eta: 0.95,
        stages: 5,
        additive: 80,
    };
    let swift = crate::swift(Span::from_micros(100), Span::from_micros(50), Span::from_micros(50));
    vec![
        roce(),
        RoceSpec { control: by_dcqcn(), ..roce() },
        RoceSpec { recovery: IRN, window: Some(60_000), ..roce() },
        RoceSpec { control: PairControl::Hpcc(hpcc), ..roce() },
        RoceSpec { control: PairControl::Swift(swift), recovery: Recovery::Each, ..roce() },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Trees of switches, in which no ports can wait for each other, with hosts and links of any rates.
    ///
    /// Breaks if with the stated headroom any packet of queue pairs is dropped: data, what
    /// telemetry adds to it, or answers.
    #[test]
    fn nothing_of_queue_pairs_is_dropped(
        parents in proptest::collection::vec(0usize..100, 1..6),
        rates in proptest::collection::vec(1_000u64..40_000, 6),
        (delay, dynamic, level) in (1u64..30, any::<bool>(), 1u64..100_000),
        (reserve, resume, packets, mss) in (0u64..9_000, 0u64..9_000, 1u64..200, 100u32..9_000),
        (transport, seed) in (0usize..5, 0u64..1_000),
    ) {
        let links: Vec<_> = parents.iter().enumerate().map(|(n, at)| (n + 1, at % (n + 1))).collect();
        let switches = links.len() + 1;
        let flows = WorkloadSpec {
            kind: WorkloadKind::AllToAll { stagger: Span::from_micros(1) },
            ..long_flows(1, packets * u64::from(mss), HostSet::All, HostSet::First(2))
        };
        let kind = fabric(switches, &rates[..switches], &links, delay);
        let mut spec = pairs(kind, transports()[transport], vec![flows]);
        spec.transport.mss = mss;
        spec.aqm = scheme("ecn-threshold");
        flow_controlled(&mut spec, (dynamic, level), (reserve, resume));
        spec.run.seed = seed;
        let output = run(&spec);
        prop_assert_eq!(output.counters.lossless_drops, 0);
        prop_assert_eq!(output.counters.dropped, [0; 4]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Breaks if a packet that finds an idle line makes any difference where the port sends it at once: a watchdog that
    /// never bites has every packet go the longer way. Lossless or not, whoever manages the queues.
    #[test]
    fn packets_sent_at_once_go_as_others(
        (leaves, spines, hosts_per_leaf) in (1u32..4, 1u32..4, 2u32..5),
        (gbps, delay, level) in (1u64..40, 1u64..30, 1_000u64..100_000),
        lossless in 1u8..3,
        manager in proptest::sample::select(&["droptail", "red", "ecn-threshold", "codel"][..]),
        (window, packets, seed) in (1u32..100, 1u64..100, 0u64..1_000),
    ) {
        let flows = WorkloadSpec {
            kind: WorkloadKind::AllToAll { stagger: Span::from_micros(1) },
            ..long_flows(1, packets * 1460, HostSet::All, HostSet::First(2))
        };
        let mut spec = bursts(leaf_spine(leaves, spines, hosts_per_leaf), window, vec![flows]);
        spec.topology.host_link = link(Rate::from_gbps(gbps), Span::from_micros(delay));
        spec.topology.fabric_link = link(Rate::from_gbps(gbps), Span::from_micros(delay));
        spec.aqm = scheme(manager);
        spec.transport.scheme = scheme("dctcp");
        let alpha = level as f64 / 1e7;
        spec.switch.shared = Some(SharedBuffer { size: Bytes(20_000_000), alpha });
        spec.switch.pfc = Some(PfcSpec { lossless, ..pfc(level) });
        spec.run.seed = seed;
        let at_once = run(&spec);
        let watchdog = WatchdogSpec {
            detect: Span::from_millis(100_000),
            restore: Span::from_millis(1),
            action: WatchdogAction::Drop,
        };
        spec.switch.pfc.as_mut().expect("on").watchdog = Some(watchdog);
        let longer = run(&spec);
        prop_assert_eq!(at_once.trace_hash, longer.trace_hash);
        prop_assert_eq!(at_once.counters.dropped, longer.counters.dropped);
        prop_assert_eq!(at_once.counters.marks, longer.counters.marks);
        let counted = |output: &Output| -> Vec<String> {
            output.ports.iter().map(|p| format!("{p:?}")).collect()
        };
        prop_assert_eq!(counted(&at_once), counted(&longer));
    }
}
