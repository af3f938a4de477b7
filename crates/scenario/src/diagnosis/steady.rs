//! Whether a run was long enough for its traffic to settle: of flows that arrive, one by one, the
//! statistics are those of a loaded fabric only if the load had the time to build up.

use super::{counted, words};
use crate::classes::SizeClass;
use crate::expand::Case;
use leafspine_core::{Span, Time};
use leafspine_sim::spec::WorkloadKind;
use leafspine_sim::{FlowTable, Output, UNFINISHED};

/// Carried traffic is in order from this share of what is offered on.
///
/// In a steady state as much goes out as comes in, and the difference is what the flows under way
/// have grown by, over all that came. A tenth leaves room for the flows that are under way as the
/// window closes, in the shortest runs that are of use; where more than that piles up, every flow
/// meets another backlog than the one before it, and completion times grow with the run's length.
const CARRIED: f64 = 0.9;

/// Flows that have to arrive before what is carried says anything: the last few are under way as
/// the window closes, and of fewer flows these may be more than a tenth of the bytes in any run.
const FEW: usize = 100;

/// What is to be said of a run that is not in a steady state.
pub(super) fn warnings(case: &Case, output: &Output) -> Vec<String> {
    let short = arrivals_are_short(case, output);
    // Of few flows one thing is said, not two.
    let carried = little_is_carried(case, output, short.is_some());
    short.into_iter().chain(carried).collect()
}

/// Which workloads have flows that arrive for as long as there are any: a Poisson process, a trace. The
/// others are of so many flows at given times, which have no steady state to reach.
fn arriving(case: &Case) -> Vec<bool> {
    let arrives =
        |kind: &WorkloadKind| matches!(kind, WorkloadKind::Poisson { .. } | WorkloadKind::Trace(_));
    case.spec.workloads.iter().map(|workload| arrives(&workload.kind)).collect()
}

/// A flow that arrived after the warm-up.
#[derive(Clone, Copy)]
struct Arrived {
    start: Time,
    bytes: u64,
    /// Its completion time; its age if it had not ended.
    took: Span,
}

fn arrived(case: &Case, output: &Output) -> Vec<Arrived> {
    let arriving = arriving(case);
    let flows: &FlowTable = &output.flows;
    let first = flows.start_ps.partition_point(|start| *start < case.spec.measure.warmup.0);
    let flow = |row: usize| {
        let start = Time(flows.start_ps[row]);
        let took = match flows.fct_ps[row] {
            UNFINISHED => output.end.since(start),
            fct => Span(fct),
        };
        Arrived { start, bytes: flows.bytes[row], took }
    };
    (first..flows.len())
        .filter(|row| arriving.get(usize::from(flows.workload[*row])) == Some(&true))
        .map(flow)
        .collect()
}

/// Arrivals that were over before the long flows were: the load that the last ones met had never been
/// there, and the first ones met an empty fabric.
fn arrivals_are_short(case: &Case, output: &Output) -> Option<String> {
    let flows = arrived(case, output);
    let span = flows.last()?.start.since(flows.first()?.start);
    let (name, mut times) = longest(&case.classes, &flows);
    times.sort_unstable();
    // Nearest rank, as everywhere.
    let slow = *times.get((times.len() * 99).div_ceil(100).checked_sub(1)?)?;
    // At one instant nothing arrives in the sense above: the run is for these flows.
    if span == Span::ZERO || span >= slow {
        return None;
    }
    Some(format!(
        "not in steady state: flows start over {}, but 1 % of the {name}flows take {} or longer: \
         have more flows or a longer duration, and a warm-up (measure.warmup)",
        words(span),
        words(slow)
    ))
}

/// The completion times of the class `long`, or of the class of the largest sizes that has any flow,
/// and its name before the word "flows". All flows if none has any.
fn longest(classes: &[SizeClass], flows: &[Arrived]) -> (String, Vec<Span>) {
    let of = |class: &SizeClass| -> Vec<Span> {
        flows.iter().filter(|flow| class.holds(flow.bytes)).map(|flow| flow.took).collect()
    };
    let mut by_size: Vec<&SizeClass> = classes.iter().collect();
    by_size
        .sort_by_key(|class| (class.name == "long", class.low, class.high.is_none(), class.high));
    let found = by_size.into_iter().rev().map(|class| (format!("{} ", class.name), of(class)));
    found
        .into_iter()
        .find(|(_, times)| !times.is_empty())
        .unwrap_or_else(|| (String::new(), flows.iter().map(|flow| flow.took).collect()))
}

/// Less was carried while flows arrived than they brought. `warned`: something has been said of the
/// run already.
fn little_is_carried(case: &Case, output: &Output, warned: bool) -> Option<String> {
    // Beside flows that do not arrive, it is unknown whose bytes were carried.
    if !arriving(case).into_iter().all(|arrives| arrives) {
        return None;
    }
    let (from, until) = output.window;
    let length = until.since(from).as_secs_f64();
    let flows = &output.flows;
    let place = |time: Time| flows.start_ps.partition_point(|start| *start < time.0);
    let offered: f64 = flows.bytes[place(from)..place(until)].iter().map(|b| *b as f64).sum();
    let carried = output.delivered_in_window as f64;
    if length == 0.0 || carried >= CARRIED * offered {
        return None;
    }
    let all = arrived(case, output).len();
    if all < FEW {
        let few = counted(all as u64, "flow");
        let more =
            "too few to say whether it is in a steady state: have more, or a longer duration";
        return (!warned).then(|| format!("{few} arrived while the run was measured, {more}"));
    }
    let gbps = |bytes: f64| digits(bytes * 8e-9 / length);
    Some(format!(
        "offered {} Gb/s, carried {} Gb/s ({:.0} %): flows pile up while they arrive, so completion \
         times depend on the length of the run; if a longer run carries no more, this is an overload",
        gbps(offered),
        gbps(carried),
        100.0 * carried / offered
    ))
}

/// Three digits, and no fewer than are before the point.
fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = 2 - value.max(1e-9).log10().floor() as i32;
    format!("{value:.*}", places.clamp(0, 9) as usize)
}
