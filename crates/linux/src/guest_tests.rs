//! The clock and the devices against a client by hand: what a guest's kernel says and does, without one.

use super::*;
use crate::memory::{Mapping, memory_file};
use crate::schedule::CLOCK;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::thread::{JoinHandle, spawn};

const MEMORY: usize = 0x4000;
/// In the client's memory: a ring of four entries, its parts, and a buffer for each direction.
const ENTRIES: u32 = 4;
const RINGS: [u64; 2] = [0x1000, 0x2000];
const BUFFER: u64 = 0x800;
const AVAILABLE: u64 = 0x100;
const USED: u64 = 0x200;

/// A kernel by hand.
struct Client {
    clock: UnixStream,
    schedule: Mapping,
    net: UnixStream,
    calls: UnixStream,
    memory: Mapping,
}

fn long(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().unwrap())
}

fn ask(clock: &UnixStream, op: Op, time: u64) -> (u64, Vec<OwnedFd>) {
    send_with_files(clock, &Message { op, seq: 9, time }.bytes(), &[]).unwrap();
    let (mut bytes, mut files) = ([0; time::BYTES], Vec::new());
    assert!(read_with_files(clock, &mut bytes, &mut files).unwrap());
    let answer = Message::parse(bytes).unwrap();
    assert_eq!((answer.op, answer.seq), (Op::Ack, 9));
    (answer.time, files)
}

fn request(net: &UnixStream, request: u32, payload: &[u8], files: &[&OwnedFd]) -> Vec<u8> {
    const ANSWERED: [u32; 3] = [1, 15, 24];
    // Version 1, and an answer to what has none of its own (bit 3).
    let flags: u32 = if ANSWERED.contains(&request) { 1 } else { 9 };
    let words = [request, flags, payload.len() as u32].map(u32::to_ne_bytes).concat();
    let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
    send_with_files(net, &[&words, payload].concat(), &files).unwrap();
    let mut header = [0; 12];
    let mut net = net;
    net.read_exact(&mut header).unwrap();
    assert_eq!(header[..8], [request, 5].map(u32::to_ne_bytes).concat());
    let mut answer = vec![0; u32::from_ne_bytes(header[8..].try_into().unwrap()) as usize];
    net.read_exact(&mut answer).unwrap();
    answer
}

fn longs(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

impl Client {
    /// Starts as a kernel does: its clock, then its device.
    fn start(folder: &Path) -> Client {
        let clock = UnixStream::connect(folder.join(CLOCK_SOCKET)).unwrap();
        let (number, files) = ask(&clock, Op::Start, u64::MAX);
        assert_eq!((number, files.len()), (1, 2), "a kernel takes two files whatever comes");
        let schedule = Mapping::new(&files[0], 4096 + 2 * 128).unwrap();
        schedule.write(4096 + 128, &1u32.to_ne_bytes()).unwrap();
        assert_eq!(ask(&clock, Op::GetTod, 0).0, TIME_OF_DAY);
        let net = UnixStream::connect(folder.join(DEVICE_SOCKETS[0])).unwrap();
        let file = memory_file("client", MEMORY).unwrap();
        let memory = Mapping::new(&file, MEMORY).unwrap();
        let calls = Client::set_up(&net, &file);
        Client { clock, schedule, net, calls, memory }
    }

    fn set_up(net: &UnixStream, file: &OwnedFd) -> UnixStream {
        request(net, 3, &[], &[]);
        let features = long(&request(net, 1, &[], &[]));
        assert_eq!(features & (1 << 32 | 1 << 30 | 1 << 29 | 1 << 5), features, "no offload");
        let protocol = request(net, 15, &[], &[]);
        request(net, 16, &protocol, &[]);
        let (ours, theirs) = UnixStream::pair().unwrap();
        request(net, 21, &[], &[&OwnedFd::from(theirs)]);
        let config = request(net, 24, &[0, 6 << 32].map(u64::to_ne_bytes).concat()[2..14], &[]);
        assert!(config.len() >= 12);
        request(net, 2, &features.to_ne_bytes(), &[]);
        request(net, 5, &longs(&[1, 0, MEMORY as u64, 0, 0]), &[file]);
        for (ring, at) in (0..).zip(RINGS) {
            request(net, 8, &longs(&[ring | u64::from(ENTRIES) << 32]), &[]);
            request(net, 10, &longs(&[ring]), &[]);
            request(net, 9, &longs(&[ring, at, at + USED, at + AVAILABLE, 0]), &[]);
            request(net, 18, &longs(&[ring | 1 << 32]), &[]);
        }
        ours
    }

    /// Puts a buffer into a ring, the first one.
    fn offer(&self, ring: usize, bytes: u32, flags: u16) {
        let at = RINGS[ring] as usize;
        self.memory.write(at, &(RINGS[ring] + BUFFER).to_le_bytes()).unwrap();
        self.memory.write(at + 8, &bytes.to_le_bytes()).unwrap();
        self.memory.write(at + 12, &flags.to_le_bytes()).unwrap();
        self.memory.write(at + AVAILABLE as usize + 2, &1u16.to_le_bytes()).unwrap();
    }

    fn used(&self, ring: usize) -> u16 {
        let mut bytes = [0; 2];
        self.memory.read(RINGS[ring] as usize + USED as usize + 2, &mut bytes).unwrap();
        u16::from_le_bytes(bytes)
    }

    /// Sends a frame at a time that it sets itself.
    fn send(&self, now: u64, frame: &[u8]) {
        let at = (RINGS[1] + BUFFER) as usize;
        self.memory.write(at, &[&[0; 12], frame].concat()).unwrap();
        self.offer(1, 12 + frame.len() as u32, 0);
        self.schedule.write(16, &now.to_ne_bytes()).unwrap();
        request(&self.net, 35, &longs(&[1]), &[]);
    }

    /// Waits until a time.
    fn wait(&self, until: u64) {
        self.schedule.write(4096 + 128 + 8, &until.to_ne_bytes()).unwrap();
        self.schedule.write(4096 + 128 + 4, &1u32.to_ne_bytes()).unwrap();
        let message = Message { op: Op::Wait, seq: 10, time: 0 };
        send_with_files(&self.clock, &message.bytes(), &[]).unwrap();
    }

    /// Takes note of an interrupt, for a ring: the time is now.
    fn interrupted(&mut self) -> u32 {
        let mut call = [0; 20];
        self.calls.read_exact(&mut call).unwrap();
        assert_eq!(call[..8], [4u32, 9].map(u32::to_ne_bytes).concat(), "a call, to be answered");
        let mut now = [0; 8];
        self.schedule.read(16, &mut now).unwrap();
        self.schedule.write(4096 + 128 + 8, &now).unwrap();
        let answer = [&[4u32, 5, 8].map(u32::to_ne_bytes).concat()[..], &[0; 8]].concat();
        self.calls.write_all(&answer).unwrap();
        u32::from_ne_bytes(call[12..16].try_into().unwrap())
    }

    /// Its turn: the time.
    fn turn(&self) -> u64 {
        let mut bytes = [0; time::BYTES];
        assert!(read_with_files(&self.clock, &mut bytes, &mut Vec::new()).unwrap());
        let message = Message::parse(bytes).unwrap();
        assert_eq!(message.op, Op::Run);
        self.schedule.write(4096 + 128 + 4, &0u32.to_ne_bytes()).unwrap();
        message.time
    }
}

/// A guest whose kernel is `client`.
fn guest(
    client: impl FnOnce(Client) + Send + 'static,
) -> (Guest, Schedule, JoinHandle<()>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let sockets = Sockets::bind(folder.path()).unwrap();
    let path = folder.path().to_owned();
    let thread = spawn(move || client(Client::start(&path)));
    let patience = Patience { most: Duration::from_secs(10), cancel: Arc::default() };
    let name = "host0".to_owned();
    let guest = Guest::connect(1, name, [2, 0, 0, 0, 0, 0], sockets, None, patience).unwrap();
    let schedule = Schedule::new(1).unwrap();
    schedule.turn(1, 0);
    (guest, schedule, thread, folder)
}

/// What it sent, in its turn, and the time that it was given after it.
fn serve(guest: &mut Guest, schedule: &Schedule) -> Result<Vec<(u64, Vec<u8>)>, LinuxError> {
    let mut sent = Vec::new();
    guest.serve(
        schedule,
        &mut |at, what| {
            if let Happening::Frame { bytes, .. } = what {
                sent.push((at, bytes));
            }
        },
        &mut || 77,
    )?;
    Ok(sent)
}

/// Breaks if a start, a frame out, a frame in or a turn is another than a kernel takes it for.
#[test]
fn a_turn_and_a_frame_each_way() {
    let (mut guest, schedule, thread, _folder) = guest(|mut client| {
        client.offer(0, 200, 2);
        client.send(40, b"to the network");
        let mut until = [0; 8];
        client.schedule.read(8, &mut until).unwrap();
        assert_eq!(
            u64::from_ne_bytes(until),
            77,
            "it is told how far it may run before it goes on"
        );
        assert_eq!(client.used(1), 0, "the frame has not left");
        client.wait(1_000);
        assert_eq!(client.interrupted(), 0);
        assert_eq!(client.interrupted(), 1);
        assert_eq!((client.used(0), client.used(1)), (1, 1));
        let mut frame = [0; 9];
        client.memory.read((RINGS[0] + BUFFER) as usize + 12, &mut frame).unwrap();
        assert_eq!(&frame, b"from it..");
        assert_eq!(client.turn(), 50);
        client.wait(2_000);
    });
    assert_eq!(serve(&mut guest, &schedule).unwrap(), [(40, b"to the network".to_vec())]);
    assert_eq!(schedule.request(1), Some(1_000));
    guest.put(50, Input::Frame(NETWORK, b"from it..".to_vec()));
    guest.put(45, Input::Left(0));
    schedule.turn(CLOCK, 50);
    assert!(guest.feed(50).unwrap());
    assert_eq!(schedule.request(1), Some(50), "the interrupt wants to be handled");
    schedule.turn(1, 50);
    guest.run(50).unwrap();
    assert_eq!(serve(&mut guest, &schedule).unwrap(), []);
    assert_eq!(schedule.request(1), Some(2_000));
    thread.join().unwrap();
}

/// Breaks if an interrupt comes sooner than the gap after the last one, later than it has to, or if
/// without a gap a frame is told of later than it arrives.
#[test]
fn interrupts_keep_apart() {
    let told = |gap| {
        let mut interrupts = Interrupts { gap, next: 0 };
        [100, 101, 109, 110, 111, 115, 120, 500].map(|at| interrupts.for_arrival(at))
    };
    assert_eq!(told(0), [100, 101, 109, 110, 111, 115, 120, 500]);
    assert_eq!(told(10), [100, 110, 110, 110, 120, 120, 120, 500]);
}

/// Breaks if what a kernel without shared times tells its clock by messages is answered wrongly, or not noted.
#[test]
fn the_clock_by_messages() {
    let (mut guest, schedule, thread, _folder) = guest(|client| {
        let request = |client: &Client| {
            let mut bytes = [0; 12];
            client.schedule.read(4096 + 128 + 4, &mut bytes).unwrap();
            (bytes[0], long(&bytes[4..]))
        };
        assert_eq!(ask(&client.clock, Op::Update, 55).0, 0);
        assert_eq!(ask(&client.clock, Op::Get, 0).0, 55, "the time that it has set itself");
        assert_eq!(ask(&client.clock, Op::Request, 99).0, 0);
        assert_eq!(request(&client), (1, 99), "it wants to run then");
        assert_eq!(ask(&client.clock, Op::Broadcast, 7).0, 0);
        let late = Message { op: Op::Ack, seq: 3, time: 0 };
        send_with_files(&client.clock, &late.bytes(), &[]).unwrap();
        client.wait(1_000);
    });
    serve(&mut guest, &schedule).unwrap();
    assert_eq!((schedule.time(), schedule.request(1)), (55, Some(1_000)));
    thread.join().unwrap();
}

/// Breaks if a device of which a kernel wants what it does not have, or without what is needed, is set up.
#[test]
fn devices_that_cannot_be() {
    const NEED_REPLY: u32 = 9;
    for (number, payload, says) in [
        // No event index; ring 2; a ring of three entries.
        (2u32, longs(&[1 << 32 | 1 << 30]), "does without features 0x20000000"),
        (8, longs(&[2 | 4 << 32]), "ring 2 with 0 entries"),
        (8, longs(&[1 | 3 << 32]), "ring 1 with 3 entries"),
        (17, Vec::new(), "request 17 is not one"),
    ] {
        let (mut guest, schedule, thread, _folder) = guest(move |client| {
            let header = [number, NEED_REPLY, payload.len() as u32].map(u32::to_ne_bytes).concat();
            send_with_files(&client.net, &[header, payload].concat(), &[]).unwrap();
            // It stays until the other end is gone.
            let mut net = &client.net;
            let _ = net.read_to_end(&mut Vec::new());
        });
        let error = serve(&mut guest, &schedule).unwrap_err();
        assert!(matches!(error, LinuxError::Protocol { .. }), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        drop(guest);
        thread.join().unwrap();
    }
}

/// Breaks if a frame for which the guest has no buffer is lost, or taken for fed.
#[test]
fn a_frame_waits_for_a_buffer() {
    let (mut guest, schedule, thread, _folder) = guest(|client| client.wait(1_000));
    serve(&mut guest, &schedule).unwrap();
    thread.join().unwrap();
    guest.put(50, Input::Frame(NETWORK, b"frame".to_vec()));
    assert!(!guest.feed(50).unwrap());
    assert_eq!(guest.next_input(), Some(50));
}

/// Breaks if a guest that never notes an interrupt is waited for without an end, or whoever asks for one is not heard.
#[test]
fn a_guest_that_notes_no_interrupt() {
    for cancelled in [false, true] {
        let (mut guest, schedule, thread, _folder) = guest(|client| {
            client.offer(0, 200, 2);
            client.wait(1_000);
            // It stays, and says nothing, until the other end is gone.
            let mut calls = &client.calls;
            let mut all = Vec::new();
            let _ = calls.read_to_end(&mut all);
        });
        serve(&mut guest, &schedule).unwrap();
        guest.patience.most = Duration::from_millis(300);
        guest.patience.cancel.store(cancelled, Ordering::Relaxed);
        guest.put(50, Input::Frame(NETWORK, b"frame".to_vec()));
        let error = guest.feed(50).unwrap_err();
        assert_eq!(matches!(error, LinuxError::Cancelled), cancelled, "{error}");
        assert_eq!(matches!(error, LinuxError::Hangs { .. }), !cancelled, "{error}");
        drop(guest);
        thread.join().unwrap();
    }
}

/// Breaks if a guest that is busy for ever at one instant of its clock holds the run up, or whoever
/// asks for an end then is not heard.
#[test]
fn a_guest_whose_clock_stands() {
    for cancelled in [false, true] {
        let (mut guest, schedule, thread, _folder) = guest(|client| {
            let ask = Message { op: Op::Request, seq: 9, time: 5 }.bytes();
            let mut answer = [0; time::BYTES];
            let mut clock = &client.clock;
            while clock.write_all(&ask).and_then(|()| clock.read_exact(&mut answer)).is_ok() {}
        });
        guest.patience.most = Duration::from_millis(300);
        guest.patience.cancel.store(cancelled, Ordering::Relaxed);
        let error = serve(&mut guest, &schedule).unwrap_err().to_string();
        let said = if cancelled { "cancelled" } else { "while its clock stood still" };
        assert!(error.contains(said), "{error}");
        drop(guest);
        thread.join().unwrap();
    }
}

/// Breaks if a guest that goes away is waited for, or one that says nothing for ever.
#[test]
fn a_guest_that_goes_away() {
    let (mut guest, schedule, thread, _folder) = guest(drop);
    let error = serve(&mut guest, &schedule).unwrap_err();
    assert!(matches!(error, LinuxError::Died { .. }), "{error}");
    thread.join().unwrap();
}

/// Breaks if a guest that does not answer is waited for longer than the patience.
#[test]
fn a_guest_that_hangs() {
    let (send, receive) = std::sync::mpsc::channel::<()>();
    let (mut guest, schedule, thread, _folder) = guest(move |client| {
        let _ = receive.recv();
        drop(client);
    });
    guest.patience.most = Duration::from_millis(300);
    let error = serve(&mut guest, &schedule).unwrap_err();
    assert!(matches!(error, LinuxError::Hangs { .. }), "{error}");
    send.send(()).unwrap();
    thread.join().unwrap();
}

/// Breaks if a kernel without the shared memory, or a message that none sends, is taken.
#[test]
fn what_no_fit_kernel_says() {
    type Script = fn(&Client);
    let scripts: [(Script, &str); 3] = [
        (
            |client| {
                client.schedule.write(4096 + 128, &[0]).unwrap();
                client.wait(1);
            },
            "does not share memory",
        ),
        (
            |client| {
                let run = Message { op: Op::Run, seq: 1, time: 0 };
                send_with_files(&client.clock, &run.bytes(), &[]).unwrap();
            },
            "Run",
        ),
        (
            |client| {
                let words = [4u32, 1, 0].map(u32::to_ne_bytes).concat();
                send_with_files(&client.net, &words, &[]).unwrap();
            },
            "request 4",
        ),
    ];
    for (script, expected) in scripts {
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let (mut guest, schedule, thread, _folder) = guest(move |client| {
            script(&client);
            let _ = receive.recv();
        });
        let error = serve(&mut guest, &schedule).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        send.send(()).unwrap();
        thread.join().unwrap();
    }
}
