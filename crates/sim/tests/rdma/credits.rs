//! Receivers' credits in running fabrics.

use crate::common::*;
use leafspine_core::{Bytes, Span, Time};
use leafspine_sim::Output;
use leafspine_sim::spec::*;

/// Many to one at 10 Gb/s, over switches that trim, with a first window of four packets.
fn incast(senders: u16, bytes: u64) -> Spec {
    let from: Vec<u16> = (0..senders).collect();
    let flows = long_flows(u32::from(senders), bytes, hosts(&from), hosts(&[senders]));
    let credits = Some(CreditSpec { first: 4 * 1050, share: 1.0 });
    let roce = RoceSpec { credits, recovery: Recovery::Each, classes: (1, 0), ..roce() };
    let mut spec = pairs(TopologyKind::Star { hosts: u32::from(senders) + 1 }, roce, vec![flows]);
    let trim = TrimSpec { class: 0, buffer: Bytes(100_000), either: true, returns: false };
    trim_at(&mut spec, 8, trim);
    spec
}

fn sum(column: &[u32]) -> u64 {
    column.iter().map(|n| u64::from(*n)).sum()
}

/// By hand: a lone message of ten packets of 1,050 bytes, four of them unasked. A packet leaves
/// each 840 ns; the first is there after 2 x 840 ns and 2 us, at 3.68 us, and asks for six. The
/// first credit leaves after its acknowledgment, which takes 43.2 ns, and one more each 840 ns; of
/// 54 bytes, over two links: 86.4 ns and 2 us. So the fifth packet leaves at 3.68 + 0.0432 + 2.0864
/// = 5.8096 us, and each one 840 ns after it, as long as its own line needs: a credit that need not
/// wait for an acknowledgment comes earlier in vain.
///
/// Breaks if a first window is another, if credits are not paced by the receiver's line, or if one
/// is worth more than a packet.
#[test]
fn a_message_by_hand() {
    let mut spec = incast(1, 10_000);
    spec.probes = vec![probe_of(ProbeKind::Packets, "host0-*", Span::ZERO)];
    let output = run(&spec);
    let start = numbers_of(&output.probes[0], "time_ps");
    let unasked = (0..4).map(|n| n * 840_000);
    let asked = (0..6).map(|n| 5_809_600 + n * 840_000);
    assert_eq!(start, unasked.chain(asked).collect::<Vec<_>>());
    assert_eq!((output.counters.credits, output.counters.trimmed), (6, 0));
}

/// Breaks if a receiver's credits are more or fewer than what its line takes, or not shared in
/// turn: beyond the first windows, which are trimmed, nothing is, and the eight messages end within
/// five rounds of each other (of four packets each some have to be asked for once more), when the
/// line has carried them.
#[test]
fn senders_take_turns() {
    let output = run(&incast(8, 400_000));
    let first = 8 * 4;
    assert!(
        output.counters.trimmed > 0 && output.counters.trimmed < first,
        "{:?}",
        output.counters
    );
    assert_eq!((sum(&output.flows.timeouts), output.counters.dropped), (0, [0; 4]));
    assert_eq!(sum(&output.flows.retransmits), output.counters.trimmed);
    // One credit for each packet that was not unasked, or was trimmed.
    assert_eq!(output.counters.credits, 8 * 400 - first + output.counters.trimmed);
    let ends = &output.flows.fct_ps;
    let (least, most) = (ends.iter().min().expect("flows"), ends.iter().max().expect("flows"));
    assert!(most - least <= 5 * 8 * 840_000, "{ends:?}");
    let line = 8 * 400 * 840_000;
    assert!((line..line + 40_000_000).contains(most), "{most} {line}");
}

/// Breaks if a receiver gives more of its line away than its share.
#[test]
fn a_share_of_the_line() {
    let mut spec = incast(4, 1 << 32);
    if let Protocol::Roce(RoceSpec { credits: Some(credits), .. }) = &mut spec.transport.protocol {
        credits.share = 0.5;
    }
    spec.run.until = Some(Time(10_000_000_000));
    let output = run_long(&spec);
    let half = 10e9 / 840_000.0 / 2.0;
    let came = sum(&output.flows.packets) as f64;
    assert!((came / half - 1.0).abs() < 0.01, "{came} {half}");
}

/// Breaks if a lost credit, or a lost message that asks for some, stops its sender for ever: each
/// is worth a timeout, no more.
#[test]
fn lost_credits_cost_a_timeout() {
    let mut spec = incast(4, 100_000);
    spec.topology.host_link.loss = 0.05;
    if let Protocol::Roce(roce) = &mut spec.transport.protocol {
        roce.timeout = Span::from_micros(500);
        roce.max_timeout = Span::from_micros(500);
    }
    let output: Output = run(&spec);
    assert!(output.counters.lost > 50 && sum(&output.flows.timeouts) > 0);
}

/// A job of nine hosts, twice.
fn job(collective: CollectiveSpec) -> Spec {
    let mut spec = incast(8, 1);
    let mut job = spec.workloads[0].clone();
    job.kind = WorkloadKind::Job(Box::new(JobSpec {
        iterations: 2,
        ..JobSpec::once(JobKind::Collective(collective))
    }));
    (job.senders, job.receivers) = (HostSet::All, HostSet::All);
    spec.workloads = vec![job];
    spec
}

/// Breaks if the messages of a job stop where their queue pair has spent its credit: each tells of
/// itself, and one that begins while the queue pair is idle has a first window.
#[test]
fn messages_of_a_job() {
    let output = run(&job(CollectiveSpec {
        collective: Collective::AllReduce,
        algorithm: Algorithm::Ring,
        bytes: Bytes(800_000),
        channels: 1,
        chunk: None,
    }));
    assert!(output.counters.credits > 1_000, "{:?}", output.counters);
    assert_eq!(output.counters.trimmed, 0);
}

/// Every host sends to all others at once, in messages of two to five packets that follow each
/// other on their queue pair: several are under way, and what is trimmed of one is asked for when
/// others have begun, or have ended.
///
/// Breaks if the end of a message takes what another one of its queue pair still wants, if a credit
/// does not reach the message that lacks it, or if what is trimmed is forgotten when the next
/// message says what it wants: each costs a timeout.
#[test]
fn messages_that_overlap_and_are_trimmed() {
    let mut trimmed = 0;
    for packets in 2..=5 {
        let mut spec = job(CollectiveSpec {
            collective: Collective::AllToAll,
            algorithm: Algorithm::Direct,
            bytes: Bytes(9 * 40_000),
            channels: 1,
            chunk: Some(Bytes(1000 * packets)),
        });
        // Out of step, so that several send to one at once.
        if let WorkloadKind::Job(job) = &mut spec.workloads[0].kind {
            job.compute_jitter = Span::from_micros(100);
        }
        for first in [4, 12, 24] {
            if let Protocol::Roce(roce) = &mut spec.transport.protocol {
                roce.credits = Some(CreditSpec { first: first * 1050, share: 1.0 });
            }
            let output = run(&spec);
            let (flows, counters) = (&output.flows, &output.counters);
            trimmed += counters.trimmed;
            assert_eq!((sum(&flows.timeouts), counters.dropped), (0, [0; 4]), "{packets} {first}");
            assert_eq!(sum(&flows.retransmits), counters.trimmed, "{packets} {first}");
        }
    }
    assert!(trimmed > 80, "{trimmed}");
}
