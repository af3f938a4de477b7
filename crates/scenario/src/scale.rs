//! What the defaults of gaps, timers, buffers and thresholds follow from.

use crate::error::ScenarioError;
use crate::section::{Around, Section};
use crate::transport;
use crate::tree::Node;
use leafspine_core::{Pace, Rate, Span};
use leafspine_fabric::kinds::{Plan, Shape};
use leafspine_fabric::{Graph, Ideal, Routes, TopologySpec};
use leafspine_schemes::scale::round_up;
use leafspine_schemes::{Amount, Scale};
use leafspine_sim::spec::{SharedBuffer, SwitchSpec};
use std::cell::RefCell;
use std::collections::VecDeque;

/// Picoseconds a second, and bits a byte.
const PS_BITS: u128 = 8_000_000_000_000;

/// The unchanged fabric without load.
pub(crate) struct Scaled {
    /// What `rtt` and `bdp` stand for.
    pub(crate) fabric: Scale,
    /// Rates of the links between the farthest hosts, in a packet's order.
    way: Vec<Rate>,
}

/// The scale of a topology for the packets of the `transport` table.
pub(crate) fn scale(
    place: Around<'_>,
    topology: &TopologySpec,
    transport: Option<&Node>,
) -> Result<Scaled, ScenarioError> {
    let mut section = Section::open(place, "transport".to_owned(), transport)?;
    let (mss, header) = transport::packet(&mut section)?;
    let (base_rtt, way) = match topology.kind.plan() {
        Plan::Tiers(shape) => of_tiers(topology, &shape, (mss, header)),
        Plan::Links(_) => place.files_read.trips.of(topology, (mss, header)),
    };
    let fabric = Scale { rate: topology.host_link.rate, base_rtt, mtu: mss + header };
    Ok(Scaled { fabric, way })
}

/// The round trip between the farthest hosts, and the rates on the way.
fn of_tiers(
    topology: &TopologySpec,
    shape: &Shape,
    (mss, header): (u32, u32),
) -> (Span, Vec<Rate>) {
    let way: Vec<_> = [topology.host_link]
        .into_iter()
        .chain(shape.farthest(topology.fabric_link))
        .chain([topology.host_link])
        .collect();
    // A host's own delay is added to its link.
    let delay = way
        .iter()
        .fold(u128::from(topology.host_delay.0) * 2, |sum, link| sum + u128::from(link.delay.0));
    let sent = |bytes: u32| -> u128 {
        way.iter().map(|link| u128::from(Pace::new(link.rate).take(bytes).0)).sum()
    };
    let round_trip = 2 * delay + sent(mss + header) + sent(header);
    let base_rtt = Span(u64::try_from(round_trip).unwrap_or(u64::MAX));
    (base_rtt, way.iter().map(|link| link.rate).collect())
}

/// The last fabrics of files, the packets that are sent over them, and what [`of_links`] found: that goes
/// over all pairs of switches with hosts, and the cases of a file have few fabrics.
#[derive(Debug, Default)]
pub(crate) struct Trips(RefCell<VecDeque<Known>>);

/// A fabric, the payload and header of a packet, and what was found.
type Known = (TopologySpec, (u32, u32), Trip);

/// A round trip, and the rates of the links on the way.
type Trip = (Span, Vec<Rate>);

/// Fabrics that are remembered: more than one only where their file, or links, are swept.
const REMEMBERED: usize = 8;

impl Trips {
    fn of(&self, topology: &TopologySpec, packet: (u32, u32)) -> Trip {
        let known = self.0.borrow().iter().find_map(|(fabric, sent, trip)| {
            (*sent == packet && fabric == topology).then(|| trip.clone())
        });
        known.unwrap_or_else(|| {
            let trip = of_links(topology, packet);
            let mut all = self.0.borrow_mut();
            all.truncate(REMEMBERED - 1);
            all.push_front((topology.clone(), packet, trip.clone()));
            trip
        })
    }
}

/// The same of a fabric whose ways only the graph knows.
fn of_links(topology: &TopologySpec, (mss, header): (u32, u32)) -> Trip {
    // One that cannot be built is refused where all are.
    let Ok(graph) = Graph::build(topology) else { return (Span::MAX, Vec::new()) };
    let ideal = Ideal::new(&graph, &Routes::new(&graph), mss, header, true);
    (ideal.base_rtt(), ideal.slowest_way())
}

impl Scaled {
    /// The round trip of a packet that finds every buffer on its way full, to the microsecond.
    pub(crate) fn full_round_trip(&self, switch: &SwitchSpec) -> Span {
        let buffer = u128::from(most_at_a_port(switch, self.fabric.mtu));
        let queued: u128 =
            self.way.iter().map(|rate| (buffer * PS_BITS).div_ceil(u128::from(rate.0))).sum();
        round_up(u128::from(self.fabric.base_rtt.0) + queued)
    }
}

/// Bytes that may wait at a port while all others are empty.
fn most_at_a_port(switch: &SwitchSpec, mtu: u32) -> u64 {
    match switch.shared {
        // alpha times what is free, of which it leaves 1 / (1 + alpha).
        Some(SharedBuffer { size, alpha }) => (size.0 as f64 * alpha / (1.0 + alpha)) as u64,
        None => match switch.buffer {
            Amount::Bytes(bytes) => bytes,
            packets @ Amount::Packets(_) => packets.in_bytes(mtu),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::FilesRead;
    use leafspine_core::Bytes;
    use leafspine_fabric::kinds::{Clos, ClosTier, Defaults, Edge, Vertex, Wiring};
    use leafspine_fabric::{LinkSpec, TopologyKind};
    use leafspine_sim::spec::{Classifier, HostPorts, SchedulerKind};
    use proptest::prelude::*;
    use std::path::Path;
    use std::sync::Arc;

    fn of(topology: &TopologySpec) -> Scaled {
        let files_read = FilesRead::default();
        let place = Around {
            file: "",
            base: Path::new(""),
            files_read: &files_read,
            options: &[],
            sets: &[],
            scale: None,
            linux: false,
            resolved: false,
            survey: None,
        };
        scale(place, topology, None).unwrap()
    }

    /// Breaks if each case of a file goes over the whole fabric again, or gets another fabric's round trip.
    #[test]
    fn a_fabric_of_a_file_is_measured_once() {
        let link = |nanoseconds: u64| {
            let (rate, delay) = (Rate::from_gbps(10), Span(nanoseconds * 1000));
            Some(LinkSpec { rate, delay, loss: 0.0 })
        };
        let vertex = |name: &str| Vertex { name: name.to_owned(), host: None, tier: None };
        let vertices = ["a", "b", "s"].map(vertex);
        let edge = |from| Edge { ends: (from, 2), rate: None, delay: None, loss: None };
        let fabric = |nanoseconds| {
            let defaults = Defaults { host: link(nanoseconds), fabric: None };
            let wiring = Wiring::new(&vertices, &[edge(0), edge(1)], &defaults).unwrap();
            let spec = leaf_spine(Rate::from_gbps(10), Span(0));
            TopologySpec { kind: TopologyKind::File(Arc::new(wiring)), ..spec }
        };
        let trips = Trips::default();
        let (near, far) = (trips.of(&fabric(1), (1460, 40)), trips.of(&fabric(9), (1460, 40)));
        assert_eq!(far.0.0 - near.0.0, 4 * 8_000);
        let small = trips.of(&fabric(1), (500, 40));
        assert!(small.0 < near.0);
        // What is remembered is what is said.
        for (_, _, trip) in trips.0.borrow_mut().iter_mut() {
            trip.0 = Span(trip.0.0 + 1);
        }
        assert_eq!(trips.of(&fabric(1), (1460, 40)).0.0, near.0.0 + 1);
        assert_eq!(trips.of(&fabric(9), (1460, 40)).0.0, far.0.0 + 1);
        assert_eq!(trips.0.borrow().len(), 3);
        for nanoseconds in 10..30 {
            trips.of(&fabric(nanoseconds), (1460, 40));
        }
        assert_eq!(trips.0.borrow().len(), REMEMBERED);
    }

    fn leaf_spine(rate: Rate, delay: Span) -> TopologySpec {
        let link = LinkSpec { rate, delay, loss: 0.0 };
        let kind =
            TopologyKind::LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, links_per_pair: 1 };
        TopologySpec {
            kind,
            host_link: link,
            fabric_link: link,
            host_delay: Span::ZERO,
            host_jitter: Span::ZERO,
        }
    }

    fn kinds() -> impl Strategy<Value = TopologyKind> {
        prop_oneof![
            (2..9u32).prop_map(|hosts| TopologyKind::Star { hosts }),
            (1..4u32, 1..4u32, 2..4u32, 1..3u32).prop_map(|(leaves, spines, hosts, links)| {
                TopologyKind::LeafSpine {
                    leaves,
                    spines,
                    hosts_per_leaf: hosts,
                    links_per_pair: links,
                }
            }),
            (1..4u32).prop_map(|half| TopologyKind::FatTree { k: 2 * half }),
            (1..4u32, 2..4u32, 1..3u32).prop_map(|(tors, hosts_per_tor, links_per_pair)| {
                TopologyKind::Tree { tors, hosts_per_tor, links_per_pair }
            }),
            (2..4u32, 1..3u32, 1..4u32, links(), links()).prop_map(
                |(hosts, tors, pods, low, high)| {
                    let tier = |name: &str, switches, pods, link| ClosTier {
                        name: name.to_owned(),
                        switches,
                        pods,
                        links_per_pair: 1,
                        link,
                    };
                    let tiers = vec![
                        tier("tor", tors * pods, 1, low),
                        tier("agg", 2 * pods, pods, low),
                        tier("core", 2, 1, high),
                    ];
                    TopologyKind::Clos(Arc::new(Clos::new(hosts, tiers).unwrap()))
                }
            ),
        ]
    }

    fn links() -> impl Strategy<Value = LinkSpec> {
        (1_000_000..400_000_000_000u64, 0..100_000_000u64).prop_map(|(rate, delay)| LinkSpec {
            rate: Rate(rate),
            delay: Span(delay),
            loss: 0.0,
        })
    }

    proptest! {
        /// Breaks if the base round trip is not the one that schemes at switches and hosts are told.
        #[test]
        fn the_round_trip_is_the_engines(
            kind in kinds(), host_link in links(), fabric_link in links(), host_delay in 0..9_999_999u64,
        ) {
            let host_delay = Span(host_delay);
            let spec = TopologySpec { kind, host_link, fabric_link, host_delay, host_jitter: Span::ZERO };
            let graph = Graph::build(&spec).unwrap();
            let ideal = Ideal::new(&graph, &Routes::new(&graph), 1460, 40, true);
            prop_assert_eq!(of(&spec).fabric.base_rtt, ideal.base_rtt());
        }
    }

    /// Breaks if a buffer on the way is left out, or a shared one counts whole. Four ports of 1 Gb/s
    /// with 100 packets of 1500 bytes: 4 x 1.2 ms beyond the base round trip of 4 x 12.32 us.
    #[test]
    fn a_full_round_trip_has_every_buffer_of_the_way() {
        let scaled = of(&leaf_spine(Rate::from_gbps(1), Span::ZERO));
        let mut switch = SwitchSpec {
            buffer: Amount::Packets(100),
            shared: None,
            pfc: None,
            trim: None,
            queues: 1,
            scheduler: SchedulerKind::Fifo,
            weights: vec![1],
            classifier: Classifier::Hash,
            stage_queues: vec![0],
            host_ports: HostPorts::LikeSwitch,
            one_hash: false,
        };
        assert_eq!(scaled.full_round_trip(&switch), Span::from_micros(4_850));
        switch.shared = Some(SharedBuffer { size: Bytes(300_000), alpha: 1.0 });
        assert_eq!(scaled.full_round_trip(&switch), Span::from_micros(4_850));
    }
}
