//! A training step as operations that wait for each other.
//!
//! Each rank goes through the rows forward, and then back. Forward it computes and then communicates, and the next
//! row waits for both; so it is with the gradient of the input on the way back. The gradient of the weights is
//! computed before that of the input, and nothing but the end of the step waits for its
//! communication. (That communication of weights goes on beside the rest of the backward pass is what data
//! parallelism is about: Rashidi et al., ASTRA-SIM, ISPASS 2020.)

use super::{Comm, Pass, Row, Shape, Step};
use crate::spec::SimaiSpec;
use crate::workload::WorkloadError;
use crate::workload::collective;
use crate::workload::dag::{Draft, Op, Phase, Template};
use leafspine_core::{HostId, Span};

/// Updates have a processor of their own: they delay the end of a step, and nothing else.
const UPDATES: u8 = 1;

/// An iteration of a step on these hosts.
///
/// # Errors
/// A collective that the algorithm cannot do.
pub(crate) fn template(
    step: &Step,
    hosts: &[HostId],
    spec: &SimaiSpec,
) -> Result<Template, WorkloadError> {
    let mut walk = Walk::new(step, hosts, spec);
    let first = walk.ready.iter().map(|ready| ready[0]).collect::<Vec<_>>();
    match step.shape {
        None => walk.rows_alone(&step.rows)?,
        Some(shape) => {
            for row in &step.rows {
                let name = format!("{} forward", row.name);
                walk.compute(row.forward.time);
                walk.wait_for(row, &row.forward, &name)?;
            }
            walk.between_stages(&shape, false);
            for row in step.rows.iter().rev() {
                walk.backward(row)?;
            }
            walk.between_stages(&shape, true);
        }
    }
    for (rank, first) in first.iter().enumerate() {
        let ends = [walk.ready[rank].as_slice(), walk.last[rank].as_slice()].concat();
        ends.iter().for_each(|end| walk.draft.next_after(*end, *first));
    }
    walk.draft.finish().map_err(|error| {
        let found = format!("operations that cannot be put in order ({error:?})");
        WorkloadError::at("path", found, "fewer rows, ranks, channels or chunks")
    })
}

/// A way through the rows that all ranks go.
struct Walk<'a> {
    draft: Draft,
    hosts: &'a [HostId],
    shape: Shape,
    spec: &'a SimaiSpec,
    /// Per rank: what its next computation waits for.
    ready: Vec<Vec<Op>>,
    /// Per rank: what only the end of the step waits for.
    last: Vec<Vec<Op>>,
    /// The phase of what is computed.
    computing: u16,
    step: &'a Step,
}

impl<'a> Walk<'a> {
    fn new(step: &'a Step, hosts: &'a [HostId], spec: &'a SimaiSpec) -> Self {
        let mut draft = Draft::default();
        let computing = draft.phase(Phase::unmeasured("compute"));
        let ready = hosts.iter().map(|host| vec![draft.point(*host)]).collect();
        let all = Shape {
            tensor: 1,
            expert: 1,
            pipeline: 1,
            ranks: hosts.len() as u64,
            stage_bytes: 0,
            microbatches: 1,
        };
        let shape = step.shape.unwrap_or(all);
        let last = vec![Vec::new(); hosts.len()];
        Walk { draft, hosts, shape, spec, ready, last, computing, step }
    }

    fn span(&self, time: u64) -> Span {
        Span(time.saturating_mul(10u64.pow(self.spec.unit.power())))
    }

    /// Every rank computes for so long.
    fn compute(&mut self, time: u64) {
        let span = self.span(time);
        if span == Span::ZERO {
            return;
        }
        self.draft.back_to(self.computing);
        for (host, ready) in self.hosts.iter().zip(&mut self.ready) {
            let now = self.draft.compute(*host, span, false);
            ready.iter().for_each(|before| self.draft.after(*before, now));
            *ready = vec![now];
        }
    }

    /// What a pass communicates, after all that its ranks have done: nothing where groups have one rank.
    fn communicate(
        &mut self,
        (row, comm): (&Row, Comm),
        name: &str,
    ) -> Result<Vec<Vec<Op>>, WorkloadError> {
        let mut ends = vec![Vec::new(); self.hosts.len()];
        let spec = self.spec.how.of(comm.collective, comm.bytes);
        let groups = self.shape.groups(comm.among);
        let ranks = groups[0].len();
        if ranks < 2 {
            return Ok(ends);
        }
        self.draft.phase(collective::named_phase(&spec, ranks, name));
        for group in groups {
            let hosts: Vec<HostId> = group.iter().map(|rank| self.hosts[*rank]).collect();
            let ready: Vec<Vec<Op>> = group.iter().map(|rank| self.ready[*rank].clone()).collect();
            let made = collective::add(&mut self.draft, (&hosts, &ready), &spec);
            let made = made.map_err(|error| error.in_file(&self.step.file, row.line))?;
            for (rank, made) in group.into_iter().zip(made) {
                ends[rank] = made;
            }
        }
        Ok(ends)
    }

    /// A pass's communication, which what follows waits for.
    fn wait_for(&mut self, row: &Row, pass: &Pass, name: &str) -> Result<(), WorkloadError> {
        let Some(comm) = pass.comm else { return Ok(()) };
        let ends = self.communicate((row, comm), name)?;
        for (ready, ends) in self.ready.iter_mut().zip(ends) {
            if !ends.is_empty() {
                *ready = ends;
            }
        }
        Ok(())
    }

    /// One row on the way back.
    fn backward(&mut self, row: &Row) -> Result<(), WorkloadError> {
        self.compute(row.weight.time);
        if let Some(comm) = row.weight.comm {
            let ends = self.communicate((row, comm), &format!("{} weights", row.name))?;
            let update = self.span(row.update);
            self.draft.back_to(self.computing);
            for (rank, ends) in ends.into_iter().enumerate().filter(|(_, ends)| !ends.is_empty()) {
                if update == Span::ZERO {
                    self.last[rank].extend(ends);
                    continue;
                }
                let host = self.hosts[rank];
                let now = self.draft.compute_on(host, UPDATES, update, false);
                ends.iter().for_each(|end| self.draft.after(*end, now));
                self.last[rank].push(now);
            }
        }
        self.compute(row.input.time);
        self.wait_for(row, &row.input, &format!("{} inputs", row.name))
    }

    /// Rows that stand for themselves: what they communicate, one after the other.
    fn rows_alone(&mut self, rows: &[Row]) -> Result<(), WorkloadError> {
        for row in rows {
            for pass in [&row.forward, &row.input, &row.weight] {
                self.wait_for(row, pass, &row.name)?;
            }
        }
        Ok(())
    }

    /// What goes from each rank of a stage to its like in the next, or back: only the end of the step waits.
    fn between_stages(&mut self, shape: &Shape, back: bool) {
        let bytes = shape.stage_bytes.saturating_mul(shape.microbatches);
        if bytes == 0 || shape.pipeline < 2 {
            return;
        }
        let name =
            if back { "gradients to the stage before" } else { "activations to the next stage" };
        let phase = Phase { name: name.to_owned(), bytes: 0, bus_factor: 0.0, measured: true };
        self.draft.phase(phase);
        let stage = shape.stage() as usize;
        for rank in 0..self.hosts.len() - stage {
            let (from, to) = if back { (rank + stage, rank) } else { (rank, rank + stage) };
            let message = self.draft.message(self.hosts[from], self.hosts[to], bytes, 0);
            self.ready[from].iter().for_each(|before| self.draft.after(*before, message));
            self.last[to].push(message);
        }
    }
}
