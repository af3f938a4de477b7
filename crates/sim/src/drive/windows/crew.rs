//! Threads that work on domains: each takes one for a window, and gives it back.
//!
//! Who waits spins for some microseconds, which is what a window takes, and then blocks: a core that
//! another process wants is not kept from it. Nor is such a core waited for: what no other thread has begun
//! the simulation's own thread does when it is done with its part; and where it had to wait for one that had
//! begun and was then put off its core, for milliseconds, it does without the others for a while. Who does
//! what changes no result.

use super::domain::{Domain, Pass};
use leafspine_node::Network;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How often one looks before one blocks.
const SPINS: u32 = 2_000;
/// A thread is late when the others' parts took so many times this one's, and `LATE` more.
const UNEVEN: u32 = 4;
const LATE: Duration = Duration::from_micros(100);
/// After a wait for one that was late they rest so many times as long: what is lost is a part in so many.
const REST: u32 = 32;

/// A domain's part of a pass.
struct Job {
    domain: Domain,
    net: Arc<Network>,
    pass: Pass,
    /// Who waits for it.
    owner: Thread,
}

/// What lies between the thread that owns the domains and one that works on them.
#[derive(Default)]
struct Desk {
    /// Work is there.
    ready: AtomicBool,
    /// It is done.
    done: AtomicBool,
    /// No more will come.
    closed: AtomicBool,
    work: Mutex<Option<Job>>,
    result: Mutex<Option<Result<Domain, Box<dyn Any + Send>>>>,
}

/// A thread and its desk.
struct Worker {
    desk: Arc<Desk>,
    handle: Option<JoinHandle<()>>,
}

/// Threads, each for one domain.
pub(super) struct Crew {
    workers: Vec<Worker>,
    /// Until then they rest.
    rested: Cell<Option<Instant>>,
}

/// Waits until `flag` is set, and takes it back.
fn wait(flag: &AtomicBool, closed: &AtomicBool) -> bool {
    let mut looks = 0;
    while !flag.swap(false, Ordering::Acquire) {
        if closed.load(Ordering::Acquire) {
            return false;
        }
        looks += 1;
        if looks < SPINS { std::hint::spin_loop() } else { thread::park() }
    }
    true
}

impl Desk {
    fn work(&self) {
        while wait(&self.ready, &self.closed) {
            let job = self.work.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(Job { mut domain, net, pass, owner }) = job else { continue };
            // A scheme that panics does so in the thread that runs the simulation.
            let done = catch_unwind(AssertUnwindSafe(move || {
                domain.run(&net, pass);
                drop(net);
                domain
            }));
            *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
            self.done.store(true, Ordering::Release);
            owner.unpark();
        }
    }
}

impl Crew {
    /// So many threads.
    pub(super) fn new(threads: usize) -> Crew {
        let worker = |_| {
            let desk = Arc::new(Desk::default());
            let own = desk.clone();
            Worker { desk, handle: Some(thread::spawn(move || own.work())) }
        };
        Crew { workers: (0..threads).map(worker).collect(), rested: Cell::new(None) }
    }

    /// Lets each domain do its part of a pass: the first one here, the others each in a thread.
    pub(super) fn run(&self, domains: &mut Vec<Domain>, net: &Arc<Network>, pass: Pass) {
        let begun = Instant::now();
        if self.rested.get().is_some_and(|until| begun < until) {
            domains.iter_mut().for_each(|domain| domain.run(net, pass));
            return;
        }
        self.hand_out(domains, net, pass);
        domains[0].run(net, pass);
        let own = begun.elapsed();
        for worker in &self.workers {
            let domain = worker.take_back(net, pass);
            domains.push(domain);
        }
        let all = begun.elapsed();
        let late = all > own * (1 + UNEVEN * self.workers.len() as u32) + LATE;
        self.rested.set(late.then(|| begun + all + (all - own) * REST));
    }

    fn hand_out(&self, domains: &mut Vec<Domain>, net: &Arc<Network>, pass: Pass) {
        for worker in self.workers.iter().rev() {
            let domain = domains.pop().expect("a domain for each thread, and one for this");
            let job = Job { domain, net: net.clone(), pass, owner: thread::current() };
            *worker.desk.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
            worker.desk.ready.store(true, Ordering::Release);
            worker.handle.as_ref().expect("it works until the crew ends").thread().unpark();
        }
    }
}

impl Worker {
    /// The domain that it was given, after its part of the pass.
    fn take_back(&self, net: &Network, pass: Pass) -> Domain {
        let left = self.desk.work.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Job { mut domain, .. }) = left {
            domain.run(net, pass);
            return domain;
        }
        wait(&self.desk.done, &self.desk.closed);
        let result = self.desk.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        match result.expect("it says when it is done") {
            Ok(domain) => domain,
            Err(panic) => resume_unwind(panic),
        }
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
