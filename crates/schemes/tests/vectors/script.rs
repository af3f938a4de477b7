//! The generic events of a vector: they suit any scheme of a place.
//!
//! One event a line, without decisions; `vector::replay` puts these beside them. Where a scheme has
//! more to show (tags, probes, feedback), its vector is edited and filled again.

use super::header::Header;
use leafspine_core::mix;
use leafspine_schemes::registry::{self, Place};
use leafspine_schemes::testing::FakeLeaf;
use std::fmt::Display;

const US: u64 = 1_000_000;
const MS: u64 = 1_000 * US;

/// Events for the scheme of a header.
pub fn generic(header: &Header) -> Result<String, String> {
    let mut script = Script { at: 0, packets: 0, text: String::new() };
    match header.place {
        Place::LoadBalancer => script.balancer(header)?,
        Place::Aqm => script.aqm(header)?,
        Place::Hold => script.spells(),
        Place::HostEdge => script.edge(header)?,
        Place::Transport => return Err("congestion controls have no vectors".to_owned()),
    }
    Ok(script.text)
}

struct Script {
    at: u64,
    /// How many have been named.
    packets: u32,
    text: String,
}

/// The calls that a balancer needs.
#[derive(Clone, Copy)]
struct Calls {
    arrived: bool,
    leaving: bool,
}

const KNOWN: &str = "the header has looked";

impl Script {
    fn note(&mut self, text: &str) {
        self.text += &format!("\n# {text}\n");
    }

    fn event(&mut self, text: impl Display) {
        self.text += &format!("{} {text}\n", self.at);
    }

    fn paths(&mut self, ports: &str, delay: &str) {
        self.event(format!("paths {ports} delay={delay}"));
    }

    fn wait(&mut self, ps: u64) {
        self.at += ps;
    }

    /// A number for a packet that has not been named.
    fn next_packet(&mut self) -> u32 {
        self.packets += 1;
        self.packets
    }

    fn balancer(&mut self, header: &Header) -> Result<(), String> {
        let entry = registry::load_balancer(header.info.name).expect(KNOWN);
        let mut balancer =
            (entry.build)(&header.params, &header.switch).map_err(|e| e.to_string())?;
        let needs = balancer.needs();
        let calls = Calls { arrived: needs.arrived, leaving: needs.leaving };
        self.event("needs");
        self.paths(
            "ports=4,5,6,7 capacity=10000000,10000000,10000000,10000000",
            "2000000,2000000,2000000,2000000",
        );
        self.openings(calls);
        self.gaps(calls);
        self.backlogs(calls);
        self.failures(calls);
        self.long_flow(calls);
        if calls.arrived {
            self.fabric_side(calls);
        }
        self.note("After a long silence.");
        self.wait(20 * MS);
        for flow in 0..4 {
            self.data(calls, flow, 90);
            self.wait(2 * US);
        }
        self.wait(MS);
        self.event("wait");
        if balancer.roles().aqm().is_some() {
            let release = balancer.roles().aqm().is_some_and(|aqm| aqm.needs().release);
            self.queues(4, header.switch.queues, release);
        }
        if balancer.roles().hold().is_some() {
            self.spells();
        }
        Ok(())
    }

    /// A packet of a flow towards another leaf passes the switch. Flow n is host n mod 4's, to host
    /// 4 + 5n mod 12.
    fn pass(&mut self, calls: Calls, flow: u16, fields: &str) {
        let (src, dst) = (flow % 4, 4 + flow * 5 % 12);
        let (packet, to) = (self.next_packet(), dst / 4);
        let mut described =
            format!(" src={src} dst={dst} sport={} dport=5001 {fields}", 1024 + flow);
        if calls.arrived {
            self.event(format!("arrived port={src} packet={packet}{described}"));
            described.clear();
        }
        self.event(format!("pick to={to} packet={packet}{described}"));
        if calls.leaving {
            self.event(format!("leaving packet={packet} start={}", self.at));
        }
    }

    fn data(&mut self, calls: Calls, flow: u16, seq: u32) {
        let fields = format!("seq={seq} size=1500 payload=1460 flags=AD ecn=2");
        self.pass(calls, flow, &fields);
    }

    fn openings(&mut self, calls: Calls) {
        self.note("Twelve flows open, then send two segments each.");
        for flow in 0..12 {
            self.pass(calls, flow, "size=40 flags=S");
            self.wait(US);
        }
        for seq in 0..2 {
            for flow in 0..12 {
                self.data(calls, flow, seq);
                self.wait(1_200_000);
            }
        }
    }

    fn gaps(&mut self, calls: Calls) {
        self.note("Bursts of three packets, pauses of several lengths between them.");
        let gaps = [50 * US, 99 * US, 101 * US, 499 * US, 500 * US, 500 * US + 1, 700 * US, 2 * MS];
        for (burst, gap) in gaps.into_iter().enumerate() {
            for n in 0..3 {
                self.data(calls, 0, 2 + 3 * burst as u32 + n);
                if n == 1 {
                    self.data(calls, 5, 2 + burst as u32);
                }
                if n < 2 {
                    self.wait(1_200_000);
                }
            }
            self.wait(gap);
        }
    }

    fn backlogs(&mut self, calls: Calls) {
        self.note("Ports with unlike backlogs, which then change round.");
        let lengths = [(20, 0), (3, 0), (0, 0), (80, 1)];
        for turn in 0..4 {
            for (index, (packets, queue)) in lengths.into_iter().enumerate() {
                let port = 4 + (index + turn) % 4;
                // The other queue is empty.
                let bytes = packets * 1500;
                let busy = if index == 2 { 0 } else { 1500 };
                self.event(format!("backlog port={port} queue={} packets=0 bytes=0", 1 - queue));
                let line = format!("backlog port={port} queue={queue} packets={packets}");
                self.event(format!("{line} bytes={bytes} in_service={busy}"));
            }
            for flow in [0, 1, 2, 3, 9, 12 + turn as u16] {
                self.data(calls, flow, 40 + turn as u32);
                self.wait(700_000);
            }
            // An ACK and a packet that is marked already.
            self.pass(calls, 6, "seq=7 size=40 flags=A");
            self.pass(calls, 7, "seq=9 size=1500 payload=1460 flags=AD ecn=3");
            self.wait(600 * US);
        }
        for port in 4..8 {
            for queue in 0..2 {
                let line = format!("backlog port={port} queue={queue}");
                self.event(format!("{line} packets=0 bytes=0 in_service=0"));
            }
        }
    }

    fn failures(&mut self, calls: Calls) {
        let flows = [0, 1, 2, 3, 5, 9, 10];
        self.note("A slow port, and a long way through it.");
        self.event("link port=5 rate=1000000000 delay=11000000");
        self.paths(
            "ports=4,5,6,7 capacity=10000000,1000000,10000000,10000000",
            "2000000,12000000,2000000,2000000",
        );
        self.round(calls, &flows, 50);
        self.note("One port fails, then all but one, then the first one is back alone.");
        self.event("link port=6 up=0");
        self.paths("ports=4,5,7 capacity=10000000,1000000,10000000", "2000000,12000000,2000000");
        self.round(calls, &flows, 51);
        self.event("link port=4 up=0");
        self.event("link port=7 up=0");
        self.paths("ports=5 capacity=1000000", "12000000");
        self.round(calls, &flows, 52);
        self.event("link port=5 up=0");
        self.event("link port=6 up=1");
        self.paths("ports=6 capacity=10000000", "2000000");
        self.round(calls, &flows, 53);
        self.note("One leaf is reached by two ports only; then all are up and fast.");
        for port in [4, 5, 7] {
            self.event(format!("link port={port} rate=10000000000 delay=1000000 up=1"));
        }
        self.paths(
            "ports=4,5,6,7 capacity=10000000,10000000,10000000,10000000",
            "2000000,2000000,2000000,2000000",
        );
        self.paths("to=2 ports=5,7 capacity=10000000,10000000", "2000000,2000000");
        self.round(calls, &flows, 54);
        self.paths(
            "to=2 ports=4,5,6,7 capacity=10000000,10000000,10000000,10000000",
            "2000000,2000000,2000000,2000000",
        );
        self.round(calls, &flows, 55);
    }

    /// Two packets of each flow, at once and after a pause.
    fn round(&mut self, calls: Calls, flows: &[u16], seq: u32) {
        for pause in [10 * US, 900 * US] {
            for flow in flows {
                self.data(calls, *flow, seq);
                self.wait(300_000);
            }
            self.wait(pause);
        }
    }

    fn long_flow(&mut self, calls: Calls) {
        self.note("A flow passes 100 KB in segments of 9,000 bytes, then closes.");
        for seq in 0..16 {
            let fields = format!("seq={seq} size=9000 payload=8960 flags=AD ecn=2");
            self.pass(calls, 20, &fields);
            self.wait(if seq == 13 { 600 * US } else { 8 * US });
        }
        self.pass(calls, 20, "seq=16 size=1500 payload=1460 flags=AFD ecn=2");
        self.wait(US);
        self.pass(calls, 20, "size=40 flags=R");
    }

    /// Packets for this leaf's hosts, some with words in the scheme's header, and their answers.
    fn fabric_side(&mut self, calls: Calls) {
        self.note("Packets from other leaves: without a header, with small words, with any words.");
        for n in 0..24u16 {
            let random = mix(u64::from(n) + 1);
            let (word0, word1) = match n % 3 {
                0 => (0, 0),
                1 => (random & 7, random >> 8 & 7),
                _ => (random & 0xffff_ffff, random >> 32),
            };
            let (src, dst) = (4 + n * 5 % 12, n % 4);
            let kind = match n % 4 {
                0 => "size=40 flags=A",
                1 => "size=40 flags=SA",
                2 => "size=1500 payload=1460 flags=AD ecn=3",
                _ => "size=1500 payload=1460 flags=AD ecn=2",
            };
            let (from, packet) = (4 + random % 4, self.next_packet());
            let tuple = format!("src={src} dst={dst} sport=5001 dport={}", 1024 + n);
            let header = format!("header0={word0} header1={word1}");
            self.event(format!(
                "arrived port={from} packet={packet} {tuple} seq={n} {kind} {header}"
            ));
            if calls.leaving {
                self.event(format!("leaving packet={packet} port={dst} start={}", self.at));
            }
            self.wait(30 * US);
            self.data(calls, n, 60);
            self.wait(70 * US);
        }
    }

    fn aqm(&mut self, header: &Header) -> Result<(), String> {
        let entry = registry::queue_manager(header.info.name).expect(KNOWN);
        let aqm = (entry.build)(&header.params, &header.switch, header.manages)
            .map_err(|e| e.to_string())?;
        self.queues(header.manages.0, header.switch.queues, aqm.needs().release);
        Ok(())
    }

    /// One packet asks a port's queue manager. Two queues wait behind one line: `own` packets in the
    /// packet's, `other` in the next.
    fn ask_manager(&mut self, port: u16, queue: u8, own: u64, other: u64, release: bool) {
        let packet = self.next_packet();
        let kind = match packet % 7 {
            3 => "size=40 flags=A ecn=0",
            5 => "size=1500 payload=1460 flags=AD ecn=3",
            6 => "size=576 payload=536 flags=AD ecn=2",
            _ => "size=1500 payload=1460 flags=AD ecn=2",
        };
        let bytes = |packets: u64| packets * 1500 - packets / 5 * 900;
        let sum = own + other;
        let view = format!(
            "port={port} queue={queue} packets={own} bytes={} total_packets={sum} total_bytes={} \
             in_service={}",
            bytes(own),
            bytes(own) + bytes(other),
            if sum > 0 { 1500 } else { 0 },
        );
        let tuple = format!("src=0 dst=9 sport={} dport=5001", 1024 + packet % 16);
        self.event(format!("admit {view} packet={packet} {tuple} seq={packet} {kind}"));
        if release {
            // What waits drains at 10 Gb/s; a packet is asked for as it leaves.
            let waited = bytes(sum) * 800;
            self.event(format!("release {view} waited={waited} packet={packet}"));
        }
    }

    fn queues(&mut self, port: u16, queues: u8, release: bool) {
        let turns = queues > 1;
        self.note("A queue that grows packet by packet and shrinks, alone and beside another.");
        let up: [u64; 22] =
            [0, 0, 1, 2, 3, 4, 5, 8, 10, 15, 16, 19, 20, 21, 30, 39, 40, 41, 64, 65, 66, 120];
        for other in [0, 30] {
            for own in up.iter().chain(up.iter().rev()) {
                self.ask_manager(port, 0, *own, if turns { other } else { 0 }, release);
                self.wait(1_200_000);
            }
        }
        self.note("A standing queue of 30 packets, which two queues share where there are two.");
        let mut began = [self.at; 2];
        for n in 0..100 {
            let queue = if turns { n % 2 } else { 0 };
            self.ask_manager(
                port,
                queue as u8,
                if turns { 20 } else { 30 },
                10 * u64::from(turns),
                release,
            );
            self.wait(1_200_000);
            if turns {
                let since = began[queue];
                self.event(format!("turn_ended queue={queue} since={since}"));
                began[queue] = self.at;
            }
        }
        self.note("Idle, then a burst; the line slows to 1 Gb/s; another burst.");
        for rate in [10_000_000_000u64, 1_000_000_000] {
            self.event(format!("link port={port} rate={rate}"));
            self.wait(MS);
            for own in 0..24 {
                self.ask_manager(port, 0, own, 0, release);
                self.wait(100_000);
            }
        }
        self.event(format!("link port={port} rate=10000000000"));
        self.note("A standing queue of 90 packets for 201 ms, then nothing for a second.");
        for n in 0..40 {
            self.ask_manager(port, 0, 90, 0, release);
            self.wait(if n < 20 { 50 * US } else { 10 * MS });
        }
        for own in [0, 1, 0] {
            self.wait(1_000 * MS);
            self.ask_manager(port, 0, own, 0, release);
        }
    }

    /// Port 4's output queue has spells of congestion; ACKs and other packets come in by it, and by
    /// port 5, whose queue stays short.
    fn spells(&mut self) {
        self.event("limits");
        for peak in [15, 21, 22, 24, 30, 60, 100] {
            self.note(&format!("A spell of congestion that peaks at {peak} packets."));
            let ramp = [5, peak / 2, peak - 1, peak, peak - 1, peak * 3 / 4];
            let down = (0..=peak / 2).rev().filter(|backlog| *backlog < 26 || backlog % 10 == 0);
            for backlog in ramp.into_iter().chain(down) {
                self.event(format!("backlog_changed port=4 backlog={backlog}"));
                self.wait(US);
                if backlog % 2 == 0 || backlog == peak {
                    self.ingress(4, backlog);
                }
                if backlog % 5 == 0 {
                    self.ingress(5, 2);
                }
            }
            self.event("backlog_changed port=5 backlog=1");
            self.wait(3 * MS);
        }
        self.note("A second spell begins before the first has ended.");
        for backlog in [50, 25, 18, 12, 30, 45, 22, 19, 11, 5, 2, 0] {
            self.event(format!("backlog_changed port=4 backlog={backlog}"));
            self.ingress(4, backlog);
            self.wait(5 * US);
        }
    }

    fn ingress(&mut self, port: u16, backlog: u64) {
        let packet = self.next_packet();
        let kind = match packet % 6 {
            1 => "size=40 flags=SA",
            2 => "size=1500 payload=1460 flags=AD ecn=2",
            4 => "size=40 flags=AF",
            _ => "size=40 flags=A",
        };
        let tuple = format!("src=9 dst=0 sport=5001 dport={}", 1024 + packet % 8);
        let line = format!("ingress port={port} backlog={backlog} packet={packet}");
        self.event(format!("{line} {tuple} seq={packet} {kind}"));
    }

    fn edge(&mut self, header: &Header) -> Result<(), String> {
        let entry = registry::host_edge(header.info.name).expect(KNOWN);
        let edge = (entry.build)(&header.params, &header.host).map_err(|e| e.to_string())?;
        self.event("needs");
        self.sender();
        self.receiver(edge.needs().reassembly);
        Ok(())
    }

    /// A packet that the host sends for a flow: flow n is from host 0 to host 8 + n.
    fn sending(&mut self, flow: u32, sent: u64, fields: &str) -> u32 {
        let packet = self.next_packet();
        let tuple = format!("src=0 dst={} sport={} dport=5001", 8 + flow, 1024 + flow);
        let line = format!("sending flow={flow} flow_sent={sent} packet={packet}");
        self.event(format!("{line} {tuple} {fields}"));
        packet
    }

    fn segment(&mut self, flow: u32, seq: u64) -> u32 {
        let fields = format!("seq={seq} size=1500 payload=1460 flags=AD ecn=2");
        self.sending(flow, seq * 1460, &fields)
    }

    fn ack(&mut self, flow: u32, seq: u64, rtt: Option<u64>, marked: bool) {
        let packet = self.next_packet();
        let flags = if marked { "AE" } else { "A" };
        let tuple = format!("src={} dst=0 sport=5001 dport={}", 8 + flow, 1024 + flow);
        let rtt = rtt.map_or(String::new(), |rtt| format!(" rtt={rtt}"));
        let fields = format!("seq={seq} size=40 flags={flags}");
        self.event(format!("acked flow={flow}{rtt} packet={packet} {tuple} {fields}"));
    }

    fn sender(&mut self) {
        self.note("Three flows open.");
        for flow in 1..=3u32 {
            let packet = self.next_packet();
            let tuple = format!("src=0 dst={} sport={} dport=5001", 8 + flow, 1024 + flow);
            let line = format!("sending flow={flow} flow_size=20000000 packet={packet}");
            self.event(format!("{line} {tuple} size=40 flags=S"));
            self.wait(US);
        }
        self.note("One flow's first 110 segments, acknowledged a round trip later, some with ECE.");
        for seq in 0..110 {
            self.segment(1, seq);
            self.wait(if seq % 40 == 39 { 600 * US } else { 1_200_000 });
            if seq >= 10 {
                let rtt = 20 * US + seq % 16 * 15 * US;
                self.ack(1, seq - 9, (seq % 5 > 0).then_some(rtt), seq / 20 % 2 == 1);
            }
        }
        self.note("Losses: found by duplicate ACKs, and by the timer; retransmissions.");
        for timeout in [0, 1, 1, 0] {
            self.event(format!("lost flow=1 timeout={timeout}"));
            self.sending(1, 160_600, "seq=75 size=1500 payload=1460 flags=AD ecn=2 notes=1");
            self.ack(1, 76, None, false);
            self.segment(1, 110);
            self.wait(10 * MS);
        }
        self.note("Another flow across sizes at which schemes change their minds.");
        for seq in [0, 21, 22, 44, 45, 67, 68, 69, 340, 684, 685, 1_000, 6_848, 6_849, 6_850, 9_000]
        {
            self.segment(2, seq);
            self.wait(30 * US);
            self.ack(2, seq + 1, Some(100 * US), seq % 3 == 0);
        }
        self.note("Pauses of several lengths.");
        let pauses =
            [50 * US, 99 * US, 101 * US, 499 * US, 500 * US, 500 * US + 1, 2 * MS, 20 * MS];
        for (n, pause) in pauses.into_iter().enumerate() {
            self.wait(pause);
            self.segment(3, 2 * n as u64);
            self.wait(1_200_000);
            self.segment(3, 2 * n as u64 + 1);
        }
    }

    /// Packets come back to this host as if it were the receiver, so that they carry what the edge
    /// itself has written: two in three in order, some late, some marked on the way.
    fn receiver(&mut self, reassembles: bool) {
        self.note("A flow of 100 segments is sent, and received with some out of order or marked.");
        let sent: Vec<u32> = (0..100).map(|seq| self.segment(4, seq)).collect();
        let mut order: Vec<usize> = (0..sent.len()).collect();
        // Segments 40 to 49 arrive 30 places late; 70 is lost and comes last.
        order.sort_by_key(|seq| match seq {
            40..50 => seq + 30,
            70 => 1_000,
            _ => *seq,
        });
        let mut have = vec![false; sent.len()];
        for (place, seq) in order.into_iter().enumerate() {
            self.wait(if place % 50 == 49 { 600 * US } else { 1_200_000 });
            have[seq] = true;
            let expected = have.iter().take_while(|has| **has).count();
            let marked = if seq % 10 > 6 { " ecn=3" } else { "" };
            self.event(format!(
                "receiving flow=4 expected={expected} packet={}{marked}",
                sent[seq]
            ));
            if reassembles {
                self.event("reassemble flow=4");
            }
            let packet = self.next_packet();
            let fields = format!("dport=1028 seq={expected} size=40 flags=A");
            self.event(format!("replying flow=4 packet={packet} src=12 dst=0 sport=5001 {fields}"));
        }
        if reassembles {
            for pause in [5 * US, 500 * US, 1_000 * MS] {
                self.wait(pause);
                self.event("reassemble flow=4");
            }
        }
        self.wait(20 * MS);
        self.event("wait");
    }
}

/// The standard leaf must be what the scripts above assume.
#[test]
fn the_standard_leaf_is_as_scripts_assume() {
    let env = FakeLeaf::new(4, 4, 1).env;
    assert_eq!((env.ports.len(), env.tors, env.hosts, env.queues), (8, 4, 16, 2));
}
