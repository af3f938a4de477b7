//! Flex: flowlets cut at the host, with a timeout that follows the load.
//!
//! Source: Diao, Gu, Yu, Qin and Luo, "Flex: A Flowlet-level Load Balancing based on Load-adaptive Timeout
//! in DCN", Future Generation Computer Systems 130, 2022; reconstructed. Its abstract has a timeout
//! for each flow that follows the path's condition, and one bit of the TCP header that tells adjacent
//! flowlets apart. AQ-CAR (§III, its reference 7) has it compared: "a load balancing
//! scheme based on load-adaptive flowlet timeout. It splits network traffic into flowlets at end
//! hosts and forwards each packet at switches using both the five-tuple and a flowlet tag". How the
//! timeout follows the load is not stated there. Chosen here, from what a flowlet timeout is for (it
//! must exceed the difference of two paths' delays):
//!
//! * once a round trip, the timeout moves half of the way towards
//!   `lowest + (srtt - base RTT) x (1 + F)`, within `lowest` and `highest`, where F is the
//!   share of marked ACKs: queues that are seen, and seen to be congested, ask for a longer gap;
//! * a flow that was silent for a smoothed round trip halves it: nothing of it is left in the
//!   network to be overtaken;
//! * a pause longer than the timeout ends the flowlet: its tag of one bit is turned, and the switches
//!   hash the next flowlet to the flow's other path.
//!
//! State per flow: 4 words at the sender. Cost per packet: a comparison; per round trip a division.
//!
//! Provenance: reconstructed.

use super::round_trip::{Share, count};
use super::{EdgeContext, Entry, FlowView, HostEdge, HostEnv, Needs};
use crate::{
    Demands, Kind, Meaning, Param, ParamError, Params, Provenance, SchemeInfo, parameters,
};
use leafspine_core::{PacketMeta, Span};

/// Words of a flow's state: when it last sent; its round trip; its timeout with the tag in the lowest
/// bit; its smoothed round-trip time.
const LAST: usize = 0;
const ROUND_TRIP: usize = 1;
const TIMEOUT: usize = 2;
const SRTT: usize = 3;
const TAG: u64 = 1;

struct Flex {
    mss: u64,
    base_rtt: u64,
    lowest: u64,
    highest: u64,
}

impl Flex {
    /// The flow's timeout; a new flow has the lowest.
    fn timeout(&self, flow: &FlowView<'_>) -> u64 {
        (flow.state[TIMEOUT] & !TAG).max(self.lowest)
    }

    fn set_timeout(&self, flow: &mut FlowView<'_>, timeout: u64) {
        let timeout = timeout.clamp(self.lowest, self.highest) & !TAG;
        flow.state[TIMEOUT] = timeout | flow.state[TIMEOUT] & TAG;
    }

    /// Half of the way to what the round trip's delay and marks ask for.
    fn adapt(&self, flow: &mut FlowView<'_>, share: Share) {
        let queueing = flow.state[SRTT].saturating_sub(self.base_rtt);
        let marked = queueing / u64::from(share.acks) * u64::from(share.marked);
        let wanted = self.lowest.saturating_add(queueing).saturating_add(marked);
        self.set_timeout(flow, self.timeout(flow) / 2 + wanted.min(self.highest) / 2);
    }
}

impl HostEdge for Flex {
    fn needs(&self) -> Needs {
        Needs { keeps_class: true, ..Needs::default() }
    }

    fn sending(
        &mut self,
        packet: &mut PacketMeta,
        flow: &mut FlowView<'_>,
        cx: &mut EdgeContext<'_>,
    ) {
        let pause = cx.now.0.saturating_sub(flow.state[LAST]);
        let timeout = self.timeout(flow);
        if flow.bytes_sent > 0 && pause > timeout {
            flow.state[TIMEOUT] ^= TAG;
            if pause > flow.state[SRTT] {
                self.set_timeout(flow, timeout / 2);
            }
        }
        flow.state[LAST] = cx.now.0;
        packet.tag = (flow.state[TIMEOUT] & TAG) as u16;
    }

    fn acked(
        &mut self,
        ack: &PacketMeta,
        rtt: Option<Span>,
        flow: &mut FlowView<'_>,
        _: &mut EdgeContext<'_>,
    ) {
        if let Some(Span(rtt)) = rtt {
            let srtt = flow.state[SRTT];
            // RFC 6298's gain of an eighth.
            flow.state[SRTT] = if srtt == 0 { rtt } else { srtt - srtt / 8 + rtt / 8 };
        }
        let next = flow.bytes_sent.div_ceil(self.mss) as u32;
        if let Some(share) = count(&mut flow.state[ROUND_TRIP], ack, next) {
            self.adapt(flow, share);
        }
    }
}

parameters! {
    struct Settings {
        lowest: Span = Param::new(
            Kind::Span(2, 1_000_000_000_000),
            "0.5rtt",
            "The smallest flowlet timeout.",
        )
        .means(Meaning::FlowletGap),
        highest: Span = Param::new(
            Kind::Span(2, 1_000_000_000_000),
            "5rtt",
            "The largest flowlet timeout.",
        ),
    }
}

fn build(params: &Params, env: &HostEnv) -> Result<Box<dyn HostEdge>, ParamError> {
    let settings = Settings::read(params)?;
    let (lowest, highest) = (settings.lowest, settings.highest);
    if highest < lowest {
        return Err(ParamError::new("highest", highest, format!("at least lowest, {lowest}"))
            .or(ParamError::new("lowest", lowest, format!("at most highest, {highest}"))));
    }
    Ok(Box::new(Flex {
        mss: u64::from(env.mss),
        base_rtt: env.base_rtt.0,
        // The lowest bit is the tag's.
        lowest: lowest.0 & !TAG,
        highest: highest.0 & !TAG,
    }))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "flex",
        summary: "Cuts flowlets at the host by a timeout that follows the load, and turns a tag of one \
                  bit that switches hash.",
        source: "Diao et al., Flex, FGCS 2022, as AQ-CAR describes and compares it",
        provenance: Provenance::Reconstructed,
        unspecified: &[
            "How the timeout follows the load: half of the way, once a round trip, to lowest + \
             (smoothed RTT - base RTT) x (1 + marked share).",
            "A flow that was silent for a smoothed round trip halves its timeout.",
            "A new flow has the lowest timeout. ACKs keep the path of their hash.",
        ],
        params: Settings::PARAMS,
        demands: Demands { header_bits: 1, ..Demands::NONE },
    },
    build,
    balancers: &["ecmp", "wcmp"],
    by_marks: false,
    by_stack: true,
    in_order: None,
    sprays: false,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use crate::testing::{FakeHost, control, data};
    use leafspine_core::Flags;

    const MSS: u32 = 1_000;

    fn us(n: u64) -> Span {
        Span::from_micros(n)
    }

    /// Timeouts from 50 to 500 us, an empty fabric's round trip of 20 us.
    fn made() -> (Box<dyn HostEdge>, FakeHost) {
        let host = FakeHost::new(MSS);
        (build(&Params::defaults(ENTRY.info.params), &host.env).unwrap(), host)
    }

    /// Sends a segment after a pause; its tag.
    fn send(edge: &mut dyn HostEdge, host: &mut FakeHost, pause: Span) -> u16 {
        host.now += pause;
        let mut packet = data(0, 9, 1, 0);
        host.send(edge, &mut packet);
        host.bytes_sent += u64::from(MSS);
        packet.tag
    }

    /// Ten segments without pauses, each acknowledged at once with this sample, so many marked.
    fn round_trip(edge: &mut dyn HostEdge, host: &mut FakeHost, rtt: Span, marked: u32) {
        for n in 0..10 {
            let flags = if n < marked { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
            segment(edge, host, rtt, flags);
        }
    }

    /// The same without marks, so many.
    fn lone_acks(edge: &mut dyn HostEdge, host: &mut FakeHost, rtt: Span, count: u32) {
        (0..count).for_each(|_| segment(edge, host, rtt, Flags::ACK));
    }

    /// A segment without a pause, and its ACK.
    fn segment(edge: &mut dyn HostEdge, host: &mut FakeHost, rtt: Span, flags: Flags) {
        send(edge, host, Span(0));
        let seq = (host.bytes_sent / u64::from(MSS)) as u32;
        let ack = PacketMeta { seq, ..control(9, 0, 80, flags) };
        host.with(|flow, cx| edge.acked(&ack, Some(rtt), flow, cx));
    }

    /// The longest pause that does not turn the tag, in whole us.
    fn timeout(edge: &mut dyn HostEdge, host: &FakeHost) -> u64 {
        let mut turns = |pause| {
            let mut trial = host.clone();
            let before = send(edge, &mut trial, Span(0));
            send(edge, &mut trial, us(pause)) != before
        };
        (1..1_000).take_while(|pause| !turns(*pause)).count() as u64
    }

    /// Breaks if a pause of just the timeout cuts, or a longer one does not, or if a cut does not
    /// turn the one bit.
    #[test]
    fn longer_pauses_turn_the_tag() {
        let (mut edge, mut host) = made();
        let tags: Vec<u16> =
            [0, 50, 51, 50, 51].into_iter().map(|p| send(&mut *edge, &mut host, us(p))).collect();
        assert_eq!(tags, [0, 0, 1, 1, 0]);
    }

    /// Breaks if the first packet of a flow that starts late is taken for a second flowlet.
    #[test]
    fn a_late_start_is_no_pause() {
        let (mut edge, mut host) = made();
        assert_eq!(send(&mut *edge, &mut host, us(10_000)), 0);
    }

    /// Breaks if the timeout does not approach 50 + (120 - 20) us without marks, or 50 + 2 x 100 us
    /// with nothing but marks, half the way each round trip.
    #[test]
    fn delay_and_marks_lengthen_it() {
        let (mut edge, mut host) = made();
        for _ in 0..40 {
            round_trip(&mut *edge, &mut host, us(120), 0);
        }
        assert!(
            (149..=150).contains(&timeout(&mut *edge, &host)),
            "{}",
            timeout(&mut *edge, &host)
        );
        for _ in 0..40 {
            round_trip(&mut *edge, &mut host, us(120), 10);
        }
        assert!(
            (249..=250).contains(&timeout(&mut *edge, &host)),
            "{}",
            timeout(&mut *edge, &host)
        );
    }

    /// Breaks if a round trip does not move the timeout half of the way, or if its delay is not smoothed by an
    /// eighth an ACK: from 50 towards 150 us; then, at 150, two ACKs of 280 us make a smoothed 157.5 of 120
    /// us, which ask for 187.5. Of ACKs that leave nothing in flight, every second ends a round trip.
    #[test]
    fn it_moves_half_of_the_way_to_the_smoothed_delay() {
        let (mut edge, mut host) = made();
        lone_acks(&mut *edge, &mut host, us(120), 2);
        assert_eq!(timeout(&mut *edge, &host), 100);
        lone_acks(&mut *edge, &mut host, us(120), 40);
        lone_acks(&mut *edge, &mut host, us(280), 2);
        let found = timeout(&mut *edge, &host);
        assert!((168..=169).contains(&found), "{found}");
    }

    /// Breaks if the timeout leaves its bounds.
    #[test]
    fn it_stays_within_bounds() {
        let (mut edge, mut host) = made();
        for _ in 0..40 {
            round_trip(&mut *edge, &mut host, us(5_000), 10);
        }
        // Half of the way each time: it comes to within a microsecond.
        assert!(
            (499..=500).contains(&timeout(&mut *edge, &host)),
            "{}",
            timeout(&mut *edge, &host)
        );
        for _ in 0..40 {
            round_trip(&mut *edge, &mut host, us(20), 0);
        }
        assert!((50..=51).contains(&timeout(&mut *edge, &host)), "{}", timeout(&mut *edge, &host));
    }

    /// Breaks if a silence longer than the round trip does not halve the timeout.
    #[test]
    fn silence_halves_it() {
        let (mut edge, mut host) = made();
        for _ in 0..40 {
            round_trip(&mut *edge, &mut host, us(300), 0);
        }
        let before = timeout(&mut *edge, &host);
        send(&mut *edge, &mut host, us(2_000));
        let after = timeout(&mut *edge, &host);
        assert_eq!(after, before / 2, "from {before}");
        // A first sample of 400 us moves the timeout to 240 us: a pause between these ends a flowlet,
        // but what was sent may still be under way.
        let (mut edge, mut host) = made();
        lone_acks(&mut *edge, &mut host, us(400), 2);
        let before = timeout(&mut *edge, &host);
        assert_eq!(send(&mut *edge, &mut host, us(350)), 1);
        assert_eq!((before, timeout(&mut *edge, &host)), (240, 240));
    }

    /// Breaks if bounds that cross are taken.
    #[test]
    fn the_bounds_must_not_cross() {
        let params = Params::defaults(ENTRY.info.params).with("highest", Value::Span(us(20)));
        let error = build(&params, &FakeHost::new(MSS).env).err().unwrap();
        assert_eq!(error.to_string(), "highest: found 20us; allowed: at least lowest, 50us");
    }
}
