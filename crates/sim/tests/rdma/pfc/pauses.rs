//! When pauses begin and end, how long they last, and what links' changes make of them.

use super::*;
use crate::common::*;
use leafspine_core::{Rate, Span, Time};
use leafspine_sim::spec::*;
use leafspine_sim::{Column, Output};

/// When the packets of the first probe's port left.
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
