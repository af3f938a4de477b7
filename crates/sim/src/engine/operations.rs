//! Operations that wait for each other: which may begin, what they leave behind.
//!
//! A host begins its operations by itself ([`leafspine_node::Program`]); here it is seen to that they
//! are armed there in time. A message is armed when every message that it waits for has *started*, and
//! every computation that it waits for is itself armed: none of them can have ended then, since a
//! message takes two links' latencies at least, and no node is further ahead than that when a driver
//! returns at a start. So what is in memory is what is under way, and what waits for nothing else.

use super::flows::Flows;
use super::{RunError, Simulation};
use crate::drive::Ending;
use crate::flow_table::FlowTable;
use crate::output::{CollectiveRow, Column, JobOutput, OperationColumns, RankRow, Series};
use crate::workload::{Dags, Flow, Job, Numbered, What, WorkloadError};
use leafspine_core::{Bytes, FiveTuple, HostId, PacketMeta, Time};
use leafspine_node::{
    Address, Class, Event, FIRST_MESSAGE, Key, Operated, Operations as _, Program, Step,
};
use std::collections::HashMap;
use std::sync::Arc;

/// An operation that is not armed: some of what it waits for may end later than it can be armed.
#[derive(Clone, Copy)]
struct Pending {
    /// What has not started, or is not armed.
    unseen: u32,
    /// What has not ended.
    left: u32,
}

/// A phase of a job's iteration, while it is under way.
struct Running {
    start: Time,
    end: Time,
    /// Operations that have not ended.
    left: u32,
    /// Per rank: when its last one ended.
    rank_ends: Vec<Time>,
}

/// All operations of a run.
pub(super) struct Operations {
    pub(super) dags: Arc<Dags>,
    pending: HashMap<u32, Pending>,
    /// Messages, each in the row of its number; those that have not started have no start.
    pub(super) table: FlowTable,
    armed: u64,
    /// Computations that are armed.
    computes: u64,
    /// Messages that have started.
    started: u64,
    running: HashMap<(u32, u32, u16), Running>,
    /// Per job and phase: its operations.
    sizes: Vec<Vec<u32>>,
    /// Per job: the rank of each host.
    rank_of: Vec<HashMap<u16, u32>>,
    rows: Vec<CollectiveRow>,
    ranks: Vec<Vec<RankRow>>,
    /// Per job: its operations that have not ended.
    left: Vec<u64>,
}

/// A message that has not started.
const NOT_STARTED: u64 = u64::MAX;

impl Operations {
    pub(super) fn new(dags: Dags) -> Operations {
        let sizes = dags.jobs.iter().map(|job| job.template.phase_sizes()).collect();
        let left = dags.jobs.iter().map(Job::operations).collect();
        let rank_of =
            |job: &Job| job.ranks.iter().zip(0..).map(|(host, rank)| (host.0, rank)).collect();
        let ranks = (0..).zip(&dags.jobs).map(|(number, job)| {
            let row = |(rank, host): (u32, &HostId)| RankRow {
                job: number,
                rank,
                host: host.0,
                start: job.start,
                ..RankRow::default()
            };
            (0..).zip(&job.ranks).map(row).collect()
        });
        Operations {
            pending: HashMap::new(),
            table: FlowTable::default(),
            armed: 0,
            computes: 0,
            started: 0,
            running: HashMap::new(),
            sizes,
            rank_of: dags.jobs.iter().map(rank_of).collect(),
            rows: Vec::new(),
            ranks: ranks.collect(),
            left,
            dags: Arc::new(dags),
        }
    }

    /// Whether every operation is armed: none is to come.
    pub(super) fn all_armed(&self) -> bool {
        self.armed == self.dags.len()
    }

    /// When the run is over, as far as `flows` and all operations decide that.
    pub(super) fn ending(&self, flows: Ending) -> Option<Ending> {
        // Computations are no part of what has to be complete before a run may end: after the last of
        // them nothing need come.
        let incomplete = flows.incomplete - self.table.finished();
        self.all_armed().then_some(Ending { flows: flows.flows + self.computes, incomplete })
    }

    /// When the first job starts.
    pub(super) fn first_start(&self) -> Time {
        self.dags.jobs.iter().map(|job| job.start).min().unwrap_or(Time::ZERO)
    }

    /// Messages that have not started.
    pub(super) fn to_start(&self) -> u64 {
        self.dags.messages() - self.started
    }

    /// The row of a message, which is there from now on.
    fn row(&mut self, number: u32) -> usize {
        let row = (number - FIRST_MESSAGE) as usize;
        self.table.reserve_rows(row + 1, NOT_STARTED);
        row
    }

    /// An operation has begun, or ended, at the rank of `host`.
    fn touch(&mut self, place: Numbered, phase: u16, host: HostId, now: Time, ended: bool) {
        let Operations { dags, running, sizes, rank_of, rows, ranks, left, .. } = self;
        let job = &dags.jobs[place.job];
        let key = (place.job as u32, place.iteration, phase);
        let run = running.entry(key).or_insert_with(|| Running {
            start: now,
            end: now,
            left: sizes[place.job][usize::from(phase)],
            rank_ends: vec![Time::ZERO; job.ranks.len()],
        });
        run.start = run.start.min(now);
        if !ended {
            return;
        }
        run.end = run.end.max(now);
        if let Some(rank) = rank_of[place.job].get(&host.0) {
            let end = &mut run.rank_ends[*rank as usize];
            *end = now.max(*end);
            let row = &mut ranks[place.job][*rank as usize];
            row.end = row.end.max(Some(now));
        }
        left[place.job] -= 1;
        run.left -= 1;
        if run.left == 0
            && let Some(run) = running.remove(&key)
        {
            rows.extend(CollectiveRow::of(job, key, (run.start, Some(run.end)), &run.rank_ends));
        }
    }
}

impl Simulation {
    /// Gives every host its program, and begins what waits for nothing.
    pub(super) fn start_operations(&mut self) -> Result<(), RunError> {
        let Some(operations) = &self.flows.operations else { return Ok(()) };
        let dags = Arc::clone(&operations.dags);
        for job in &dags.jobs {
            for host in &job.ranks {
                let host = self.driver.host_mut(&self.layout, *host);
                host.program.get_or_insert_with(|| Box::new(Program::new(dags.clone())));
            }
        }
        let mut first = Vec::new();
        dags.each_first(&mut |place| first.push(dags.number(place)));
        first.sort_unstable();
        let mut armed = Vec::new();
        for number in first {
            let start = dags.jobs[dags.place(number).job].start;
            let (host, step) = self.place_operation(number)?;
            let program = self.driver.host_mut(&self.layout, host).program.as_mut();
            let at = program.map_or(start, |program| program.begin(number, step, start));
            let item = Address::new(host, 0).item();
            let event = Event::new(at, Key::new(Class::Operation, number), item);
            self.driver.schedule(&self.layout, event);
            armed.push(number);
        }
        self.see_armed(armed)
    }

    /// Takes note of what hosts have begun and ended, and arms what may begin now. `finished`: messages
    /// whose last byte has come, and when; `acknowledged`: those that are all acknowledged.
    pub(super) fn follow_operations(
        &mut self,
        operated: &mut Vec<Operated>,
        finished: &[(u32, Time)],
        acknowledged: &[u32],
    ) -> Result<(), RunError> {
        // In the order in which they happened, whatever part wrote them down first.
        operated.sort_unstable();
        for (number, time) in finished {
            self.note_finished(*number, *time);
        }
        for number in acknowledged {
            self.note_end_at(*number, true);
        }
        let mut seen = Vec::new();
        for operated in operated.drain(..) {
            match operated.sender {
                Some(_) => {
                    self.note_started(&operated);
                    seen.push(operated.number);
                }
                None => self.note_computed(operated.number, operated.time),
            }
        }
        let mut armed = Vec::new();
        for number in seen {
            self.see(number, false, &mut armed)?;
        }
        self.see_armed(armed)
    }

    fn operations(&mut self) -> &mut Operations {
        self.flows.operations.as_mut().expect("only runs with operations have their events")
    }

    /// A message has come.
    fn note_finished(&mut self, number: u32, now: Time) {
        self.note_end_at(number, false);
        let operations = self.operations();
        let place = operations.dags.place(number);
        operations.table.finish(number - FIRST_MESSAGE, now);
        let dags = Arc::clone(&operations.dags);
        if let What::Message(message) = dags.what(place) {
            operations.touch(place, message.phase, message.dst, now, true);
        }
    }

    /// A message has ended, at its source or destination: what waits for it there and is not armed need
    /// no longer.
    fn note_end_at(&mut self, number: u32, source: bool) {
        let operations = self.operations();
        let dags = Arc::clone(&operations.dags);
        let place = dags.place(number);
        let What::Message(message) = dags.what(place) else { return };
        let here = if source { message.src } else { message.dst };
        dags.each_then(place, &mut |then, start| {
            if !start && dags.host(then) == here {
                operations.has_ended(dags.number(then));
            }
        });
    }

    fn note_computed(&mut self, number: u32, now: Time) {
        let operations = self.operations();
        let dags = Arc::clone(&operations.dags);
        let place = dags.place(number);
        dags.after_end(number, &mut |then| operations.has_ended(then));
        if let What::Compute(compute) = dags.what(place) {
            let span = dags.span(place, compute);
            if let Some(rank) = operations.rank_of[place.job].get(&compute.host.0) {
                let row = &mut operations.ranks[place.job][*rank as usize];
                row.compute = row.compute + span;
            }
            operations.touch(place, compute.phase, compute.host, Time(now.0 - span.0), false);
            operations.touch(place, compute.phase, compute.host, now, true);
        }
    }

    fn note_started(&mut self, operated: &Operated) {
        let number = operated.number;
        if let Some(sender) = operated.sender {
            self.watch_flow(number, sender, true);
        }
        let operations = self.flows.operations.as_mut().expect("it has started");
        let dags = Arc::clone(&operations.dags);
        dags.after_start(number, &mut |then| operations.has_ended(then));
        let place = dags.place(number);
        let What::Message(message) = dags.what(place) else { return };
        let row = operations.row(number);
        let (src, dst, bytes) = (message.src, message.dst, Bytes(message.bytes));
        let ideal = match operated.connected {
            true => self.flows.ideal.fct_connected(src, dst, bytes),
            false => self.flows.ideal.fct(src, dst, bytes),
        };
        operations.started += 1;
        operations.table.start_ps[row] = operated.time.0;
        operations.table.ideal_fct_ps[row] = ideal.0;
        operations.touch(place, message.phase, message.src, operated.time, false);
    }

    /// What was armed counts as seen by what waits for it, which may be armed by that.
    fn see_armed(&mut self, mut armed: Vec<u32>) -> Result<(), RunError> {
        while let Some(number) = armed.pop() {
            self.see(number, true, &mut armed)?;
        }
        Ok(())
    }

    /// `number` has been `armed`, or else has started. What has now seen all that it waits for is armed.
    fn see(&mut self, number: u32, armed: bool, now_armed: &mut Vec<u32>) -> Result<(), RunError> {
        let operations = self.operations();
        let dags = Arc::clone(&operations.dags);
        // A computation may end at once, so it counts when it is armed; a message by its start, but for
        // what waits for no more than that.
        let compute = number < FIRST_MESSAGE;
        let mut ready = Vec::new();
        dags.each_then(dags.place(number), &mut |then, start| {
            if armed == (compute || start) {
                let waits = dags.waits(then);
                let number = dags.number(then);
                let new = Pending { unseen: waits, left: waits };
                let pending = operations.pending.entry(number).or_insert(new);
                pending.unseen -= 1;
                if pending.unseen == 0 {
                    ready.push(number);
                }
            }
        });
        for number in ready {
            self.arm(number)?;
            now_armed.push(number);
        }
        Ok(())
    }

    fn arm(&mut self, number: u32) -> Result<(), RunError> {
        let left = self.operations().pending.remove(&number).map_or(0, |pending| pending.left);
        let (host, step) = self.place_operation(number)?;
        let program = self.driver.host_mut(&self.layout, host).program.as_mut();
        program.expect("ranks have programs").arm(number, left, step);
        Ok(())
    }

    /// Takes what an operation needs: a message its slots and its row.
    fn place_operation(&mut self, number: u32) -> Result<(HostId, Step), WorkloadError> {
        let operations = self.operations();
        let dags = Arc::clone(&operations.dags);
        let place = dags.place(number);
        let job = &dags.jobs[place.job];
        operations.armed += 1;
        match dags.what(place) {
            What::Compute(compute) => {
                operations.computes += 1;
                Ok((compute.host, Step::Compute(compute.processor, dags.span(place, compute))))
            }
            What::Message(message) => {
                let flow = Flow {
                    start: job.start,
                    bytes: message.bytes,
                    src: message.src,
                    dst: message.dst,
                    path: PacketMeta::NO_PATH,
                    ack_path: PacketMeta::NO_PATH,
                    workload: job.workload,
                };
                let row = operations.row(number);
                operations.table.set(row, &flow);
                let port = self.source_port(dags.channel(place, message));
                let tuple = FiveTuple::new(flow.src, flow.dst, port, super::flows::SERVICE_PORT);
                let sender = self.place_flow(&flow, number, tuple)?;
                Ok((message.src, Step::Send(sender.slot(), job.delay)))
            }
        }
    }
}

impl CollectiveRow {
    /// Of a phase of `job`, by its job, iteration and phase, if it is one that is measured.
    fn of(
        job: &Job,
        (number, iteration, phase): (u32, u32, u16),
        (start, end): (Time, Option<Time>),
        rank_ends: &[Time],
    ) -> Option<CollectiveRow> {
        let of = &job.template.phases[usize::from(phase)];
        if !of.measured {
            return None;
        }
        let (first, last) = (rank_ends.iter().min()?, rank_ends.iter().max()?);
        let slowest = rank_ends.iter().position(|end| end == last)?;
        Some(CollectiveRow {
            job: number,
            workload: job.workload,
            iteration,
            phase: u32::from(phase),
            name: of.name.clone(),
            ranks: job.ranks.len() as u32,
            bytes: of.bytes,
            bus_factor: of.bus_factor,
            start,
            end,
            rank_ends: (*first > Time::ZERO && end.is_some()).then_some((*first, *last)),
            slowest: job.ranks[slowest].0,
        })
    }
}

impl Operations {
    /// Something that `number` waits for has ended: the host sees to it if it is armed.
    fn has_ended(&mut self, number: u32) {
        if let Some(pending) = self.pending.get_mut(&number) {
            pending.left -= 1;
        }
    }

    /// The rows of messages that have started, in the order of `of`; what is known of them besides.
    fn columns(&self, numbers: &[u32]) -> OperationColumns {
        let mut columns = OperationColumns::default();
        for number in numbers {
            let Some(place) = (*number >= FIRST_MESSAGE).then(|| self.dags.place(*number)) else {
                columns.push(None);
                continue;
            };
            if let What::Message(message) = self.dags.what(place) {
                columns.push(Some([
                    place.job as u32,
                    place.iteration,
                    u32::from(message.phase),
                    u32::from(message.channel),
                ]));
            }
        }
        columns
    }

    /// Numbers of the messages that have started.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        let rows = (0..).zip(&self.table.start_ps);
        rows.filter(|(_, start)| **start != NOT_STARTED).map(|(row, _)| FIRST_MESSAGE + row)
    }

    /// What has become of collectives and ranks.
    fn take_rows(&mut self, now: Time) -> (Vec<CollectiveRow>, Vec<RankRow>) {
        let mut rows = std::mem::take(&mut self.rows);
        // Those that the run's end has cut off.
        for (key, run) in self.running.drain() {
            let job = &self.dags.jobs[key.0 as usize];
            let row = CollectiveRow::of(job, key, (run.start, None), &run.rank_ends);
            rows.extend(row);
        }
        rows.sort_by_key(|row| (row.job, row.iteration, row.phase));
        for (ranks, left) in self.ranks.iter_mut().zip(&self.left) {
            let last = ranks.iter().filter_map(|rank| rank.end).max();
            for rank in ranks {
                match (left, last) {
                    (0, Some(last)) => rank.until = last,
                    _ => (rank.until, rank.end) = (now, None),
                }
            }
        }
        (rows, std::mem::take(&mut self.ranks).into_iter().flatten().collect())
    }
}

impl Flows {
    /// All flows in the order of their starts, and what jobs have left behind. Probes, which have taken
    /// flows by their numbers, are told of their rows.
    pub(super) fn take_tables(
        &mut self,
        probes: &mut [Series],
        now: Time,
    ) -> (FlowTable, Option<JobOutput>) {
        let mut own = std::mem::take(&mut self.table);
        let Some(mut operations) = self.operations.take() else { return (own, None) };
        let messages = operations.numbers().map(|number| {
            let row = (number - FIRST_MESSAGE) as usize;
            (operations.table.start_ps[row], number, (true, row))
        });
        let flows = own.start_ps.iter().enumerate();
        let flows = flows.map(|(row, start)| (*start, row as u32, (false, row)));
        let mut all: Vec<(u64, u32, (bool, usize))> = flows.chain(messages).collect();
        all.sort_unstable();
        let rows: Vec<(bool, usize)> = all.iter().map(|(.., row)| *row).collect();
        let numbers: Vec<u32> = all.iter().map(|(_, number, _)| *number).collect();
        let row_of: HashMap<u32, u32> = numbers.iter().copied().zip(0..).collect();
        for (name, column) in probes.iter_mut().flat_map(|probe| &mut probe.columns) {
            if let ("flow", Column::U32(flows)) = (&**name, column) {
                flows
                    .iter_mut()
                    .for_each(|flow| *flow = row_of.get(flow).copied().unwrap_or(*flow));
            }
        }
        let columns = operations.columns(&numbers);
        let (collectives, ranks) = operations.take_rows(now);
        (self.messages_started, self.left_over) = (operations.started, operations.to_start());
        let table = own.merged(&mut operations.table, &rows);
        (table, Some(JobOutput { columns, collectives, ranks }))
    }

    /// Flows that have not started, if somebody has counted them.
    pub(super) fn not_started(&self, table: &FlowTable) -> Option<u64> {
        // Of messages that have not started no row is left in the table.
        let all = self.source.total()?;
        let own = table.len() as u64 - self.messages_started;
        Some(all - own + self.left_over)
    }
}
