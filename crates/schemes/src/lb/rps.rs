//! RPS: random packet spraying. Every packet takes a port of its own, uniformly at random.
//!
//! Source: Dixit, Prakash, Hu, Kompella, "On the Impact of Packet Spraying in Data Center
//! Networks", INFOCOM 2013.
//!
//! State per switch: none. Cost per packet: one random number, one multiplication.
//!
//! Unspecified in the source: ACKs and connection packets are sprayed like data, as a switch
//! without flow state would.
//!
//! Provenance: paper.

use super::{Entry, LoadBalancer};
use crate::{Context, Demands, ParamError, Params, Paths, Provenance, SchemeInfo, SwitchEnv};
use leafspine_core::{PacketMeta, PortId};

struct Rps;

impl LoadBalancer for Rps {
    fn pick(&mut self, _: &mut PacketMeta, paths: &Paths<'_>, cx: &mut Context<'_>) -> PortId {
        paths.ports[cx.rng.below(paths.ports.len() as u64) as usize]
    }
}

fn build(_: &Params, _: &SwitchEnv) -> Result<Box<dyn LoadBalancer>, ParamError> {
    Ok(Box::new(Rps))
}

pub(crate) const ENTRY: Entry = Entry {
    info: SchemeInfo {
        name: "rps",
        summary: "Sends every packet by a port drawn uniformly at random.",
        source: "Dixit et al., Packet spraying, INFOCOM 2013",
        provenance: Provenance::Paper,
        unspecified: &["ACKs and connection packets are sprayed like data."],
        params: &[],
        demands: Demands::NONE,
    },
    build,
    edge: None,
    host_aqm: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeLeaf, chi_square, data};

    /// Breaks if one flow's packets favour a port, or if a port depends on the one before:
    /// chi-square over the ports (7 degrees of freedom, 0.1 % point 24.3) and over the pairs of
    /// successive ports (63 degrees of freedom, 0.1 % point 103.4).
    #[test]
    fn packets_spread_evenly_and_independently() {
        let mut leaf = FakeLeaf::new(8, 8, 3);
        let mut rps = build(&Params::default(), &leaf.env).unwrap();
        let (mut ports, mut pairs) = ([0u64; 8], [0u64; 64]);
        let mut last = 0;
        for seq in 0..64_000 {
            let port = leaf.pick(&mut *rps, &mut data(0, 9, 1, seq));
            let port = usize::from(port.0 - 8);
            ports[port] += 1;
            pairs[last * 8 + port] += 1;
            last = port;
        }
        let (single, double) = (chi_square(&ports, &[8e3; 8]), chi_square(&pairs, &[1e3; 64]));
        assert!(single < 24.3, "chi-square {single}");
        assert!(double < 103.4, "chi-square of pairs {double}");
    }
}
