//! What guests are told to do, and what they report: frames on a device that leads nowhere else.
//!
//! `linux/guest.c` is the other end. A frame's kind (EtherType) is one for experiments within one's own
//! network; numbers are in the machine's order, as both ends are on one machine, except addresses and
//! ports, which are in that of the network.

/// The EtherType of orders and reports.
pub const OWN: u16 = 0x88b5;
const HEADER: usize = 14;
/// The MAC address of leafspine's end.
const OURS: [u8; 6] = [2, 0, 0, 1, 0, 0];
/// The MAC address of the guest's end.
pub const GUESTS: [u8; 6] = [2, 0, 0, 1, 0, 1];
/// The flow of a report that is about none.
pub const NO_FLOW: u32 = u32::MAX;

/// A flow as both its ends are told of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowOrder {
    /// Its number.
    pub number: u32,
    /// The other end's address.
    pub peer: [u8; 4],
    /// The sender's port.
    pub port: u16,
    /// Bytes of payload.
    pub bytes: u64,
}

/// What a guest is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Write a value to a file under `/proc/sys`: `key=value`.
    Sysctl(String),
    /// Listen for flows, and say so.
    Begin,
    /// A flow is going to come.
    Expect(FlowOrder),
    /// Send a flow.
    Start(FlowOrder),
    /// Say how the flow of this number, which the guest sends, is doing.
    Sample(u32),
    /// More of what the program of this number is told: see `Program::text`.
    Text(u32, Vec<u8>),
    /// Run the program of this number.
    Run(u32),
}

/// A program that a guest runs: it sees the files of this machine, read-only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The folder of this machine that is `/scenario` for it, where it starts.
    pub folder: String,
    /// The host's name.
    pub name: String,
    /// What is in its `/etc/hosts`.
    pub names: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Its environment, `KEY=value`.
    pub environment: Vec<String>,
}

impl Program {
    /// As it is told: strings with a zero after each but the last, the number of arguments before them.
    fn text(&self) -> String {
        let arguments = self.command.len().to_string();
        let head = [&self.folder, &self.name, &self.names, &arguments];
        let all: Vec<&str> = (head.into_iter().chain(&self.command).chain(&self.environment))
            .map(String::as_str)
            .collect();
        all.join("\0")
    }

    /// The orders by which a guest runs it as `number`.
    pub fn orders(&self, number: u32) -> impl Iterator<Item = Order> {
        // A frame has room for so much of it.
        const PIECE: usize = 1400;
        let text = self.text().into_bytes();
        let pieces: Vec<Vec<u8>> = text.chunks(PIECE).map(<[u8]>::to_vec).collect();
        let pieces = pieces.into_iter().map(move |piece| Order::Text(number, piece));
        pieces.chain([Order::Run(number)])
    }
}

impl Order {
    /// The frame that carries it.
    #[must_use]
    pub fn frame(&self) -> Vec<u8> {
        let mut frame = Vec::with_capacity(64);
        frame.extend(GUESTS);
        frame.extend(OURS);
        frame.extend(OWN.to_be_bytes());
        match self {
            Order::Sysctl(text) => {
                frame.push(1);
                frame.extend(text.as_bytes());
            }
            Order::Begin => frame.push(2),
            Order::Expect(flow) => put_flow(&mut frame, 3, flow),
            Order::Start(flow) => put_flow(&mut frame, 4, flow),
            Order::Sample(flow) => {
                frame.push(5);
                frame.extend(flow.to_ne_bytes());
            }
            Order::Text(program, text) => {
                frame.push(6);
                frame.extend(program.to_ne_bytes());
                frame.extend(text);
            }
            Order::Run(program) => {
                frame.push(7);
                frame.extend(program.to_ne_bytes());
            }
        }
        frame
    }
}

fn put_flow(frame: &mut Vec<u8>, kind: u8, flow: &FlowOrder) {
    frame.push(kind);
    frame.extend(flow.number.to_ne_bytes());
    frame.extend(flow.peer);
    frame.extend(flow.port.to_be_bytes());
    // So that the last field is where a C structure would have it.
    frame.extend([0; 2]);
    frame.extend(flow.bytes.to_ne_bytes());
}

/// What the kernel says of a connection (`struct tcp_info`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpInfo {
    /// Segments sent again.
    pub retransmits: u32,
    /// Retransmission timeouts, those of the handshake among them.
    pub timeouts: u32,
    /// Duplicates that the other end reported (DSACK): retransmissions that were not needed.
    pub dsack_duplicates: u32,
    /// Events of reordering that the sender saw.
    pub reorderings: u32,
    /// Congestion window, in segments.
    pub window: u32,
    /// Bytes in a segment.
    pub segment: u32,
    /// Slow start's threshold, in segments.
    pub threshold: u32,
    /// Smoothed round trip, in microseconds.
    pub round_trip_us: u32,
    /// Its variation, in microseconds.
    pub variation_us: u32,
    /// The least round trip, in microseconds.
    pub least_round_trip_us: u32,
    /// Segments that are not acknowledged.
    pub unacknowledged: u32,
    /// Of them, taken for lost.
    pub lost: u32,
    /// Segments delivered.
    pub delivered: u32,
    /// Of them, marked.
    pub delivered_marked: u32,
    /// The state of congestion avoidance, by the kernel's number.
    pub state: u32,
    /// How often the timeout has been doubled.
    pub backoff: u32,
}

const INFO_WORDS: usize = 16;

impl TcpInfo {
    fn parse(body: &[u8]) -> Option<TcpInfo> {
        let mut words = [0; INFO_WORDS];
        for (word, bytes) in words.iter_mut().zip(body.get(..4 * INFO_WORDS)?.chunks_exact(4)) {
            *word = u32::from_ne_bytes(bytes.try_into().ok()?);
        }
        let [
            retransmits,
            timeouts,
            dsack_duplicates,
            reorderings,
            window,
            segment,
            threshold,
            round_trip_us,
            variation_us,
            least_round_trip_us,
            unacknowledged,
            lost,
            delivered,
            delivered_marked,
            state,
            backoff,
        ] = words;
        Some(TcpInfo {
            retransmits,
            timeouts,
            dsack_duplicates,
            reorderings,
            window,
            segment,
            threshold,
            round_trip_us,
            variation_us,
            least_round_trip_us,
            unacknowledged,
            lost,
            delivered,
            delivered_marked,
            state,
            backoff,
        })
    }
}

/// What a guest reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// It has booted, or does listen.
    Ready,
    /// The application has the last byte of a flow.
    Received(u32),
    /// The other end has closed a flow: all is acknowledged.
    Sent(u32, TcpInfo),
    /// Something went wrong, with a flow unless it is [`NO_FLOW`].
    Failed(u32, String),
    /// How a flow is doing.
    Sampled(u32, TcpInfo),
    /// A program has written this, to its standard output or (`true`) its standard error.
    Wrote(u32, bool, Vec<u8>),
    /// A program has ended, in the way that `waitpid` tells.
    Ended(u32, i32),
}

impl Report {
    /// From a frame; `None` if it is no report.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Report> {
        if frame.get(12..HEADER)? != OWN.to_be_bytes() {
            return None;
        }
        let (kind, rest) = frame[HEADER..].split_first()?;
        let (flow, body) = rest.split_first_chunk()?;
        let flow = u32::from_ne_bytes(*flow);
        Some(match kind {
            128 => Report::Ready,
            129 => Report::Received(flow),
            130 => Report::Sent(flow, TcpInfo::parse(body)?),
            131 => Report::Failed(flow, String::from_utf8_lossy(body).trim_end().to_owned()),
            132 => Report::Sampled(flow, TcpInfo::parse(body)?),
            133 => Report::Wrote(flow, *body.first()? == 2, body[1..].to_vec()),
            134 => Report::Ended(flow, i32::from_ne_bytes(body.get(..4)?.try_into().ok()?)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a field is where `linux/guest.c` does not read it.
    #[test]
    fn an_order_for_a_flow() {
        let flow = FlowOrder { number: 7, peer: [10, 0, 0, 3], port: 1024, bytes: 1 << 33 };
        let frame = Order::Start(flow).frame();
        assert_eq!(frame[..12], [GUESTS, OURS].concat());
        assert_eq!(frame[12..15], [0x88, 0xb5, 4]);
        assert_eq!(frame[15..19], 7u32.to_ne_bytes());
        assert_eq!(frame[19..27], [10, 0, 0, 3, 4, 0, 0, 0]);
        assert_eq!(frame[27..], (1u64 << 33).to_ne_bytes());
        assert_eq!(Order::Expect(flow).frame()[14], 3);
        assert_eq!(Order::Sysctl("a.b=1".into()).frame()[14..], *b"\x01a.b=1");
        assert_eq!(Order::Sample(2).frame()[14..], [&[5], &2u32.to_ne_bytes()[..]].concat());
    }

    /// Breaks if a guest would run something else: what it is told comes in pieces that a frame has room for.
    #[test]
    fn a_program_is_told_in_pieces() {
        let program = Program {
            folder: "/here".into(),
            name: "host1".into(),
            names: "10.0.0.1 host1\n".repeat(100),
            command: vec!["echo".into(), String::new(), "x".into()],
            environment: vec!["A=1".into(), "B=".into()],
        };
        let orders: Vec<Order> = program.orders(3).collect();
        let [first, second, Order::Run(3)] = &orders[..] else { panic!("{orders:?}") };
        let mut text = Vec::new();
        for order in [first, second] {
            let frame = order.frame();
            assert!(frame.len() <= 1514);
            assert_eq!(frame[14..19], [&[6], &3u32.to_ne_bytes()[..]].concat());
            text.extend(&frame[19..]);
        }
        let names = "10.0.0.1 host1\n".repeat(100);
        let expected = format!("/here\0host1\0{names}\03\0echo\0\0x\0A=1\0B=");
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!(Order::Run(3).frame()[14..], [&[7], &3u32.to_ne_bytes()[..]].concat());
    }

    fn report(kind: u8, flow: u32, body: &[u8]) -> Option<Report> {
        let own = OWN.to_be_bytes();
        let parts: [&[u8]; 5] = [&[0; 12], &own, &[kind], &flow.to_ne_bytes(), body];
        Report::parse(&parts.concat())
    }

    /// Breaks if a report is taken for another, or read from fewer bytes than it has.
    #[test]
    fn reports() {
        let words: Vec<u8> = (1..=16u32).flat_map(u32::to_ne_bytes).collect();
        let Some(Report::Sent(9, info)) = report(130, 9, &words) else { panic!("no report") };
        assert_eq!((info.retransmits, info.timeouts, info.window, info.backoff), (1, 2, 5, 16));
        assert_eq!((info.dsack_duplicates, info.segment, info.round_trip_us), (3, 6, 8));
        assert_eq!(report(130, 9, &words[..63]), None);
        assert_eq!(report(128, NO_FLOW, &[]), Some(Report::Ready));
        assert_eq!(report(129, 4, &[]), Some(Report::Received(4)));
        assert_eq!(report(131, 4, b"no"), Some(Report::Failed(4, "no".into())));
        assert_eq!(report(133, 4, b"\x02no"), Some(Report::Wrote(4, true, b"no".to_vec())));
        assert_eq!(report(133, 4, b"\x01"), Some(Report::Wrote(4, false, Vec::new())));
        assert_eq!(report(133, 4, b""), None);
        assert_eq!(report(134, 4, &256i32.to_ne_bytes()), Some(Report::Ended(4, 256)));
        assert_eq!(report(134, 4, &[0; 3]), None);
        assert_eq!(report(7, 4, &[]), None);
        assert_eq!(Report::parse(&[0; 13]), None);
        assert_eq!(Report::parse(&[0; 40]), None);
    }
}
