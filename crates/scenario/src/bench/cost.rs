//! What schemes cost: time per decision, speed beside ECMP on the same kind of port, memory.

use super::{BenchError, Timed, WEB_SEARCH, timed};
use crate::error::ScenarioError;
use crate::expand::{Case, Source, expand};
use leafspine_core::Span;
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::{Footprint, microbench};
use leafspine_sim::spec::{ProbeKind, ProbeSpec};
use leafspine_sim::{Column, Series};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Rounds of which the fastest counts, and decisions in each.
const ROUNDS: usize = 7;
const DECISIONS: u32 = 100_000;

/// What one decision costs.
#[derive(Clone, Copy, Debug)]
pub struct DecisionCost {
    /// Nanoseconds a decision.
    pub nanoseconds: f64,
    /// Bytes of state.
    pub footprint: Footprint,
}

/// What one decision of a load balancer or queue manager costs, with its defaults on a mock leaf
/// (16 hosts, 8 uplinks, 1,000 flows).
///
/// # Errors
/// If there is no such scheme, or decisions of that place are not timed.
pub fn decision_cost(place: &str, name: &str) -> Result<DecisionCost, BenchError> {
    let unknown = || BenchError::Unknown(name.to_owned());
    let (nanoseconds, footprint) = if place == Place::LoadBalancer.table() {
        let mut role =
            microbench::Balancer::new(registry::load_balancer(name).ok_or_else(unknown)?);
        (fastest(|| role.decide()), role.footprint())
    } else if place == Place::Aqm.table() {
        let mut role = microbench::Manager::new(registry::queue_manager(name).ok_or_else(unknown)?);
        (fastest(|| role.decide()), role.footprint())
    } else {
        return Err(BenchError::Untimed(place.to_owned()));
    };
    Ok(DecisionCost { nanoseconds, footprint })
}

/// Nanoseconds a call, of the fastest round.
fn fastest<T>(mut call: impl FnMut() -> T) -> f64 {
    let mut round = || {
        let start = Instant::now();
        for _ in 0..DECISIONS {
            black_box(call());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(DECISIONS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// What a whole run costs.
#[derive(Clone, Copy, Debug)]
pub struct RunCost {
    /// The scheme's tables at leaf switches.
    pub tables: Tables,
    /// Packet-hops per second with the scheme.
    pub speed: f64,
    /// Packet-hops per second with ECMP on the same kind of port.
    pub ecmp_speed: f64,
    /// Whether switches have general ports.
    pub general_ports: bool,
    /// Events per packet-hop.
    pub events_per_hop: f64,
}

/// Runs the 128-host web-search case of so many flows with the keys of `sets`, and with ECMP on the
/// same kind of port, in turns: packet-hops per second of each, the best of so many rounds. A last run
/// looks at the tables of leaf switches every 100 us.
///
/// # Errors
/// What the scenario's errors are.
pub fn run_cost(
    sets: Vec<(String, String)>,
    flows: u32,
    rounds: u32,
) -> Result<RunCost, BenchError> {
    let flows = ("workload.0.flows".to_owned(), flows.to_string());
    let sets: Vec<_> = sets.into_iter().chain([flows.clone()]).collect();
    let case = case(&sets)?;
    let first = Cost::of(&case)?;
    let port = if first.general_ports { "general" } else { "auto" };
    let reference = self::case(&[flows, ("run.ports".to_owned(), port.to_owned())])?;
    let (mut speed, mut ecmp_speed) = (first.speed, 0.0_f64);
    for _ in 0..rounds {
        ecmp_speed = ecmp_speed.max(Cost::of(&reference)?.speed);
        speed = speed.max(Cost::of(&case)?.speed);
    }
    Ok(RunCost {
        tables: tables(case)?,
        speed,
        ecmp_speed,
        general_ports: first.general_ports,
        events_per_hop: first.events_per_hop,
    })
}

fn case(sets: &[(String, String)]) -> Result<Case, ScenarioError> {
    let (file, base) = ("web-search-128", Path::new("."));
    let mut cases = expand(&Source { text: WEB_SEARCH, file, base, sets, options: &[] })?;
    Ok(cases.remove(0))
}

/// What one run costs.
struct Cost {
    speed: f64,
    events_per_hop: f64,
    general_ports: bool,
}

impl Cost {
    fn of(case: &Case) -> Result<Cost, BenchError> {
        let Timed { output, seconds, general_ports } = timed(case)?;
        let hops = output.counters.packet_hops as f64;
        let events_per_hop = output.counters.events as f64 / hops;
        Ok(Cost { speed: hops / seconds, events_per_hop, general_ports })
    }
}

/// What a state probe at the leaves saw: largest size and slots of a table, and means over samples of
/// the occupied slots, the flows that have one, and those that share.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Bytes of a leaf's state, at most.
    pub leaf_bytes: f64,
    /// Slots of a leaf's table.
    pub slots: f64,
    /// Occupied slots.
    pub occupied: f64,
    /// Flows that have a slot.
    pub flows: f64,
    /// Flows that share one.
    pub sharing: f64,
}

fn tables(mut case: Case) -> Result<Tables, BenchError> {
    case.spec.probes = vec![ProbeSpec {
        kind: ProbeKind::State,
        ports: "leaf*-spine*".to_owned(),
        flows: Vec::new(),
        every: Span::from_micros(100),
        name: "state".to_owned(),
    }];
    let Timed { output, .. } = timed(&case)?;
    let state = &output.probes[0];
    let mean = |column| {
        let values = column_of(state, column);
        values.iter().sum::<f64>() / values.len().max(1) as f64
    };
    let most = |column| column_of(state, column).into_iter().fold(0.0, f64::max);
    Ok(Tables {
        leaf_bytes: most("bytes"),
        slots: most("slots"),
        occupied: mean("occupied"),
        flows: mean("flows"),
        sharing: mean("sharing"),
    })
}

fn column_of(series: &Series, name: &str) -> Vec<f64> {
    let found = series.columns.iter().find(|(column, _)| *column == name);
    match found.map(|(_, column)| column) {
        Some(Column::U64(values)) => values.iter().map(|v| *v as f64).collect(),
        Some(Column::U32(values) | Column::Index(values)) => {
            values.iter().map(|v| f64::from(*v)).collect()
        }
        Some(Column::F64(values)) => values.clone(),
        None => Vec::new(),
    }
}
