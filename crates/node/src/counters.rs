//! Counts of packets and bytes.

/// Why a packet was dropped at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Cause {
    /// The buffer was full.
    Buffer = 0,
    /// The queue manager said so.
    Manager = 1,
    /// The link was down, or went down while it waited.
    LinkDown = 2,
    /// No way to the destination.
    NoRoute = 3,
}

/// What became of the packets' payload over the whole run, in bytes: retransmissions count again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Payload {
    /// Given to the network, by transports and schemes.
    pub sent: u64,
    /// Received by hosts.
    pub delivered: u64,
    /// Dropped at ports.
    pub dropped: u64,
    /// Lost on the wire.
    pub lost: u64,
    /// Taken out by schemes at switches.
    pub consumed: u64,
    /// Cut off by switches.
    pub trimmed: u64,
    /// Still in the network when the run ended.
    pub in_flight: u64,
}

impl Payload {
    /// Whether every byte is accounted for.
    #[must_use]
    pub fn conserved(&self) -> bool {
        let ended = self.delivered + self.dropped + self.lost + self.consumed + self.trimmed;
        self.sent == ended + self.in_flight
    }
}

/// Counts over the whole run (not only the measurement window).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Transmissions of one packet over one link that have come to their end.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Packets that transports gave to the network.
    pub sent: u64,
    /// Packets that hosts received.
    pub delivered: u64,
    /// Packets dropped at ports, by [`Cause`].
    pub dropped: [u64; 4],
    /// Packets lost on the wire (random loss, or the link went down under them).
    pub lost: u64,
    /// Packets that schemes made at switches.
    pub injected: u64,
    /// Packets that schemes took out at switches.
    pub consumed: u64,
    /// Packets marked CE: one that several ports mark counts once.
    pub marks: u64,
    /// Data packets that arrived.
    pub data_packets: u64,
    /// Of which after a later one, retransmissions not counted.
    pub reordered_packets: u64,
    /// Held packets let go because a hold queue was full.
    pub hold_overflows: u64,
    /// Held packets let go because they had waited their longest.
    pub hold_expiries: u64,
    /// Packets that balancers have kept at switches, to put them in order.
    pub kept_packets: u64,
    /// Pause frames sent (IEEE 802.1Qbb), those that renew a pause among them.
    pub pause_frames: u64,
    /// Packets of lossless priorities dropped because the headroom was full.
    pub lossless_drops: u64,
    /// Storms that a watchdog has ended.
    pub storms: u64,
    /// Packets of lossless priorities that it has dropped in them.
    pub storm_drops: u64,
    /// Packets whose payload switches have cut off.
    pub trimmed: u64,
    /// Of which sent back to their senders.
    pub returned: u64,
    /// Packets in which receivers have asked for one.
    pub credits: u64,
    /// Packets still in the network when the run ended.
    pub in_flight: u64,
    /// The most packets in the network at the starts of the first 64 flows, of every 64th after them,
    /// and at the end.
    pub peak_packets: u64,
    /// The most flows at once.
    pub peak_flows: u64,
    /// Payload bytes that reached an application, each once and in order.
    pub bytes_delivered: u64,
    /// Bytes of payload, by what became of the packets that they were in.
    pub payload: Payload,
}

impl Counters {
    /// Packets that were sent or injected and have not ended.
    #[must_use]
    pub fn in_network(&self) -> u64 {
        let dropped: u64 = self.dropped.iter().sum();
        self.sent + self.injected - self.delivered - dropped - self.lost - self.consumed
    }

    /// Whether every packet is accounted for, sent and injected ones were delivered, dropped, lost,
    /// consumed, or are still in flight, and every byte of their payload.
    #[must_use]
    pub fn conserved(&self) -> bool {
        let dropped: u64 = self.dropped.iter().sum();
        self.sent + self.injected
            == self.delivered + dropped + self.lost + self.consumed + self.in_flight
            && self.payload.conserved()
    }
}

impl Counters {
    /// Adds what another part of the run has counted. What only the whole run has (events and peaks of
    /// the whole) adds up, too.
    pub fn add(&mut self, other: &Counters) {
        let Counters {
            packet_hops,
            events,
            sent,
            delivered,
            dropped,
            lost,
            injected,
            consumed,
            marks,
            data_packets,
            reordered_packets,
            hold_overflows,
            hold_expiries,
            kept_packets,
            pause_frames,
            lossless_drops,
            storms,
            storm_drops,
            trimmed,
            returned,
            credits,
            in_flight,
            peak_packets,
            peak_flows,
            bytes_delivered,
            payload,
        } = other;
        self.packet_hops += packet_hops;
        self.events += events;
        self.sent += sent;
        self.delivered += delivered;
        self.dropped.iter_mut().zip(dropped).for_each(|(sum, more)| *sum += more);
        self.lost += lost;
        self.injected += injected;
        self.consumed += consumed;
        self.marks += marks;
        self.data_packets += data_packets;
        self.reordered_packets += reordered_packets;
        self.hold_overflows += hold_overflows;
        self.hold_expiries += hold_expiries;
        self.kept_packets += kept_packets;
        self.pause_frames += pause_frames;
        self.lossless_drops += lossless_drops;
        self.storms += storms;
        self.storm_drops += storm_drops;
        self.trimmed += trimmed;
        self.returned += returned;
        self.credits += credits;
        self.in_flight += in_flight;
        self.peak_packets += peak_packets;
        self.peak_flows += peak_flows;
        self.bytes_delivered += bytes_delivered;
        self.payload.add(payload);
    }
}

impl Payload {
    fn add(&mut self, other: &Payload) {
        let Payload { sent, delivered, dropped, lost, consumed, trimmed, in_flight } = other;
        self.sent += sent;
        self.delivered += delivered;
        self.dropped += dropped;
        self.lost += lost;
        self.consumed += consumed;
        self.trimmed += trimmed;
        self.in_flight += in_flight;
    }
}
