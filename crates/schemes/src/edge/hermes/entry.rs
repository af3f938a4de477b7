//! What the catalogue says of Hermes, and how it is made.

use super::sense::{Bounds, GAIN};
use super::{Hermes, Path, Prober, STAMP_SHIFT};
use crate::edge::racks::{Racks, Rows};
use crate::edge::{Entry, HostEdge, HostEnv};
use crate::{
    Demands, Kind, Meaning, Param, ParamError, Params, Provenance, SchemeInfo, parameters, words,
};
use leafspine_core::{Bytes, Span};

words! {
    pub(super) enum Acks {
        Path = "path",
        Hash = "hash",
    }
}

parameters! {
    pub(super) struct Settings {
        ecn: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.4",
            "T_ECN: the marked share below which a path can be good, above which congested.",
        ),
        low_delay: Option<Span> = Param::new(
            Kind::SpanOr(0, SPAN, "25pkt"),
            "0.4rtt",
            "T_RTT_low beyond the empty fabric's round trip; \"25pkt\" is the time of 25 full \
             packets on the slowest uplink.",
        ),
        hop_delay: Option<Span> = Param::new(
            Kind::SpanOr(0, SPAN, "65pkt"),
            "1rtt",
            "A congested hop's delay: T_RTT_high is 1.5 of it beyond the empty fabric's round \
             trip, and a notably better path is one of it shorter.",
        ),
        better_ecn: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.05",
            "Delta_ECN: how much smaller a notably better path's marked share is.",
        ),
        sent: Bytes = Param::new(
            Kind::Bytes(0, u64::MAX),
            "max(600KB, 5bdp)",
            "S: bytes that a flow must have sent before it may leave a congested path.",
        ),
        rate: f64 = Param::new(
            Kind::Float(0.0, 1.0),
            "0.3",
            "R: the share of the host's line above which a flow's rate keeps it from moving.",
        ),
        probe_interval: Option<Span> = Param::new(
            Kind::SpanOr(1_000_000, SPAN, "never"),
            "5rtt",
            "How often a rack's agent probes three paths to each other rack.",
        )
        .means(Meaning::Period),
        retry: Span = Param::new(
            Kind::Span(0, u64::MAX / 4),
            "1000rtt",
            "How long a failed path is avoided.",
        ),
        acks: Acks = Param::new(
            Acks::KIND,
            "path",
            "How ACKs and answers to probes go back: by the path of what they answer, or by the \
             hash of ecmp.",
        ),
    }
}

/// The agent of each rack is its lowest-numbered host.
fn prober(settings: &Settings, env: &HostEnv, racks: &Racks) -> Option<Prober> {
    let interval = settings.probe_interval?;
    let firsts = racks.first_hosts();
    let agent = firsts.iter().any(|(_, host)| *host == env.host);
    let others = firsts.into_iter().filter(|(tor, _)| *tor != env.tor);
    agent.then(|| Prober { interval, here: env.host, agents: others.map(|(_, h)| h).collect() })
}

pub(super) fn make(settings: &Settings, env: &HostEnv) -> Hermes {
    let packets = |count: u64| env.uplink_rate.time_for(count * u64::from(env.mtu));
    let units = |span: Span| (span.0 >> (STAMP_SHIFT - GAIN)).min(u64::from(u32::MAX)) as u32;
    let share = |share: f64| (share * 65_536.0).round() as u32;
    let low = settings.low_delay.unwrap_or_else(|| packets(25));
    let hop = settings.hop_delay.unwrap_or_else(|| packets(65));
    let bounds = Bounds {
        ecn: share(settings.ecn),
        low: units(env.base_rtt + low),
        high: units(env.base_rtt + hop + Span(hop.0 / 2)),
        better_rtt: units(hop),
        better_ecn: share(settings.better_ecn),
    };
    // Rates are measured over a round trip, at least 64 packets' time.
    let tau = env.base_rtt.max(packets(64)).0.max(1 << 10);
    let racks = Racks::new(&env.tor_of);
    let paths = usize::from(env.uplinks).max(1);
    Hermes {
        paths,
        mss: u64::from(env.mss).max(1),
        bounds,
        retry: settings.retry,
        enough_sent: settings.sent.0,
        too_fast: (env.rate.bytes_in(Span(tau)).0 as f64 * settings.rate) as u64,
        tau,
        reciprocal: (1 << 32) / (tau >> 10),
        table: Rows::new(racks.rows(), paths, Path::default()),
        prober: prober(settings, env, &racks),
        acks_by_path: settings.acks == Acks::Path,
        racks,
    }
}

pub(super) fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let settings = Settings::read(params)?;
    let made = make(&settings, env);
    if made.bounds.high < made.bounds.low {
        let (low, hop) = (settings.low_delay, settings.hop_delay);
        let found = format!(
            "a low bound {} above the high one {}",
            low.map_or("25pkt".to_owned(), |s| s.to_string()),
            hop.map_or("1.5 x 65pkt".to_owned(), |s| format!("1.5 x {s}")),
        );
        return Err(ParamError::new("low_delay", found, "low_delay at most 1.5 x hop_delay"));
    }
    Ok(Box::new(made))
}

const SPAN: u64 = 1_000_000_000_000;

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "hermes",
        summary: "Senses paths by delay, marks and losses, and moves a flow only where that pays.",
        source: "Zhang et al., Hermes, SIGCOMM 2017, §3",
        provenance: Provenance::Paper,
        unspecified: &[
            "Of the ranges that the paper gives for its parameters, the defaults are inside in its \
             fabric; delays follow the base round trip as the marking threshold does. The words \
             \"25pkt\" and \"65pkt\" are packet times of the slowest uplink (its 30 us and 80 us at \
             10 Gb/s).",
            "Delay and marks are smoothed with a gain of 1/16.",
            "A path about which nothing is known is grey. Random drops are judged over at least 100 \
             packets.",
            "A segment that is sent again counts against the path that it took before, and not if that \
             path is congested then: a flow that leaves a queue overtakes its own packets.",
            "If all paths to a rack have failed, flows stay where they are.",
            "Rates are estimated over a round trip of the empty fabric, or 64 packet times if longer.",
            "A failed path is tried again after retry.",
            "ACKs and answers to probes go back by the path of what they answer; a SYN-ACK takes a path as \
             a new flow does.",
            "The rack's probes are shared at once and cost nothing more; the probes themselves cost 64 \
             bytes each way.",
            "A path is an uplink of the host's leaf; behind the first switch choices are hashed.",
            "A mark and a delay are the path's wherever they come from: with switch.host_ports = \"like-switch\" \
             the host's own port delays and may mark, and so all its paths look congested.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 19, header_words: 2, queues: 1 },
    },
    build,
    balancers: &["pinned"],
    by_marks: true,
    by_stack: true,
    in_order: None,
    sprays: false,
};
