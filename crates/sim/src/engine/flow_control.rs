//! Priority-based flow control when a run is built: headroom from the links, and what is left for all.

use super::build::SetupError;
use super::parts::Builder;
use crate::spec::PfcSpec;
use leafspine_core::{Bytes, Rate, Span, SwitchId};
use leafspine_fabric::Owner;
use leafspine_node::pfc::{Frame, PAUSED_BYTES, PRIORITIES, Pfc};
use leafspine_node::{Egress, Shared, Store};
use leafspine_schemes::registry::Place;
use leafspine_schemes::{Meaning, ParamError, Params, SchemeInfo, Value};

/// Three SACK blocks (RFC 2018 §3), which make an ACK longer than its header.
const SACK_BYTES: u32 = 28;

impl Builder<'_> {
    /// Has a switch's ports send pause frames and obey them.
    pub(super) fn control_flow(&self, egress: &mut Egress) -> Result<(), SetupError> {
        let Some(pfc) = &self.spec.switch.pfc else { return Ok(()) };
        let Owner::Switch(id) = egress.owner else {
            // A host takes whatever comes, and only obeys.
            egress.set_pfc(Pfc::new(pfc, []));
            return Ok(());
        };
        let ports = self.graph.ports_of(id);
        let headrooms: Vec<u64> = ports.map(|at| self.headroom(pfc, at)).collect();
        egress.shared = Some(self.pool(pfc, id, &headrooms)?);
        egress.set_pfc(Pfc::new(pfc, headrooms));
        Ok(())
    }

    /// What is left of a switch's buffer for all, without headroom and reserves.
    fn pool(&self, pfc: &PfcSpec, id: SwitchId, headrooms: &[u64]) -> Result<Shared, SetupError> {
        let shared = self.spec.switch.shared.expect("flow control counts in a shared buffer");
        let priorities = u64::from(pfc.lossless.count_ones());
        let apart: u64 = headrooms.iter().map(|room| priorities * (room + pfc.reserve.0)).sum();
        // A packet has to fit beside them, or nothing ever waits.
        let least = apart + u64::from(self.largest_packet());
        if shared.size.0 >= least {
            return Ok(Shared::new(shared.size.0 - apart, shared.alpha));
        }
        let (switch, ports) = (&self.graph.switch(id).name, headrooms.len());
        let found = format!("\"{}\"", shared.size);
        let allowed = format!(
            "at least {}: the headroom and reserves of {switch}'s {ports} ports take {}, and a packet has to fit beside them",
            Bytes(least),
            Bytes(apart),
        );
        let error = ParamError::new("shared_buffer", found, allowed);
        Err(SetupError::Scheme { section: "switch", error })
    }

    /// What may still come by a port once its switch has decided to pause the far end: for two delays
    /// of the link, and for as long as the packet that is being sent when the pause frame is to leave and the frame
    /// itself take; and the packet that made it decide, and the one that the far end is sending when the frame comes.
    fn headroom(&self, pfc: &PfcSpec, at: u32) -> u64 {
        if let Some(bytes) = pfc.headroom {
            return bytes.0;
        }
        let port = &self.graph.ports[at as usize];
        let of_link = self.changes.iter().filter(|change| change.link == port.link);
        let mut range =
            Range { rate: (port.rate, port.rate), delay: (port.delay, port.delay), changes: 0 };
        for change in of_link {
            let rate = change.rate.unwrap_or(port.rate);
            let delay = change.delay.unwrap_or(port.delay);
            range.rate = (range.rate.0.min(rate), range.rate.1.max(rate));
            range.delay = (range.delay.0.min(delay), range.delay.1.max(delay));
            range.changes += 1;
        }
        headroom(&range, self.largest_packet())
    }

    /// The longest packet on a link.
    fn largest_packet(&self) -> u32 {
        let schemes = [
            (Place::LoadBalancer, Some(&self.spec.balancer)),
            (Place::HostEdge, self.spec.edge.as_ref()),
        ];
        let probes = schemes
            .into_iter()
            .filter_map(|(place, scheme)| Some((place.find(&scheme?.name)?, &scheme?.params)))
            .map(|(info, params)| own_packet(info, params));
        // CNPs are shorter than ACKs with their SACK blocks.
        let acks = self.spec.transport.header + SACK_BYTES;
        let others = [acks, u32::from(Frame::BYTES)].into_iter().chain(probes);
        others.fold(self.mtu(), u32::max) + self.spec.transport.protocol.telemetry()
    }
}

/// The longest packet that a scheme with these parameters sends itself, bytes; 0 if none of them says.
fn own_packet(info: &SchemeInfo, params: &Params) -> u32 {
    let size = |(_, value): (&str, &Value)| match value {
        Value::Bytes(size) => Some(size.0),
        Value::Int(size) => Some(*size),
        _ => None,
    };
    let longest = info.about(Meaning::OwnPacket, params).filter_map(size).max().unwrap_or(0);
    u32::try_from(longest).unwrap_or(u32::MAX)
}

/// What a link is in the course of a run.
struct Range {
    /// The lowest and the highest rate.
    rate: (Rate, Rate),
    /// The shortest and the longest delay.
    delay: (Span, Span),
    changes: u64,
}

fn headroom(link: &Range, packet: u32) -> u64 {
    let ((slowest, fastest), (_, delay)) = (link.rate, link.delay);
    let packet = u64::from(packet);
    let before = slowest.time_for(packet + u64::from(Frame::BYTES)) + delay * 2;
    // Times of bytes are rounded down.
    fastest.bytes_in(before).0 + 2 * packet + 2 + link.changes * between_pauses(link, packet)
}

/// What the far end may send between a pause and its renewal if the link changes between the two
/// frames: the second one takes longer, and comes when the first one's pause is over. It leaves half a
/// pause after the first, or a packet later.
fn between_pauses(link: &Range, packet: u64) -> u64 {
    let ((slowest, fastest), (shortest, longest)) = (link.rate, link.delay);
    let later = slowest.time_for(u64::from(Frame::BYTES)) + Span(longest.0 - shortest.0);
    let sooner = fastest.time_for((PAUSED_BYTES / 2).saturating_sub(packet));
    match later.0.saturating_sub(sooner.0) {
        0 => 0,
        gap => fastest.bytes_in(Span(gap)).0 + packet,
    }
}

/// What is wrong with what a switch counts by ingress port and priority, if anything is: it is what waits, and the
/// pool has all that is in no reserve or headroom.
pub(super) fn miscounted(egress: &Egress) -> Option<String> {
    let (pfc, pool) = (egress.pfc()?, egress.shared?);
    let mut waits = vec![[0u64; PRIORITIES]; pfc.ports.len()];
    let mut of_pool = 0;
    for port in &egress.ports {
        let Store::General(general) = &port.store else { continue };
        for queued in general.waiting() {
            match waits.get_mut(usize::from(queued.from)) {
                Some(of_port) => of_port[usize::from(queued.queue)] += u64::from(queued.size()),
                None => of_pool += u64::from(queued.size()),
            }
        }
    }
    for (at, (port, waits)) in pfc.ports.iter().zip(waits).enumerate() {
        for (priority, (group, waits)) in port.groups.iter().zip(waits).enumerate() {
            let held = group.held;
            if held.total() != waits || held.headroom > port.headroom || held.reserve > pfc.reserve
            {
                return Some(format!(
                    "its port {at} counts {held:?} of priority {priority}, but {waits} bytes wait that came in there"
                ));
            }
            of_pool += held.shared;
        }
    }
    let (used, size) = (pool.used, pool.size);
    (of_pool != used)
        .then(|| format!("its pool of {size} bytes counts {used} in use, but {of_pool} are"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use leafspine_schemes::Kind;
    use leafspine_schemes::registry::Place;

    /// Breaks if a delay, a packet or the frame is left out. At 100 Gb/s and 1 us: 25,000 bytes on the way
    /// there and back, three packets of 1,500, the frame of 64, and what rounding takes.
    #[test]
    fn headroom_by_hand() {
        let (rate, delay) = (Rate::from_gbps(100), Span::from_micros(1));
        let link = Range { rate: (rate, rate), delay: (delay, delay), changes: 0 };
        assert_eq!(headroom(&link, 1500), 25_000 + 3 * 1500 + 64 + 2);
    }

    /// At 100 Gb/s half a pause lasts 167.7696 us, and the frame that renews it leaves 120 ns later at
    /// the most. With a delay of 201 us in place of 1 us it comes too late by 32.35552 us: the frame
    /// itself takes 5.12 ns. That is 404,444 bytes, and a packet that has just begun.
    ///
    /// Breaks if what the far end sends then has no room, for each change of the link.
    #[test]
    fn headroom_of_a_delay_that_grows_by_more_than_half_a_pause() {
        let rate = Rate::from_gbps(100);
        let delay = |us| (Span::from_micros(1), Span::from_micros(us));
        let of = |us| headroom(&Range { rate: (rate, rate), delay: delay(us), changes: 3 }, 1500);
        let alone = |us: u64| 2 * us * 12_500 + 3 * 1500 + 64 + 2;
        assert_eq!(of(160), alone(160));
        assert_eq!(of(201), alone(201) + 3 * (404_444 + 1500));
    }

    /// Breaks if packets of a scheme's own that may be longer than all others are left out:
    /// headroom is too small for them then. `flow_size` is what QDAPS takes a flow to have.
    #[test]
    fn packets_of_schemes_own_count() {
        let mut found = Vec::new();
        for info in Place::ALL.iter().flat_map(|place| place.schemes()) {
            for param in info.params.iter().filter(|param| param.name.ends_with("_size")) {
                let longest = match param.kind {
                    Kind::Bytes(_, most) => Value::Bytes(Bytes(most)),
                    Kind::Int(_, most) => Value::Int(most),
                    other => panic!("{}: {other:?}", param.name),
                };
                found.push((
                    info.name,
                    own_packet(info, &Params::default().with(param.name, longest)),
                ));
            }
        }
        found.sort_unstable();
        assert_eq!(found, [("conweave", 1_500), ("hula", 1_500), ("qdaps", 0), ("qdaps-star", 0)]);
    }
}
