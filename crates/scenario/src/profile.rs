//! `transport.profile`: defaults of TCP's settings that belong together.
//!
//! A profile is gone from the resolved scenario, which has all that it set. What differs between the
//! profiles, and where it comes from, is the table in `docs/scenario.md`.

use crate::error::ScenarioError;
use crate::section::{Section, content};
use leafspine_core::Span;
use leafspine_schemes::cc::SlowStart;
use leafspine_schemes::{Kind, Params, Value};
use leafspine_sim::spec::{Reduction, Stack, Timestamps};

/// The words of `profile`.
const NAMES: &[&str] = &["rfc", "linux", "ns-2", "ns-3"];
const TIMESTAMPS: &[&str] = &["free", "option", "off"];
const REDUCTIONS: &[&str] = &["off", "rfc6937", "rfc9937"];
const SLOW_STARTS: &[&str] = &["standard", "hystart", "hystart++"];
/// As many bytes as a TCP header has room for.
const OPTIONS: Kind = Kind::Int(0, 40);
/// A span of zero is one: no slack, the finest clock.
const SPAN_OR_OFF: Kind = Kind::SpanOr(0, u64::MAX, "off");

/// Defaults, as the scenario file would have them. `None`: what stands there without a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Profile {
    pub(crate) init_cwnd: &'static str,
    pub(crate) max_cwnd: Option<&'static str>,
    pub(crate) min_rto: Option<&'static str>,
    pub(crate) initial_rto: Option<&'static str>,
    pub(crate) max_rto: &'static str,
    pub(crate) delayed_ack: Option<&'static str>,
    pub(crate) handshake_ack: &'static str,
    timestamps: &'static str,
    sack_bytes: &'static str,
    syn_losses_spared: &'static str,
    idle_restart: &'static str,
    quick_acks: &'static str,
    prr: &'static str,
    rack: &'static str,
    tlp: &'static str,
    dsack: &'static str,
    undo_dsack: &'static str,
    eifel: &'static str,
    frto: &'static str,
    less_careful: &'static str,
    lingering_recovery: &'static str,
    ignore_duplicate_ece: &'static str,
    one_reduction: &'static str,
    mark_prr: &'static str,
    gso: &'static str,
    syn_options: &'static str,
    ecn_fallback: &'static str,
    whole_windows: &'static str,
    comp_sack: &'static str,
    rack_slack: &'static str,
    undo_waits: &'static str,
    ece_forbids_undo: &'static str,
    rack_any_rtt: &'static str,
    ecn_all: &'static str,
    small_queues: &'static str,
    ack_changes: &'static str,
    growth_acks: &'static str,
    push_acks: &'static str,
    kernel_timers: &'static str,
    /// Under CUBIC; other controls have `"standard"`.
    slow_start: &'static str,
    /// The control's parameters of these names.
    slow_start_limit: Option<u64>,
    initial_alpha: Option<f64>,
}

const RFC: Profile = Profile {
    init_cwnd: "10pkt",
    max_cwnd: None,
    min_rto: None,
    initial_rto: None,
    max_rto: "60s",
    delayed_ack: None,
    handshake_ack: "false",
    timestamps: "free",
    sack_bytes: "false",
    syn_losses_spared: "0",
    idle_restart: "false",
    quick_acks: "0",
    prr: "off",
    rack: "false",
    tlp: "off",
    dsack: "false",
    undo_dsack: "false",
    eifel: "off",
    frto: "false",
    less_careful: "false",
    lingering_recovery: "false",
    ignore_duplicate_ece: "false",
    one_reduction: "false",
    mark_prr: "false",
    gso: "false",
    syn_options: "0",
    ecn_fallback: "false",
    whole_windows: "false",
    comp_sack: "false",
    rack_slack: "off",
    undo_waits: "false",
    ece_forbids_undo: "false",
    rack_any_rtt: "false",
    ecn_all: "false",
    small_queues: "false",
    ack_changes: "false",
    growth_acks: "false",
    push_acks: "false",
    kernel_timers: "false",
    slow_start: "standard",
    slow_start_limit: None,
    initial_alpha: None,
};

/// Linux 6.12, with the defaults of its sysctls.
const LINUX: Profile = Profile {
    max_cwnd: Some("3145728B"),
    min_rto: Some("200ms"),
    initial_rto: Some("1s"),
    max_rto: "120s",
    delayed_ack: Some("40ms"),
    handshake_ack: "true",
    timestamps: "option",
    sack_bytes: "true",
    syn_losses_spared: "1",
    idle_restart: "true",
    quick_acks: "16",
    prr: "rfc9937",
    rack: "true",
    tlp: "2ms",
    dsack: "true",
    undo_dsack: "true",
    eifel: "1ms",
    frto: "true",
    mark_prr: "true",
    gso: "true",
    // MSS 4, SACK permitted 2, window scale 4 with padding, beside the 10 of timestamps.
    syn_options: "8",
    ecn_fallback: "true",
    whole_windows: "true",
    comp_sack: "true",
    rack_slack: "2ms",
    undo_waits: "true",
    ece_forbids_undo: "true",
    rack_any_rtt: "true",
    ecn_all: "true",
    small_queues: "true",
    ack_changes: "true",
    growth_acks: "true",
    push_acks: "true",
    kernel_timers: "true",
    slow_start: "hystart",
    // As much as an ACK acknowledges.
    slow_start_limit: Some(1_000_000),
    ..RFC
};

/// ns-2's `Agent/TCP/FullTcp/Sack`.
const NS_2: Profile = Profile {
    init_cwnd: "2pkt",
    min_rto: Some("200ms"),
    initial_rto: Some("3s"),
    timestamps: "off",
    idle_restart: "true",
    // Its DCTCP's `dctcp_alpha_`.
    initial_alpha: Some(0.0),
    ..RFC
};

/// ns-3's `TcpSocketBase`.
const NS_3: Profile = Profile {
    max_cwnd: Some("131072B"),
    min_rto: Some("1s"),
    initial_rto: Some("1s"),
    delayed_ack: Some("200ms"),
    handshake_ack: "true",
    timestamps: "option",
    sack_bytes: "true",
    // No timeout of a SYN changes the window, and after six of them it gives up.
    syn_losses_spared: "6",
    prr: "rfc6937",
    less_careful: "true",
    lingering_recovery: "true",
    ignore_duplicate_ece: "true",
    one_reduction: "true",
    slow_start: "hystart",
    ..RFC
};

impl Profile {
    /// The profile that the table names.
    pub(crate) fn of(section: &mut Section<'_>) -> Result<&'static Profile, ScenarioError> {
        let default = if section.place.linux { "linux" } else { "rfc" };
        let name = section.unwritten("profile", Kind::Word(NAMES), default)?;
        Ok(match content!(name, Word).as_str() {
            "linux" => &LINUX,
            "ns-2" => &NS_2,
            "ns-3" => &NS_3,
            _ => &RFC,
        })
    }

    /// The congestion control's parameters, of which the profile may set those that the file does not.
    pub(crate) fn parameters(&self, section: &mut Section<'_>, mut params: Params) -> Params {
        let limit = self.slow_start_limit.map(|limit| (limit.to_string(), Value::Int(limit)));
        let alpha = self.initial_alpha.map(|alpha| (format!("{alpha:?}"), Value::Float(alpha)));
        for (key, own) in [("slow_start_limit", limit), ("initial_alpha", alpha)] {
            let Some((text, value)) = own else { continue };
            if !section.has(key) && params.0.contains_key(key) {
                section.rewrite(key, text);
                params = params.with(key, value);
            }
        }
        params
    }

    /// Whether packets have timestamps, and at whose cost.
    pub(crate) fn timestamps(
        &self,
        section: &mut Section<'_>,
    ) -> Result<Timestamps, ScenarioError> {
        let kind = Kind::Word(TIMESTAMPS);
        let word = section.switch("timestamps", kind, self.timestamps, RFC.timestamps)?;
        Ok(match content!(word, Word).as_str() {
            "option" => Timestamps::Option,
            "off" => Timestamps::Off,
            _ => Timestamps::Free,
        })
    }

    /// The switches. `sack` is what the table has for it, `control` its scheme's name, and `by_rate` whether
    /// that goes by delivery rates.
    pub(crate) fn stack(
        &self,
        section: &mut Section<'_>,
        sack: bool,
        control: &str,
        by_rate: bool,
    ) -> Result<Stack, ScenarioError> {
        let timestamps = self.timestamps(section)?;
        let flag = |section: &mut Section<'_>, key: &str, default: &str| {
            let value = section.switch(key, Kind::Bool, default, "false")?;
            Ok::<_, ScenarioError>(content!(value, Bool))
        };
        let count = |section: &mut Section<'_>, key: &str, default: &str| {
            let kind = Kind::Int(0, 1 << 20);
            Ok::<_, ScenarioError>(content!(section.switch(key, kind, default, "0")?, Int) as u32)
        };
        // What goes by SACKs is off without them, unless somebody asks for it: that is an error.
        let with_sack = |default| if sack { default } else { "false" };
        let without_sack = |default| if sack { "false" } else { default };
        let or_off = |default| if sack { default } else { "off" };
        let sack_bytes = flag(section, "sack_bytes", with_sack(self.sack_bytes))?;
        let syn_losses_spared = count(section, "syn_losses_spared", self.syn_losses_spared)?;
        let idle_restart = flag(section, "idle_restart", self.idle_restart)?;
        let quick_acks = count(section, "quick_acks", self.quick_acks)?;
        let reduction = section.switch("prr", Kind::Word(REDUCTIONS), or_off(self.prr), "off")?;
        let reduction = match content!(reduction, Word).as_str() {
            "rfc6937" => Reduction::Prr6937,
            "rfc9937" => Reduction::Prr9937,
            _ => Reduction::AtOnce,
        };
        let rack = if by_rate { "true" } else { self.rack };
        let rack = flag(section, "rack", with_sack(rack))?;
        let slack = if rack { self.rack_slack } else { "off" };
        let rack_slack = span(&section.switch("rack_slack", SPAN_OR_OFF, slack, "off")?);
        let tlp = span(&section.switch("tlp", SPAN_OR_OFF, or_off(self.tlp), "off")?);
        let dsack = flag(section, "dsack", with_sack(self.dsack))?;
        let undo = if dsack { self.undo_dsack } else { "false" };
        let undo_dsack = flag(section, "undo_dsack", undo)?;
        let clock = if timestamps == Timestamps::Off { "off" } else { self.eifel };
        let eifel = span(&section.switch("eifel", SPAN_OR_OFF, clock, "off")?);
        let frto = flag(section, "frto", with_sack(self.frto))?;
        let less_careful = flag(section, "less_careful", without_sack(self.less_careful))?;
        let lingering = without_sack(self.lingering_recovery);
        let lingering_recovery = flag(section, "lingering_recovery", lingering)?;
        let ignore_duplicate_ece =
            flag(section, "ignore_duplicate_ece", self.ignore_duplicate_ece)?;
        let one_reduction = flag(section, "one_reduction", self.one_reduction)?;
        let mark_prr = flag(section, "mark_prr", with_sack(self.mark_prr))?;
        let gso = flag(section, "gso", self.gso)?;
        let options = section.switch("syn_options", OPTIONS, self.syn_options, "0")?;
        let syn_options = content!(options, Int) as u32;
        let ecn_fallback = flag(section, "ecn_fallback", self.ecn_fallback)?;
        let whole_windows = flag(section, "whole_windows", self.whole_windows)?;
        let comp_sack = flag(section, "comp_sack", with_sack(self.comp_sack))?;
        let eifel_on = if eifel.is_some() { self.undo_waits } else { "false" };
        let undo_waits = flag(section, "undo_waits", eifel_on)?;
        let ece_forbids_undo = flag(section, "ece_forbids_undo", self.ece_forbids_undo)?;
        let any_rtt = if rack { self.rack_any_rtt } else { "false" };
        let rack_any_rtt = flag(section, "rack_any_rtt", any_rtt)?;
        let ecn_all =
            flag(section, "ecn_all", if control == "dctcp" { self.ecn_all } else { "false" })?;
        let trains = if gso { self.small_queues } else { "false" };
        let small_queues = flag(section, "small_queues", trains)?;
        let ack_changes = flag(section, "ack_changes", self.ack_changes)?;
        let growth_acks = flag(section, "growth_acks", self.growth_acks)?;
        let push_acks = flag(section, "push_acks", if gso { self.push_acks } else { "false" })?;
        let kernel_timers = flag(section, "kernel_timers", self.kernel_timers)?;
        let pacing = flag(section, "pacing", "false")?;
        let quantum = section.switch("pacing_quantum", Kind::Int(1, 1 << 10), "1", "1")?;
        let pacing_quantum = match content!(quantum, Int) as u32 {
            1 => 0,
            more => more,
        };
        let start = if control == "cubic" { self.slow_start } else { RFC.slow_start };
        let start = section.switch("slow_start", Kind::Word(SLOW_STARTS), start, RFC.slow_start)?;
        let slow_start = match content!(start, Word).as_str() {
            "hystart" => SlowStart::HyStart,
            "hystart++" => SlowStart::HyStartPlusPlus,
            _ => SlowStart::Standard,
        };
        let stack = Stack {
            syn_losses_spared,
            idle_restart,
            quick_acks,
            sack_bytes,
            timestamps,
            reduction,
            rack,
            tlp,
            dsack,
            undo_dsack,
            eifel,
            frto,
            slow_start,
            pacing,
            pacing_quantum,
            less_careful,
            lingering_recovery,
            ignore_duplicate_ece,
            one_reduction,
            mark_prr,
            gso,
            syn_options,
            ecn_fallback,
            whole_windows,
            comp_sack,
            rack_slack,
            undo_waits,
            ece_forbids_undo,
            rack_any_rtt,
            ecn_all,
            small_queues,
            ack_changes,
            growth_acks,
            push_acks,
            kernel_timers,
        };
        needs(section, &stack, sack)?;
        if by_rate {
            rates_need(section, &stack, sack, control)?;
        }
        Ok(stack)
    }
}

fn span(value: &Value) -> Option<Span> {
    if let Value::Span(span) = value { Some(*span) } else { None }
}

/// Refuses a control that goes by delivery rates where the transport does not report each lost segment.
fn rates_need(
    section: &Section<'_>,
    stack: &Stack,
    sack: bool,
    control: &str,
) -> Result<(), ScenarioError> {
    let why = format!("true, since {control} is told of each segment that is lost");
    for (key, on) in [("sack", sack), ("rack", stack.rack)] {
        if !on {
            return Err(section.wrong(key, "false".to_owned(), why));
        }
    }
    Ok(())
}

/// Refuses switches that have nothing to go by.
fn needs(section: &Section<'_>, stack: &Stack, sack: bool) -> Result<(), ScenarioError> {
    let by_sack = [
        ("sack_bytes", stack.sack_bytes, "false"),
        ("prr", stack.reduction != Reduction::AtOnce, "\"off\""),
        ("rack", stack.rack, "false"),
        ("tlp", stack.tlp.is_some(), "\"off\""),
        ("dsack", stack.dsack, "false"),
        ("frto", stack.frto, "false"),
        ("rack_slack", stack.rack_slack.is_some(), "\"off\""),
    ];
    let refuse = |key: &str, off: &str, why: &str| {
        let found = section.node(key).map_or_else(String::new, crate::tree::Node::shown);
        Err(section.wrong(key, found, format!("{off}, {why}")))
    };
    for (key, on, off) in by_sack {
        if on && !sack {
            return refuse(key, off, "since sack is false");
        }
    }
    let without_sack =
        [("less_careful", stack.less_careful), ("lingering_recovery", stack.lingering_recovery)];
    for (key, on) in without_sack {
        if on && sack {
            return refuse(key, "false", "since sack is true: RFC 6675 has no such variants");
        }
    }
    if stack.undo_dsack && !stack.dsack {
        return refuse("undo_dsack", "false", "since dsack is false");
    }
    if stack.eifel.is_some() && stack.timestamps == Timestamps::Off {
        return refuse("eifel", "\"off\"", "since timestamps are off");
    }
    Ok(())
}
