//! The receiving side of a flow.

use super::SteadyConfig;
use crate::transport::{Assembly, Received};
use leafspine_core::{Flags, PacketMeta};

/// A flow's receiving side.
#[derive(Debug, Default)]
pub struct Receiver {
    /// What has come in order; nothing else is kept.
    pub(crate) assembly: Assembly,
}

impl Receiver {
    /// Makes this the receiver of another flow.
    pub fn reset(&mut self) {
        self.assembly.reset();
    }

    /// A data packet has come: it is acknowledged, whatever it is.
    #[inline]
    pub fn on_packet(
        &mut self,
        cfg: &SteadyConfig,
        p: &PacketMeta,
        reply: &mut PacketMeta,
    ) -> Received {
        let mut seen = Received { reply: true, ..Received::default() };
        seen.reordered = self.assembly.note(p);
        if p.seq == self.assembly.expected() {
            (seen.delivered, seen.complete_now) = self.assembly.take(cfg.mss);
        } else {
            seen.duplicate = p.seq < self.assembly.expected();
            self.assembly.count_duplicate(seen.duplicate);
        }
        reply.seq = self.assembly.expected();
        reply.stamp = p.stamp;
        reply.size = cfg.header as u16;
        reply.flags = Flags::ACK;
        seen
    }
}
