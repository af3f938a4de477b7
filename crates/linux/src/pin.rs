//! One CPU for a run with guests: leafspine and a guest take turns, so that two CPUs would only wait for
//! each other, and waking another one takes longer than most turns (docs/linux.md has what it costs).

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// The calling thread is on one CPU, with the processes that it starts, as long as this lives. Where the
/// system refuses it is where it was.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Option<CpuSet>,
    /// A name that no other process has while this lives: the CPU is this run's.
    _claim: Option<UnixListener>,
}

impl Pinned {
    /// On a CPU that no other run has, the present one if that is free; if none is, on the present one.
    pub(crate) fn new() -> Pinned {
        let Ok(before) = sched_getaffinity(None) else { return Pinned::not() };
        let present = sched_getcpu();
        let others = (0..CpuSet::MAX_CPU).filter(|cpu| *cpu != present && before.is_set(*cpu));
        let claimed =
            std::iter::once(present).chain(others).find_map(|cpu| Some((cpu, claim(cpu)?)));
        let (cpu, claim) = claimed.map_or((present, None), |(cpu, claim)| (cpu, Some(claim)));
        let mut one = CpuSet::new();
        one.set(cpu);
        match sched_setaffinity(None, &one) {
            Ok(()) => Pinned { before: Some(before), _claim: claim },
            Err(_) => Pinned::not(),
        }
    }

    fn not() -> Pinned {
        Pinned { before: None, _claim: None }
    }
}

/// An abstract name is gone with whoever has it, in whatever way that ends.
fn claim(cpu: usize) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("leafspine-linux-cpu{cpu}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus() -> usize {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).count()
    }

    /// Breaks if two runs share a CPU while there is another, or a run keeps its thread there for ever.
    #[test]
    fn each_run_has_its_own() {
        let all = cpus();
        let one = std::thread::spawn(move || {
            let machine = sched_getaffinity(None).unwrap();
            let pinned = Pinned::new();
            let (here, there) =
                (sched_getcpu(), std::thread::spawn(|| (Pinned::new(), sched_getcpu())));
            assert_eq!(cpus(), 1);
            let inherited = there.join().unwrap();
            assert_eq!(inherited.1, here, "a thread that is started there stays there");
            // A run of another process may be on all of the CPUs, on which runs of others may be already.
            let free = (0..CpuSet::MAX_CPU).any(|cpu| machine.is_set(cpu) && claim(cpu).is_some());
            let other = std::thread::spawn(move || {
                sched_setaffinity(None, &machine).unwrap();
                let pinned = Pinned::new();
                let here = (cpus(), sched_getcpu());
                drop(pinned);
                here
            });
            let other = other.join().unwrap();
            assert_eq!(other.0, 1);
            assert!(!free || other.1 != here, "two runs on CPU {here}");
            drop(pinned);
            assert_eq!(cpus(), all);
        });
        one.join().unwrap();
    }
}
