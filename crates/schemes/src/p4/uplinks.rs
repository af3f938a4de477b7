//! Ports among which a P4 program chooses: a number of its own each, from 0.

use super::ControlPlane;
use crate::{Neighbour, ParamError, SwitchEnv};
use leafspine_core::PortId;

/// Most uplinks of a program: each has registers and lines of its own, for P4 has no loops.
pub(crate) const MOST: usize = 16;

/// Most ports of a switch: v1model's have nine bits, and the last drops.
const MOST_PORTS: usize = 511;

/// A switch's ports towards other switches, in order.
#[derive(Clone, Debug)]
pub(crate) struct Uplinks(pub(crate) Vec<PortId>);

impl Uplinks {
    /// # Errors
    /// If there are more than the programs have room for, or more ports than the target has.
    pub(crate) fn new(env: &SwitchEnv) -> Result<Uplinks, ParamError> {
        if env.ports.len() > MOST_PORTS {
            let found = format!("\"p4\" and {} ports", env.ports.len());
            let allowed =
                format!("\"p4\" with at most {MOST_PORTS}: v1model numbers ports by nine bits");
            return Err(ParamError::new("arithmetic", found, allowed));
        }
        let to_switch = |port: &usize| matches!(env.ports[*port].neighbour, Neighbour::Switch(..));
        let uplinks: Vec<PortId> =
            (0..env.ports.len()).filter(to_switch).map(|port| PortId(port as u16)).collect();
        if uplinks.len() > MOST {
            let found = format!("\"p4\" and {} ports to other switches", uplinks.len());
            let allowed =
                format!("\"p4\" with at most {MOST}: the program has registers for so many");
            return Err(ParamError::new("arithmetic", found, allowed));
        }
        Ok(Uplinks(uplinks))
    }

    /// The uplink of a port, from 1; 0 for another port.
    pub(crate) fn number(&self, port: PortId) -> u8 {
        self.0.iter().position(|own| *own == port).map_or(0, |at| at as u8 + 1)
    }

    /// Names them to the program: their ports, and for how many it is compiled.
    pub(crate) fn control(&self, control: &mut ControlPlane) {
        let room = [4, 8].into_iter().find(|room| self.0.len() <= *room).unwrap_or(MOST);
        control.defines.push(("UPLINKS", room as u64));
        control.uplinks = self.0.iter().map(|port| port.0).collect();
        for (number, port) in (0..).zip(&self.0) {
            control.entry("uplink_port", &[number], "set_port", &[port.0.into()]);
        }
    }

    /// For programs whose egress pipeline counts what it has seen of each uplink.
    pub(crate) fn count_dequeues(&self, control: &mut ControlPlane) {
        for (number, port) in (0..).zip(&self.0) {
            control.entry("dequeues", &[port.0.into()], "set_uplink", &[number]);
        }
    }
}
