//! `[switch]`.

use crate::error::ScenarioError;
use crate::flow_control;
use crate::section::{Around, Section, content};
use crate::tree::Node;
use crate::trim;
use leafspine_schemes::{Amount, Kind, Scale};
use leafspine_sim::spec::{
    Classifier, HostPorts, SchedulerKind, SharedBuffer, SwitchSpec, TransportSpec,
};

const KEYS: &[&str] = &[
    "buffer",
    "shared_buffer",
    "dt_alpha",
    "queues",
    "scheduler",
    "weights",
    "classifier",
    "stage_queues",
    "host_ports",
    "hash_seeds",
];
/// The most service queues a port.
const QUEUES: u32 = 64;

/// The most stages that six bits of DSCP tell apart.
const STAGES: usize = 64;

/// Switch ports, and the table written out.
pub(crate) fn switch(
    place: Around<'_>,
    node: Option<&Node>,
) -> Result<(SwitchSpec, String), ScenarioError> {
    let mut section = Section::open(place, "switch".to_owned(), node)?;
    let keys: Vec<&str> =
        KEYS.iter().chain(flow_control::KEYS).chain(trim::KEYS).copied().collect();
    section.allow(&keys, "an unknown key")?;
    if section.has("dt_alpha") && !section.has("shared_buffer") {
        let found = "dt_alpha without shared_buffer";
        return Err(section.wrong("dt_alpha", found, "dt_alpha beside shared_buffer"));
    }
    let (buffer, shared) = buffer(&mut section)?;
    let queues = section.count("queues", (1, QUEUES), Some("1"))?;
    let scheduler = scheduler(&mut section, queues)?;
    let weights = weights(&mut section, queues)?;
    let classifier = match section.word("classifier", &["hash", "stage", "dscp"], Some("hash"))? {
        word if word == "hash" => Classifier::Hash,
        word if word == "stage" => Classifier::Stage,
        _ => Classifier::Dscp,
    };
    let stage_queues = stage_queues(&mut section, queues, classifier)?;
    let host_ports = host_ports(&mut section)?;
    let one_hash = one_hash(&mut section)?;
    let pfc = flow_control::flow_control(&mut section, queues)?;
    let mtu = place.scale.unwrap_or(Scale::REFERENCE).mtu;
    let trim = trim::trimming(&mut section, (queues, classifier, buffer), mtu)?;
    let queues = queues as u8; // At most `QUEUES`.
    let spec = SwitchSpec {
        buffer,
        shared,
        pfc,
        trim,
        queues,
        scheduler,
        weights,
        classifier,
        stage_queues,
        host_ports,
        one_hash,
    };
    Ok((spec, section.block("[switch]")))
}

fn host_ports(section: &mut Section<'_>) -> Result<HostPorts, ScenarioError> {
    let words = &["like-switch", "with-queues", "unlimited"];
    Ok(match section.word("host_ports", words, Some("like-switch"))?.as_str() {
        "with-queues" => HostPorts::WithQueues,
        "unlimited" => HostPorts::Unlimited,
        _ => HostPorts::LikeSwitch,
    })
}

/// Whether all switches hash with one seed. The default is not written out: resolved scenarios of before
/// there was a choice stay as they are.
fn one_hash(section: &mut Section<'_>) -> Result<bool, ScenarioError> {
    let kind = Kind::Word(&["each", "one"]);
    Ok(content!(section.quiet_value("hash_seeds", kind, Some("each"))?, Word) == "one")
}

/// Refuses buffers that a full packet never fits into: its flow would never end.
pub(crate) fn check_room(
    place: Around<'_>,
    node: Option<&Node>,
    switch: &SwitchSpec,
    transport: &TransportSpec,
) -> Result<(), ScenarioError> {
    let packet = u64::from(transport.largest_packet());
    let (key, found, room) = match (switch.shared, switch.buffer) {
        (Some(SharedBuffer { size, alpha }), _) => {
            // As much as the engine lets a port have of an empty buffer.
            let room = ((alpha * size.0 as f64) as u64).min(size.0);
            let share = format!("\"{size}\", of which dt_alpha = {alpha:?} gives a port {room}B");
            ("shared_buffer", share, room)
        }
        (None, Amount::Bytes(bytes)) => ("buffer", format!("\"{}\"", switch.buffer), bytes),
        (None, Amount::Packets(_)) => return Ok(()),
    };
    if room >= packet {
        return Ok(());
    }
    let allowed = format!("room for a full packet of {packet}B at a port, or more");
    Err(Section::open(place, "switch".to_owned(), node)?.wrong(key, found, allowed))
}

/// The port's own buffer, or the switch's shared one.
fn buffer(section: &mut Section<'_>) -> Result<(Amount, Option<SharedBuffer>), ScenarioError> {
    if !section.has("shared_buffer") {
        let buffer = section.value("buffer", Kind::Amount, Some("max(256pkt, 4bdp)"))?;
        return Ok((content!(buffer, Amount), None));
    }
    if section.has("buffer") {
        let found = "both buffer and shared_buffer";
        return Err(section.wrong("shared_buffer", found, "one of buffer, shared_buffer"));
    }
    let size = section.value("shared_buffer", Kind::Bytes(1, u64::MAX), None)?;
    let size = content!(size, Bytes);
    let alpha = section.value("dt_alpha", Kind::Float(1e-3, 1e3), Some("1"))?;
    let shared = SharedBuffer { size, alpha: content!(alpha, Float) };
    Ok((Amount::Bytes(size.0), Some(shared)))
}

fn scheduler(section: &mut Section<'_>, queues: u32) -> Result<SchedulerKind, ScenarioError> {
    let word = section.word("scheduler", &["fifo", "wrr", "dwrr", "strict"], Some("fifo"))?;
    if word == "fifo" && queues > 1 {
        let found = format!("\"fifo\" for {queues} queues");
        return Err(section.wrong("scheduler", found, "\"wrr\", \"dwrr\", \"strict\""));
    }
    Ok(match word.as_str() {
        "fifo" => SchedulerKind::Fifo,
        "wrr" => SchedulerKind::Wrr,
        "dwrr" => SchedulerKind::Dwrr,
        _ => SchedulerKind::Strict,
    })
}

/// One weight a queue, all 1 by default.
fn weights(section: &mut Section<'_>, queues: u32) -> Result<Vec<u32>, ScenarioError> {
    let allowed = match queues {
        1 => "one whole number, from 1 to 1000000, for the one queue".to_owned(),
        _ => format!("{queues} whole numbers, from 1 to 1000000, one for each queue"),
    };
    let weights = match section.node("weights") {
        None => vec![1; queues as usize],
        Some(node) => {
            let weight = |node: &Node| match node.whole() {
                Some(weight @ 1..=1_000_000) => Some(weight as u32),
                _ => None,
            };
            let found: Option<Vec<u32>> =
                node.array().and_then(|nodes| nodes.iter().map(weight).collect());
            let Some(found) = found else {
                return Err(section.wrong("weights", node.shown(), allowed));
            };
            if found.len() != queues as usize {
                let found = format!("{} weights for {queues} queues", found.len());
                return Err(section.wrong("weights", found, allowed));
            }
            found
        }
    };
    section.write("weights", format!("{weights:?}"));
    Ok(weights)
}

/// The service queue of each stage; by default stage 0 in queue 0, 1 in 1, and so on.
fn stage_queues(
    section: &mut Section<'_>,
    queues: u32,
    classifier: Classifier,
) -> Result<Vec<u8>, ScenarioError> {
    let Some(node) = section.node("stage_queues") else {
        let each: Vec<u8> = (0..queues as u8).collect(); // At most `QUEUES`.
        if classifier == Classifier::Stage {
            section.write("stage_queues", format!("{each:?}"));
        }
        return Ok(each);
    };
    if classifier != Classifier::Stage {
        let found = "stage_queues without classifier = \"stage\"";
        let allowed = "stage_queues beside classifier = \"stage\"";
        return Err(section.wrong("stage_queues", found, allowed));
    }
    let queue = |node: &Node| match node.whole() {
        Some(queue) if (0..i64::from(queues)).contains(&queue) => Some(queue as u8),
        _ => None,
    };
    let found: Option<Vec<u8>> = node.array().and_then(|nodes| nodes.iter().map(queue).collect());
    match found.filter(|found| (1..=STAGES).contains(&found.len())) {
        Some(found) => {
            section.write("stage_queues", format!("{found:?}"));
            Ok(found)
        }
        None => {
            let allowed = format!("1 to {STAGES} whole numbers, from 0 to {}", queues - 1);
            Err(section.wrong("stage_queues", node.shown(), allowed))
        }
    }
}
