//! Tiers of like switches: a generalised fat tree.
//!
//! Every switch has the same number of nodes below it, and is linked to the same number of switches
//! above: the extended generalised fat trees of Öhring et al. (IPPS 1995) with the parallel links of
//! Zahavi (2010). Stars, leaf-spines and fat trees are cases of it.

use super::Entry;
use crate::LinkSpec;
use std::borrow::Cow;

/// What a fabric of tiers looks like, before anything is allocated for it. The numbers may be larger
/// than any fabric: [`size`](crate::size) refuses those.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its kind.
    pub entry: &'static Entry,
    /// The counts it is made from, one for each key.
    pub counts: Vec<u32>,
    /// The tiers of switches, those with hosts first.
    pub tiers: Vec<Tier>,
}

/// Switches of one tier.
#[derive(Clone, PartialEq, Debug)]
pub struct Tier {
    /// What they are called, before the number.
    pub name: Cow<'static, str>,
    /// How many of the tier below (of hosts, in the lowest) stand under the same switches of this
    /// tier: each of those has links to all of them.
    pub below: u64,
    /// To how many switches of this tier each one of the tier below is linked; 1 in the lowest.
    pub above: u64,
    /// Parallel links between two linked switches.
    pub links: u64,
    /// The links to the tier below; `None`: the spec's `fabric_link`.
    pub link: Option<LinkSpec>,
}

impl Tier {
    /// The switches with hosts: so many hosts under each.
    pub(super) fn of_hosts(name: &'static str, hosts: u32) -> Tier {
        Tier::new(name, hosts, 1, 1)
    }

    /// A tier that is linked with the one below.
    pub(super) fn new(name: &'static str, below: u32, above: u32, links: u32) -> Tier {
        let [below, above, links] = [below, above, links].map(u64::from);
        Tier { name: name.into(), below, above, links, link: None }
    }
}

impl Shape {
    /// Into how many groups a tier falls, each with all that stands under one of its switches.
    #[must_use]
    pub fn groups(&self, tier: usize) -> u64 {
        product(self.tiers[tier + 1..].iter().map(|tier| tier.below))
    }

    /// Switches of a tier in each of its groups.
    fn width(&self, tier: usize) -> u64 {
        product(self.tiers[..=tier].iter().map(|tier| tier.above))
    }

    /// How many switches a tier has.
    #[must_use]
    pub fn count(&self, tier: usize) -> u64 {
        self.groups(tier).saturating_mul(self.width(tier))
    }

    /// How many switches have hosts.
    #[must_use]
    pub fn tors(&self) -> u64 {
        self.count(0)
    }

    /// Hosts under each of them.
    #[must_use]
    pub fn hosts_per_tor(&self) -> u64 {
        self.tiers[0].below
    }

    /// How many hosts there are.
    #[must_use]
    pub fn hosts(&self) -> u64 {
        self.tors().saturating_mul(self.hosts_per_tor())
    }

    /// How many switches there are.
    #[must_use]
    pub fn switches(&self) -> u64 {
        (0..self.tiers.len()).fold(0, |sum, tier| sum.saturating_add(self.count(tier)))
    }

    /// How many links there are between switches.
    #[must_use]
    pub fn links(&self) -> u64 {
        let under = |tier: usize| {
            let Tier { above, links, .. } = self.tiers[tier];
            self.count(tier - 1).saturating_mul(above).saturating_mul(links)
        };
        (1..self.tiers.len()).fold(0, |sum, tier| sum.saturating_add(under(tier)))
    }

    /// Ports of the switch that has most.
    #[must_use]
    pub fn most_ports(&self) -> u64 {
        let ports = |(tier, this): (usize, &Tier)| {
            let down = this.below.saturating_mul(this.links);
            let up = self.tiers.get(tier + 1).map_or(0, |up| up.above.saturating_mul(up.links));
            down.saturating_add(up)
        };
        self.tiers.iter().enumerate().map(ports).max().unwrap_or(0)
    }

    /// The highest tier that a packet between the farthest hosts passes.
    fn highest(&self) -> usize {
        (1..self.tiers.len()).rev().find(|tier| self.tiers[*tier].below > 1).unwrap_or(0)
    }

    /// The links between switches that a packet crosses between the hosts that are farthest apart, in
    /// its order. A tier without a link of its own has `fabric`.
    #[must_use]
    pub fn farthest(&self, fabric: LinkSpec) -> Vec<LinkSpec> {
        let up = self.tiers[1..=self.highest()].iter().map(|tier| tier.link.unwrap_or(fabric));
        up.clone().chain(up.rev()).collect()
    }

    /// Pairs of linked switches, the lower first, and the upper one's tier, in the order of the
    /// [`Graph`](crate::Graph)'s links. Switches are numbered tier by tier.
    pub fn wiring(&self) -> impl Iterator<Item = (u64, u64, &Tier)> {
        let first: Vec<u64> = (0..self.tiers.len())
            .scan(0, |next: &mut u64, tier| {
                let first = *next;
                *next = next.saturating_add(self.count(tier));
                Some(first)
            })
            .collect();
        (1..self.tiers.len()).flat_map(move |tier| {
            let (this, width) = (&self.tiers[tier], self.width(tier - 1));
            let (lowest, highest) = (first[tier - 1], first[tier]);
            (0..self.count(tier - 1)).flat_map(move |lower| {
                // Its group, and its place in it, which is linked to places of its own above.
                let (group, place) = (lower / width, lower % width);
                let upper = highest + (group / this.below * width + place) * this.above;
                (0..this.above).map(move |number| (lowest + lower, upper + number, this))
            })
        })
    }

    /// What a list of the names of tiers leaves open about the links between them.
    pub(crate) fn note(&self) -> String {
        let mut text = String::new();
        for tier in (1..self.tiers.len()).filter(|tier| self.groups(*tier) > 1) {
            let (lower, upper) = (&self.tiers[tier - 1].name, &self.tiers[tier].name);
            text += &format!(", {lower} to {upper} within a pod");
        }
        text
    }
}

fn product(factors: impl Iterator<Item = u64>) -> u64 {
    factors.fold(1, u64::saturating_mul)
}
