//! A template in the making.

use super::template::{AT_START, Compute, Message, NEXT, NUMBER, Phase, Template};
use leafspine_core::{HostId, Span};

/// An operation of a draft.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Message(u32),
    Compute(u32),
}

/// Why there is no template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DraftError {
    /// An operation waits for one that does not end at its host.
    Elsewhere(Op, Op),
    /// Operations that wait for each other in a ring: this is one of them.
    Ring(Op),
    /// More operations than can be numbered.
    TooMany,
}

/// The second waits for the first.
#[derive(Clone, Copy)]
struct Edge {
    before: Op,
    then: Op,
    how: u32,
}

/// See the module's text.
#[derive(Default)]
pub(crate) struct Draft {
    messages: Vec<Message>,
    computes: Vec<Compute>,
    edges: Vec<Edge>,
    phases: Vec<Phase>,
    now: u16,
}

impl Draft {
    /// What is added from now on belongs to this, which is told by its number.
    pub(crate) fn phase(&mut self, phase: Phase) -> u16 {
        self.phases.push(phase);
        self.now = (self.phases.len() - 1) as u16;
        self.now
    }

    /// What is added from now on belongs to a phase that is there already.
    pub(crate) fn back_to(&mut self, phase: u16) {
        self.now = phase;
    }

    /// How many messages there are.
    pub(crate) fn messages(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Adds a message.
    pub(crate) fn message(&mut self, src: HostId, dst: HostId, bytes: u64, channel: u16) -> Op {
        let phase = self.now;
        self.messages.push(Message { bytes, src, dst, channel, phase });
        Op::Message(self.messages.len() as u32 - 1)
    }

    /// Adds a computation.
    pub(crate) fn compute(&mut self, host: HostId, span: Span, jittered: bool) -> Op {
        self.compute_on(host, 0, span, jittered)
    }

    /// The same on another processor than the first.
    pub(crate) fn compute_on(
        &mut self,
        host: HostId,
        processor: u8,
        span: Span,
        jittered: bool,
    ) -> Op {
        let phase = self.now;
        self.computes.push(Compute { span, host, processor, jittered, phase });
        Op::Compute(self.computes.len() as u32 - 1)
    }

    /// A point at which a host waits for others.
    pub(crate) fn point(&mut self, host: HostId) -> Op {
        // A processor of its own: nothing waits for it, and it waits for none.
        self.compute_on(host, u8::MAX, Span::ZERO, false)
    }

    /// `then` begins when `before` has ended, at the host of `then`: come there, been acknowledged
    /// there, computed there.
    pub(crate) fn after(&mut self, before: Op, then: Op) {
        self.edges.push(Edge { before, then, how: 0 });
    }

    /// `then` begins when the message or, of a computation, its end `before` has begun.
    pub(crate) fn after_start(&mut self, before: Op, then: Op) {
        self.edges.push(Edge { before, then, how: AT_START });
    }

    /// `then` begins, in the next iteration, when `before` has ended.
    pub(crate) fn next_after(&mut self, before: Op, then: Op) {
        self.edges.push(Edge { before, then, how: NEXT });
    }

    fn host(&self, of: Op) -> HostId {
        match of {
            Op::Message(at) => self.messages[at as usize].src,
            Op::Compute(at) => self.computes[at as usize].host,
        }
    }

    /// Whether an operation's end (or start) is known to `host`.
    fn ends_at(&self, of: Op, host: HostId, how: u32) -> bool {
        match of {
            Op::Message(at) => {
                let message = &self.messages[at as usize];
                message.src == host || message.dst == host && how & AT_START == 0
            }
            Op::Compute(_) => self.host(of) == host,
        }
    }

    fn number(&self, of: Op) -> u32 {
        match of {
            Op::Message(at) => at,
            Op::Compute(at) => self.messages.len() as u32 + at,
        }
    }

    fn op(messages: usize, number: u32) -> Op {
        match number.checked_sub(messages as u32) {
            None => Op::Message(number),
            Some(at) => Op::Compute(at),
        }
    }

    /// The template.
    ///
    /// # Errors
    /// See [`DraftError`].
    pub(crate) fn finish(self) -> Result<Template, DraftError> {
        let all = self.messages.len() + self.computes.len();
        if all as u64 >= u64::from(NUMBER) || self.edges.len() >= u32::MAX as usize {
            return Err(DraftError::TooMany);
        }
        let mut edges = Vec::with_capacity(self.edges.len());
        for edge in &self.edges {
            if !self.ends_at(edge.before, self.host(edge.then), edge.how) {
                return Err(DraftError::Elsewhere(edge.before, edge.then));
            }
            // A computation starts when it ends, as far as others can tell: it is not looked at.
            let how = match edge.before {
                Op::Compute(_) => edge.how & !AT_START,
                Op::Message(_) => edge.how,
            };
            edges.push((self.number(edge.before), self.number(edge.then) | how));
        }
        edges.sort_unstable();
        edges.dedup();
        let (mut first, mut waits) = (vec![0u32; all + 1], vec![[0u32; 2]; all]);
        for (before, then) in &edges {
            first[*before as usize + 1] += 1;
            waits[(then & NUMBER) as usize][usize::from(then & NEXT != 0)] += 1;
        }
        for at in 0..all {
            first[at + 1] += first[at];
        }
        let then = edges.into_iter().map(|(_, then)| then).collect();
        let Draft { messages, computes, phases, .. } = self;
        let template = Template { messages, computes, first, then, waits, phases };
        match ring(&template) {
            Some(number) => Err(DraftError::Ring(Draft::op(template.messages.len(), number))),
            None => Ok(template),
        }
    }
}

/// An operation of a ring, if there is one: what Kahn's algorithm (1962) leaves over.
fn ring(template: &Template) -> Option<u32> {
    let mut left: Vec<u32> = template.waits.iter().map(|[own, _]| *own).collect();
    let mut ready: Vec<u32> =
        (0..).zip(&left).filter(|(_, n)| **n == 0).map(|(at, _)| at).collect();
    while let Some(at) = ready.pop() {
        for then in template.then(at).iter().filter(|then| **then & NEXT == 0) {
            let then = then & NUMBER;
            left[then as usize] -= 1;
            if left[then as usize] == 0 {
                ready.push(then);
            }
        }
    }
    (0..).zip(left).find(|(_, n)| *n > 0).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u16) -> HostId {
        HostId(number)
    }

    /// Breaks if an operation may wait for something that its host learns of from nobody.
    #[test]
    fn hosts_know_what_ends_there() {
        let mut draft = Draft::default();
        let there = draft.message(host(0), host(1), 5, 0);
        let back = draft.message(host(1), host(0), 5, 0);
        draft.after(there, back);
        assert!(draft.finish().is_ok());

        let mut draft = Draft::default();
        let there = draft.message(host(0), host(1), 5, 0);
        let other = draft.message(host(2), host(0), 5, 0);
        draft.after(there, other);
        assert_eq!(draft.finish().err(), Some(DraftError::Elsewhere(there, other)));

        let mut draft = Draft::default();
        let there = draft.message(host(0), host(1), 5, 0);
        let back = draft.message(host(1), host(0), 5, 0);
        draft.after_start(there, back);
        assert_eq!(
            draft.finish().err(),
            Some(DraftError::Elsewhere(there, back)),
            "only its source"
        );
    }

    /// Breaks if operations that wait for each other are taken: they would never begin. Those of the next
    /// iteration do not count.
    #[test]
    fn rings_are_refused() {
        let mut draft = Draft::default();
        let (a, b) = (draft.point(host(0)), draft.point(host(0)));
        draft.after(a, b);
        draft.next_after(b, a);
        assert!(draft.finish().is_ok());

        let mut draft = Draft::default();
        let (a, b) = (draft.point(host(0)), draft.point(host(0)));
        draft.after(a, b);
        draft.after(b, a);
        assert!(matches!(draft.finish().err(), Some(DraftError::Ring(_))));
    }

    /// Breaks if what is said twice is waited for twice, which would be for ever.
    #[test]
    fn the_same_is_waited_for_once() {
        let mut draft = Draft::default();
        let (a, b) = (draft.point(host(0)), draft.point(host(0)));
        draft.after(a, b);
        draft.after(a, b);
        assert_eq!(draft.finish().expect("no ring").waits[1], [1, 0]);
    }
}
