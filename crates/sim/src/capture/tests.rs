//! Captures against a reader of their own, that knows nothing of how they are written.

use super::*;
use crate::spec::*;
use crate::specs::*;
use crate::{Factories, Progress, Simulation};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a capture says of a packet.
#[derive(Debug, PartialEq)]
struct Read {
    interface: u32,
    nanoseconds: u64,
    original: u32,
    bytes: Vec<u8>,
}

impl Read {
    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn long(&self, at: usize) -> u32 {
        u32::from(self.word(at)) << 16 | u32::from(self.word(at + 2))
    }

    fn payload(&self) -> u32 {
        u32::from(self.word(16)) - 20 - u32::from(self.bytes[46] >> 4) * 4
    }

    /// One's complement sum of words.
    fn sum(&self, from: usize, to: usize) -> u32 {
        let sum: u32 = (from..to).step_by(2).map(|at| u32::from(self.word(at))).sum();
        (sum & 0xffff) + (sum >> 16)
    }
}

fn at(bytes: &[u8], place: usize) -> u32 {
    u32::from_le_bytes([bytes[place], bytes[place + 1], bytes[place + 2], bytes[place + 3]])
}

/// The names of a file's interfaces, and its packets.
fn read(bytes: &[u8]) -> (Vec<String>, Vec<Read>) {
    let (mut names, mut packets, mut place) = (Vec::new(), Vec::new(), 0);
    while place < bytes.len() {
        let (kind, length) = (at(bytes, place), at(bytes, place + 4) as usize);
        assert_eq!(length % 4, 0);
        assert_eq!(at(bytes, place + length - 4) as usize, length, "the length at the end");
        let body = &bytes[place + 8..place + length - 4];
        match kind {
            0x0a0d_0d0a => assert_eq!((place, at(body, 0), at(body, 4)), (0, 0x1a2b_3c4d, 1)),
            1 => {
                assert_eq!(body[0], 1, "Ethernet");
                assert_eq!(at(body, 8) & 0xffff, 2, "the first option is the name");
                let length = (at(body, 8) >> 16) as usize;
                names.push(String::from_utf8(body[12..12 + length].to_vec()).expect("a name"));
                assert!(body.windows(5).any(|option| option == [9, 0, 1, 0, 9]), "nanoseconds");
            }
            6 => {
                let captured = at(body, 12) as usize;
                packets.push(Read {
                    interface: at(body, 0),
                    nanoseconds: u64::from(at(body, 4)) << 32 | u64::from(at(body, 8)),
                    original: at(body, 16),
                    bytes: body[20..20 + captured].to_vec(),
                });
            }
            other => panic!("a block of type {other:#x}"),
        }
        place += length;
    }
    (names, packets)
}

/// Runs a scenario and gives its captures by file name; the output is that of a run without them.
fn captured(spec: &Spec, patterns: &[&str]) -> Vec<(String, Vec<u8>)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("leafspine-capture-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder).expect("a new folder");
    let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
    let made = |spec| Simulation::with(spec, &Factories::default()).expect("a good spec");
    let plain = made(spec).run(&Progress::default()).expect("a run");
    let run = made(spec).capturing(&patterns, &folder).expect("ports that there are");
    let output = run.run(&Progress::default()).expect("a run");
    assert_eq!(output.trace_hash, plain.trace_hash, "a capture changes nothing");
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("a file").path())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read(&path).expect("its contents"))
        })
        .collect();
    found.sort();
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    found
}

fn on(kind: TopologyKind) -> Spec {
    let mut spec = base();
    spec.topology.kind = kind;
    spec
}

/// Two flows from two hosts to a third, through a buffer that overflows.
fn overflowing() -> Spec {
    let mut spec = on(TopologyKind::Star { hosts: 3 });
    spec.workloads = vec![long_flows(2, 300_000, hosts(&[0, 1]), hosts(&[2]))];
    spec.transport.scheme = scheme("newreno");
    spec.transport.sack = true;
    spec.aqm = scheme("droptail");
    spec.switch.buffer = leafspine_schemes::Amount::Packets(12);
    spec
}

/// Breaks if a header's field is wrong, a length or a checksum; if sequence numbers do not follow
/// each other; if the flow's end is missing. All of it is taken apart by hand.
#[test]
fn packets_are_packets() {
    let mut spec = on(TopologyKind::Star { hosts: 2 });
    spec.workloads = vec![long_flows(1, 4_000, hosts(&[0]), hosts(&[1]))];
    let files = captured(&spec, &["host0"]);
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].0, "host0.pcapng");
    let (names, packets) = read(&files[0].1);
    assert_eq!(names, ["host0-switch0", "switch0-host0"]);
    for packet in &packets {
        assert_eq!(packet.bytes[12..14], [8, 0]);
        assert_eq!(packet.original, 14 + u32::from(packet.word(16)));
        assert_eq!(packet.bytes.len() as u32 + packet.payload(), packet.original, "snapped");
        assert_eq!(packet.sum(14, 34), 0xffff, "IPv4's checksum");
        let length = u32::from(packet.word(16)) - 20;
        let sum = packet.sum(26, packet.bytes.len()) + 6 + length;
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "TCP's checksum, of a payload of zeros");
        let (source, destination) = (packet.long(26), packet.long(30));
        let (sent, got) = (0x0a00_0000, 0x0a00_0001);
        let ends = if packet.interface == 0 { (sent, got) } else { (got, sent) };
        assert_eq!((source, destination), ends);
    }
    let of = |packet: &Read| (packet.interface, packet.bytes[47], packet.payload());
    let all: Vec<_> = packets.iter().map(of).collect();
    let (syn, ack, fin) = (2, 16, 1);
    assert_eq!(all[..2], [(0, syn, 0), (1, syn | ack, 0)]);
    let data: Vec<&Read> = packets.iter().filter(|packet| packet.payload() > 0).collect();
    let lengths: Vec<u32> = data.iter().map(|packet| packet.payload()).collect();
    assert_eq!(lengths, [1460, 1460, 1080]);
    let first = packets[0].long(38);
    let numbers: Vec<u32> = data.iter().map(|packet| packet.long(38).wrapping_sub(first)).collect();
    assert_eq!(numbers, [1, 1461, 2921]);
    assert_eq!(data[2].bytes[47], fin | ack);
    let last = packets.last().expect("packets");
    assert_eq!((last.interface, last.long(42).wrapping_sub(first)), (1, 4002), "FIN acknowledged");
    assert!(packets.is_sorted_by_key(|packet| packet.nanoseconds));
}

/// Breaks if segments that the receiver holds are not in the options, or at other bytes than theirs.
#[test]
fn what_is_held_is_reported() {
    let files = captured(&overflowing(), &["host0"]);
    let (_, packets) = read(&files[0].1);
    let first = packets[0].long(38);
    let mut blocks = 0;
    for packet in packets.iter().filter(|packet| packet.interface == 1) {
        let Some(options) = packet.bytes.get(54..) else { continue };
        if options.len() < 12 || options[..3] != [1, 1, 5] {
            continue;
        }
        blocks += 1;
        let acknowledged = packet.long(42).wrapping_sub(first);
        let (start, end) = (packet.long(58), packet.long(62));
        let (start, end) = (start.wrapping_sub(first), end.wrapping_sub(first));
        assert!(acknowledged < start && start < end && end <= 300_002);
        assert_eq!((start - 1) % 1460, 0);
    }
    assert!(blocks > 10, "{blocks} ACKs with blocks");
}

/// Breaks if the order of packets in a file depends on threads, on windows, or on when it is written.
#[test]
fn the_same_bytes_however_it_is_driven() {
    let mut spec = on(leaf_spine(3, 2, 3));
    spec.run.driver = DriverKind::Windows;
    spec.workloads = vec![fixed_flows(300, 60_000, 0.8)];
    spec.switch.buffer = leafspine_schemes::Amount::Packets(20);
    let patterns = ["leaf0-*", "host4", "spine1-leaf2"];
    let one = captured(&spec, &patterns);
    assert_eq!(one.len(), 7);
    assert!(one.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() > 1_000_000);
    for (driver, threads) in [(DriverKind::Domains, 2), (DriverKind::Threads, 3)] {
        (spec.run.driver, spec.run.threads) = (driver, threads);
        assert!(captured(&spec, &patterns) == one, "{threads} parts");
    }
    spec.run.driver = DriverKind::Calendar;
    assert!(captured(&spec, &patterns) == one, "the calendar");
    spec.run.ports = PortModel::General;
    assert!(captured(&spec, &patterns) == one, "general ports");
}

/// Breaks if a name that there is not is taken, or a switch for a host.
#[test]
fn names_are_those_of_ports_and_hosts() {
    let spec = on(leaf_spine(2, 2, 2));
    let folder = std::env::temp_dir();
    for (pattern, nearest) in
        [("leaf0-spine7", "leaf0-spine0"), ("host9", ""), ("leaf0", "leaf0-*")]
    {
        let run = Simulation::new(&spec).expect("a good spec");
        let Err(CaptureError::Port(TopologyError::UnknownPort {
            pattern: found,
            nearest: near,
            ..
        })) = run.capturing(&[pattern.to_owned()], &folder)
        else {
            panic!("{pattern} is no port");
        };
        assert_eq!(found, pattern);
        assert!(nearest.is_empty() || near == nearest, "{near}");
    }
}

/// Breaks if a folder that is not there is not said, with the file's name.
#[test]
fn what_cannot_be_written_is_said() {
    let spec = on(leaf_spine(2, 2, 2));
    let run = Simulation::new(&spec).expect("a good spec");
    let error =
        run.capturing(&["host0".to_owned()], Path::new("/nowhere")).err().expect("an error");
    assert!(error.to_string().starts_with("/nowhere/host0.pcapng: "), "{error}");
}

/// Breaks if a pause frame is captured as anything but a MAC control frame that stops priority 0
/// for the longest time, or lets it go on.
#[test]
fn pause_frames_are_mac_control_frames() {
    let mut spec = overflowing();
    spec.switch.shared = Some(SharedBuffer { size: leafspine_core::Bytes(1_000_000), alpha: 1.0 });
    spec.switch.pfc = Some(PfcSpec {
        lossless: 1,
        threshold: PfcThreshold::Static(leafspine_core::Bytes(6_000)),
        reserve: leafspine_core::Bytes(0),
        resume: leafspine_core::Bytes(3_000),
        headroom: None,
        watchdog: None,
    });
    let (_, packets) = read(&captured(&spec, &["switch0-host0"])[0].1);
    let frames: Vec<&Read> = packets.iter().filter(|packet| packet.word(12) == 0x8808).collect();
    assert!(frames.len() > 1);
    for (order, frame) in frames.iter().enumerate() {
        assert_eq!((frame.original, frame.bytes.len()), (60, 34));
        assert_eq!(frame.bytes[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
        assert_eq!((frame.word(14), frame.word(16)), (0x0101, 1), "about priority 0");
        assert!(order > 0 || frame.word(18) == 0xffff, "the first stops it");
        assert!([0, 0xffff].contains(&frame.word(18)));
    }
    assert!(frames.iter().any(|frame| frame.word(18) == 0), "it goes on");
}
