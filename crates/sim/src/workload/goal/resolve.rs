//! A schedule as operations that wait for each other.

use super::super::WorkloadError;
use super::super::dag::{Draft, Op, Phase, Template};
use super::lines::{Label, Line, Rank, Statement};
use super::{File, Form};
use crate::spec::TimeUnit;
use leafspine_core::{HostId, Span};
use std::collections::HashSet;
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

/// A send or a receive: from, to and tag say with which of the others it belongs together.
struct Half {
    key: (u32, u32, u64),
    op: Op,
    bytes: u64,
    place: u64,
}

/// An iteration of a schedule on these hosts, of which `name` is the file. Times are in `unit`.
///
/// # Errors
/// A send without its receive, receives of other sizes, statements that wait for each other.
pub(crate) fn template(
    file: &File,
    hosts: &[HostId],
    unit: TimeUnit,
    name: &Path,
) -> Result<Template, WorkloadError> {
    let ranks = &file.ranks;
    let mut draft = Draft::default();
    draft.phase(Phase { name: "goal".to_owned(), bytes: 0, bus_factor: 0.0, measured: true });
    let (mut sent, mut awaited) = (Vec::new(), Vec::new());
    let mut by_label = Vec::with_capacity(ranks.len());
    let ps = 10u64.pow(unit.power());
    for (rank, read) in (0..).zip(ranks) {
        let host = hosts[rank as usize];
        let mut nodes = vec![None; read.labels as usize];
        for (place, said) in &read.lines {
            let Line::Is(label, statement) = said else { continue };
            let half = |key, op, bytes| Half { key, op, bytes, place: *place };
            let node = match *statement {
                // A rank's message to itself takes no time.
                Statement::Send { bytes, to, tag } if to == rank => {
                    let op = draft.point(host);
                    sent.push(half((rank, to, tag), op, bytes));
                    Node::Calculate(op)
                }
                Statement::Send { bytes, to, tag } => {
                    let op = draft.message(host, hosts[to as usize], bytes.max(1), 0);
                    sent.push(half((rank, to, tag), op, bytes));
                    Node::Send(op)
                }
                Statement::Receive { bytes, from, tag } => {
                    let op = draft.point(host);
                    awaited.push(half((from, rank, tag), op, bytes));
                    Node::Receive(op)
                }
                Statement::Calculate { time, processor } => {
                    let span = Span(time.saturating_mul(ps));
                    Node::Calculate(draft.compute_on(host, processor, span, false))
                }
            };
            nodes[*label as usize] = Some(node);
        }
        // Every label is a statement's, so that none is left out.
        by_label.push(nodes.into_iter().flatten().collect::<Vec<Node>>());
    }
    pair(&mut draft, sent, awaited, (file.form, name))?;
    ranks.iter().zip(&by_label).for_each(|(read, nodes)| wait(&mut draft, read, nodes));
    draft.finish().map_err(|error| {
        let found = format!("operations that wait for each other in a ring ({error:?})");
        WorkloadError::at("path", found, "a schedule that can end")
    })
}

/// Every receive waits for the send that belongs to it: the first for the first.
fn pair(
    draft: &mut Draft,
    mut sent: Vec<Half>,
    mut awaited: Vec<Half>,
    (form, name): (Form, &Path),
) -> Result<(), WorkloadError> {
    // Stable, so that those of one key stay in the order of the file.
    sent.sort_by_key(|half| half.key);
    awaited.sort_by_key(|half| half.key);
    let mut receives = awaited.iter().peekable();
    // The first receive in the file that no send is for.
    let mut lonely: Option<(u64, (u32, u32, u64))> = None;
    let mut note = |half: &Half| {
        let found = (half.place, half.key);
        lonely = Some(lonely.map_or(found, |first| first.min(found)));
    };
    for send in &sent {
        while let Some(half) = receives.next_if(|half| half.key < send.key) {
            note(half);
        }
        let Some(receive) = receives.next_if(|half| half.key == send.key) else {
            let (_, to, tag) = send.key;
            let found = format!("a send to {to} with tag {tag} that nobody receives");
            let allowed = "a recv for every send, by ranks and tag";
            return Err(form.wrong("send", found, allowed, (name, send.place)));
        };
        if receive.bytes != send.bytes {
            let (wants, bytes, place) = (receive.bytes, send.bytes, form.place(send.place));
            let found = format!("{wants}b of a message that has {bytes}b ({place})");
            return Err(form.wrong("recv", found, "its size", (name, receive.place)));
        }
        draft.after(send.op, receive.op);
    }
    receives.for_each(note);
    lonely.map_or(Ok(()), |(place, (from, _, tag))| {
        let found = format!("a recv from {from} with tag {tag} that nobody sends");
        let allowed = "a send for every recv, by ranks and tag";
        Err(form.wrong("recv", found, allowed, (name, place)))
    })
}

/// What a rank's statements wait for. `nodes`: by label.
fn wait(draft: &mut Draft, read: &Rank, nodes: &[Node]) {
    let mut waits: Vec<(Label, Label, bool)> = read
        .lines
        .iter()
        .filter_map(|(_, said)| match said {
            Line::Waits { label, of, at_start } => Some((*label, *of, *at_start)),
            Line::Is(..) => None,
        })
        .collect();
    waits.sort_unstable();
    let of_label = |label: Label| {
        let begin = waits.partition_point(|wait| wait.0 < label);
        waits[begin..].iter().take_while(move |wait| wait.0 == label)
    };
    for list in waits.chunk_by(|one, next| one.0 == next.0) {
        let then = nodes[list[0].0 as usize].op();
        // Of what but a send has no start of its own, that is the start of what it waits for.
        let (mut open, mut seen) = (list.to_vec(), HashSet::new());
        while let Some((_, of, at_start)) = open.pop() {
            if !seen.insert((of, at_start)) {
                continue;
            }
            match (nodes[of as usize], at_start) {
                (node, false) => draft.after(node.op(), then),
                (Node::Send(op), true) => draft.after_start(op, then),
                (_, true) => open.extend(of_label(of)),
            }
        }
    }
}
