//! Threads that work on domains: each takes one for a window, and gives it back.
//!
//! Who waits spins for some microseconds, which is what a window takes, and then blocks: a core that
//! another process wants is not kept from it.

use super::domain::{Domain, Pass};
use leafspine_node::Network;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Thread};

/// How often one looks before one blocks.
const SPINS: u32 = 2_000;

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
        Crew { workers: (0..threads).map(worker).collect() }
    }

    /// Lets each domain do its part of a pass: the first one here, the others each in a thread.
    pub(super) fn run(&self, domains: &mut Vec<Domain>, net: &Arc<Network>, pass: Pass) {
        for worker in self.workers.iter().rev() {
            let domain = domains.pop().expect("a domain for each thread, and one for this");
            let job = Job { domain, net: net.clone(), pass, owner: thread::current() };
            *worker.desk.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
            worker.desk.ready.store(true, Ordering::Release);
            worker.handle.as_ref().expect("it works until the crew ends").thread().unpark();
        }
        domains[0].run(net, pass);
        for worker in &self.workers {
            wait(&worker.desk.done, &worker.desk.closed);
            let result = worker.desk.result.lock().unwrap_or_else(PoisonError::into_inner).take();
            match result.expect("it says when it is done") {
                Ok(domain) => domains.push(domain),
                Err(panic) => resume_unwind(panic),
            }
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
