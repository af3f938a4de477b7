//! Traffic-aware marking (§2.4.1; Table 1; Algorithm 1, lines 32 to 38), at every switch.

use super::Tam;
use crate::QueueView;
use crate::aqm::{Admit, Aqm};
use leafspine_core::{Ecn, PacketMeta, Rng, Time};

impl Aqm for Tam {
    fn admit(&mut self, packet: &PacketMeta, queue: &QueueView, now: Time, _: &mut Rng) -> Admit {
        // Line 2: only data packets are TAM's.
        if !packet.is_data() {
            return Admit::Take;
        }
        let slot = self.flows.slot(packet);
        let port = self.ports.at_rate(queue.port, queue.rate);
        let backlog = queue.port_total;
        let mark = if self.flows.is_long(slot) {
            // Table 1, column "long flow": rows 3 and 6 (lines 34 and 35: a short flow is there),
            // rows 4 and 6 (lines 32 and 33: the queue has reached k*).
            port.has_short(now) || port.long_reached(backlog)
        } else {
            self.ports.short_passes(queue.port, now);
            // Column "short flow": rows 5 and 6, whatever else is there: the threshold is K.
            self.ports.of(queue.port).short_reached(backlog)
        };
        // Line 40: the packet goes out here, so its flow is here.
        self.flows.forwarded(slot, queue.port, &mut self.ports);
        if mark && packet.ecn != Ecn::NotCapable { Admit::Mark } else { Admit::Take }
    }
}
