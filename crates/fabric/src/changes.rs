//! The scenario's link changes as single events on link numbers.

use crate::build::MAX_DELAY;
use crate::graph::Link;
use crate::routes::split;
use crate::{ChangeProblem, Flap, Graph, LinkChange, LinkState, TopologyError};
use leafspine_core::{Rate, Span, Time};

/// Cycles of one flap; keeps the list of events in memory.
const MAX_CYCLES: u32 = 1_000_000;

/// One event on one link, both directions alike. `None` leaves a property as it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResolvedChange {
    /// When.
    pub at: Time,
    /// Index of the link.
    pub link: u32,
    /// A new rate.
    pub rate: Option<Rate>,
    /// A new value of [`LinkEnd::delay`](crate::LinkEnd::delay): on a host's link, the spec's
    /// `host_delay` is in it.
    pub delay: Option<Span>,
    /// A new loss probability.
    pub loss: Option<f64>,
    /// Up or down.
    pub up: Option<bool>,
    /// The change in the file that it comes from.
    pub index: u32,
}

/// The events of `changes`, by time and, at the same time, in the file's order.
///
/// A flap becomes one event for each time that the link goes down or up; what else its change sets
/// happens once, at the first. Changes of one link do not know of each other: the last event
/// before a moment decides. A fabric may be split for a time (packets without a way are lost and
/// counted); one that stays split, or a host that stays cut off, is refused, because flows between
/// the parts would never end.
///
/// # Errors
/// An unknown link; a change that sets nothing; a rate of zero; a loss outside `0..1`; a delay
/// above 1000 s; a flap beside a state, with no cycle or with more than a million, or down for
/// nothing or for its whole cycle; a fabric split or a host cut off for good.
pub fn check_changes(
    graph: &Graph,
    changes: &[LinkChange],
) -> Result<Vec<ResolvedChange>, TopologyError> {
    let mut events = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        resolve(graph, index, change, &mut events)
            .map_err(|problem| TopologyError::Change { index, problem })?;
    }
    // Stable: at the same time, the file's order stays.
    events.sort_by_key(|event| event.at);
    check_end(graph, &events)?;
    Ok(events)
}

fn resolve(
    graph: &Graph,
    index: usize,
    change: &LinkChange,
    events: &mut Vec<ResolvedChange>,
) -> Result<(), ChangeProblem> {
    let links = graph.links_matching(&change.link).map_err(Box::new)?;
    check_values(change)?;
    links.into_iter().try_for_each(|link| resolve_one(graph, index, (change, link), events))
}

/// The events of a change at one of its links.
fn resolve_one(
    graph: &Graph,
    index: usize,
    (change, link): (&LinkChange, u32),
    events: &mut Vec<ResolvedChange>,
) -> Result<(), ChangeProblem> {
    let first = ResolvedChange {
        at: change.at,
        link,
        rate: change.rate,
        delay: change.delay.map(|delay| with_host(graph, link, delay)),
        loss: change.loss,
        up: change.up,
        index: index as u32,
    };
    match change.flap {
        None => events.push(first),
        Some(flap) => expand(first, flap, events)?,
    }
    Ok(())
}

/// A delay that a change sets, as [`LinkEnd::delay`](crate::LinkEnd::delay) counts it.
fn with_host(graph: &Graph, link: u32, delay: Span) -> Span {
    if graph.is_host_link(link) { delay + graph.host_delay } else { delay }
}

/// Whether all that a change sets is what its links were built with; a flap takes them down. Links of no such name
/// have nothing restored.
#[must_use]
pub fn restores(graph: &Graph, change: &LinkChange) -> bool {
    let Ok(links) = graph.links_matching(&change.link) else { return false };
    let as_built = |link: u32| {
        let Link { a, b, .. } = &graph.links[link as usize];
        [a, b].into_iter().map(|end| &graph.ports[*end as usize]).all(|end| {
            change.rate.is_none_or(|rate| rate == end.rate)
                && change.delay.is_none_or(|delay| with_host(graph, link, delay) == end.delay)
                && change.loss.is_none_or(|loss| loss == end.loss)
        })
    };
    change.up != Some(false) && change.flap.is_none() && links.into_iter().all(as_built)
}

fn check_values(change: &LinkChange) -> Result<(), ChangeProblem> {
    let LinkChange { rate, delay, loss, up, flap, .. } = change;
    if rate.is_none() && delay.is_none() && loss.is_none() && up.is_none() && flap.is_none() {
        return Err(ChangeProblem::Nothing);
    }
    if *rate == Some(Rate(0)) {
        return Err(ChangeProblem::ZeroRate);
    }
    if let Some(found) = delay.filter(|delay| *delay > MAX_DELAY) {
        return Err(ChangeProblem::LongDelay { found, most: MAX_DELAY });
    }
    if let Some(loss) = loss.filter(|loss| !(0.0..1.0).contains(loss)) {
        return Err(ChangeProblem::BadLoss(loss));
    }
    if up.is_some() && flap.is_some() {
        return Err(ChangeProblem::StateAndFlap);
    }
    Ok(())
}

fn expand(
    first: ResolvedChange,
    flap: Flap,
    events: &mut Vec<ResolvedChange>,
) -> Result<(), ChangeProblem> {
    let Flap { every, down_for, times } = flap;
    if down_for == Span::ZERO || down_for >= every {
        return Err(ChangeProblem::FlapDown { down_for, every });
    }
    if times == 0 {
        return Err(ChangeProblem::FlapNever);
    }
    let end = every.0.checked_mul(u64::from(times)).and_then(|span| first.at.0.checked_add(span));
    // Of all links that flap.
    let too_many = times > MAX_CYCLES || events.len() > 2 * MAX_CYCLES as usize;
    if too_many || end.is_none() {
        return Err(ChangeProblem::FlapTooOften { times, most: MAX_CYCLES });
    }
    for cycle in 0..u64::from(times) {
        let at = first.at + every * cycle;
        let plain = ResolvedChange { at, rate: None, delay: None, loss: None, ..first };
        let down = if cycle == 0 { first } else { plain };
        events.push(ResolvedChange { up: Some(false), ..down });
        events.push(ResolvedChange { at: at + down_for, up: Some(true), ..plain });
    }
    Ok(())
}

/// Refuses a fabric that is split, or a host that is cut off, after the last event.
fn check_end(graph: &Graph, events: &[ResolvedChange]) -> Result<(), TopologyError> {
    let mut state = LinkState::initial(graph);
    let mut last_down: Vec<Option<&ResolvedChange>> = vec![None; graph.hosts() as usize];
    for event in events {
        let Some(up) = event.up else { continue };
        state[event.link as usize].up = up;
        if let Some(down) = last_down.get_mut(event.link as usize) {
            *down = (!up).then_some(event);
        }
    }
    if let Some(event) = last_down.into_iter().flatten().next() {
        return Err(TopologyError::CutOff {
            index: event.index as usize,
            link: graph.links[event.link as usize].name.clone(),
            at: event.at,
        });
    }
    if state.iter().all(|link| link.up) {
        return Ok(());
    }
    let name = |switch| graph.switch(switch).name.clone();
    match split(graph, &state) {
        Some((a, b)) => Err(TopologyError::Split { a: name(a), b: name(b) }),
        None => Ok(()),
    }
}
