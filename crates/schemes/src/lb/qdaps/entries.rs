//! What the catalogue says of QDAPS and QDAPS*, and how they are made.

use super::Qdaps;
use super::feedback::Feedback;
use super::flow_table::FlowTable;
use super::line::Lines;
use super::on_p4::OnP4;
use super::reroute::Reroute;
use crate::lb::{Entry, LoadBalancer};
use crate::p4::{ARITHMETIC, Arithmetic};
use crate::{
    Amount, Demands, Kind, Meaning, Param, ParamError, Params, Provenance, SchemeInfo, SwitchEnv,
    parameters, words,
};
use leafspine_core::{Bytes, Span};

words! {
    /// Which of the candidate queues is the shortest.
    pub(super) enum By {
        Bytes = "bytes",
        Delay = "delay",
    }
    /// Where the threshold S for rerouting comes from.
    pub(super) enum Source {
        Mean = "mean",
        FlowSize = "flow-size",
        Sent = "sent",
        Fixed = "fixed",
        Off = "off",
    }
    enum Samples {
        Net = "net",
        Whole = "whole",
    }
    enum Echo {
        Dequeue = "dequeue",
        Queueing = "queueing",
    }
}

parameters! {
    /// Of both.
    pub(super) struct Settings {
        by: By = Param::new(
            By::KIND,
            "bytes",
            "Which of the candidate queues is the shortest: in bytes waiting, or in delay.",
        ),
        in_service: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether the packet in transmission counts: what is left of it as delay, its bytes as queue.",
        ),
        reroute: Source = Param::new(
            Source::KIND,
            "mean",
            "The threshold S for rerouting: eq. 14 with Y = the workload's mean (flow_size if it has \
             none), flow_size, or the bytes the flow has sent; a fixed threshold; or no rerouting.",
        ),
        flow_size: Bytes = Param::new(
            Kind::Bytes(1, u64::MAX),
            "1.6MB",
            "Y of eq. 14 with reroute = \"flow-size\", and where a workload (a trace) has no mean.",
        ),
        threshold: Amount = Param::new(
            Kind::Amount,
            "max(13pkt, 0.63bdp)",
            "S with reroute = \"fixed\".",
        )
        .means(Meaning::Backlog)
        .only_with("reroute", &["fixed"]),
        long_flow: Bytes = Param::new(
            Kind::Bytes(0, u64::MAX),
            "100KB",
            "Flows that have sent more through the switch, headers included, may be rerouted.",
        ),
        rtt: Option<Span> = Param::new(
            Kind::SpanOr(1_000, u64::MAX, "base"),
            "1rtt",
            "Round-trip propagation delay for eq. 14 and for the sweep every 2 RTT; \"base\" takes the \
             empty fabric's to the picosecond.",
        ),
        marking: u32 = Param::new(
            Kind::Packets(1, 1 << 20),
            "max(20pkt, 1bdp)",
            "The queues' marking threshold K in packets: S is at most this.",
        ),
        entries: usize = Param::new(
            Kind::Int(1, 1 << 16),
            "65536",
            "Entries of the flow table; flows whose CRC-16 falls into one entry share it.",
        ),
        strict_age: bool = Param::new(
            Kind::Bool,
            "false",
            "Whether the sweep also removes idle flows whose last packet still waits.",
        ),
    }
}

parameters! {
    /// Of QDAPS* alone.
    struct StarSettings {
        stale: Span = Param::new(
            Kind::Span(1, u64::MAX),
            "100rtt",
            "Age at which a leaf-to-leaf delay is no longer believed, nor sent back.",
        ),
        samples: Samples = Param::new(
            Samples::KIND,
            "net",
            "What a leaf-to-leaf delay spans: from a packet's last bit out to its first bit in, \
             whatever its size, or from the first bit out to the last bit in.",
        ),
        echo: Echo = Param::new(
            Echo::KIND,
            "dequeue",
            "When a packet gets the delay that it carries back: at the head of the queue as in \
             the paper (needs ports with two events a hop), or when it is queued.",
        ),
    }
}

parameters! {
    /// Of QDAPS alone: QDAPS* has no P4 program here.
    struct PlainSettings {
        arithmetic: Arithmetic = ARITHMETIC,
    }
}

/// QDAPS's parameters.
const PLAIN_PARAMS: [Param; Settings::PARAMS.len() + 1] = {
    let mut all = [PlainSettings::PARAMS[0]; Settings::PARAMS.len() + 1];
    let mut at = 0;
    while at < Settings::PARAMS.len() {
        all[at] = Settings::PARAMS[at];
        at += 1;
    }
    all
};

/// QDAPS*'s parameters: those of QDAPS, of which `by` has another default, and its own.
const STAR_PARAMS: [Param; Settings::PARAMS.len() + StarSettings::PARAMS.len()] = {
    let mut all = [Settings::PARAMS[0]; Settings::PARAMS.len() + StarSettings::PARAMS.len()];
    all[0].default = Some("delay");
    let mut at = 1;
    while at < all.len() {
        all[at] = match at.checked_sub(Settings::PARAMS.len()) {
            None => Settings::PARAMS[at],
            Some(own) => StarSettings::PARAMS[own],
        };
        at += 1;
    }
    all
};

/// What both have in common.
fn make(settings: &Settings, env: &SwitchEnv) -> Qdaps {
    let rtt = settings.rtt.unwrap_or(env.base_rtt).max(Span(1));
    Qdaps {
        table: FlowTable::new(
            settings.entries,
            // §III-D: "At a fixed time interval, 2RTT".
            Span(rtt.0.saturating_mul(2)),
            settings.strict_age,
        ),
        lines: Lines::new(env.ports.iter().map(|port| port.rate)),
        by: settings.by,
        in_service: settings.in_service,
        reroute: Reroute::new(settings, rtt, env),
        mtu: u64::from(env.mtu),
        feedback: None,
        exact: false,
        ties: Vec::with_capacity(env.ports.len()),
        loads: Vec::with_capacity(env.ports.len()),
        delays: Vec::with_capacity(env.ports.len()),
        lengths: Vec::with_capacity(env.ports.len()),
    }
}

pub(super) fn build(params: &Params, env: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let settings = Settings::read(params)?;
    match PlainSettings::read(params)?.arithmetic {
        Arithmetic::Exact => Ok(Box::new(make(&settings, env))),
        Arithmetic::P4 => Ok(Box::new(OnP4::new(&settings, env)?)),
    }
}

pub(super) fn build_star(
    params: &Params,
    env: &SwitchEnv,
) -> Result<Box<dyn LoadBalancer>, ParamError> {
    let star = StarSettings::read(params)?;
    Ok(Box::new(Qdaps {
        feedback: Feedback::new(star.stale, star.samples == Samples::Net, env),
        exact: star.echo == Echo::Dequeue,
        ..make(&Settings::read(params)?, env)
    }))
}

const DELAYS: &str = "Eq. 1 with each packet's own size; what is in transmission is not part of a queue (`in_service`).";
const LAST_PORT: &str =
    "The flow's last port is a candidate even if its delay is not larger than RQD.";
const RESTART: &str = "RQD used up, or the last port gone: the shortest queue of all, as for a first packet; ties are drawn.";
const EQ14: &str =
    "Eq. 14 reduces to S = sqrt(1.6 Y) - C RTT packets, since r1 is 3C/4 whatever K and RTT are.";
const EQ14_SIGN: &str = "Eq. 14 is the largest S that pays, not the smallest, and negative at 10 Gb/s and 100 us: clamped to 1..K.";
const EQ11: &str =
    "Eq. 11 averages r1 and r2, the sentence above it r1/2 and r2; eq. 14 is used as it stands.";
const LARGE: &str =
    "A large flow has sent more than 100 KB; after a reroute its new, smaller delay is remembered.";
const SWEEP: &str = "RTT of the sweep is a parameter; a flow whose last packet still waits is not removed (`strict_age`). A flow \
     that is removed has sent nothing when it comes back: the text keeps its size in the entry alone.";
const EVERYWHERE: &str = "Every switch with a choice runs it; pure ACKs are flows of their own.";

const MEETING: &str = "Not a choice, but to be known: a leaf keeps packets in order in its own queues. Where one leaf sends, a tenth as many \
     packets are reordered as under RPS; where all do, packets meet in the spines' queues, and it is two thirds \
     (both are behaviour tests).";
const STALENESS: &str = "Not a choice, but to be known: in a symmetric fabric whose queues are at the spines QDAPS* does worse than QDAPS; \
     it is for paths that differ, where it sends next to nothing over a slow far link.";

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "qdaps",
        summary: "Sends each packet to the shortest queue where it does not overtake the packet before it.",
        source: "Huang et al., QDAPS, §III",
        provenance: Provenance::Paper,
        unspecified: &[
            DELAYS,
            LAST_PORT,
            "The shortest queue has the fewest bytes waiting (`by`).",
            RESTART,
            EQ14,
            EQ14_SIGN,
            EQ11,
            LARGE,
            SWEEP,
            EVERYWHERE,
            MEETING,
        ],
        params: &PLAIN_PARAMS,
        demands: Demands::NONE,
    },
    build,
    edge: None,
    host_aqm: None,
};

pub(crate) const STAR: Entry = Entry {
    info: SchemeInfo {
        name: "qdaps-star",
        summary: "QDAPS with the leaf-to-leaf delay of each path, which the other leaf sends back.",
        source: "Huang et al., QDAPS, §III-D (QDAPS*)",
        provenance: Provenance::Paper,
        unspecified: &[
            DELAYS,
            LAST_PORT,
            "The shortest queue has the smallest sum of leaf-to-leaf and local delay (`by`).",
            "Leaf-to-leaf delays are net of the packet's own time on the first and last line (`samples`).",
            "Without an echo, and 100 base round trips after the last, a path is taken to be idle: it has its propagation delay.",
            "A measurement is sent back no longer than it is believed.",
            "The queue compared with S is that of the whole path: what waits here and what the leaf-to-leaf delay is above the idle one.",
            "Behind parallel links of a spine, an echo is credited to the link that it came by.",
            RESTART,
            EQ14,
            EQ14_SIGN,
            EQ11,
            LARGE,
            SWEEP,
            EVERYWHERE,
            STALENESS,
        ],
        params: &STAR_PARAMS,
        demands: Demands { header_bits: 64, header_words: 0b11, queues: 1 },
    },
    build: build_star,
    edge: None,
    host_aqm: None,
};
