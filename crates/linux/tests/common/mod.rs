//! Two guests and a wire between them, and which processes are alive.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use leafspine_linux::orders::{FlowOrder, Program, Report};
use leafspine_linux::{Fleet, Happening, Installed, LinuxError, Outside, Setup, installed};
use std::process::Command;
use std::time::{Duration, Instant};

/// What takes milliseconds has failed after that.
pub const LONG: Duration = Duration::from_secs(30);

/// A wire between two guests: every frame takes so long, after those before it.
pub struct Wire {
    pub delay: u64,
    /// Until when each direction is taken.
    busy: [u64; 2],
    /// When, from whom, bytes.
    pub under_way: Vec<(u64, u16, Vec<u8>)>,
    pub left: Vec<(u16, u64, u16)>,
    pub reports: Vec<(u64, u16, Report)>,
    pub hash: u64,
    pub frames: u64,
}

impl Wire {
    pub fn new(delay: u64) -> Wire {
        let (under_way, left, reports) = Default::default();
        Wire { delay, busy: [0; 2], under_way, left, reports, hash: 0, frames: 0 }
    }
}

impl Outside for Wire {
    fn happened(&mut self, guest: u16, at: u64, what: Happening) {
        match what {
            Happening::Frame { token, bytes } => {
                for word in
                    [at, u64::from(guest)].into_iter().chain(bytes.iter().map(|b| u64::from(*b)))
                {
                    self.hash =
                        (self.hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                }
                self.frames += 1;
                // 80 Gb/s.
                let line = &mut self.busy[usize::from(guest)];
                *line = at.max(*line) + bytes.len() as u64 / 10;
                self.left.push((guest, *line, token));
                self.under_way.push((*line + self.delay, guest, bytes));
            }
            Happening::Report(report) => self.reports.push((at, guest, report)),
        }
    }

    fn next(&mut self) -> u64 {
        self.under_way.iter().map(|(at, ..)| *at).min().unwrap_or(u64::MAX)
    }

    fn left(&mut self, note: &mut dyn FnMut(u16, u64, u16)) {
        self.left.drain(..).for_each(|(guest, at, token)| note(guest, at, token));
    }
}

pub fn setup(seed: u64) -> Option<Setup> {
    match installed() {
        Ok(Installed { kernel, files, .. }) => Some(Setup {
            kernel,
            files,
            guests: 2,
            seed,
            mtu: 1500,
            congestion: None,
            sysctl: Vec::new(),
            touched: 32 << 20,
            memory_mib: 64,
            interrupt_gap: 0,
        }),
        Err(error) => {
            // Where a kernel has been built for them (.ci/run), tests that pass without it would hide what is wrong.
            let needs = std::env::var("LEAFSPINE_NEEDS").unwrap_or_default();
            assert!(needs.split_whitespace().all(|what| what != "linux"), "{error}");
            eprintln!("not tested: {error}");
            None
        }
    }
}

/// A program that does nothing for ever.
pub fn sleeper() -> Program {
    Program {
        folder: "/".to_owned(),
        name: "host".to_owned(),
        names: String::new(),
        command: vec!["sleep".to_owned(), "infinity".to_owned()],
        environment: vec!["PATH=/usr/bin:/bin".to_owned()],
    }
}

/// A flow, as its end on the other side of `peer` is told of it.
pub fn one_flow(peer: u8, bytes: u64) -> FlowOrder {
    FlowOrder { number: 7, peer: [10, 0, 0, peer], port: 1024, bytes }
}

impl Wire {
    /// The next thing that happens. Gives when.
    pub fn step(&mut self, fleet: &mut Fleet) -> Result<u64, LinuxError> {
        let next = self.next();
        match fleet.next() {
            Some((at, guest)) if at < next => fleet.run(guest, at, self).map(|()| at),
            _ => {
                assert!(next < u64::MAX, "nothing happens any more: {:?}", self.reports);
                let first = self.under_way.iter().position(|(at, ..)| *at == next).unwrap();
                let (at, from, bytes) = self.under_way.remove(first);
                fleet.deliver(1 - from, at, bytes);
                Ok(at)
            }
        }
    }

    /// Runs to this time.
    pub fn run_until(&mut self, fleet: &mut Fleet, end: u64) -> Result<(), LinuxError> {
        while self.step(fleet)? < end {}
        Ok(())
    }

    /// Runs until both ends have reported so often.
    pub fn run(&mut self, fleet: &mut Fleet, reports: usize) {
        while self.reports.len() < reports {
            let failed =
                self.reports.iter().find(|(.., report)| matches!(report, Report::Failed(..)));
            assert_eq!(failed, None);
            self.step(fleet).expect("it runs");
        }
    }
}

fn alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// All processes of these guests that are alive: a guest's kernel leads a group, in which its programs are.
pub fn left(guests: &[u32]) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    let of_a_guest = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let group = rest.split_whitespace().nth(2).and_then(|group| group.parse().ok());
        group.is_some_and(|group| guests.contains(&group)) && alive(*id)
    };
    ids.filter(of_a_guest).collect()
}

pub fn wait_until_none_is_left(guests: &[u32]) {
    let begin = Instant::now();
    while !left(guests).is_empty() {
        assert!(begin.elapsed() < LONG, "{:?} of {guests:?} are left", left(guests));
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub fn kill(process: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(status.success());
}
