//! Collectives on a fabric that is never in the way.

use super::{Case, Row};
use crate::common::*;
use leafspine_core::{Bytes, Rate, Span};
use leafspine_sim::spec::*;

/// An all-reduce in a ring, over queue pairs.
pub fn all_reduce() -> Case {
    let mut rows = Vec::new();
    for (ranks, each) in [(2u32, 100u64), (4, 100), (8, 100), (16, 100), (8, 10_000)] {
        let bytes = u64::from(ranks) * each * 1000;
        let spec = star(ranks, bytes);
        let output = run_long(&spec);
        let row = &output.jobs.as_ref().expect("jobs").collectives[0];
        let found = row.end.expect("it ended").since(row.start).0 as f64;
        // A packet of 1,050 bytes and an ACK of 54 on a line of 100 Gb/s, two links, two delays.
        let (line, ack, steps) = (84_000, 4_320, u64::from(2 * (ranks - 1)));
        let step = (each + 1) * line + 2_000_000;
        let law = steps * step + (steps - 1) * ack;
        let setting = format!("{ranks} ranks, {} MB", bytes as f64 / 1e6);
        rows.push(Row::exact(&setting, "completion time, ps", law as f64, found));
        let bare = (steps * each * line) as f64;
        let setting = format!("{setting}, without latencies");
        let why = "a step has a packet's time on the second line, two delays and an ACK before its data besides";
        let allowed = (steps * (line + ack + 2_000_000)) as f64;
        rows.push(Row::bounded(setting, "completion time, ps", bare, &[found], allowed, why));
    }
    Case {
        title: "An all-reduce in a ring on an ideal fabric",
        law: "2 (n − 1) steps of 1/n of the buffer: 2 (n − 1)/n × size / rate, and 2 (n − 1) latencies.",
        source: "Patarasuk and Yuan, JPDC 2009",
        setup: "Queue pairs at a star of 100 Gb/s and 1 us, packets of 1,000 bytes and 50 of headers, one ACK a message; what came is acknowledged before the next step's data goes.",
        domain: "Where nothing else is on the links; with an ACK for each packet data waits for those behind it.",
        rows,
    }
}

fn star(ranks: u32, bytes: u64) -> Spec {
    let what = CollectiveSpec {
        collective: Collective::AllReduce,
        algorithm: Algorithm::Ring,
        bytes: Bytes(bytes),
        channels: 1,
        chunk: None,
    };
    let job = JobSpec::once(JobKind::Collective(what));
    let any = fixed_flows(1, 1, 0.1);
    let workload = WorkloadSpec {
        kind: WorkloadKind::Job(Box::new(job)),
        senders: HostSet::All,
        receivers: HostSet::All,
        pattern: Pattern::Any,
        ..any
    };
    let roce = RoceSpec { ack_every: 65_536, ..roce() };
    let mut spec = pairs(TopologyKind::Star { hosts: ranks }, roce, vec![workload]);
    spec.topology.host_link = link(Rate::from_gbps(100), Span::from_micros(1));
    spec
}
