//! What tests need that drive nodes by hand: a world that writes down, a network, ports.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use leafspine_core::{Pace, PacketMeta, PortId, Rng, Role, Span, Time, TorId};
use leafspine_fabric::{Graph, Routes};
use leafspine_node::spec::{Classifier, SchemeSpec, Stack, TransportSpec};
use leafspine_node::transport::TcpConfig;
use leafspine_node::{
    Attachment, FifoPort, Key, Limit, Manager, Network, Port, PortStats, Record, Store, World,
};
use leafspine_schemes::{Amount, Params, cc};

/// What a node does to the outside, written down.
#[derive(Default)]
pub struct Notebook {
    pub now: Time,
    /// Port, time of arrival, packet.
    pub delivered: Vec<(u32, Time, PacketMeta)>,
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

/// What the nodes of a fabric share; hosts have TCP with NewReno.
pub fn network(graph: &Graph) -> Network {
    network_of(graph, "newreno")
}

/// The same with this congestion control.
pub fn network_of(graph: &Graph, control: &str) -> Network {
    let place = |(tor, port): (&TorId, &PortId)| Attachment { tor: tor.0, port: *port };
    let entry = cc::ALL.iter().find(|entry| entry.info.name == control).expect("there is one");
    let params = Params::defaults(entry.info.params);
    let spec = TransportSpec {
        scheme: SchemeSpec { name: control.to_owned(), params },
        ecn: None,
        mss: 1460,
        header: 40,
        init_cwnd: Amount::Packets(10),
        max_cwnd: None,
        min_rto: Span::from_millis(10),
        initial_rto: None,
        max_rto: Span::from_millis(60_000),
        dupack_threshold: 3,
        sack: true,
        limited_transmit: true,
        delayed_ack: None,
        handshake: true,
        handshake_ack: false,
        source_ports: None,
        stack: Stack::default(),
        roce: None,
    };
    let built = (entry.build)(&spec.scheme.params, &TcpConfig::flow_env(&spec)).expect("valid");
    Network {
        routes: Routes::new(graph),
        places: graph.host_tor.iter().zip(&graph.host_port_at_tor).map(place).collect(),
        tcp: TcpConfig::new(&spec, built, entry.ecn),
        roce: None,
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
