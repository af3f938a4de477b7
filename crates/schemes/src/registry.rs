//! Everything that a scenario can name, in one place.
//!
//! Each kind of scheme lists its own in `ALL` of its module; here they are found by name.

use crate::{SchemeInfo, aqm, cc, edge, hold, lb};

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

    /// What the registry has for this place, in the catalogue's order.
    #[must_use]
    pub fn schemes(self) -> Vec<&'static SchemeInfo> {
        match self {
            Place::LoadBalancer => lb::ALL.iter().map(|entry| &entry.info).collect(),
            Place::Aqm => aqm::ALL.iter().map(|entry| &entry.info).collect(),
            Place::Hold => hold::ALL.iter().map(|entry| &entry.info).collect(),
            Place::HostEdge => edge::ALL.iter().map(|entry| &entry.info).collect(),
            Place::Transport => cc::ALL.iter().map(|entry| &entry.info).collect(),
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

/// The load balancer of this name.
#[must_use]
pub fn load_balancer(name: &str) -> Option<&'static lb::Entry> {
    lb::ALL.iter().find(|entry| entry.info.name == name)
}

/// The queue manager of this name.
#[must_use]
pub fn queue_manager(name: &str) -> Option<&'static aqm::Entry> {
    aqm::ALL.iter().find(|entry| entry.info.name == name)
}

/// The ingress hold of this name.
#[must_use]
pub fn ingress_hold(name: &str) -> Option<&'static hold::Entry> {
    hold::ALL.iter().find(|entry| entry.info.name == name)
}

/// The host edge of this name.
#[must_use]
pub fn host_edge(name: &str) -> Option<&'static edge::Entry> {
    edge::ALL.iter().find(|entry| entry.info.name == name)
}

/// The congestion control of this name.
#[must_use]
pub fn congestion_control(name: &str) -> Option<&'static cc::Entry> {
    cc::ALL.iter().find(|entry| entry.info.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Params, Value};
    use std::collections::BTreeSet;

    fn everything() -> impl Iterator<Item = (Place, &'static SchemeInfo)> {
        Place::ALL
            .into_iter()
            .flat_map(|place| place.schemes().into_iter().map(move |info| (place, info)))
    }

    /// Breaks if two schemes of a place share a name, or one takes a word that means something else.
    #[test]
    fn names_are_unique_and_plain() {
        let mut seen = BTreeSet::new();
        for (place, info) in everything() {
            let name = info.name;
            assert!(seen.insert((place, name)), "{name} stands twice");
            assert!(!["none", "balancer", "scheme"].contains(&name), "{name} is reserved");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(!name.is_empty() && name.chars().all(plain), "{name} is not in kebab case");
        }
    }

    /// Breaks if a parameter has a default that is not of its kind, or is declared twice.
    #[test]
    fn declared_defaults_are_of_their_kind() {
        for (_, info) in everything() {
            let mut seen = BTreeSet::from(["scheme"]);
            for param in info.params {
                assert!(seen.insert(param.name), "{}: {} twice", info.name, param.name);
                if let Some(text) = param.default {
                    let value = Value::parse(&param.kind, text);
                    assert!(value.is_ok(), "{}.{}: {value:?}", info.name, param.name);
                }
            }
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
