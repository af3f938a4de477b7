//! Drop-tail: a queue without a manager. What fits in the buffer is taken.
//!
//! Source: RFC 7567 §2 ("tail drop"). State: none. Cost per packet: none. Nothing is left open.
//!
//! Provenance: RFC.

use super::{Admit, Aqm, Entry};
use crate::{Demands, ParamError, Params, Provenance, QueueView, SchemeInfo, SwitchEnv};
use leafspine_core::{PacketMeta, PortId, Rng, Time};

struct DropTail;

impl Aqm for DropTail {
    fn admit(&mut self, _: &PacketMeta, _: &QueueView, _: Time, _: &mut Rng) -> Admit {
        Admit::Take
    }
}

fn build(_: &Params, _: &SwitchEnv, _: PortId) -> Result<Box<dyn Aqm>, ParamError> {
    Ok(Box::new(DropTail))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "droptail",
        summary: "Takes every packet that fits in the buffer and never marks.",
        source: "RFC 7567 §2 (tail drop)",
        provenance: Provenance::Rfc,
        unspecified: &[],
        params: &[],
        demands: Demands::NONE,
    },
    build,
    marks: |_| false,
};
