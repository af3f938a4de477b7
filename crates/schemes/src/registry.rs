//! Everything that a scenario can name, in one place.
//!
//! Each kind of scheme lists its own in `ALL` of its module; those of an [`Extension`] stand behind
//! them. Here they are found by name.

use crate::bundle::{self, Bundle};
use crate::extension::current;
use crate::{SchemeInfo, aqm, cc, edge, hold, lb, rdma};

pub use crate::extension::{Extension, ExtensionError, register};

/// The places a scheme is named for: a table of the scenario file each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Next hops at switches.
    LoadBalancer,
    /// Queues of switch ports.
    Aqm,
    /// Ingress of switches.
    Hold,
    /// Hosts, between transport and wire.
    HostEdge,
    /// Congestion control.
    Transport,
}

/// Keys of `[transport]` for TCP, beside those of its congestion control.
pub const TCP: [&str; 53] = [
    "scheme",
    "ecn",
    "mss",
    "header",
    "init_cwnd",
    "max_cwnd",
    "min_rto",
    "initial_rto",
    "max_rto",
    "dupack_threshold",
    "sack",
    "limited_transmit",
    "delayed_ack",
    "handshake",
    "handshake_ack",
    "source_ports",
    "profile",
    "timestamps",
    "sack_bytes",
    "syn_losses_spared",
    "idle_restart",
    "quick_acks",
    "prr",
    "rack",
    "tlp",
    "dsack",
    "undo_dsack",
    "eifel",
    "frto",
    "pacing",
    "pacing_quantum",
    "less_careful",
    "lingering_recovery",
    "ignore_duplicate_ece",
    "one_reduction",
    "mark_prr",
    "gso",
    "syn_options",
    "ecn_fallback",
    "whole_windows",
    "comp_sack",
    "rack_slack",
    "undo_waits",
    "ece_forbids_undo",
    "rack_any_rtt",
    "ecn_all",
    "small_queues",
    "ack_changes",
    "growth_acks",
    "push_acks",
    "kernel_timers",
    "slow_start",
    "kind",
];

/// Keys of both transports.
const TRANSPORT: [&str; TCP.len() + rdma::KEYS.len()] = {
    let mut all = [""; TCP.len() + rdma::KEYS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < TCP.len() { TCP[i] } else { rdma::KEYS[i - TCP.len()] };
        i += 1;
    }
    all
};

impl Place {
    /// All places, in the catalogue's order.
    pub const ALL: [Place; 5] =
        [Place::LoadBalancer, Place::Aqm, Place::Hold, Place::HostEdge, Place::Transport];

    /// The scenario file's table: `load_balancer`.
    #[must_use]
    pub fn table(self) -> &'static str {
        match self {
            Place::LoadBalancer => "load_balancer",
            Place::Aqm => "aqm",
            Place::Hold => "hold",
            Place::HostEdge => "host_edge",
            Place::Transport => "transport",
        }
    }

    /// The table's own keys, which no scheme may take for its parameters.
    #[must_use]
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Place::Transport => &TRANSPORT,
            _ => &["scheme"],
        }
    }

    /// What the registry has for this place, in the catalogue's order.
    #[must_use]
    pub fn schemes(self) -> Vec<&'static SchemeInfo> {
        match self {
            Place::LoadBalancer => load_balancers().map(|entry| &entry.info).collect(),
            Place::Aqm => queue_managers().map(|entry| &entry.info).collect(),
            Place::Hold => ingress_holds().map(|entry| &entry.info).collect(),
            Place::HostEdge => host_edges().map(|entry| &entry.info).collect(),
            Place::Transport => congestion_controls().map(|entry| &entry.info).collect(),
        }
    }

    /// The scheme of this name, if there is one.
    #[must_use]
    pub fn find(self, name: &str) -> Option<&'static SchemeInfo> {
        self.schemes().into_iter().find(|info| info.name == name)
    }

    /// The names, in the catalogue's order.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.schemes().into_iter().map(|info| info.name).collect()
    }
}

/// The extension of this process, if one was registered.
#[must_use]
pub fn extension() -> Option<&'static Extension> {
    let found = current();
    (!found.is_empty()).then_some(found)
}

/// Every load balancer, in the catalogue's order.
pub fn load_balancers() -> impl Iterator<Item = &'static lb::Entry> {
    lb::ALL.iter().chain(current().balancers)
}

/// The load balancer of this name.
#[must_use]
pub fn load_balancer(name: &str) -> Option<&'static lb::Entry> {
    load_balancers().find(|entry| entry.info.name == name)
}

/// Every queue manager, in the catalogue's order.
pub fn queue_managers() -> impl Iterator<Item = &'static aqm::Entry> {
    aqm::ALL.iter().chain(current().managers)
}

/// The queue manager of this name.
#[must_use]
pub fn queue_manager(name: &str) -> Option<&'static aqm::Entry> {
    queue_managers().find(|entry| entry.info.name == name)
}

/// Every ingress hold, in the catalogue's order.
pub fn ingress_holds() -> impl Iterator<Item = &'static hold::Entry> {
    hold::ALL.iter().chain(current().holds)
}

/// The ingress hold of this name.
#[must_use]
pub fn ingress_hold(name: &str) -> Option<&'static hold::Entry> {
    ingress_holds().find(|entry| entry.info.name == name)
}

/// Every host edge, in the catalogue's order.
pub fn host_edges() -> impl Iterator<Item = &'static edge::Entry> {
    edge::ALL.iter().chain(current().edges)
}

/// The host edge of this name.
#[must_use]
pub fn host_edge(name: &str) -> Option<&'static edge::Entry> {
    host_edges().find(|entry| entry.info.name == name)
}

/// Every congestion control, in the catalogue's order.
pub fn congestion_controls() -> impl Iterator<Item = &'static cc::Entry> {
    cc::ALL.iter().chain(current().controls)
}

/// The congestion control of this name.
#[must_use]
pub fn congestion_control(name: &str) -> Option<&'static cc::Entry> {
    congestion_controls().find(|entry| entry.info.name == name)
}

/// Every bundle, in the catalogue's order.
pub fn bundles() -> impl Iterator<Item = &'static Bundle> {
    bundle::ALL.iter().chain(current().bundles)
}

/// The bundle of this name.
#[must_use]
pub fn bundle(name: &str) -> Option<&'static Bundle> {
    bundles().find(|bundle| bundle.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::extension::flaw;
    use std::collections::BTreeSet;

    fn everything() -> impl Iterator<Item = (Place, &'static SchemeInfo)> {
        Place::ALL
            .into_iter()
            .flat_map(|place| place.schemes().into_iter().map(move |info| (place, info)))
    }

    /// Breaks if two schemes of a place share a name, one takes a word that means something else, or
    /// a parameter is declared twice, hides a key of its table or has a default of another kind.
    #[test]
    fn entries_can_be_named_and_read() {
        let mut seen = BTreeSet::new();
        for (place, info) in everything() {
            assert!(seen.insert((place, info.name)), "{} stands twice", info.name);
            assert_eq!(flaw(place, info), None, "{}", info.name);
        }
    }

    /// Breaks if the catalogue has nothing to say about a scheme or one of its parameters.
    #[test]
    fn everything_is_documented() {
        for (_, info) in everything() {
            assert!(info.summary.ends_with('.') && !info.source.is_empty(), "{}", info.name);
            for param in info.params {
                assert!(param.doc.ends_with('.'), "{}.{}", info.name, param.name);
            }
        }
    }

    /// Breaks if a lookup by place finds another kind's scheme or misses its own.
    #[test]
    fn lookups_find_their_own() {
        for (place, info) in everything() {
            let found = match place {
                Place::LoadBalancer => load_balancer(info.name).map(|entry| entry.info),
                Place::Aqm => queue_manager(info.name).map(|entry| entry.info),
                Place::Hold => ingress_hold(info.name).map(|entry| entry.info),
                Place::HostEdge => host_edge(info.name).map(|entry| entry.info),
                Place::Transport => congestion_control(info.name).map(|entry| entry.info),
            };
            assert_eq!(found.map(|found| found.summary), Some(info.summary));
            assert_eq!(place.find(info.name).map(|found| found.name), Some(info.name));
        }
        assert!(Place::LoadBalancer.find("no-such-scheme").is_none());
        assert_eq!(Params::default(), Params::defaults(&[]));
    }
}
