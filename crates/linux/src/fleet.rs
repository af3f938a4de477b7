//! All guests of a run, on one clock: who wants to run when, and a turn of one of them.
//!
//! Times are nanoseconds on the guests' clock. One guest runs at a time, and no further than to what
//! happens next elsewhere; so what it does at a time is known before anything later happens.

use crate::folder::Folder;
use crate::guest::{CONTROL, Guest, Happening, Input, LinuxError, NETWORK, Outside, Sockets};
use crate::launch::Start;
use crate::orders::{NO_FLOW, Order, Report};
use crate::pin::Pinned;
use crate::schedule::{CLOCK, Schedule};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What guests are made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The kernel's program.
    pub kernel: PathBuf,
    /// The guests' files: an archive (cpio).
    pub files: PathBuf,
    /// How many guests there are; they are hosts 0 and up.
    pub guests: u16,
    /// Seed of their entropy.
    pub seed: u64,
    /// The largest IP packet.
    pub mtu: u32,
    /// The congestion control of all connections; `None`: the kernel's own choice.
    pub congestion: Option<String>,
    /// Files under `/proc/sys` and what is written to them, after what all guests have.
    pub sysctl: Vec<(String, String)>,
    /// Bytes of all guests' memory that the run will touch, at a guess: whether there is room for it in `/dev/shm`.
    pub touched: u64,
    /// Memory of a guest in MiB.
    pub memory_mib: u32,
    /// At least so far apart are interrupts for frames that arrive at a guest, in nanoseconds.
    pub interrupt_gap: u64,
}

/// What Debian's kernels have for a machine of some GB: a guest's own memory would give less, and windows
/// so small that losses vanish in silence.
const BUFFERS: [(&str, &str); 3] = [
    ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
    ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
    ("net.ipv4.tcp_mem", "190000 250000 380000"),
];

/// The congestion control of all connections.
pub const CONGESTION: &str = "net.ipv4.tcp_congestion_control";

/// By this time on their clock all guests have booted, and a run begins. Booting takes them some tenths
/// of a second.
pub const BOOTED: u64 = 10_000_000_000;

/// A frame's time that is never.
const NEVER: u64 = u64::MAX;

/// All guests of a run.
#[derive(Debug)]
pub struct Fleet {
    // Before the folder in which they run.
    guests: Vec<Guest>,
    /// When each wants to run.
    wakes: Vec<u64>,
    schedule: Schedule,
    _folder: Folder,
    _pinned: Pinned,
}

impl Setup {
    /// A kernel's command line. It enters the guest's entropy, so no path of this machine is in it.
    fn arguments(&self, host: u16) -> Vec<String> {
        let mut all = vec![
            format!("mem={}M", self.memory_mib),
            "initrd=guest.cpio".to_owned(),
            "uml_dir=.".to_owned(),
            "umid=guest".to_owned(),
            "stderr=1".to_owned(),
            "con=null".to_owned(),
            "con0=null,fd:2".to_owned(),
            "norandmaps".to_owned(),
            "panic=-1".to_owned(),
        ];
        all.extend(Sockets::arguments());
        all.push(format!("LEAFSPINE_HOST={host}"));
        all.push(format!("LEAFSPINE_MTU={}", self.mtu));
        // Guests of one run differ, too.
        let seed = self.seed.wrapping_add((u64::from(host) + 1) << 48);
        all.push(format!("LEAFSPINE_SEED={seed:#x}"));
        all
    }

    /// What is set in every guest, in this order.
    fn settings(&self) -> impl Iterator<Item = String> {
        let buffers = BUFFERS.iter().map(|(key, value)| format!("{key}={value}"));
        let congestion = self.congestion.iter();
        let congestion = congestion.map(|name| format!("{CONGESTION}={name}"));
        let own = self.sysctl.iter().map(|(key, value)| format!("{key}={value}"));
        buffers.chain(congestion).chain(own)
    }

    /// Why a guest has not come up that reports this: a setting of the user's begins with the kernel's name for it.
    fn refused(&self, name: &str, report: String) -> LinuxError {
        let name = name.to_owned();
        let congestion = self.congestion.iter().map(|name| (CONGESTION, name.as_str()));
        let own = self.sysctl.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let refused = congestion.chain(own).find_map(|(key, value)| {
            let what = report.strip_prefix(key)?.strip_prefix(": ")?;
            Some((key.to_owned(), value.to_owned(), what.to_owned()))
        });
        match refused {
            Some((key, value, what)) => LinuxError::Refused { name, key, value, what },
            None => LinuxError::Reported { name, what: report },
        }
    }
}

impl Fleet {
    /// Boots all guests: at [`BOOTED`] they wait for flows. Whoever waits for a guest, here or later, gives
    /// up when `cancel` is set.
    ///
    /// # Errors
    /// If one does not come up; [`LinuxError::Cancelled`].
    pub fn boot(setup: &Setup, cancel: &Arc<AtomicBool>) -> Result<Fleet, LinuxError> {
        let system = |doing: &str| {
            let doing = doing.to_owned();
            |error| LinuxError::System { doing, error }
        };
        let pinned = Pinned::new();
        let folder =
            Folder::new(setup.touched).map_err(system("making a folder for the guests"))?;
        let schedule =
            Schedule::new(setup.guests).map_err(system("making memory for the clock"))?;
        let mut guests = Vec::with_capacity(usize::from(setup.guests));
        let mut wakes = Vec::with_capacity(usize::from(setup.guests));
        for host in 0..setup.guests {
            if cancel.load(Ordering::Relaxed) {
                return Err(LinuxError::Cancelled);
            }
            let own = folder.path().join(host.to_string());
            std::fs::create_dir(&own)
                .and_then(|()| std::os::unix::fs::symlink(&setup.files, own.join("guest.cpio")))
                .map_err(system("making a folder for a guest"))?;
            let (name, arguments) = (name(host), setup.arguments(host));
            let start = Start { kernel: &setup.kernel, arguments: &arguments, folder: &own };
            let mut guest = Guest::launch(host + 1, name, hardware(host), &start, cancel)?;
            guest.interrupts.gap = setup.interrupt_gap;
            wakes.push(boot(&mut guest, &schedule, setup)?);
            guests.push(guest);
        }
        Ok(Fleet { guests, wakes, schedule, _folder: folder, _pinned: pinned })
    }

    /// The guests' processes, by their numbers in the system.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        self.guests.iter().filter_map(Guest::process).collect()
    }

    /// How long a guest may take for what takes it milliseconds.
    pub fn set_patience(&mut self, most: Duration) {
        self.guests.iter_mut().for_each(|guest| guest.patience.most = most);
    }

    /// When the next guest wants to run, and which.
    #[must_use]
    pub fn next(&self) -> Option<(u64, u16)> {
        let wakes = self.wakes.iter().zip(0..);
        wakes.map(|(at, guest)| (*at, guest)).min().filter(|(at, _)| *at < NEVER)
    }

    fn put(&mut self, guest: u16, at: u64, input: Input) {
        let at_guest = usize::from(guest);
        self.guests[at_guest].put(at, input);
        self.wakes[at_guest] = self.wakes[at_guest].min(at);
    }

    /// A frame arrives at a guest at this time. Those of a guest come in the order of time.
    pub fn deliver(&mut self, guest: u16, at: u64, mut frame: Vec<u8>) {
        crate::frame::set_destination(&mut frame, hardware(guest));
        let at = self.guests[usize::from(guest)].interrupts.for_arrival(at);
        self.put(guest, at, Input::Frame(NETWORK, frame));
    }

    /// A guest is told to do something at this time.
    pub fn order(&mut self, guest: u16, at: u64, order: &Order) {
        self.put(guest, at, Input::Frame(CONTROL, order.frame()));
    }

    /// A frame that a guest sent has left, or will have at this time.
    pub fn sent(&mut self, guest: u16, at: u64, token: u16) {
        self.put(guest, at, Input::Left(token));
    }

    /// Gives a guest its turn at this time, which is that of its [`Fleet::next`].
    ///
    /// # Errors
    /// If it cannot go on.
    pub fn run(
        &mut self,
        guest: u16,
        now: u64,
        outside: &mut dyn Outside,
    ) -> Result<(), LinuxError> {
        let at = usize::from(guest);
        self.schedule.turn(CLOCK, now);
        let number = self.guests[at].number;
        let fed = self.guests[at].feed(now)?;
        let ran = self.schedule.request(number).is_some_and(|request| request <= now);
        if ran {
            self.turn(guest, now, outside)?;
        }
        let one = &self.guests[at];
        if !fed && !ran && one.next_input().is_some_and(|input| input <= now) {
            let what = "it takes no more frames from its network device".to_owned();
            let (name, console) = (one.name.clone(), one.console());
            return Err(LinuxError::Protocol { name, what, console });
        }
        self.wakes[at] = wake(one, &self.schedule);
        Ok(())
    }

    fn turn(&mut self, guest: u16, now: u64, outside: &mut dyn Outside) -> Result<(), LinuxError> {
        let at = usize::from(guest);
        let others = self.wakes.iter().enumerate().filter(|(other, _)| *other != at);
        let others = others.map(|(_, wake)| *wake).min().unwrap_or(NEVER);
        let Fleet { guests, schedule, .. } = self;
        let one = &mut guests[at];
        let others = others.min(one.next_input().unwrap_or(NEVER));
        schedule.free_until(others.min(outside.next()));
        schedule.turn(one.number, now);
        one.run(now)?;
        let mut later: Vec<(u16, u64, u16)> = Vec::new();
        let around = std::cell::RefCell::new((outside, &mut later));
        one.serve(
            schedule,
            &mut |time, what| {
                around.borrow_mut().0.happened(guest, time, what);
            },
            &mut || {
                let (outside, later) = &mut *around.borrow_mut();
                outside.left(&mut |guest, time, token| later.push((guest, time, token)));
                let left = later.iter().map(|(_, time, _)| *time).min().unwrap_or(NEVER);
                others.min(outside.next()).min(left)
            },
        )?;
        for (guest, time, token) in later {
            self.sent(guest, time, token);
        }
        Ok(())
    }
}

/// When a guest wants to run.
fn wake(guest: &Guest, schedule: &Schedule) -> u64 {
    // A kernel that has nothing to do asks for the end of time as it counts it.
    let ever = |at: &u64| *at < i64::MAX as u64;
    let request = schedule.request(guest.number).filter(ever).unwrap_or(NEVER);
    request.min(guest.next_input().unwrap_or(NEVER))
}

/// What a guest is called in messages.
#[must_use]
pub fn name(guest: u16) -> String {
    format!("host{guest} (Linux)")
}

/// The address of a host's device.
fn hardware(host: u16) -> [u8; 6] {
    let [high, low] = host.to_be_bytes();
    [2, 0, 0, 0, high, low]
}

/// What a guest says while it boots: it is alone, and nothing happens but what it does.
#[derive(Default)]
struct Booting {
    ready: u32,
    failed: Option<String>,
}

impl Booting {
    fn happened(&mut self, what: Happening) {
        match what {
            Happening::Report(Report::Ready) => self.ready += 1,
            Happening::Report(Report::Failed(flow, what)) => {
                debug_assert_eq!(flow, NO_FLOW, "there are no flows yet");
                self.failed.get_or_insert(what);
            }
            // A frame before the first flow has no receiver.
            Happening::Report(_) | Happening::Frame { .. } => {}
        }
    }
}

/// Boots a guest up to [`BOOTED`], all alone. Gives when it wants to run after that.
fn boot(guest: &mut Guest, schedule: &Schedule, setup: &Setup) -> Result<u64, LinuxError> {
    let mut said = Booting::default();
    // Its clock begins at what the time is when it connects.
    schedule.turn(guest.number, 0);
    schedule.free_until(BOOTED / 2);
    guest.serve(schedule, &mut |_, what| said.happened(what), &mut || BOOTED / 2)?;
    let mut configured = false;
    loop {
        if said.ready == 1 && !configured {
            configured = true;
            // Later than whatever it has come to by now.
            let later = BOOTED / 2;
            for setting in setup.settings() {
                guest.put(later, Input::Frame(CONTROL, Order::Sysctl(setting).frame()));
            }
            guest.put(later, Input::Frame(CONTROL, Order::Begin.frame()));
        }
        let now = wake(guest, schedule);
        if now >= BOOTED {
            break;
        }
        schedule.turn(CLOCK, now);
        guest.feed(now)?;
        if schedule.request(guest.number).is_some_and(|request| request <= now) {
            schedule.free_until(guest.next_input().unwrap_or(BOOTED));
            schedule.turn(guest.number, now);
            guest.run(now)?;
            guest.serve(schedule, &mut |_, what| said.happened(what), &mut || BOOTED)?;
        }
    }
    match (said.failed, said.ready) {
        (Some(what), _) => Err(setup.refused(&guest.name, what)),
        (None, 2) => Ok(wake(guest, schedule)),
        (None, _) => {
            let what = format!("it has not come up in {} s of its time", BOOTED / 1_000_000_000);
            Err(LinuxError::Protocol { name: guest.name.clone(), what, console: guest.console() })
        }
    }
}
