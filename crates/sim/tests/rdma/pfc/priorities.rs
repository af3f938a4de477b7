//! A pause of one priority leaves the others alone, at switches and at a host's card.

use super::*;
use crate::common::*;
use crate::uet_table::SPRAYS;
use leafspine_core::{Bytes, Span, Time};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

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
