//! One guest: its process, its clock's connection, its two network devices, and a turn of it.

use crate::launch::{Process, Start};
use crate::orders::{GUESTS, Report};
use crate::schedule::Schedule;
use crate::socket::{read_with_files, send_with_files};
use crate::time::{self, Message, Op};
use crate::vhost::device::{Device, DeviceError, FROM_GUEST, Served, TO_GUEST};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a guest may take for what takes it milliseconds, in real time.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The time of day at which guests' clocks begin, in nanoseconds since 1970: that of 2020.
const TIME_OF_DAY: u64 = 1_577_836_800 * 1_000_000_000;

/// The devices of a guest: the network's, and that of orders and reports.
pub const NETWORK: usize = 0;
/// See [`NETWORK`].
pub const CONTROL: usize = 1;

/// Why guests cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum LinuxError {
    /// A guest's process has ended.
    #[error("{name} has ended{how}; its last lines: {console}")]
    Died {
        /// The guest.
        name: String,
        /// How, if that is known.
        how: String,
        /// What it wrote last.
        console: String,
    },
    /// A guest does not answer.
    #[error("{name} has not answered for {seconds} s; its last lines: {console}")]
    Hangs {
        /// The guest.
        name: String,
        /// How long.
        seconds: u64,
        /// What it wrote last.
        console: String,
    },
    /// A guest's kernel does not take a setting of the user's.
    #[error("{name} does not take {key} = {value}: {what}")]
    Refused {
        /// The guest.
        name: String,
        /// The kernel's name for the setting.
        key: String,
        /// What it should have been.
        value: String,
        /// What the kernel said.
        what: String,
    },
    /// A guest has reported that something failed.
    #[error("{name} reports: {what}")]
    Reported {
        /// The guest.
        name: String,
        /// What it said.
        what: String,
    },
    /// A guest does what no kernel that is fit for this does.
    #[error("{name}: {what}; its last lines: {console}")]
    Protocol {
        /// The guest.
        name: String,
        /// What.
        what: String,
        /// What it wrote last.
        console: String,
    },
    /// Somebody has asked for an end.
    #[error("cancelled")]
    Cancelled,
    /// There is no kernel, or no files for it.
    #[error("{what}: {path}; run {remedy}")]
    Missing {
        /// What is not there.
        what: &'static str,
        /// Where it was looked for.
        path: String,
        /// The command that makes it, and what else there is to say of that.
        remedy: String,
    },
    /// There is another kernel than the run is to have.
    #[error("this run is one of the Linux kernel {wanted}, and {found} is what there is")]
    Other {
        /// Version and hash of the one.
        wanted: String,
        /// Of the other.
        found: String,
    },
    /// The system.
    #[error("{doing}: {error}")]
    System {
        /// What was to be done.
        doing: String,
        /// What it said.
        error: std::io::Error,
    },
}

/// What a guest does to the outside.
#[derive(Debug)]
pub enum Happening {
    /// It sends a frame; the token is for [`crate::Fleet::sent`], when it has left.
    Frame {
        /// What its device knows it by.
        token: u16,
        /// Ethernet, without a checksum at its end.
        bytes: Vec<u8>,
    },
    /// It reports.
    Report(Report),
}

/// What is around the guests.
pub trait Outside {
    /// A guest has done something, at this time in nanoseconds.
    fn happened(&mut self, guest: u16, at: u64, what: Happening);

    /// When the next thing happens that is none of the guests': so far may they run.
    fn next(&mut self) -> u64;

    /// Takes note, with `note(guest, time, token)`, of frames that have left or will have.
    fn left(&mut self, note: &mut dyn FnMut(u16, u64, u16));
}

/// What is to be done to a guest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Input {
    /// A frame that it sent has left.
    Left(u16),
    /// A frame for one of its devices.
    Frame(usize, Vec<u8>),
}

/// A socket to which a guest has connected, or will.
#[derive(Debug)]
enum Socket {
    Listening(UnixListener),
    Connected(Box<Device>),
}

/// A guest.
#[derive(Debug)]
pub struct Guest {
    /// From 1 on.
    pub(crate) number: u16,
    pub(crate) name: String,
    process: Option<Process>,
    clock: UnixStream,
    devices: [Socket; 2],
    /// Of its devices.
    addresses: [[u8; 6]; 2],
    /// What is to come, by time and the order in which it was put there.
    inputs: BinaryHeap<Reverse<(u64, u64, Input)>>,
    put: u64,
    pub(crate) interrupts: Interrupts,
    /// How long to wait for its answers.
    pub(crate) patience: Patience,
}

/// When a guest is interrupted for frames that arrive. A network card that moderates its interrupts has one at
/// once after a quiet time, and then waits (Linux: `ethtool -C rx-usecs`): what arrives meanwhile is told
/// together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interrupts {
    /// Two of them are at least so far apart, in nanoseconds. 0: one for each instant at which something arrives.
    pub(crate) gap: u64,
    /// The one that is to come, or the last.
    next: u64,
}

impl Interrupts {
    /// The one that tells of a frame that arrives now.
    pub(crate) fn for_arrival(&mut self, now: u64) -> u64 {
        if self.next < now {
            self.next = now.max(self.next.saturating_add(self.gap));
        }
        self.next
    }
}

/// How long a guest has been at one instant of its clock, in real time: what it does there it may do for ever.
struct Standing {
    at: u64,
    since: Instant,
    requests: u32,
}

impl Standing {
    fn new(at: u64) -> Standing {
        Standing { at, since: Instant::now(), requests: 0 }
    }

    /// Whether that is longer than patience lasts, or somebody has asked for an end. To be called
    /// with each request; most calls look at nothing.
    fn is_too_long(&mut self, now: u64, patience: &Patience) -> bool {
        const SELDOM: u32 = 256;
        self.requests += 1;
        if !self.requests.is_multiple_of(SELDOM) {
            return false;
        }
        if now != self.at {
            *self = Standing::new(now);
        }
        patience.cancel.load(Ordering::Relaxed) || self.since.elapsed() >= patience.most
    }
}

/// How long to wait for a guest.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    pub(crate) most: Duration,
    /// Set when somebody has asked for an end.
    pub(crate) cancel: Arc<AtomicBool>,
}

/// What a guest's turn came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Turn {
    /// It waits.
    Waits,
    /// It goes on.
    GoesOn,
}

/// The sockets of a guest before it has connected to them.
pub(crate) struct Sockets {
    pub(crate) clock: UnixListener,
    pub(crate) devices: [UnixListener; 2],
}

/// Their names in its folder.
const CLOCK_SOCKET: &str = "clock";
const DEVICE_SOCKETS: [&str; 2] = ["net", "control"];

impl Sockets {
    pub(crate) fn bind(folder: &Path) -> std::io::Result<Sockets> {
        let bind = |name: &str| UnixListener::bind(folder.join(name));
        Ok(Sockets {
            clock: bind(CLOCK_SOCKET)?,
            devices: [bind(DEVICE_SOCKETS[0])?, bind(DEVICE_SOCKETS[1])?],
        })
    }

    /// A kernel's arguments by which it connects to them.
    pub(crate) fn arguments() -> Vec<String> {
        let mut all = vec![format!("time-travel=ext:{CLOCK_SOCKET}")];
        all.extend(DEVICE_SOCKETS.iter().map(|name| format!("virtio_uml.device={name}:1")));
        all
    }
}

impl Guest {
    /// A guest at the other ends of these sockets, whoever it is. It is waited for until it connects to
    /// its clock.
    pub(crate) fn connect(
        number: u16,
        name: String,
        address: [u8; 6],
        sockets: Sockets,
        mut process: Option<Process>,
        patience: Patience,
    ) -> Result<Guest, LinuxError> {
        let system = |error| LinuxError::System { doing: format!("starting {name}"), error };
        let wanted = [sockets.clock.as_fd()];
        let clock = match wait(&wanted, &patience, process.as_mut()).map_err(system)? {
            Waited::Ready(_) => sockets.clock.accept().map_err(system)?.0,
            other => return Err(lost(&name, other, process.as_mut(), &patience)),
        };
        let devices = sockets.devices.map(Socket::Listening);
        let (addresses, inputs) = ([address, GUESTS], BinaryHeap::new());
        let interrupts = Interrupts::default();
        Ok(Guest {
            number,
            name,
            process,
            clock,
            devices,
            addresses,
            inputs,
            put: 0,
            interrupts,
            patience,
        })
    }

    /// Starts a kernel in `start`'s folder.
    pub(crate) fn launch(
        number: u16,
        name: String,
        address: [u8; 6],
        start: &Start<'_>,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Guest, LinuxError> {
        let system = |error| LinuxError::System { doing: format!("starting {name}"), error };
        let sockets = Sockets::bind(start.folder).map_err(system)?;
        let process = Process::start(start).map_err(|error| LinuxError::System {
            doing: format!("starting {name}: {}", start.kernel.display()),
            error,
        })?;
        let patience = Patience { most: PATIENCE, cancel: Arc::clone(cancel) };
        Guest::connect(number, name, address, sockets, Some(process), patience)
    }

    /// Something is to be done to it at this time.
    pub(crate) fn put(&mut self, at: u64, input: Input) {
        self.inputs.push(Reverse((at, self.put, input)));
        self.put += 1;
    }

    /// When something is to be done to it next.
    pub(crate) fn next_input(&self) -> Option<u64> {
        self.inputs.peek().map(|Reverse((at, ..))| *at)
    }

    /// Does to it what is due by `now`, and interrupts it. Gives whether something was done: what it has
    /// no room for stays.
    pub(crate) fn feed(&mut self, now: u64) -> Result<bool, LinuxError> {
        let mut fed = false;
        let mut full = Vec::new();
        let mut has_room = [true; 2];
        while self.next_input().is_some_and(|at| at <= now) {
            let Some(Reverse((at, order, input))) = self.inputs.pop() else { break };
            let done = match &input {
                Input::Left(token) => self.device(NETWORK)?.sent(*token).map(|()| true),
                Input::Frame(to, _) if !has_room[*to] => Ok(false),
                Input::Frame(to, frame) => self.device(*to)?.put(frame),
            };
            match (done.map_err(|error| self.broken(&error))?, &input) {
                (true, _) => fed = true,
                (false, Input::Frame(to, _)) => {
                    has_room[*to] = false;
                    full.push(Reverse((at, order, input)));
                }
                (false, Input::Left(_)) => unreachable!("it takes no room"),
            }
        }
        self.inputs.extend(full);
        for device in [NETWORK, CONTROL] {
            for ring in [TO_GUEST, FROM_GUEST] {
                self.interrupt(device, ring)?;
            }
        }
        Ok(fed)
    }

    /// Interrupts it for a ring of a device, if it wants to know of something new there, and waits
    /// until it has noted that.
    fn interrupt(&mut self, device: usize, ring: usize) -> Result<(), LinuxError> {
        let Socket::Connected(connected) = &mut self.devices[device] else { return Ok(()) };
        if !connected.is_ready() {
            return Ok(());
        }
        let waited = match connected.call(ring) {
            Ok(None) => return Ok(()),
            Ok(Some(calls)) => wait(&[calls.as_fd()], &self.patience, self.process.as_mut()),
            Err(error) => return Err(self.broken(&error)),
        };
        match waited.map_err(|error| system(&self.name, error))? {
            Waited::Ready(_) => {}
            other => return Err(self.lost(other)),
        }
        let Socket::Connected(connected) = &mut self.devices[device] else { return Ok(()) };
        let called = connected.called();
        called.map_err(|error| self.broken(&error))
    }

    fn device(&mut self, which: usize) -> Result<&mut Device, LinuxError> {
        let ready = matches!(&self.devices[which], Socket::Connected(device) if device.is_ready());
        if !ready {
            return Err(self.wrong("it has not set up its network devices"));
        }
        match &mut self.devices[which] {
            Socket::Connected(device) => Ok(device),
            Socket::Listening(_) => unreachable!("it is connected"),
        }
    }

    /// Tells it that it is its turn.
    pub(crate) fn run(&mut self, now: u64) -> Result<(), LinuxError> {
        let message = Message { op: Op::Run, seq: 0, time: now };
        let sent = send_with_files(&self.clock, &message.bytes(), &[]);
        sent.map_err(|_| self.lost(Waited::Ended))
    }

    /// Sees to all that it asks for until it waits. `ask` is told what it does; after that `until` says
    /// how far it may run.
    pub(crate) fn serve(
        &mut self,
        schedule: &Schedule,
        ask: &mut dyn FnMut(u64, Happening),
        until: &mut dyn FnMut() -> u64,
    ) -> Result<(), LinuxError> {
        let mut standing = Standing::new(schedule.time());
        loop {
            if standing.is_too_long(schedule.time(), &self.patience) {
                return Err(self.stands());
            }
            match self.next_request()? {
                0 if self.serve_clock(schedule)? == Turn::Waits => return Ok(()),
                0 => {}
                from => self.serve_device(from - 1, schedule, ask, until)?,
            }
        }
    }

    /// The error for a guest that goes on and on while its clock stands still.
    fn stands(&mut self) -> LinuxError {
        if self.patience.cancel.load(Ordering::Relaxed) {
            return LinuxError::Cancelled;
        }
        let seconds = self.patience.most.as_secs();
        self.wrong(&format!(
            "it has been busy for {seconds} s while its clock stood still, as with a program that writes \
             without end and never waits or reads a clock"
        ))
    }

    /// Waits until it asks for something: of its clock (0) or of a device (1 and 2).
    fn next_request(&mut self) -> Result<usize, LinuxError> {
        let sockets = [self.clock.as_fd(), fd(&self.devices[0]), fd(&self.devices[1])];
        let waited = wait(&sockets, &self.patience, self.process.as_mut());
        match waited.map_err(|error| system(&self.name, error))? {
            Waited::Ready(which) => Ok(which),
            other => Err(self.lost(other)),
        }
    }

    /// Answers its next message about time.
    fn serve_clock(&mut self, schedule: &Schedule) -> Result<Turn, LinuxError> {
        let (mut bytes, mut files) = ([0; time::BYTES], Vec::new());
        match read_with_files(&self.clock, &mut bytes, &mut files) {
            Ok(true) => {}
            Ok(false) => return Err(self.lost(Waited::Ended)),
            Err(error) => return Err(system(&self.name, error)),
        }
        let message = Message::parse(bytes)
            .map_err(|op| self.wrong(&format!("a message about time of unknown kind {op}")))?;
        let answer = match message.op {
            Op::Start => u64::from(self.number),
            Op::GetTod => TIME_OF_DAY,
            Op::Get => schedule.time(),
            Op::Wait if schedule.is_shared_by(self.number) => return Ok(Turn::Waits),
            Op::Wait => return Err(self.wrong("its kernel does not share memory with its clock")),
            Op::Request => {
                schedule.set_request(self.number, message.time);
                0
            }
            Op::Update => {
                schedule.turn(self.number, message.time);
                0
            }
            Op::Broadcast => 0,
            Op::Ack => return Ok(Turn::GoesOn),
            op @ (Op::Run | Op::FreeUntil) => {
                return Err(self.wrong(&format!("the message {op:?} from a guest")));
            }
        };
        // The second file would be a log's, which no kernel writes; without it the kernel would take
        // whatever number stood there for a file.
        let shared = [schedule.file(), schedule.file()];
        let files = if message.op == Op::Start { &shared[..] } else { &[] };
        let sent = send_with_files(&self.clock, &message.answer(answer).bytes(), files);
        sent.map_err(|_| self.lost(Waited::Ended))?;
        Ok(Turn::GoesOn)
    }

    /// Answers the next request of a device's driver.
    fn serve_device(
        &mut self,
        which: usize,
        schedule: &Schedule,
        ask: &mut dyn FnMut(u64, Happening),
        until: &mut dyn FnMut() -> u64,
    ) -> Result<(), LinuxError> {
        let device = match &mut self.devices[which] {
            Socket::Connected(device) => device,
            Socket::Listening(listener) => {
                let (socket, _) = listener.accept().map_err(|error| system(&self.name, error))?;
                let device = Device::new(socket, self.addresses[which]);
                self.devices[which] = Socket::Connected(Box::new(device));
                return Ok(());
            }
        };
        let served = device.serve();
        match served.map_err(|error| self.broken(&error))? {
            Served::Done => return Ok(()),
            Served::Closed => return Err(self.lost(Waited::Ended)),
            Served::Kick(FROM_GUEST) => self.take_frames(which, schedule.time(), ask)?,
            Served::Kick(_) => {}
        }
        schedule.free_until(until());
        if let Socket::Connected(device) = &mut self.devices[which] {
            let answered = device.answer_kick();
            answered.map_err(|error| self.broken(&error))?;
        }
        Ok(())
    }

    /// Takes all that it sends.
    fn take_frames(
        &mut self,
        from: usize,
        now: u64,
        ask: &mut dyn FnMut(u64, Happening),
    ) -> Result<(), LinuxError> {
        loop {
            let taken = self.device(from)?.take();
            let Some((token, bytes)) = taken.map_err(|error| self.broken(&error))? else {
                return Ok(());
            };
            if from == NETWORK {
                ask(now, Happening::Frame { token, bytes });
                continue;
            }
            // What goes nowhere has left at once.
            let sent = self.device(from)?.sent(token);
            sent.map_err(|error| self.broken(&error))?;
            if let Some(report) = Report::parse(&bytes) {
                ask(now, Happening::Report(report));
            }
        }
    }

    pub(crate) fn process(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    pub(crate) fn console(&self) -> String {
        console(self.process.as_ref())
    }

    fn broken(&mut self, error: &DeviceError) -> LinuxError {
        // Most often it has died, and that is what the system's error comes of.
        let by_system = matches!(error, DeviceError::System(_));
        let ended = |process: &mut Process| ending(process).is_some();
        if by_system && self.process.as_mut().is_some_and(ended) {
            return self.lost(Waited::Ended);
        }
        self.wrong(&error.to_string())
    }

    fn wrong(&self, what: &str) -> LinuxError {
        let (name, what) = (self.name.clone(), what.to_owned());
        LinuxError::Protocol { name, what, console: self.console() }
    }

    fn lost(&mut self, how: Waited) -> LinuxError {
        lost(&self.name, how, self.process.as_mut(), &self.patience)
    }
}

fn fd(socket: &Socket) -> BorrowedFd<'_> {
    match socket {
        Socket::Listening(listener) => listener.as_fd(),
        Socket::Connected(device) => device.socket().as_fd(),
    }
}

fn system(name: &str, error: std::io::Error) -> LinuxError {
    LinuxError::System { doing: format!("speaking with {name}"), error }
}

/// What it wrote last. An error is one line, wherever it is shown.
fn console(process: Option<&Process>) -> String {
    const LINES: usize = 12;
    process.map_or_else(String::new, |process| process.last_lines(LINES).replace('\n', " | "))
}

/// What came of waiting for a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waited {
    /// This socket has something.
    Ready(usize),
    /// The guest has ended.
    Ended,
    /// Nothing came in time.
    TooLong,
    /// Somebody has asked for an end.
    Cancelled,
}

/// Waits until one of the sockets has something, as long as `patience` lasts.
fn wait(
    sockets: &[BorrowedFd<'_>],
    patience: &Patience,
    mut process: Option<&mut Process>,
) -> std::io::Result<Waited> {
    let begin = Instant::now();
    let mut polled: Vec<PollFd<'_>> =
        sockets.iter().map(|socket| PollFd::from_borrowed_fd(*socket, PollFlags::IN)).collect();
    loop {
        // A kernel that dies before it connects closes nothing: it is looked at ten times a second.
        let slice = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        match poll(&mut polled, Some(&slice)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(ready) = polled.iter().position(|polled| !polled.revents().is_empty()) {
            return Ok(Waited::Ready(ready));
        }
        if let Some(process) = &mut process
            && process.ended()?.is_some()
        {
            return Ok(Waited::Ended);
        }
        if patience.cancel.load(Ordering::Relaxed) {
            return Ok(Waited::Cancelled);
        }
        if begin.elapsed() >= patience.most {
            return Ok(Waited::TooLong);
        }
    }
}

/// The error for a guest that nothing more comes from.
fn lost(name: &str, how: Waited, process: Option<&mut Process>, patience: &Patience) -> LinuxError {
    let name = name.to_owned();
    if how == Waited::Cancelled {
        return LinuxError::Cancelled;
    }
    if how == Waited::TooLong {
        let console = console(process.as_deref());
        return LinuxError::Hangs { name, seconds: patience.most.as_secs(), console };
    }
    let Some(process) = process else {
        return LinuxError::Died { name, how: String::new(), console: String::new() };
    };
    let how = ending(process).map_or_else(String::new, |status| format!(" ({status})"));
    LinuxError::Died { name, how, console: console(Some(process)) }
}

/// How a guest has ended that closed its sockets, which is a moment before it is gone.
fn ending(process: &mut Process) -> Option<ExitStatus> {
    let begin = Instant::now();
    loop {
        let status = process.ended().ok().flatten();
        if status.is_some() || begin.elapsed() >= Duration::from_secs(2) {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
#[path = "guest_tests.rs"]
mod tests;
