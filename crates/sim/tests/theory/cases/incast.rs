//! Many senders, one receiver: the last link does not idle.

use super::{Case, Row};
use crate::common::*;
use leafspine_core::{Bytes, Span, Time};
use leafspine_schemes::Amount;
use leafspine_sim::spec::*;

/// Until the last of `senders` flows of `packets` is complete, ps.
fn last(senders: u32, packets: u64, control: &str) -> f64 {
    let mut spec = base();
    spec.topology.kind = TopologyKind::Star { hosts: senders + 1 };
    spec.switch.buffer = Amount::Packets(10_000);
    spec.transport.scheme = scheme(control);
    spec.workloads = vec![WorkloadSpec {
        kind: WorkloadKind::Incast {
            fan_in: None,
            rounds: 1,
            every: Span::from_millis(1),
            jitter: Span::ZERO,
        },
        sizes: SizeSpec::Fixed(Bytes(packets * 1460)),
        senders: HostSet::Rest,
        receivers: HostSet::First(1),
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    }];
    let output = run_long(&spec);
    assert_eq!(output.counters.dropped, [0; 4], "the bound is met without drops only");
    *output.flows.fct_ps.iter().max().expect("flows") as f64
}

/// The bound is met.
pub fn makespan() -> Case {
    let row = |(senders, packets, control): (u32, u64, &str)| {
        let all = u64::from(senders) * packets;
        let expected =
            4 * (32_000 + 1_000_000) + 2 * (1_200_000 + 1_000_000) + (all - 1) * 1_200_000;
        let setting = format!("{senders} senders, {packets} packets each, {control}");
        let measured = last(senders, packets, control);
        Row::exact(setting, "completion time of the last, ps", expected as f64, measured)
    };
    let cases = [
        (2, 10, "newreno"),
        (8, 10, "newreno"),
        (32, 10, "newreno"),
        (8, 500, "dctcp"),
        (32, 100, "dctcp"),
    ];
    Case {
        title: "Incast: the lower bound",
        law: "N flows of n packets take at least a handshake, a packet's way and N n − 1 packets' times on the last link.",
        source: "Work conservation",
        setup: "A star, 10 Gb/s, 1 us a link; all start at once; the buffer holds all that comes.",
        domain: "Met exactly as long as something waits at the last link; a drop costs a timeout on top, a window below the way's 5.4 packets leaves gaps.",
        rows: cases.map(row).into(),
    }
}
