//! What all nodes of a run share and none of them changes.

use crate::port::Port;
use crate::roce::RoceConfig;
use crate::spec::{Classifier, Protocol, TransportSpec, TrimSpec};
use crate::transport::TcpConfig;
use leafspine_core::{HostId, PacketMeta, PortId, mix};
use leafspine_fabric::Routes;

/// Where a host hangs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// Its switch's number among those with hosts.
    pub tor: u16,
    /// Its port there.
    pub port: PortId,
}

/// Routes, addresses and settings: changed between events only, by whoever drives the nodes.
#[derive(Clone)]
pub struct Network {
    /// Next hops.
    pub routes: Routes,
    /// Per host.
    pub places: Vec<Attachment>,
    /// TCP's constants; in a run with another protocol those that any has: packets' sizes, timeouts.
    pub tcp: TcpConfig,
    /// Constants of the protocol that carries the flows.
    pub protocol: ProtocolConfig,
    /// How packets find their service queue.
    pub classifier: Classifier,
    /// The service queue of each stage.
    pub stage_queues: Vec<u8>,
    /// How switches trim packets, in runs where they do.
    pub trim: Option<TrimSpec>,
    /// Whether ports are measured now.
    pub measuring: bool,
    /// The name that the balancer has in the scenario.
    pub balancer: String,
}

/// A protocol that carries flows, with the constants that only it has.
#[derive(Clone)]
pub enum ProtocolConfig {
    /// TCP: [`Network::tcp`].
    Tcp,
    /// Queue pairs.
    Roce(Box<RoceConfig>),
}

impl ProtocolConfig {
    /// Of a transport as a scenario says it.
    #[must_use]
    pub fn new(spec: &TransportSpec) -> ProtocolConfig {
        match spec.protocol {
            Protocol::Tcp => ProtocolConfig::Tcp,
            Protocol::Roce(roce) => {
                ProtocolConfig::Roce(Box::new(RoceConfig::new(roce, spec.mss, spec.header)))
            }
        }
    }

    /// What the scenario says of it.
    #[must_use]
    pub fn spec(&self) -> Protocol {
        match self {
            ProtocolConfig::Tcp => Protocol::Tcp,
            ProtocolConfig::Roce(roce) => Protocol::Roce(roce.spec),
        }
    }

    /// Whether hosts' cards take packets from senders and pace what receivers ask for (`nic.rs`).
    pub(crate) fn is_of_card(&self) -> bool {
        match self {
            ProtocolConfig::Tcp => false,
            ProtocolConfig::Roce(_) => true,
        }
    }
}

impl Network {
    /// Constants of queue pairs.
    ///
    /// # Panics
    /// In a run without.
    #[inline]
    #[must_use]
    pub fn roce(&self) -> &RoceConfig {
        match &self.protocol {
            ProtocolConfig::Roce(roce) => roce,
            ProtocolConfig::Tcp => unreachable!("a run without queue pairs"),
        }
    }

    /// Where `host` hangs.
    #[inline]
    pub(crate) fn place(&self, host: HostId) -> Attachment {
        self.places[usize::from(host.0)]
    }

    /// The service queue that `packet` belongs to, of so many.
    #[inline]
    pub(crate) fn queue_of(&self, packet: &PacketMeta, queues: usize) -> usize {
        match queues {
            1 => 0,
            several => self.classify(packet, several),
        }
    }

    fn classify(&self, packet: &PacketMeta, queues: usize) -> usize {
        match self.classifier {
            Classifier::Hash => ((mix(packet.tuple.0) >> 32) as usize * queues) >> 32,
            Classifier::Stage | Classifier::Dscp => self.queue_of_class(packet.class, queues),
        }
    }

    fn queue_of_class(&self, class: u8, queues: usize) -> usize {
        if self.classifier == Classifier::Stage {
            let last = self.stage_queues.len() - 1;
            let queue = self.stage_queues[usize::from(class).min(last)];
            return usize::from(queue).min(queues - 1);
        }
        usize::from(class) % queues
    }

    /// The service queue of trimmed packets at a switch's port.
    #[must_use]
    pub fn header_queue(&self, port: &Port) -> usize {
        self.trim.map_or(0, |trim| self.queue_of_class(trim.class, port.queues()))
    }
}
