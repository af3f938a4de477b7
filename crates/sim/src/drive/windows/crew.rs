//! Threads that work on domains: each takes one for a window, and gives it back.
//!
//! Who waits spins for some microseconds, which is what a window takes, and then blocks: a core that
//! another process wants is not kept from it. Nor is such a core waited for: what no other thread has begun
//! the simulation's own thread does when it is done with its part; and where it had to wait for one that had
//! begun and was then put off its core, for milliseconds, it does without the others for a while. Who does
//! what changes no result.

use super::domain::{Domain, Domains, Pass};
use super::rest::Rest;
use super::tray::Tray;
use leafspine_node::Network;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread, ThreadId};
use std::time::{Duration, Instant};

/// A thread is late when the others' parts took so many times this one's, and `LATE` more.
const UNEVEN: u32 = 4;
const LATE: Duration = Duration::from_micros(100);

/// A domain's part of a pass. All of it comes back: counts of references are changed by one thread alone.
struct Job {
    domain: Box<Domain>,
    net: Arc<Network>,
    pass: Pass,
}

/// What has been done, or what a scheme's panic left of it.
type Done = Result<Job, Box<dyn Any + Send>>;

/// What lies between the thread that owns the domains and one that works on them.
#[derive(Default)]
struct Desk {
    work: Tray<Job>,
    done: Tray<Done>,
    /// No more will come.
    closed: AtomicBool,
}

/// A thread and its desk.
struct Worker {
    desk: Arc<Desk>,
    handle: Option<JoinHandle<()>>,
}

/// Threads, each for one domain.
#[derive(Default)]
pub(super) struct Crew {
    /// As many as there ever were domains for.
    workers: Vec<Worker>,
    /// For whom they work.
    owner: Option<ThreadId>,
    rest: Rest,
}

impl Desk {
    /// Does what `owner` has to be done.
    fn work(&self, owner: &Thread) {
        while let Some(mut job) = self.work.wait(&self.closed) {
            // A scheme that panics does so in the thread that runs the simulation.
            let done = catch_unwind(AssertUnwindSafe(move || {
                job.domain.run(&job.net, job.pass);
                job
            }));
            self.done.put(done);
            owner.unpark();
        }
    }
}

impl Crew {
    /// Lets each domain do its part of a pass: the first one here, the others each in a thread.
    pub(super) fn run(&mut self, domains: &mut Domains, net: &Arc<Network>, pass: Pass) {
        let begun = Instant::now();
        if self.rest.lasts_at(begun) {
            domains.iter_mut().for_each(|domain| domain.run(net, pass));
            return;
        }
        let others = domains.len() - 1;
        let here = thread::current().id();
        assert!(
            self.owner.is_none_or(|owner| owner == here),
            "threads call back who has hired them"
        );
        self.owner = Some(here);
        let missing = others.saturating_sub(self.workers.len());
        self.workers.extend((0..missing).map(|_| Worker::new()));
        let workers = &self.workers[..others];
        for (worker, domain) in workers.iter().zip(domains.drain(1..)) {
            worker.hand_out(Job { domain, net: net.clone(), pass });
        }
        domains[0].run(net, pass);
        let own = begun.elapsed();
        domains.extend(workers.iter().map(|worker| worker.take_back(net, pass)));
        let all = begun.elapsed();
        let late = all > own * (1 + UNEVEN * others as u32) + LATE;
        let (waited, now) = (all - own, begun + all);
        self.rest = if late { self.rest.after(waited, now) } else { self.rest.in_time(now) };
    }

    /// Whether they rest, and long enough for domains to be joined meanwhile.
    pub(super) fn rests_long(&self) -> bool {
        self.rest.is_long_at(Instant::now())
    }
}

impl Worker {
    /// It works for the thread that calls this.
    fn new() -> Worker {
        let desk = Arc::new(Desk::default());
        let (own, owner) = (desk.clone(), thread::current());
        Worker { desk, handle: Some(thread::spawn(move || own.work(&owner))) }
    }

    fn hand_out(&self, job: Job) {
        self.desk.work.put(job);
        self.handle.as_ref().expect("it works until the crew ends").thread().unpark();
    }

    /// The domain that it was given, after its part of the pass.
    fn take_back(&self, net: &Network, pass: Pass) -> Box<Domain> {
        if let Some(Job { mut domain, .. }) = self.desk.work.take() {
            domain.run(net, pass);
            return domain;
        }
        let done = self.desk.done.wait(&self.desk.closed);
        let done = done.expect("it is closed by this thread alone");
        done.unwrap_or_else(|panic| resume_unwind(panic)).domain
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.desk.closed.store(true, Ordering::Release);
            if let Some(handle) = worker.handle.take() {
                handle.thread().unpark();
                // It has caught all panics.
                let _ = handle.join();
            }
        }
    }
}
