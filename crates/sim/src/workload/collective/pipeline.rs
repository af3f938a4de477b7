//! Pipeline parallelism: each rank is a stage. A microbatch goes forward through all of them and back,
//! and what a stage does is in an order of its own (`GPipe`: Huang et al., NeurIPS 2019; one forward and
//! one backward in turns: Narayanan et al., SOSP 2019).

use super::super::dag::{Draft, Op};
use super::{Ends, Group};
use crate::spec::{PipelineSpec, Schedule};
use leafspine_core::HostId;

/// A stage's work on a microbatch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Forward(usize),
    Backward(usize),
}

/// The order of the work of a stage.
fn order(spec: &PipelineSpec, stage: usize, stages: usize) -> Vec<Work> {
    let all = spec.microbatches as usize;
    let ahead = match spec.schedule {
        Schedule::AllForward => all,
        // As many as it takes until the first comes back.
        Schedule::Alternating => (stages - 1 - stage).min(all),
    };
    let first = (0..ahead).map(Work::Forward);
    let turns = (ahead..all).flat_map(|i| [Work::Forward(i), Work::Backward(i - ahead)]);
    first.chain(turns).chain((all - ahead..all).map(Work::Backward)).collect()
}

/// What one stage has computed goes to another, over a channel, and lets it go on.
fn pass(
    draft: &mut Draft,
    (from, to, bytes, channel): (HostId, HostId, u64, u16),
    work: Op,
    then: Op,
) {
    let message = draft.message(from, to, bytes, channel);
    draft.after(work, message);
    draft.after(message, then);
}

/// Adds an iteration.
pub(super) fn pipeline(draft: &mut Draft, group: &Group<'_>, spec: &PipelineSpec) -> Ends {
    let (stages, all) = (group.hosts.len(), spec.microbatches as usize);
    // Per stage and microbatch: what it computes, forward and backward.
    let mut works = Vec::with_capacity(stages);
    let mut ends = Ends::with_capacity(stages);
    for (stage, host) in group.hosts.iter().enumerate() {
        let mut of_stage = [vec![group.begin[stage]; all], vec![group.begin[stage]; all]];
        let mut before = group.begin[stage];
        for work in order(spec, stage, stages) {
            let (back, i, span) = match work {
                Work::Forward(i) => (0, i, spec.forward),
                Work::Backward(i) => (1, i, spec.backward),
            };
            let op = draft.compute(*host, span, true);
            draft.after(before, op);
            of_stage[back][i] = op;
            before = op;
        }
        ends.push(vec![before]);
        works.push(of_stage);
    }
    for (stage, pair) in works.windows(2).enumerate() {
        let [here, next] = pair else { continue };
        let (from, to) = (group.hosts[stage], group.hosts[stage + 1]);
        for (work, then) in here[0].iter().zip(&next[0]) {
            pass(draft, (from, to, spec.bytes.0, 0), *work, *then);
        }
        for (work, then) in next[1].iter().zip(&here[1]) {
            pass(draft, (to, from, spec.bytes.0, 1), *work, *then);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::Work::{Backward as B, Forward as F};
    use super::*;
    use leafspine_core::{Bytes, Span};

    /// Breaks if a stage's order is another than the papers' figures have.
    #[test]
    fn stages_have_their_order() {
        let of = |schedule, stage| {
            let bytes = Bytes(1);
            let (forward, backward) = (Span(1), Span(2));
            order(&PipelineSpec { bytes, microbatches: 3, forward, backward, schedule }, stage, 3)
        };
        let all = Schedule::AllForward;
        assert_eq!(of(all, 1), [F(0), F(1), F(2), B(0), B(1), B(2)]);
        let turns = Schedule::Alternating;
        assert_eq!(of(turns, 0), [F(0), F(1), F(2), B(0), B(1), B(2)]);
        assert_eq!(of(turns, 1), [F(0), F(1), B(0), F(2), B(1), B(2)]);
        assert_eq!(of(turns, 2), [F(0), B(0), F(1), B(1), F(2), B(2)]);
    }
}
