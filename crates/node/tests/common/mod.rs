//! What tests need that drive nodes by hand: a world that writes down, a network, ports.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use leafspine_core::{Pace, PacketMeta, PortId, Rate, Rng, Role, Span, Time, TorId};
use leafspine_fabric::{Graph, LinkSpec, Routes, TopologyKind, TopologySpec};
use leafspine_node::spec::{Classifier, SchemeSpec, TransportSpec};
use leafspine_node::transport::TcpConfig;
use leafspine_node::{
    Attachment, Event, FifoPort, Key, Limit, Manager, Network, Port, PortStats, ProtocolConfig,
    Record, Store, World,
};
use leafspine_schemes::{Params, cc};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Port, time of arrival, packet.
pub type Sent = (u32, Time, PacketMeta);

/// What a node does to the outside, written down.
#[derive(Default)]
pub struct Notebook {
    pub now: Time,
    pub delivered: Vec<Sent>,
    pub scheduled: Vec<(Time, Key, u32)>,
    pub record: Record,
}

impl World for Notebook {
    fn now(&self) -> Time {
        self.now
    }

    fn deliver(&mut self, port: u32, at: Time, packet: &PacketMeta) {
        self.delivered.push((port, at, *packet));
    }

    fn schedule(&mut self, at: Time, key: Key, item: u32) {
        self.scheduled.push((at, key, item));
    }

    fn record(&mut self) -> &mut Record {
        &mut self.record
    }
}

impl Notebook {
    /// What a call of a node has asked for goes into `due`; what it has sent is given. It must not have broken its
    /// contract.
    pub fn settle(&mut self, name: &str, due: &mut BinaryHeap<Reverse<Event>>) -> Vec<Sent> {
        let now = self.now;
        for (at, key, item) in self.scheduled.drain(..) {
            assert!(at >= now, "{name} asks to be called at {at:?}, which is over");
            due.push(Reverse(Event::new(at, key, item)));
        }
        assert!(self.record.fault.is_none(), "{name}: {:?}", self.record.fault);
        std::mem::take(&mut self.delivered)
    }
}

/// So many leaves and spines with so many links between each two, so many hosts a leaf; this rate and 1 us everywhere.
pub fn leaf_spine([leaves, spines, links_per_pair, hosts_per_leaf]: [u32; 4], rate: Rate) -> Graph {
    let link = LinkSpec { rate, delay: Span::from_micros(1), loss: 0.0 };
    let kind = TopologyKind::LeafSpine { leaves, spines, hosts_per_leaf, links_per_pair };
    let (host_delay, host_jitter) = (Span::ZERO, Span::ZERO);
    let spec = TopologySpec { kind, host_link: link, fabric_link: link, host_delay, host_jitter };
    Graph::build(&spec).expect("a good fabric")
}

/// What the nodes of a fabric share; hosts have TCP with NewReno.
pub fn network(graph: &Graph) -> Network {
    network_of(graph, "newreno")
}

/// The same with this congestion control.
pub fn network_of(graph: &Graph, control: &str) -> Network {
    let place = |(tor, port): (&TorId, &PortId)| Attachment { tor: tor.0, port: *port };
    let entry = cc::ALL.iter().find(|entry| entry.info.name == control).expect("there is one");
    let params = Params::defaults(entry.info.params);
    let spec = TransportSpec::tcp(SchemeSpec { name: control.to_owned(), params });
    let built = (entry.build)(&spec.scheme.params, &TcpConfig::flow_env(&spec)).expect("valid");
    Network {
        routes: Routes::new(graph),
        places: graph.host_tor.iter().zip(&graph.host_port_at_tor).map(place).collect(),
        tcp: TcpConfig::new(&spec, built, entry.ecn),
        protocol: ProtocolConfig::Tcp,
        classifier: Classifier::Hash,
        stage_queues: vec![0],
        trim: None,
        measuring: false,
        balancer: "last".to_owned(),
    }
}

/// A one-event port with room for so many packets.
pub fn port(graph: &Graph, global: u32, room: u32) -> Port {
    let of = &graph.ports[global as usize];
    Port {
        store: Store::Fifo(FifoPort::new(Pace::new(of.rate))),
        delay: of.delay,
        limit: Limit::packets(room),
        manager: Manager::DropTail,
        link: global,
        local: of.local,
        special: false,
        up: true,
        rate: of.rate,
        stats: PortStats::default(),
        line_time: 0,
        rng: Rng::new(1, Role::Aqm, u64::from(global)),
        loss: None,
        last_arrival: None,
        watched: Vec::new(),
        tapped: false,
    }
}
