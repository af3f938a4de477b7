//! What guests send and report, by hand and without a kernel: the tests are the guests.

use super::Simulation;
use crate::Progress;
use crate::drive::{Came, Driver};
use crate::output::ProgramRow;
use crate::spec::*;
use crate::specs::*;
use leafspine_core::{Bytes, HostId, Span, Time};
use leafspine_linux::Happening;
use leafspine_linux::frame::{ACK, FIN, RST, SYN};
use leafspine_linux::orders::{Report, TcpInfo};
use leafspine_node::Key;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The guests of a run, played by a test.
struct Hands {
    run: Simulation,
    now: u64,
}

/// What a segment says, besides its addresses.
#[derive(Clone, Copy)]
struct Says {
    ports: (u16, u16),
    flags: u8,
    sequence: u32,
    acknowledged: u32,
    payload: u16,
}

const SAYS: Says =
    Says { ports: (1024, 5001), flags: ACK, sequence: 0, acknowledged: 0, payload: 0 };

fn frame(from: u16, to: [u8; 4], protocol: u8, says: Says) -> Vec<u8> {
    let headers = if protocol == TCP { 40 } else { 28 };
    let mut frame = vec![0; 14 + headers + usize::from(says.payload)];
    (frame[12], frame[14]) = (8, 0x45);
    frame[16..18].copy_from_slice(&(headers as u16 + says.payload).to_be_bytes());
    frame[23] = protocol;
    let [high, low] = from.to_be_bytes();
    frame[26..30].copy_from_slice(&[10, 0, high, low]);
    frame[30..34].copy_from_slice(&to);
    frame[34..36].copy_from_slice(&says.ports.0.to_be_bytes());
    frame[36..38].copy_from_slice(&says.ports.1.to_be_bytes());
    if protocol == TCP {
        frame[38..42].copy_from_slice(&says.sequence.to_be_bytes());
        frame[42..46].copy_from_slice(&says.acknowledged.to_be_bytes());
        (frame[46], frame[47]) = (0x50, says.flags);
    }
    frame
}

impl Hands {
    fn of(workload: WorkloadSpec) -> Hands {
        let mut spec = base();
        spec.hosts = HostsSpec::Linux(LinuxSpec {
            kernel: "none".to_owned(),
            congestion: "cubic".to_owned(),
            ecn: false,
            sysctl: Vec::new(),
            interrupt_moderation: Span::ZERO,
        });
        spec.workloads = vec![workload];
        let mut run = Simulation::new(&spec).expect("a valid spec").checked();
        run.start().expect("it starts");
        let mut hands = Hands { run, now: 0 };
        hands.rest();
        hands
    }

    fn happens(&mut self, guest: u16, what: Happening) {
        self.now += 1_000_000;
        let (layout, net) = (&self.run.layout, self.run.net.clone());
        let Driver::Linux(driver) = &mut self.run.driver else { panic!("kernels") };
        driver.by_hand((guest, Time(self.now)), what, layout, &net);
    }

    fn report(&mut self, guest: u16, report: Report) {
        self.happens(guest, Happening::Report(report));
    }

    /// A guest sends a frame to the host of this number, and what is under way arrives.
    fn sends(&mut self, from: u16, to: u16, says: Says) {
        let [high, low] = to.to_be_bytes();
        self.sends_frame(from, frame(from, [10, 0, high, low], TCP, says));
    }

    fn sends_frame(&mut self, from: u16, bytes: Vec<u8>) {
        self.happens(from, Happening::Frame { token: 0, bytes });
        self.rest();
    }

    /// All that is under way arrives.
    fn rest(&mut self) {
        self.now += 1_000_000_000;
        let bound = (Time(self.now), Key::FIRST);
        loop {
            let stop = self.run.next_stop().min(bound);
            let stop = self.run.open_flows(stop).expect("flows");
            while self.run.drive(stop, u64::MAX) == Came::PartOfTheWay {}
            self.run.take_notes().expect("notes");
            self.run.do_what_is_due(stop).expect("what is due");
            if stop == bound {
                return;
            }
        }
    }

    fn error(&mut self) -> Option<String> {
        self.run.fail_with_guests().err().map(|error| error.to_string())
    }

    fn sent(&self) -> u64 {
        self.run.driver.counters().sent
    }

    fn delivered(&self) -> u64 {
        self.run.driver.counters().delivered
    }

    fn known(&self) -> usize {
        let Driver::Linux(driver) = &self.run.driver else { panic!("kernels") };
        driver.known()
    }

    /// Segments of connections that were sent again.
    fn again(&self) -> u32 {
        let Driver::Linux(driver) = &self.run.driver else { panic!("kernels") };
        driver.sent_again()
    }

    fn audit(mut self) -> Vec<ProgramRow> {
        self.run.now = Time(self.now);
        self.run.last_audit();
        assert!(self.run.fault.is_none(), "{:?}", self.run.fault);
        self.run.report(&Progress::default()).expect("nobody cancels");
        self.run.into_output().programs
    }
}

/// Breaks if a reset or an acknowledgment that a kernel sends when a flow is over ends the run, or goes anywhere; or if
/// data of no flow is passed over.
#[test]
fn what_comes_late_is_none_of_the_run() {
    let mut hands = Hands::of(long_flows(1, 100, hosts(&[0]), hosts(&[9])));
    let back = Says { ports: (5001, 1024), sequence: 500, ..SAYS };
    hands.sends(0, 9, Says { flags: SYN, ..SAYS });
    hands.sends(9, 0, Says { flags: SYN | ACK, acknowledged: 1, ..back });
    hands.sends(0, 9, Says { sequence: 1, acknowledged: 501, payload: 100, ..SAYS });
    hands.report(9, Report::Received(0));
    hands.sends(0, 9, Says { flags: FIN | ACK, sequence: 101, acknowledged: 501, ..SAYS });
    let closes = Says { flags: FIN | ACK, sequence: 501, acknowledged: 102, ..back };
    hands.sends(9, 0, closes);
    hands.report(0, Report::Sent(0, TcpInfo::default()));
    let last = Says { sequence: 102, acknowledged: 502, ..SAYS };
    hands.sends(0, 9, last);
    assert_eq!((hands.error(), hands.sent(), hands.delivered()), (None, 6, 6));
    assert_eq!(hands.known(), 0, "its row is written");
    // The last acknowledgment again, a reset from either end, and what answers a copy of the FIN.
    hands.sends(0, 9, last);
    hands.sends(0, 9, Says { flags: RST, ..last });
    hands.sends(9, 0, Says { flags: RST | ACK, ..closes });
    hands.sends(9, 0, Says { flags: ACK, ..closes });
    assert_eq!((hands.error(), hands.sent()), (None, 6));
    hands.sends(0, 9, Says { payload: 1, ..last });
    let error = hands.error().expect("data of no flow");
    assert!(error.contains("host0 (Linux) reports: it sends a segment of no flow"), "{error}");
    hands.audit();
}

fn programs(list: &[u16], background: bool) -> WorkloadSpec {
    let program = ProgramSpec {
        command: vec!["server".to_owned()],
        environment: Vec::new(),
        folder: "/".into(),
        background,
    };
    WorkloadSpec {
        kind: WorkloadKind::Program(Box::new(program)),
        sizes: SizeSpec::Fixed(Bytes(1)),
        senders: hosts(list),
        receivers: HostSet::All,
        pattern: Pattern::Any,
        start: Time::ZERO,
        class: None,
    }
}

/// Breaks if a connection that nobody announced finds no way, in either direction, or keeps its places when it is over:
/// a run has more connections than a host has places.
#[test]
fn programs_connect_as_they_like() {
    let mut hands = Hands::of(programs(&[0], true));
    let to = Says { ports: (40_000, 80), ..SAYS };
    let back = Says { ports: (80, 40_000), sequence: 500, ..SAYS };
    for round in 1..=3 {
        hands.sends(0, 9, Says { flags: SYN, ..to });
        hands.sends(9, 0, Says { flags: SYN | ACK, acknowledged: 1, ..back });
        hands.sends(0, 9, Says { sequence: 1, acknowledged: 501, payload: 1000, ..to });
        assert_eq!(hands.known(), 1);
        hands.sends(9, 0, Says { sequence: 501, acknowledged: 1001, payload: 1000, ..back });
        assert_eq!(hands.known(), 2, "a direction of its own");
        hands.sends(0, 9, Says { flags: FIN | ACK, sequence: 1001, acknowledged: 1501, ..to });
        let closes = Says { flags: FIN | ACK, sequence: 1501, acknowledged: 1002, ..back };
        hands.sends(9, 0, closes);
        hands.sends(0, 9, Says { sequence: 1002, acknowledged: 1502, ..to });
        hands.sends(9, 0, Says { flags: ACK, sequence: 1502, ..closes });
        assert_eq!((hands.error(), hands.sent()), (None, 8 * round));
    }
    assert_eq!(hands.delivered(), hands.sent());
    // The copies that are acknowledged last leave nothing behind either.
    hands.sends(9, 0, Says { flags: RST, sequence: 1502, ..back });
    assert_eq!(hands.known(), 0);
    hands.audit();
}

/// Breaks if a reset leaves the other direction's places taken for ever, or the next connection
/// between the same ports is taken for the last one's segments sent again.
#[test]
fn a_reset_ends_both_directions() {
    let mut hands = Hands::of(programs(&[0], true));
    let to = Says { ports: (40_000, 80), ..SAYS };
    let back = Says { ports: (80, 40_000), sequence: 500, ..SAYS };
    for first in [0u32, 70_000] {
        let at = |offset| first + offset;
        hands.sends(0, 9, Says { flags: SYN, sequence: at(0), ..to });
        hands.sends(9, 0, Says { flags: SYN | ACK, acknowledged: at(1), ..back });
        let data = Says { sequence: at(1), acknowledged: 501, payload: 1000, ..to };
        hands.sends(0, 9, data);
        hands.sends(9, 0, Says { sequence: 501, acknowledged: at(1001), payload: 1000, ..back });
        assert_eq!(hands.known(), 2);
        hands.sends(0, 9, Says { flags: RST, sequence: at(1001), ..to });
        assert_eq!((hands.known(), hands.error()), (0, None));
    }
    // Without an end of the last one: its ports are used again all the same.
    hands.sends(0, 9, Says { flags: SYN, sequence: 1, ..to });
    hands.sends(0, 9, Says { sequence: 2, payload: 1000, ..to });
    hands.sends(0, 9, Says { flags: SYN, sequence: 900, ..to });
    hands.sends(0, 9, Says { sequence: 901, payload: 1000, ..to });
    assert_eq!(hands.again(), 0);
    hands.sends(0, 9, Says { sequence: 901, payload: 1000, ..to });
    assert_eq!(hands.again(), 1, "this one is");
    hands.audit();
}

/// Breaks if places of connections whose end nobody can see, datagrams', are never free again: the
/// run would end with all of a host's places taken and no connection open.
#[test]
fn places_of_datagrams_are_used_again() {
    let mut hands = Hands::of(programs(&[0], true));
    for number in 0..66_000u32 {
        let ports = (number as u16, 53 + (number >> 16) as u16);
        let bytes = frame(0, [10, 0, 0, 9], UDP, Says { ports, payload: 20, ..SAYS });
        hands.happens(0, Happening::Frame { token: 0, bytes });
        if number % 100 == 0 {
            hands.rest();
        }
    }
    hands.rest();
    assert_eq!((hands.error(), hands.delivered()), (None, 66_000));
    hands.audit();
}

/// Breaks if packets of other protocols do not arrive, or what leads to no host is a fault.
#[test]
fn programs_send_what_they_like() {
    let mut hands = Hands::of(programs(&[0], true));
    for protocol in [UDP, UDP, 1] {
        hands.sends_frame(0, frame(0, [10, 0, 0, 9], protocol, Says { payload: 500, ..SAYS }));
    }
    assert_eq!((hands.error(), hands.sent(), hands.delivered()), (None, 3, 3));
    for nowhere in [[10, 0, 200, 1], [8, 8, 8, 8], [224, 0, 0, 1], [10, 0, 0, 0]] {
        hands.sends_frame(0, frame(0, nowhere, UDP, SAYS));
    }
    hands.sends_frame(0, vec![0; 60]);
    assert_eq!((hands.error(), hands.sent()), (None, 3));
    hands.audit();
}

/// Breaks if what a program wrote is another's, or how it ended is not kept.
#[test]
fn what_programs_leave_behind() {
    let mut hands = Hands::of(programs(&[4, 2], false));
    assert!(!hands.run.driver.is_over(hands.run.flows.ending()), "it waits for both");
    for text in ["a", "b"] {
        hands.report(2, Report::Wrote(1, false, text.into()));
    }
    hands.report(4, Report::Wrote(0, true, "oh".into()));
    hands.report(4, Report::Ended(0, 3 << 8));
    assert!(!hands.run.driver.is_over(hands.run.flows.ending()));
    assert_eq!(hands.run.waits_for_programs(1).to_string().matches("server on host2").count(), 1);
    hands.report(2, Report::Ended(1, 9));
    assert!(hands.run.driver.is_over(hands.run.flows.ending()));
    let rows = hands.audit();
    let [first, second] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((first.host, &*first.stderr, first.exit_code()), (4, &b"oh"[..], Some(3)));
    assert_eq!((second.host, &*second.stdout, second.signal()), (2, &b"ab"[..], Some(9)));
    assert_eq!((first.signal(), second.exit_code(), second.stderr.len()), (None, None, 0));
    assert!(first.end < second.end && first.start == Time::ZERO && !first.cut);
}

/// Breaks if a program that never stops writing takes all memory.
#[test]
fn what_is_kept_of_a_program_is_limited() {
    let mut hands = Hands::of(programs(&[0], true));
    for _ in 0..17 {
        hands.report(0, Report::Wrote(0, false, vec![b'x'; 1 << 20]));
    }
    hands.report(0, Report::Wrote(7, false, b"of nobody".to_vec()));
    let rows = hands.audit();
    assert_eq!((rows[0].stdout.len(), rows[0].cut, rows.len()), (16 << 20, true, 1));
}

/// Breaks if hosts of the model are to run programs.
#[test]
fn the_model_runs_no_programs() {
    let mut spec = base();
    spec.workloads = vec![programs(&[0], true)];
    let error = Simulation::new(&spec).err().expect("refused").to_string();
    assert!(error.contains("hosts.kind = \"linux\""), "{error}");
    spec.workloads[0].senders = HostSet::List(vec![HostId(60_000)]);
    let error = Simulation::new(&spec).err().expect("refused").to_string();
    assert!(error.contains("hosts"), "{error}");
}
