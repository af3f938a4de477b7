//! What a load means in flows per second.

use super::WorkloadError;
use super::hosts::Fabric;
use super::pairs::Pairs;
use super::trace::Survey;
use crate::spec::{Arrivals, LoadBasis};
use leafspine_core::{HostId, Span};

const PS_PER_SECOND: f64 = 1e12;

/// The mean time between starts in picoseconds, for flows of `mean_bytes` on average.
///
/// As simulation studies of these schemes have it, sizes count application bytes: headers, ACKs,
/// handshakes and retransmissions come on top, so a load of 1 is beyond what the links can carry.
///
/// - A load of the fabric is the traffic *between* leaves over the capacity that the senders'
///   leaves have towards the spines: `lambda x 8 x mean x share = load x capacity`, where `share` is
///   the share of flows that leave their leaf. It is 1 under the inter-leaf pattern, where this is
///   the usual `lambda = load x capacity / (8 x mean)`. Leaves without senders add no capacity.
/// - A load of the hosts is all traffic over the capacity of the senders' links.
///
/// # Errors
/// With the key `load`, `interarrival` or `rate`, if it is not above zero, or if a load of the fabric
/// is asked for where there is none or where no flow crosses it.
pub(super) fn mean_interarrival(
    arrivals: Arrivals,
    mean_bytes: f64,
    pairs: &Pairs,
    fabric: &Fabric,
) -> Result<f64, WorkloadError> {
    let bits_per_second = match arrivals {
        Arrivals::Interarrival(Span(0)) => {
            return Err(WorkloadError::at("interarrival", Span::ZERO.to_string(), "above zero"));
        }
        Arrivals::Interarrival(span) => return Ok(span.0 as f64),
        Arrivals::Rate(rate) if rate.0 == 0 => {
            return Err(WorkloadError::at("rate", rate.to_string(), "above zero"));
        }
        Arrivals::Rate(rate) => rate.0 as f64,
        Arrivals::Load { load, .. } if !(load > 0.0 && load.is_finite()) => {
            return Err(WorkloadError::at("load", load.to_string(), "a number above 0"));
        }
        Arrivals::Load { load, basis: LoadBasis::Host } => load * host_capacity(pairs, fabric),
        Arrivals::Load { load, basis: LoadBasis::Fabric } => {
            load * fabric_capacity(load, pairs, fabric)? / pairs.crossing()
        }
    };
    Ok(PS_PER_SECOND * 8.0 * mean_bytes / bits_per_second)
}

/// The load of a trace as it is: its traffic from the first flow's start to the last one's, over the
/// capacity that [`mean_interarrival`] takes.
///
/// # Errors
/// With the key `load`, if all flows start at once, or as [`mean_interarrival`].
pub(super) fn trace_load(
    found: &Survey,
    basis: LoadBasis,
    fabric: &Fabric,
) -> Result<f64, WorkloadError> {
    let span = found.last_start.0 - found.first_start.0;
    if span == 0 {
        let refused = "a load of a trace whose flows all start at once";
        return Err(WorkloadError::at("load", refused, "a trace whose flows start one by one"));
    }
    let senders = || {
        let hosts = found.senders.iter().enumerate().filter(|(_, sends)| **sends);
        hosts.map(|(host, _)| HostId(host as u16))
    };
    let (bytes, capacity) = match basis {
        LoadBasis::Host => (found.bytes, capacity_of_hosts(senders(), fabric)),
        LoadBasis::Fabric => (found.crossing, capacity_of_leaves(senders(), fabric)),
    };
    if capacity == 0.0 || bytes == 0 {
        let refused = "a load of the fabric, which no flow crosses";
        return Err(WorkloadError::at("load", refused, "load_basis = \"host\""));
    }
    Ok(8.0 * bytes as f64 * PS_PER_SECOND / span as f64 / capacity)
}

fn capacity_of_hosts(senders: impl Iterator<Item = HostId>, fabric: &Fabric) -> f64 {
    senders.map(|host| fabric.host_links[usize::from(host.0)].0 as f64).sum()
}

fn capacity_of_leaves(senders: impl Iterator<Item = HostId>, fabric: &Fabric) -> f64 {
    let mut sends = vec![false; fabric.uplinks.len()];
    senders.for_each(|host| sends[usize::from(fabric.tor(host).0)] = true);
    sends.iter().zip(&fabric.uplinks).filter(|(s, _)| **s).map(|(_, r)| r.0 as f64).sum()
}

/// Capacity of the senders' own links in bits per second.
fn host_capacity(pairs: &Pairs, fabric: &Fabric) -> f64 {
    capacity_of_hosts(pairs.senders().iter().copied(), fabric)
}

/// Capacity towards the spines of all leaves that hold a sender, in bits per second.
fn fabric_capacity(load: f64, pairs: &Pairs, fabric: &Fabric) -> Result<f64, WorkloadError> {
    let capacity = capacity_of_leaves(pairs.senders().iter().copied(), fabric);
    let refuse = |found: &str| {
        let allowed = "a load with load_basis = \"host\", an interarrival or a rate";
        Err(WorkloadError::at("load", format!("{load} of a fabric, {found}"), allowed))
    };
    if capacity == 0.0 {
        return refuse("but there are no links between switches");
    }
    if pairs.crossing() == 0.0 {
        return refuse("but no flow leaves its leaf");
    }
    Ok(capacity)
}
