//! What a host does by itself: operations that begin when others have ended at this host.
//!
//! An operation is a message that the host sends, or a time in which it computes. What it waits for
//! ends at this host, too: a message that the host receives has its last byte here, one that it sends
//! its last acknowledgment, a computation its time. So a host never learns of another's progress but by
//! packets, and may run ahead of the others.
//!
//! Whoever drives the run arms an operation before anything can let it go: its places at both hosts are
//! taken then, and the host is told how much of what it waits for has not ended yet.

use crate::transport::Carried;
use foldhash::fast::FixedState;
use leafspine_core::{FiveTuple, Span, Time};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Messages are numbered from here on: below are flows that wait for nothing.
pub const FIRST_MESSAGE: u32 = 1 << 27;

/// Which operations wait for which, by their numbers. A message's is its flow's.
pub trait Operations: Send + Sync {
    /// Calls `visit` with every operation, at whatever host, that waits for the end of `number`.
    fn after_end(&self, number: u32, visit: &mut dyn FnMut(u32));

    /// The same of those that wait for its start.
    fn after_start(&self, number: u32, visit: &mut dyn FnMut(u32));
}

/// What an operation does when nothing holds it any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Sends the message that has this slot, so much later.
    Send(u16, Span),
    /// Computes for so long on this processor, when that has done what came before.
    Compute(u8, Span),
}

/// An operation that waits.
#[derive(Clone, Copy, Debug)]
struct Armed {
    /// What it waits for has not ended so often.
    left: u32,
    step: Step,
}

/// A host's operations.
pub struct Program {
    operations: Arc<dyn Operations>,
    armed: HashMap<u32, Armed, FixedState>,
    /// By processor: when it has done all that was ready.
    busy: Vec<Time>,
    /// By connection: its messages.
    lines: HashMap<FiveTuple, Line, FixedState>,
}

/// The messages of a connection: one begins when all of the one before has been sent.
#[derive(Default)]
struct Line {
    /// The slot of the message that has something left to be sent for the first time.
    sending: Option<u16>,
    /// The slots of messages that have begun and are not all acknowledged, in the order in which they
    /// began.
    under_way: Vec<u16>,
    /// Numbers and slots of messages that wait for their turn.
    queue: VecDeque<(u32, u16)>,
    /// What the next message begins with.
    carried: Option<Carried>,
}

impl Program {
    /// Without an operation. `operations`: those of the whole run.
    #[must_use]
    pub fn new(operations: Arc<dyn Operations>) -> Program {
        Program {
            operations,
            armed: HashMap::default(),
            busy: Vec::new(),
            lines: HashMap::default(),
        }
    }

    /// Adds an operation of which so much of what it waits for, one at least, has not ended yet.
    ///
    /// # Panics
    /// In debug builds if nothing holds it.
    pub fn arm(&mut self, number: u32, left: u32, step: Step) {
        debug_assert!(left > 0, "operation {number} should have begun");
        self.armed.insert(number, Armed { left, step });
    }

    /// An operation that nothing holds: gives when it is due.
    pub fn begin(&mut self, number: u32, step: Step, now: Time) -> Time {
        self.armed.insert(number, Armed { left: 0, step });
        self.due(step, now)
    }

    /// When an operation that is ready now is due: a message starts then, a computation has ended.
    fn due(&mut self, step: Step, now: Time) -> Time {
        let (processor, span) = match step {
            Step::Send(_, delay) => return now + delay,
            Step::Compute(processor, span) => (usize::from(processor), span),
        };
        if self.busy.len() <= processor {
            self.busy.resize(processor + 1, Time::ZERO);
        }
        let busy = &mut self.busy[processor];
        *busy = now.max(*busy) + span;
        *busy
    }

    /// An operation is due. It is no longer kept.
    pub(crate) fn take(&mut self, number: u32) -> Option<Step> {
        self.armed.remove(&number).map(|armed| armed.step)
    }

    /// Something has ended at this host: gives what is now due, and when, to `schedule`.
    pub(crate) fn ended(&mut self, number: u32, now: Time, schedule: impl FnMut(u32, Time)) {
        let operations = Arc::clone(&self.operations);
        self.let_go(|visit| operations.after_end(number, visit), now, schedule);
    }

    /// The same of a message's start.
    pub(crate) fn started(&mut self, number: u32, now: Time, schedule: impl FnMut(u32, Time)) {
        let operations = Arc::clone(&self.operations);
        self.let_go(|visit| operations.after_start(number, visit), now, schedule);
    }

    fn let_go(
        &mut self,
        waiting: impl Fn(&mut dyn FnMut(u32)),
        now: Time,
        mut schedule: impl FnMut(u32, Time),
    ) {
        waiting(&mut |number| {
            let Some(armed) = self.armed.get_mut(&number) else { return };
            armed.left -= 1;
            if armed.left == 0 {
                let step = armed.step;
                schedule(number, self.due(step, now));
            }
        });
    }

    /// A message is to be sent when its connection comes to it.
    pub(crate) fn queue(&mut self, connection: FiveTuple, number: u32, slot: u16) {
        self.lines.entry(connection).or_default().queue.push_back((number, slot));
    }

    /// The connection's next message may begin: gives its number and slot, and what it begins with
    /// unless it is the connection's first. `flight` tells the bytes that a message has in the network,
    /// and its window.
    ///
    /// Messages of a connection follow each other as bytes of a stream do. Those that have all been sent
    /// and are not all acknowledged count towards the window; one such never holds the next back, for
    /// its last window is what the next follows on.
    pub(crate) fn next(
        &mut self,
        connection: FiveTuple,
        flight: impl Fn(u16) -> (u32, u32),
    ) -> Option<(u32, u16, Option<&Carried>)> {
        let line = self.lines.get_mut(&connection)?;
        if line.sending.is_some() {
            return None;
        }
        if let [.., _, last] = line.under_way[..] {
            let in_network: u32 = line.under_way.iter().map(|slot| flight(*slot).0).sum();
            if in_network >= flight(last).1 {
                return None;
            }
        }
        let (number, slot) = line.queue.pop_front()?;
        line.sending = Some(slot);
        line.under_way.push(slot);
        Some((number, slot, line.carried.as_ref()))
    }

    /// All of a message has been sent once. Gives whether that is news.
    pub(crate) fn sent(&mut self, connection: FiveTuple, slot: u16) -> bool {
        let line = self.lines.get_mut(&connection);
        line.is_some_and(|line| line.sending.take_if(|sending| *sending == slot).is_some())
    }

    /// What the connection's last message to have begun leaves to the next, if it is the one in `slot`.
    pub(crate) fn carry(
        &mut self,
        connection: FiveTuple,
        slot: u16,
        carried: impl FnOnce() -> Option<Carried>,
    ) {
        if let Some(line) = self.lines.get_mut(&connection)
            && line.under_way.last() == Some(&slot)
        {
            line.carried = carried();
        }
    }

    /// The slots of a connection's messages that have begun and are not all acknowledged, the oldest first.
    pub(crate) fn begun(&self, connection: FiveTuple) -> &[u16] {
        self.lines.get(&connection).map_or(&[], |line| &line.under_way)
    }

    /// A message has all been acknowledged. A connection that has no other one, and leaves nothing
    /// to the next, is forgotten: an all-to-all among a thousand ranks has a million of them.
    pub(crate) fn acknowledged(&mut self, connection: FiveTuple, slot: u16) {
        let Some(line) = self.lines.get_mut(&connection) else { return };
        line.under_way.retain(|other| *other != slot);
        let rests = line.under_way.is_empty() && line.queue.is_empty();
        if rests && line.sending.is_none() && line.carried.is_none() {
            self.lines.remove(&connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two operations wait for 7, one of them for 8 as well; one for the start of 7.
    struct Fixed;

    impl Operations for Fixed {
        fn after_end(&self, number: u32, visit: &mut dyn FnMut(u32)) {
            match number {
                7 => [1, 2, 9].into_iter().for_each(visit),
                8 => visit(2),
                _ => {}
            }
        }

        fn after_start(&self, number: u32, visit: &mut dyn FnMut(u32)) {
            if number == 7 {
                visit(3);
            }
        }
    }

    /// Breaks if an operation begins before all that it waits for has ended, later than its delay says,
    /// or if another host's (9) is taken for this one's.
    #[test]
    fn an_operation_waits_for_all_of_its_own() {
        let mut program = Program::new(Arc::new(Fixed));
        program.arm(1, 1, Step::Send(4, Span(10)));
        program.arm(2, 2, Step::Send(5, Span(0)));
        program.arm(3, 1, Step::Send(6, Span(1)));
        let mut due = Vec::new();
        program.started(7, Time(90), |number, at| due.push((number, at.0)));
        program.ended(7, Time(100), |number, at| due.push((number, at.0)));
        program.ended(8, Time(200), |number, at| due.push((number, at.0)));
        assert_eq!(due, [(3, 91), (1, 110), (2, 200)]);
        assert_eq!(program.take(1), Some(Step::Send(4, Span(10))));
        assert_eq!(program.take(1), None);
    }

    /// Breaks if a processor does two things at once, or one waits for another processor.
    #[test]
    fn a_processor_does_one_thing_at_a_time() {
        let mut program = Program::new(Arc::new(Fixed));
        let mut due = |number, processor, at| {
            program.begin(number, Step::Compute(processor, Span(100)), Time(at)).0
        };
        assert_eq!(
            [due(1, 0, 0), due(2, 0, 50), due(3, 1, 50), due(4, 0, 500)],
            [100, 200, 150, 600]
        );
    }
}
