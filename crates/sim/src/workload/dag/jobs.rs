//! Jobs: templates that repeat, and the numbers of their operations.

use super::template::{AT_START, Compute, Message, NEXT, NUMBER, Template};
use leafspine_core::{HostId, Rng, Role, Span, Time};
use leafspine_node::{FIRST_MESSAGE, Operations};

/// Computations are numbered from here to the first message.
const FIRST_COMPUTE: u32 = FIRST_MESSAGE / 2;

/// A template that repeats.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) template: Template,
    pub(crate) iterations: u32,
    /// When what waits for nothing begins.
    pub(crate) start: Time,
    /// From the end of what a message waits for to its start.
    pub(crate) delay: Span,
    /// Computations that have one are longer by a time drawn uniformly from 0 to this.
    pub(crate) jitter: Span,
    /// The workload that it is of.
    pub(crate) workload: u16,
    /// The host of each rank.
    pub(crate) ranks: Vec<HostId>,
    /// The numbers of its first message and computation among those of all jobs.
    first: [u32; 2],
    /// Of its connections: the number of their first channel among those of all jobs.
    first_channel: u32,
    seed: u64,
}

impl Job {
    /// Of workload number `workload`, with `seed` for its jitter.
    pub(crate) fn new(
        template: Template,
        iterations: u32,
        ranks: Vec<HostId>,
        workload: u16,
        (start, delay, jitter): (Time, Span, Span),
        seed: u64,
    ) -> Job {
        let (first, first_channel) = ([0; 2], 0);
        Job {
            template,
            iterations,
            start,
            delay,
            jitter,
            workload,
            ranks,
            first,
            first_channel,
            seed,
        }
    }

    /// Messages of all iterations.
    pub(crate) fn messages(&self) -> u64 {
        self.template.messages.len() as u64 * u64::from(self.iterations)
    }

    /// Source, destination, bytes and channel of an iteration's messages.
    pub(crate) fn each_message(&self) -> impl Iterator<Item = (HostId, HostId, u64, u16)> {
        let messages = self.template.messages.iter();
        messages.map(|message| (message.src, message.dst, message.bytes, message.channel))
    }

    /// Bytes of its largest message.
    pub(crate) fn largest(&self) -> u64 {
        self.template.messages.iter().map(|message| message.bytes).max().unwrap_or(0)
    }

    /// The most messages that are as many steps from an iteration's beginning as each other.
    pub(crate) fn widest(&self) -> u64 {
        self.template.widest()
    }

    /// Messages and computations of all iterations.
    pub(crate) fn operations(&self) -> u64 {
        self.messages() + self.computes()
    }

    fn computes(&self) -> u64 {
        self.template.computes.len() as u64 * u64::from(self.iterations)
    }
}

/// Which operation a number means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbered {
    pub(crate) job: usize,
    pub(crate) iteration: u32,
    /// In the template: messages first.
    pub(crate) at: u32,
}

/// What an operation is.
pub(crate) enum What<'a> {
    Message(&'a Message),
    Compute(&'a Compute),
}

/// The jobs of a run.
#[derive(Debug, Default)]
pub(crate) struct Dags {
    pub(crate) jobs: Vec<Job>,
}

impl Dags {
    /// These jobs, numbered. `None` if there are more operations than numbers.
    pub(crate) fn new(mut jobs: Vec<Job>) -> Option<Dags> {
        let mut next = [0u64; 2];
        let mut channel = 0u32;
        for job in &mut jobs {
            job.first = [next[0] as u32, next[1] as u32];
            next = [next[0] + job.messages(), next[1] + job.computes()];
            if next[0] > u64::from(FIRST_MESSAGE) || next[1] > u64::from(FIRST_COMPUTE) {
                return None;
            }
            job.first_channel = channel;
            let last = job.template.messages.iter().map(|message| u32::from(message.channel)).max();
            channel = channel.wrapping_add(last.map_or(0, |last| last + 1));
        }
        Some(Dags { jobs })
    }

    /// Operations in all.
    pub(crate) fn len(&self) -> u64 {
        self.jobs.iter().map(|job| job.messages() + job.computes()).sum()
    }

    /// Messages in all.
    pub(crate) fn messages(&self) -> u64 {
        self.jobs.iter().map(Job::messages).sum()
    }

    /// Which operation a number means.
    pub(crate) fn place(&self, number: u32) -> Numbered {
        let message = number >= FIRST_MESSAGE;
        let (kind, at) =
            if message { (0, number - FIRST_MESSAGE) } else { (1, number - FIRST_COMPUTE) };
        let job = self.jobs.partition_point(|job| job.first[kind] <= at) - 1;
        let Job { template, first, .. } = &self.jobs[job];
        let messages = template.messages.len() as u32;
        let (each, offset) =
            if message { (messages, 0) } else { (template.computes.len() as u32, messages) };
        let at = at - first[kind];
        Numbered { job, iteration: at / each, at: at % each + offset }
    }

    /// The number of an operation.
    pub(crate) fn number(&self, place: Numbered) -> u32 {
        let job = &self.jobs[place.job];
        let messages = job.template.messages.len() as u32;
        match place.at.checked_sub(messages) {
            None => FIRST_MESSAGE + job.first[0] + place.iteration * messages + place.at,
            Some(at) => {
                let each = job.template.computes.len() as u32;
                FIRST_COMPUTE + job.first[1] + place.iteration * each + at
            }
        }
    }

    /// What an operation is.
    pub(crate) fn what(&self, place: Numbered) -> What<'_> {
        let template = &self.jobs[place.job].template;
        match (place.at as usize).checked_sub(template.messages.len()) {
            None => What::Message(&template.messages[place.at as usize]),
            Some(at) => What::Compute(&template.computes[at]),
        }
    }

    /// The number of a message's connection among those of its pair of hosts.
    pub(crate) fn channel(&self, place: Numbered, message: &Message) -> u32 {
        self.jobs[place.job].first_channel.wrapping_add(u32::from(message.channel))
    }

    /// How long a computation takes.
    pub(crate) fn span(&self, place: Numbered, compute: &Compute) -> Span {
        let job = &self.jobs[place.job];
        if !compute.jittered || job.jitter == Span::ZERO {
            return compute.span;
        }
        let id = u64::from(self.number(place));
        let more = Rng::new(job.seed, Role::Compute, id).below(job.jitter.0.saturating_add(1));
        Span(compute.span.0.saturating_add(more))
    }

    /// How much an operation waits for.
    pub(crate) fn waits(&self, place: Numbered) -> u32 {
        let [own, before] = self.jobs[place.job].template.waits[place.at as usize];
        if place.iteration > 0 { own + before } else { own }
    }

    /// The host at which an operation is.
    pub(crate) fn host(&self, place: Numbered) -> HostId {
        match self.what(place) {
            What::Message(message) => message.src,
            What::Compute(compute) => compute.host,
        }
    }

    /// Calls `visit` with each operation that waits for another, and whether it waits for its start
    /// only.
    pub(crate) fn each_then(&self, place: Numbered, visit: &mut dyn FnMut(Numbered, bool)) {
        let job = &self.jobs[place.job];
        for then in job.template.then(place.at) {
            let iteration = place.iteration + u32::from(then & NEXT != 0);
            if iteration < job.iterations {
                visit(Numbered { iteration, at: then & NUMBER, ..place }, then & AT_START != 0);
            }
        }
    }

    /// Calls `visit` with each operation that waits for nothing.
    pub(crate) fn each_first(&self, visit: &mut dyn FnMut(Numbered)) {
        for (number, job) in self.jobs.iter().enumerate() {
            for (at, waits) in (0..).zip(&job.template.waits) {
                if waits[0] == 0 {
                    visit(Numbered { job: number, iteration: 0, at });
                }
            }
        }
    }
}

impl Operations for Dags {
    fn after_end(&self, number: u32, visit: &mut dyn FnMut(u32)) {
        if number >= FIRST_COMPUTE {
            self.each_then(self.place(number), &mut |then, start| {
                if !start {
                    visit(self.number(then));
                }
            });
        }
    }

    fn after_start(&self, number: u32, visit: &mut dyn FnMut(u32)) {
        self.each_then(self.place(number), &mut |then, start| {
            if start {
                visit(self.number(then));
            }
        });
    }
}
