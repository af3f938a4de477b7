//! Overrides of a scenario as `--set` has them, one a line: how they are read, and how a valid list
//! becomes another one that is valid more often than chance would have it.

use leafspine_core::{Rng, Role};
use leafspine_schemes::registry::Place;
use leafspine_schemes::{Kind, Param, Params, Value};
use std::sync::OnceLock;

/// More lines than these are not read.
pub const MOST: usize = 40;

/// Keys and values: `load_balancer.scheme=letflow`.
pub fn parse(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.take(MOST).map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Keys that are no scheme's parameters, and values that make a difference.
const KEYS: &[(&str, &[&str])] = &[
    ("topology.kind", &["star", "leaf-spine", "fat-tree", "tree", "clos"]),
    ("topology.hosts", &["2", "5", "16"]),
    ("topology.leaves", &["1", "2", "3", "5"]),
    ("topology.spines", &["1", "2", "3", "6"]),
    ("topology.hosts_per_leaf", &["1", "2", "4"]),
    ("topology.k", &["2", "4"]),
    ("topology.tors", &["1", "2", "4"]),
    ("topology.hosts_per_tor", &["1", "3"]),
    ("topology.links_per_pair", &["1", "2", "3"]),
    ("topology.host_link.rate", &["1bps", "1Mbps", "937Mbps", "8Tbps"]),
    ("topology.host_link.delay", &["0us", "1ps", "3us", "10ms"]),
    ("topology.host_link.loss", &["0", "0.01", "0.999999"]),
    ("topology.fabric_link.rate", &["1Mbps", "300Mbps", "10Gbps", "8Tbps"]),
    ("topology.fabric_link.delay", &["0us", "7us", "1ms"]),
    ("topology.fabric_link.loss", &["0.001", "0.5"]),
    ("topology.host_delay", &["0us", "1us", "1ms"]),
    ("topology.host_jitter", &["0us", "1ps", "2us", "1ms"]),
    ("topology.change.0.link", &["leaf0-spine1", "leaf1-spine0", "host0-leaf0", "leaf0-spine0#1"]),
    ("topology.change.0.at", &["0us", "100us", "1ms"]),
    ("topology.change.0.rate", &["1bps", "50Mbps", "8Tbps"]),
    ("topology.change.0.delay", &["0us", "1ms"]),
    ("topology.change.0.loss", &["0", "0.3"]),
    ("topology.change.0.state", &["down", "up", "none"]),
    ("topology.change.0.flap.every", &["1ps", "1ms"]),
    ("topology.change.0.flap.down_for", &["0us", "1ps", "300us"]),
    ("topology.change.0.flap.times", &["1", "3"]),
    ("switch.buffer", &["1pkt", "2pkt", "100pkt", "1500B", "30KB", "4294967295pkt"]),
    ("switch.shared_buffer", &["1500B", "30KB", "9MB"]),
    ("switch.dt_alpha", &["0.001", "1", "1000"]),
    ("switch.queues", &["1", "2", "3", "8", "64"]),
    ("switch.scheduler", &["fifo", "wrr", "dwrr", "strict"]),
    ("switch.weights", &["[1,2]", "[1,1,1]", "[1000000,1]", "[3]"]),
    ("switch.classifier", &["hash", "stage", "dscp"]),
    ("switch.stage_queues", &["[0]", "[0,1]", "[0,1,2]", "[0,1,1,1,1,2]"]),
    ("switch.host_ports", &["like-switch", "with-queues", "unlimited"]),
    ("switch.hash_seeds", &["each", "one"]),
    ("switch.pfc", &["off", "dynamic", "static"]),
    ("switch.pfc_priorities", &["[0]", "[0,1]", "[1]", "[7]"]),
    ("switch.pfc_alpha", &["0.001", "0.125", "1000"]),
    ("switch.pfc_threshold", &["0B", "6KB", "1MB"]),
    ("switch.pfc_reserve", &["0B", "4KB"]),
    ("switch.pfc_resume", &["0B", "3KB", "1GB"]),
    ("switch.pfc_headroom", &["auto", "0B", "30KB"]),
    ("switch.pfc_watchdog", &["off", "1us", "200ms"]),
    ("switch.pfc_restore", &["1us", "200ms"]),
    ("switch.pfc_action", &["drop", "forward"]),
    ("workload.0.class", &["0", "1", "63"]),
    ("transport.kind", &["tcp", "roce"]),
    ("transport.scheme", &["dcqcn", "line-rate", "hpcc", "nscc", "swift"]),
    ("transport.recovery", &["go-back-n", "irn", "each"]),
    ("transport.credits", &["off", "receiver"]),
    ("transport.credit_first", &["1B", "1bdp"]),
    ("transport.credit_share", &["0.01", "0.5", "1.0"]),
    ("switch.trim", &["off", "arriving", "either"]),
    ("switch.trim_class", &["0", "1", "63"]),
    ("switch.trim_buffer", &["64B", "9KB"]),
    ("switch.trim_return", &["true", "false"]),
    ("transport.window", &["none", "1bdp", "1B", "100pkt"]),
    ("transport.ack_every", &["1", "16", "65536"]),
    ("transport.timeout", &["1ps", "1us", "4ms"]),
    ("transport.max_timeout", &["1us", "64ms"]),
    ("transport.low_timeout", &["1us", "100us"]),
    ("transport.low_timeout_below", &["0", "3", "4294967295"]),
    ("transport.nak_threshold", &["1pkt", "3pkt", "1bdp"]),
    ("transport.naks", &["gap", "packet"]),
    ("transport.nak_cuts", &["true", "false"]),
    ("transport.data_class", &["0", "3", "63"]),
    ("transport.ack_class", &["0", "6"]),
    ("transport.cnp_interval", &["0us", "4us", "50us"]),
    ("transport.dcqcn_g", &["0.0", "0.00390625", "1.0"]),
    ("transport.hpcc_eta", &["0.5", "1.0"]),
    ("transport.hpcc_rtt", &["1us", "1ms"]),
    ("transport.hpcc_additive", &["1B", "80B"]),
    ("transport.nscc_gate", &["0", "3"]),
    ("transport.nscc_rtt", &["1us", "1ms"]),
    ("transport.nscc_target", &["1ps", "9us", "1ms"]),
    ("transport.nscc_proportional", &["0B", "400B", "1GB"]),
    ("transport.nscc_fair", &["0B", "500B"]),
    ("transport.nscc_eta", &["0B", "15B"]),
    ("transport.nscc_fast", &["0.0", "0.25"]),
    ("transport.nscc_gamma", &["0.0", "0.8", "1.0"]),
    ("transport.nscc_weight", &["0.0125", "1.0"]),
    ("transport.nscc_most", &["1.0", "1.5"]),
    ("transport.nscc_no_wait", &["0us", "1us", "1ms"]),
    ("transport.swift_reset", &["1", "3"]),
    ("transport.swift_rtt", &["1us", "1ms"]),
    ("transport.swift_target", &["1us", "100us"]),
    ("transport.swift_range", &["0us", "100us"]),
    ("transport.swift_small", &["0.1", "1.0"]),
    ("transport.swift_large", &["1.0", "100.0"]),
    ("transport.swift_additive", &["0.0", "1.0"]),
    ("transport.swift_beta", &["0.0", "0.8"]),
    ("transport.swift_most_cut", &["0.0", "0.5"]),
    ("transport.swift_least", &["0.01", "1.0"]),
    ("transport.hpcc_stages", &["0", "5"]),
    ("transport.alpha_timer", &["1us", "55us"]),
    ("transport.increase_timer", &["10ns", "300us"]),
    ("transport.byte_counter", &["65536B", "10MB", "off"]),
    ("transport.alpha_update", &["cnp", "timer"]),
    ("transport.decrease_timer", &["off", "10ns", "4us"]),
    ("transport.hyper_grows", &["true", "false"]),
    ("transport.fast_recovery", &["1", "5"]),
    ("transport.clamp_target", &["true", "false"]),
    ("transport.additive_increase", &["1bps", "40Mbps"]),
    ("transport.hyper_increase", &["1bps", "8Tbps"]),
    ("transport.least_rate", &["1bps", "100Mbps", "8Tbps"]),
    ("transport.ecn", &["true", "false"]),
    ("transport.mss", &["1", "536", "1460", "8960", "65495"]),
    ("transport.header", &["0", "1", "40", "64075"]),
    ("transport.init_cwnd", &["1pkt", "10pkt", "1B", "4294967295pkt"]),
    ("transport.max_cwnd", &["none", "1pkt", "64KB", "1B"]),
    ("transport.min_rto", &["0us", "1us", "200us", "10ms", "60s"]),
    ("transport.initial_rto", &["1us", "3ms"]),
    ("transport.max_rto", &["1us", "50ms", "60s"]),
    ("transport.dupack_threshold", &["1", "2", "3", "4294967295"]),
    ("transport.sack", &["true", "false"]),
    ("transport.limited_transmit", &["true", "false"]),
    ("transport.delayed_ack", &["off", "1ps", "40ms"]),
    ("transport.handshake", &["true", "false"]),
    ("transport.handshake_ack", &["true", "false"]),
    ("transport.source_ports", &["one a flow", "1", "4", "64512"]),
    ("transport.profile", &["rfc", "linux", "ns-2", "ns-3"]),
    ("transport.timestamps", &["free", "option", "off"]),
    ("transport.sack_bytes", &["true", "false"]),
    ("transport.syn_losses_spared", &["0", "1"]),
    ("transport.idle_restart", &["true", "false"]),
    ("transport.less_careful", &["true", "false"]),
    ("transport.lingering_recovery", &["true", "false"]),
    ("transport.ignore_duplicate_ece", &["true", "false"]),
    ("transport.one_reduction", &["true", "false"]),
    ("transport.mark_prr", &["true", "false"]),
    ("transport.gso", &["true", "false"]),
    ("transport.syn_options", &["0", "8", "40"]),
    ("transport.ecn_fallback", &["true", "false"]),
    ("transport.whole_windows", &["true", "false"]),
    ("transport.comp_sack", &["true", "false"]),
    ("transport.undo_waits", &["true", "false"]),
    ("transport.ece_forbids_undo", &["true", "false"]),
    ("transport.rack_any_rtt", &["true", "false"]),
    ("transport.ecn_all", &["true", "false"]),
    ("transport.small_queues", &["true", "false"]),
    ("transport.ack_changes", &["true", "false"]),
    ("transport.growth_acks", &["true", "false"]),
    ("transport.push_acks", &["true", "false"]),
    ("transport.kernel_timers", &["true", "false"]),
    ("transport.rack_slack", &["off", "0us", "2ms"]),
    ("transport.quick_acks", &["0", "1", "16"]),
    ("transport.prr", &["off", "rfc6937", "rfc9937"]),
    ("transport.rack", &["true", "false"]),
    ("transport.tlp", &["off", "0us", "10us", "2ms"]),
    ("transport.dsack", &["true", "false"]),
    ("transport.undo_dsack", &["true", "false"]),
    ("transport.eifel", &["off", "0us", "1ms"]),
    ("transport.frto", &["true", "false"]),
    ("transport.pacing", &["true", "false"]),
    ("transport.slow_start", &["standard", "hystart", "hystart++"]),
    ("workload.0.kind", &["poisson", "incast", "long-flows", "permutation", "all-to-all", "trace"]),
    ("workload.0.sizes", &["web-search", "hadoop", "[[1,0.5],[\"30KB\",1]]", "sizes.csv"]),
    ("workload.0.sizes.kind", &["fixed", "uniform", "pareto"]),
    ("workload.0.sizes.bytes", &["1B", "1460B", "1461B", "9000GB"]),
    ("workload.0.path", &["trace.csv"]),
    ("workload.0.senders", &["all", "a random half", "the rest", "leaf0", "3", "[0,2]"]),
    ("workload.0.receivers", &["all", "a random half", "the rest", "leaf1", "1", "[1]"]),
    ("workload.0.pattern", &["any", "inter-leaf", "intra-leaf"]),
    ("workload.0.start", &["0us", "200us"]),
    ("workload.0.load", &["0.01", "0.8", "1000"]),
    ("workload.0.load_basis", &["fabric", "host"]),
    ("workload.0.interarrival", &["1ps", "10us", "1s"]),
    ("workload.0.rate", &["1bps", "1Gbps", "8Tbps"]),
    ("workload.0.flows", &["1", "20", "300"]),
    ("workload.0.duration", &["1ps", "2ms", "20ms", "1s"]),
    ("workload.0.fan_in", &["all", "1", "3"]),
    ("workload.0.rounds", &["1", "3"]),
    ("workload.0.every", &["1ps", "100us"]),
    ("workload.0.jitter", &["0us", "20us"]),
    ("workload.0.count", &["1", "7"]),
    ("workload.0.stagger", &["0us", "5us"]),
    (
        "workload.0.collective",
        &["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "all-to-allv"],
    ),
    ("workload.0.algorithm", &["ring", "tree", "halving-doubling", "direct", "pairwise"]),
    ("workload.0.bytes", &["1B", "6B", "60KB", "9000GB"]),
    ("workload.0.channels", &["1", "3", "64"]),
    ("workload.0.chunk", &["none", "1KB", "20KB"]),
    ("workload.0.microbatches", &["1", "4"]),
    ("workload.0.forward", &["0us", "1ps", "20us"]),
    ("workload.0.backward", &["0us", "40us"]),
    ("workload.0.schedule", &["1f1b", "all-forward"]),
    ("workload.0.hosts", &["all", "a random half", "leaf0", "[0,4]"]),
    ("workload.0.jobs", &["1", "2", "3"]),
    ("workload.0.ranks", &["all", "2", "3"]),
    ("workload.0.placement", &["packed", "random"]),
    ("workload.0.iterations", &["1", "3"]),
    ("workload.0.compute", &["0us", "20us"]),
    ("workload.0.compute_jitter", &["0us", "20us"]),
    ("workload.0.delay", &["0us", "1ps", "20us"]),
    ("run.seed", &["0", "2", "9223372036854775807"]),
    ("run.until", &["none", "1ps", "300us", "5ms"]),
    ("run.ports", &["auto", "general"]),
    ("measure.window", &["arrivals", "all", "[\"0us\",\"1ms\"]"]),
    ("measure.recovery", &["0.0", "0.9", "1.0"]),
    ("measure.recovery_window", &["1ps", "100us", "20rtt"]),
    ("measure.warmup", &["0us", "1ps", "500us", "5ms"]),
    ("scheme", &["presto", "aq-car", "tam", "qall", "qdaps", "abq"]),
];

type Catalogue = Vec<(String, Vec<String>)>;

/// Every key with its values: [`KEYS`], and those of all schemes.
fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        let mut all: Catalogue =
            KEYS.iter().map(|(key, values)| ((*key).to_owned(), owned(values))).collect();
        for place in Place::ALL {
            all.push((format!("{}.scheme", place.table()), owned(&place.names())));
        }
        for place in [Place::Aqm, Place::Hold] {
            all.push((format!("{}.scheme", place.table()), owned(&["balancer", "none"])));
        }
        all
    })
}

/// Values of a parameter: its default, less, more, and its bounds.
fn values(param: &Param) -> Vec<String> {
    let number = |low: u64, high: u64, default: u64, show: &dyn Fn(u64) -> String| {
        let near = [default / 8, default, default.saturating_mul(8)];
        let all = near.into_iter().chain([low, low.saturating_add(1), high.min(1 << 62)]);
        all.map(show).collect::<Vec<_>>()
    };
    let given = Params::try_defaults(std::slice::from_ref(param)).ok();
    let given = given.and_then(|params| params.0.get(param.name).cloned());
    let whole = match &given {
        Some(Value::Span(v)) => v.0,
        Some(Value::Bytes(v)) => v.0,
        Some(Value::Int(v)) => *v,
        _ => 1_000_000,
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match param.kind {
        Kind::Span(low, high) => number(low, high, whole, &|v| format!("{v}ps")),
        Kind::SpanOr(low, high, word) => {
            let mut all = number(low, high, whole, &|v| format!("{v}ps"));
            all.push(word.to_owned());
            all
        }
        Kind::Bytes(low, high) => number(low, high, whole, &|v| format!("{v}B")),
        Kind::Int(low, high) | Kind::Packets(low, high) => {
            number(low, high, whole, &|v| v.to_string())
        }
        Kind::Amount => words(&["1pkt", "7pkt", "100pkt", "1B", "30KB", "1bdp", "4294967295pkt"]),
        Kind::AmountOr(word) => words(&[word, "1pkt", "7pkt", "100pkt", "1B", "30KB"]),
        Kind::Depth => {
            words(&["1pkt", "7pkt", "100pkt", "1B", "30KB", "1bdp", "1ps", "32us", "1rtt"])
        }
        Kind::Rate => words(&["1bps", "1Mbps", "10Gbps", "8Tbps"]),
        Kind::Float(low, high) => {
            let middle = if (low..=high).contains(&0.5) { 0.5 } else { f64::midpoint(low, high) };
            [low, high, middle].iter().map(|v| format!("{v:?}")).collect()
        }
        Kind::Bool => words(&["true", "false"]),
        Kind::Word(all) => words(all),
        Kind::Numbers(_) => words(&["[]", "[1.0]", "[0.5, -1.0, 2.0]"]),
    }
}

fn one_of<'a, T>(of: &'a [T], rng: &mut Rng) -> &'a T {
    &of[rng.below(of.len() as u64) as usize]
}

/// A key of the catalogue with one of its values.
fn any_line(rng: &mut Rng) -> String {
    let (key, values) = one_of(catalogue(), rng);
    format!("{key}={}", one_of(values, rng))
}

/// A scheme of any place, and some of its parameters.
fn any_scheme(rng: &mut Rng) -> Vec<String> {
    let place = *one_of(&Place::ALL, rng);
    let schemes = place.schemes();
    let info = *one_of(&schemes, rng);
    let table = place.table();
    let mut lines = vec![format!("{table}.scheme={}", info.name)];
    for param in info.params {
        if rng.chance(0.4) {
            lines.push(format!("{table}.{}={}", param.name, one_of(&values(param), rng)));
        }
    }
    lines
}

/// Another value for a line's key, if the catalogue knows it.
fn other_value(line: &str, rng: &mut Rng) -> Option<String> {
    let (key, _) = line.split_once('=')?;
    let (_, values) = catalogue().iter().find(|(known, _)| known == key)?;
    Some(format!("{key}={}", one_of(values, rng)))
}

/// A number in the line made another one.
fn other_number(line: &str, rng: &mut Rng) -> Option<String> {
    let (key, value) = line.split_once('=')?;
    let from = value.find(|c: char| c.is_ascii_digit())?;
    let digits = value[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len() - from);
    let number: u64 = value[from..from + digits].parse().ok()?;
    let near = [number / 2, number.wrapping_mul(2), number.wrapping_add(1), number.wrapping_sub(1)];
    let any = rng.next_u64() >> rng.below(64);
    let other = if rng.chance(0.7) { *one_of(&near, rng) } else { any };
    Some(format!("{key}={}{other}{}", &value[..from], &value[from + digits..]))
}

/// Changes some lines of the text in `data[..size]`, and gives its new size, at most `most`.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut rng = Rng::new(seed.into(), Role::HostSet, 0);
    let text = String::from_utf8_lossy(&data[..size]).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=rng.below(3) {
        let at = if lines.is_empty() { 0 } else { rng.below(lines.len() as u64) as usize };
        match rng.below(8) {
            0 | 1 => lines.push(any_line(&mut rng)),
            2 | 3 => lines.extend(any_scheme(&mut rng)),
            4 if !lines.is_empty() => drop(lines.remove(at)),
            5 if !lines.is_empty() => {
                lines[at] = other_value(&lines[at], &mut rng).unwrap_or_default()
            }
            6 | 7 if !lines.is_empty() => {
                lines[at] = other_number(&lines[at], &mut rng).unwrap_or_default();
            }
            _ => {}
        }
    }
    lines.retain(|line| !line.is_empty());
    let from = lines.len().saturating_sub(MOST);
    let text = lines[from..].join("\n");
    let size = text.len().min(most).min(data.len());
    data[..size].copy_from_slice(&text.as_bytes()[..size]);
    size
}
