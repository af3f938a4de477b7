//! A schedule as operations that wait for each other.

use super::super::WorkloadError;
use super::super::dag::{Draft, Op, Phase, Template};
use super::lines::{Line, Rank, Statement};
use crate::spec::TimeUnit;
use leafspine_core::{HostId, Span};
use std::collections::{HashMap, VecDeque};
use std::path::Path;

/// What is behind a label.
#[derive(Clone, Copy)]
enum Node {
    /// A message, which its source sends.
    Send(Op),
    /// A point, when a message has come that is waited for.
    Receive(Op),
    Calculate(Op),
}

impl Node {
    fn op(self) -> Op {
        match self {
            Node::Send(op) | Node::Receive(op) | Node::Calculate(op) => op,
        }
    }
}

/// Messages of two ranks with one tag that have been sent, or waited for, and not the other: their
/// operation, bytes and line.
type Open = HashMap<(u32, u32, u64), VecDeque<(Op, u64, u64)>>;

/// An iteration of a schedule on these hosts, of which `name` is the file. Times are in `unit`.
///
/// # Errors
/// A label that is there twice or not at all, a send without its receive, receives of other sizes.
pub(crate) fn template(
    ranks: &[Rank],
    hosts: &[HostId],
    unit: TimeUnit,
    name: &Path,
) -> Result<Template, WorkloadError> {
    let mut draft = Draft::default();
    draft.phase(Phase { name: "goal".to_owned(), bytes: 0, bus_factor: 0.0, measured: true });
    let (mut sent, mut awaited) = (Open::new(), Open::new());
    let mut labels: Vec<HashMap<&str, Node>> = Vec::with_capacity(ranks.len());
    let ps = 10u64.pow(unit.power());
    for (rank, lines) in (0..).zip(ranks) {
        let host = hosts[rank as usize];
        let mut own = HashMap::new();
        for (line, said) in lines {
            let Line::Is(label, statement) = said else { continue };
            let node = match *statement {
                // A rank's message to itself takes no time.
                Statement::Send { bytes, to, tag } if to == rank => {
                    let op = draft.point(host);
                    sent.entry((rank, to, tag)).or_default().push_back((op, bytes, *line));
                    Node::Calculate(op)
                }
                Statement::Send { bytes, to, tag } => {
                    let op = draft.message(host, hosts[to as usize], bytes.max(1), 0);
                    sent.entry((rank, to, tag)).or_default().push_back((op, bytes, *line));
                    Node::Send(op)
                }
                Statement::Receive { bytes, from, tag } => {
                    let op = draft.point(host);
                    awaited.entry((from, rank, tag)).or_default().push_back((op, bytes, *line));
                    Node::Receive(op)
                }
                Statement::Calculate { time, processor } => {
                    let span = Span(time.saturating_mul(ps));
                    Node::Calculate(draft.compute_on(host, processor, span, false))
                }
            };
            if own.insert(label.as_str(), node).is_some() {
                let found = format!("the label \"{label}\" twice in rank {rank}");
                return Err(WorkloadError::at("", found, "each label once").in_file(name, *line));
            }
        }
        labels.push(own);
    }
    pair(&mut draft, sent, awaited, name)?;
    for (rank, (lines, labels)) in ranks.iter().zip(&labels).enumerate() {
        wait(&mut draft, lines, labels, (rank, name))?;
    }
    draft.finish().map_err(|error| {
        let found = format!("operations that wait for each other in a ring ({error:?})");
        WorkloadError::at("path", found, "a schedule that can end")
    })
}

/// Every receive waits for the send that belongs to it.
fn pair(
    draft: &mut Draft,
    sent: Open,
    mut awaited: Open,
    name: &Path,
) -> Result<(), WorkloadError> {
    let mut sent: Vec<_> = sent.into_iter().collect();
    sent.sort_unstable_by_key(|(key, _)| *key);
    for ((from, to, tag), messages) in sent {
        let mut receives = awaited.remove(&(from, to, tag)).unwrap_or_default();
        for (message, bytes, line) in messages {
            let Some((receive, wants, at)) = receives.pop_front() else {
                let found = format!("a send to {to} with tag {tag} that nobody receives");
                let allowed = "a recv for every send, by ranks and tag";
                return Err(WorkloadError::at("send", found, allowed).in_file(name, line));
            };
            if wants != bytes {
                let found = format!("{wants}b of a message that has {bytes}b (line {line})");
                return Err(WorkloadError::at("recv", found, "its size").in_file(name, at));
            }
            draft.after(message, receive);
        }
        if !receives.is_empty() {
            awaited.insert((from, to, tag), receives);
        }
    }
    let left =
        awaited.iter().filter_map(|((from, _, tag), left)| Some((left.front()?.2, from, tag)));
    match left.min() {
        None => Ok(()),
        Some((line, from, tag)) => {
            let found = format!("a recv from {from} with tag {tag} that nobody sends");
            let allowed = "a send for every recv, by ranks and tag";
            Err(WorkloadError::at("recv", found, allowed).in_file(name, line))
        }
    }
}

/// What a rank's labels wait for.
fn wait(
    draft: &mut Draft,
    lines: &Rank,
    labels: &HashMap<&str, Node>,
    (rank, name): (usize, &Path),
) -> Result<(), WorkloadError> {
    let known = |label: &str, line: u64| {
        labels.get(label).copied().ok_or_else(|| {
            let found = format!("the label \"{label}\", which rank {rank} does not have");
            WorkloadError::at("requires", found, "a label of the same rank").in_file(name, line)
        })
    };
    // What each label waits for: of what but a send has no start of its own, that is its start.
    let mut waits: HashMap<&str, Vec<(&str, bool)>> = HashMap::new();
    for (line, said) in lines {
        if let Line::Waits { label, of, at_start } = said {
            known(label, *line)?;
            known(of, *line)?;
            waits.entry(label).or_default().push((of, *at_start));
        }
    }
    for (label, list) in &waits {
        let then = labels[label].op();
        let (mut open, mut seen) = (list.clone(), Vec::new());
        while let Some((of, at_start)) = open.pop() {
            if seen.contains(&(of, at_start)) {
                continue;
            }
            seen.push((of, at_start));
            match (labels[of], at_start) {
                (node, false) => draft.after(node.op(), then),
                (Node::Send(op), true) => draft.after_start(op, then),
                (_, true) => open.extend(waits.get(of).into_iter().flatten().copied()),
            }
        }
    }
    Ok(())
}
