//! What the control plane of a P4 switch writes, for every switch of a run.

use super::build::mean_flow;
use super::parts::Builder;
use crate::spec::{Spec, TransportSpec};
use crate::{Factories, Progress, SetupError};
use leafspine_core::{HostId, SwitchId, TorId};
use leafspine_fabric::{Graph, Ideal, Routes};
use leafspine_schemes::p4::ControlPlane;

/// The control planes of the switches whose balancer has a P4 program and decides as that does: what it
/// goes by itself, and the routes of the fabric as it is at the start.
///
/// # Errors
/// As [`Simulation::new`](super::Simulation::new).
pub fn control_planes(spec: &Spec) -> Result<Vec<(SwitchId, ControlPlane)>, SetupError> {
    let graph = Graph::build(&spec.topology)?;
    let routes = Routes::new(&graph);
    let TransportSpec { mss, header, handshake, .. } = spec.transport;
    let ideal = Ideal::new(&graph, &routes, mss, header, handshake);
    let (factories, progress) = (Factories::default(), Progress::default());
    let builder = Builder {
        spec,
        factories: &factories,
        graph: &graph,
        changes: &[],
        base_rtt: ideal.base_rtt(),
        mean_flow: mean_flow(spec)?,
        tor_of: graph.host_tor.iter().copied().collect(),
        progress: &progress,
    };
    let mut planes = Vec::new();
    for id in 0..graph.switches.len() {
        let balancer = builder.balancer(&builder.switch_env(id))?;
        if let Some(mut plane) = balancer.inspect().control_plane() {
            let switch = SwitchId(id as u16);
            write_routes(&mut plane, switch, &graph, &routes);
            planes.push((switch, plane));
        }
    }
    Ok(planes)
}

fn write_routes(plane: &mut ControlPlane, switch: SwitchId, graph: &Graph, routes: &Routes) {
    let first = graph.ports_of(switch).start;
    for (host, tor) in (0..).zip(&graph.host_tor) {
        let below = graph.switch(switch).tor == Some(*tor);
        if below {
            let port = graph.ports_of(switch).find(|at| leads_to(graph, *at, HostId(host)));
            plane.host_below(host, port.map_or(0, |at| (at - first) as u16));
        } else {
            let paths = routes.paths(switch, TorId(tor.0));
            plane.host_beyond(host, paths.ports, paths.delay);
        }
    }
}

fn leads_to(graph: &Graph, port: u32, host: HostId) -> bool {
    matches!(graph.neighbour(port), leafspine_schemes::Neighbour::Host(found) if found == host)
}
