//! Classes of packets by the bytes that their flow has sent.

use super::FlowView;
use leafspine_core::PacketMeta;

/// The edges that write classes by bytes.
const EDGES: [&str; 2] = ["stage", "aq-car"];
/// Classes that they write.
const CLASSES: u8 = 3;

/// How many classes, from 0 on, data may have behind this host edge; `None`: it leaves them as they are.
#[must_use]
pub fn classes_written(edge: &str) -> Option<u8> {
    EDGES.contains(&edge).then_some(CLASSES)
}

/// Writes the packet's class: 0 up to the first of `bounds` (rising, in bytes of payload), 1 up to the
/// second, and so on. The packet's own payload counts; a retransmission has the class that its flow has
/// reached. A packet without payload (SYN, ACK, FIN) is of class 0.
#[inline]
pub(super) fn classify(packet: &mut PacketMeta, flow: &FlowView<'_>, mss: u64, bounds: &[u64]) {
    if !packet.is_data() {
        packet.class = 0;
        return;
    }
    let end = u64::from(packet.seq) * mss + u64::from(packet.payload);
    let reached = flow.bytes_sent.max(end);
    let class = bounds.iter().position(|bound| reached <= *bound);
    packet.class = class.unwrap_or(bounds.len()) as u8;
}
