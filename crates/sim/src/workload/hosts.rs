//! Which hosts send and which receive.

use super::WorkloadError;
use super::quantity::whole;
use super::stream::shuffle_front;
use crate::spec::{HostSet, WorkloadSpec};
use leafspine_core::{HostId, Rate, Rng, Role, TorId};
use std::collections::HashMap;

/// What a workload must know of the graph: where hosts hang and how fast their links are.
///
/// Rates are those before any link change: a load is a fraction of the fabric as built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fabric {
    /// The switch of each host, by host.
    pub tor_of: Vec<TorId>,
    /// The name of each switch with hosts (`leaf0`, `edge3`, `tor1`, `switch0`), by [`TorId`].
    pub tor_names: Vec<String>,
    /// Sum of the rates of each such switch's links to other switches, by [`TorId`]; zero on a star.
    pub uplinks: Vec<Rate>,
    /// Rate of each host's link, by host.
    pub host_links: Vec<Rate>,
    /// The number of each host that has another name than `host0`, `host1`.
    pub host_names: HashMap<String, u16>,
    /// Names of each such switch's ports to other switches (`leaf0-spine1`), by [`TorId`].
    pub uplink_names: Vec<Vec<String>>,
}

impl Fabric {
    /// Number of hosts.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.tor_of.len()
    }

    /// So many hosts of which nothing else is known, under one switch.
    #[must_use]
    pub fn of_hosts(hosts: usize) -> Fabric {
        Fabric {
            tor_of: vec![TorId(0); hosts],
            tor_names: vec!["switch0".to_owned()],
            uplinks: vec![Rate(0)],
            host_links: vec![Rate(0); hosts],
            host_names: HashMap::new(),
            uplink_names: Vec::new(),
        }
    }

    /// The host of a name or of a number. A file's own names come first.
    pub(super) fn host(&self, text: &str) -> Option<HostId> {
        if let Some(host) = self.host_names.get(text) {
            return Some(HostId(*host));
        }
        let by_name = || text.strip_prefix("host").filter(|_| self.host_names.is_empty());
        let number = whole(text).or_else(|| by_name().and_then(whole))?;
        // `HostId` holds every host of a fabric, so the cast keeps what the bound lets through.
        (number < self.hosts() as u64).then_some(HostId(number as u16))
    }

    /// What a host may be called, for messages.
    pub(super) fn allowed_host(&self) -> String {
        match self.host_names.is_empty() {
            true => self.range(),
            false => format!("{}, or one by name", self.range()),
        }
    }

    /// The hosts under the switch called `name`, in order; `None` if no switch with hosts is called
    /// so.
    #[must_use]
    pub fn hosts_under(&self, name: &str) -> Option<Vec<HostId>> {
        let tor = self.tor_names.iter().position(|tor| tor == name)?;
        Some(self.all().filter(|host| usize::from(self.tor(*host).0) == tor).collect())
    }

    /// The switch of a host.
    #[inline]
    pub(super) fn tor(&self, host: HostId) -> TorId {
        self.tor_of[usize::from(host.0)]
    }

    /// All hosts in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = HostId> {
        // At most 65,536 hosts, see `HostId`.
        (0..self.hosts()).map(|host| HostId(host as u16))
    }

    /// "0 to 255", for messages.
    pub(super) fn range(&self) -> String {
        format!("a host, 0 to {}", self.hosts().saturating_sub(1))
    }
}

/// The hosts of a workload. Lists keep the scenario's order, all other sets are in host order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostSets {
    /// Who sends. Never empty.
    pub senders: Vec<HostId>,
    /// Who receives. Never empty.
    pub receivers: Vec<HostId>,
}

impl HostSets {
    /// The senders and receivers of workload number `workload`.
    ///
    /// Random sets are drawn from [`Role::HostSet`], the two of a workload from streams of their
    /// own. A random half of an odd number of hosts is rounded down.
    ///
    /// # Errors
    /// With the key `senders` or `receivers`: a set without hosts, a host that does not exist or
    /// is listed twice, more hosts than there are, a switch that does not exist or has no hosts,
    /// `rest` on both sides.
    pub fn resolve(
        spec: &WorkloadSpec,
        fabric: &Fabric,
        seed: u64,
        workload: usize,
    ) -> Result<HostSets, WorkloadError> {
        let rng = |side: u64| Rng::new(seed, Role::HostSet, (workload as u64) << 1 | side);
        let mut senders = Side { key: "senders", fabric, rng: rng(0) };
        let mut receivers = Side { key: "receivers", fabric, rng: rng(1) };
        match (&spec.senders, &spec.receivers) {
            (HostSet::Rest, HostSet::Rest) => {
                let found = "\"rest\" on both sides";
                Err(WorkloadError::at("receivers", found, "\"rest\" for one of the two"))
            }
            (HostSet::Rest, other) => {
                let other = receivers.hosts(other)?;
                Ok(HostSets { senders: senders.rest(&other)?, receivers: other })
            }
            (other, HostSet::Rest) => {
                let other = senders.hosts(other)?;
                Ok(HostSets { receivers: receivers.rest(&other)?, senders: other })
            }
            (from, to) => {
                Ok(HostSets { senders: senders.hosts(from)?, receivers: receivers.hosts(to)? })
            }
        }
    }
}

/// One of a workload's two sets.
struct Side<'a> {
    key: &'static str,
    fabric: &'a Fabric,
    rng: Rng,
}

impl Side<'_> {
    fn refuse<T>(
        &self,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Result<T, WorkloadError> {
        Err(WorkloadError::at(self.key, found, allowed))
    }

    /// The hosts of any set but `Rest`, which needs the other side.
    fn hosts(&mut self, set: &HostSet) -> Result<Vec<HostId>, WorkloadError> {
        let there_are = self.fabric.hosts();
        let hosts = match set {
            HostSet::All => self.fabric.all().collect(),
            HostSet::List(hosts) => return self.listed(hosts),
            HostSet::Under(name) => return self.under(name),
            HostSet::RandomHalf => self.random(there_are / 2),
            HostSet::Random(n) | HostSet::First(n) if *n as usize > there_are => {
                let allowed = format!("at most {there_are}, all there are");
                return self.refuse(format!("{n} hosts"), allowed);
            }
            HostSet::Random(n) => self.random(*n as usize),
            HostSet::First(n) => self.fabric.all().take(*n as usize).collect(),
            HostSet::Rest => Vec::new(),
        };
        if hosts.is_empty() { self.refuse("no hosts", "at least one host") } else { Ok(hosts) }
    }

    /// The hosts that are not in `other`.
    fn rest(&self, other: &[HostId]) -> Result<Vec<HostId>, WorkloadError> {
        let mut taken = vec![false; self.fabric.hosts()];
        other.iter().for_each(|host| taken[usize::from(host.0)] = true);
        let rest: Vec<_> = self.fabric.all().filter(|host| !taken[usize::from(host.0)]).collect();
        if rest.is_empty() {
            return self.refuse("no hosts in the rest", "at least one host on the other side less");
        }
        Ok(rest)
    }

    fn listed(&self, hosts: &[HostId]) -> Result<Vec<HostId>, WorkloadError> {
        let mut taken = vec![false; self.fabric.hosts()];
        for host in hosts {
            match taken.get_mut(usize::from(host.0)) {
                None => return self.refuse(format!("host {}", host.0), self.fabric.range()),
                Some(true) => {
                    return self.refuse(format!("host {} twice", host.0), "each host once");
                }
                Some(taken) => *taken = true,
            }
        }
        if hosts.is_empty() {
            return self.refuse("an empty list", "at least one host");
        }
        Ok(hosts.to_vec())
    }

    fn under(&self, name: &str) -> Result<Vec<HostId>, WorkloadError> {
        match self.fabric.hosts_under(name) {
            Some(hosts) if hosts.is_empty() => {
                self.refuse(format!("\"{name}\", which has no hosts"), "a switch with hosts")
            }
            Some(hosts) => Ok(hosts),
            None => {
                let names = &self.fabric.tor_names;
                let allowed = match names.as_slice() {
                    [] => "no switch: none has hosts".to_owned(),
                    [only] => only.clone(),
                    [first, .., last] => format!("a switch with hosts, {first} to {last}"),
                };
                self.refuse(format!("the switch \"{name}\""), allowed)
            }
        }
    }

    /// `n` hosts, every subset equally likely.
    fn random(&mut self, n: usize) -> Vec<HostId> {
        let mut hosts: Vec<_> = self.fabric.all().collect();
        shuffle_front(&mut hosts, n, &mut self.rng);
        hosts.truncate(n);
        hosts.sort_unstable();
        hosts
    }
}
