//! Tiers with numbers, names and links of their own: a folded Clos network.

use super::{Entry, Shape, Tier};
use crate::LinkSpec;
use leafspine_core::Rate;

/// A Clos network has at most so many tiers.
pub const MOST_TIERS: usize = 4;

/// `topology.kind = "clos"`.
pub const ENTRY: Entry = Entry {
    name: "clos",
    keys: &[],
    hosts_key: "hosts_per_tor",
    tors: Some("switches"),
    fabric: true,
    kind: None,
};

/// A folded Clos network: tiers of switches, each with the one below in pods.
///
/// All switches of a pod are linked with the same switches of the tier above: each with as many of
/// them, so that those of one pod share the tier above evenly. In a fabric without pods between two
/// tiers, every switch is linked with every one above; above pods of several switches, the first of
/// each pod are linked with the same ones (a plane), and so on.
#[derive(Clone, PartialEq, Debug)]
pub struct Clos {
    /// Hosts under each switch of the lowest tier.
    hosts_per_tor: u32,
    /// The tiers, from the hosts upwards; at least two.
    tiers: Vec<ClosTier>,
}

/// A tier of a Clos network.
#[derive(Clone, PartialEq, Debug)]
pub struct ClosTier {
    /// What its switches are called, before the number.
    pub name: String,
    /// How many there are.
    pub switches: u32,
    /// Into how many pods they fall, each with the switches below it. In the lowest tier each switch
    /// is one.
    pub pods: u32,
    /// Parallel links between two switches of this tier and the one below.
    pub links_per_pair: u32,
    /// Those links.
    pub link: LinkSpec,
}

/// What is wrong with a tier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClosError {
    /// The tier, from 0.
    pub tier: usize,
    /// The key of it.
    pub key: &'static str,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}

impl Clos {
    /// The network of these tiers. The pods of the lowest are left out of account.
    ///
    /// # Errors
    /// Switches that do not fall into their pods evenly, or links that cannot be dealt out evenly.
    ///
    /// # Panics
    /// If there are no tiers.
    pub fn new(hosts_per_tor: u32, mut tiers: Vec<ClosTier>) -> Result<Clos, ClosError> {
        tiers[0].pods = tiers[0].switches;
        for tier in 1..tiers.len() {
            check(&tiers, tier)?;
        }
        Ok(Clos { hosts_per_tor, tiers })
    }

    /// The tiers.
    #[must_use]
    pub fn tiers(&self) -> &[ClosTier] {
        &self.tiers
    }

    /// Hosts under each switch of the lowest tier.
    #[must_use]
    pub fn hosts_per_tor(&self) -> u32 {
        self.hosts_per_tor
    }

    pub(super) fn shape(&self) -> Shape {
        let width = |tier: usize| u64::from(self.tiers[tier].switches / self.tiers[tier].pods);
        let tier = |(at, tier): (usize, &ClosTier)| match at {
            0 => Tier { name: tier.name.clone().into(), ..Tier::of_hosts("", self.hosts_per_tor) },
            _ => Tier {
                name: tier.name.clone().into(),
                below: u64::from(self.tiers[at - 1].pods / tier.pods),
                above: width(at) / width(at - 1),
                links: u64::from(tier.links_per_pair),
                link: Some(tier.link),
            },
        };
        let tiers = self.tiers.iter().enumerate().map(tier).collect();
        Shape { entry: &ENTRY, counts: Vec::new(), tiers }
    }
}

/// Whether a tier fits the one below.
fn check(tiers: &[ClosTier], at: usize) -> Result<(), ClosError> {
    let (lower, this) = (&tiers[at - 1], &tiers[at]);
    let refuse = |key, found, allowed| Err(ClosError { tier: at, key, found, allowed });
    let pods = |count: u32| match count {
        1 => "1 pod".to_owned(),
        _ => format!("{count} pods"),
    };
    if at + 1 == tiers.len() && this.pods != 1 {
        let allowed = "1: only switches of the top tier join them".to_owned();
        return refuse("pods", pods(this.pods), allowed);
    }
    if !lower.pods.is_multiple_of(this.pods) {
        let what = if at == 1 {
            format!("{} {} switches", lower.switches, lower.name)
        } else {
            format!("the {} of the tier below", pods(lower.pods))
        };
        let allowed = format!("a divisor of {}", lower.pods);
        return refuse("pods", format!("{} for {what}", pods(this.pods)), allowed);
    }
    if !this.switches.is_multiple_of(this.pods) {
        let found = format!("{} switches in {}", this.switches, pods(this.pods));
        return refuse("switches", found, format!("a multiple of {}", this.pods));
    }
    let (width, each) = (this.switches / this.pods, lower.switches / lower.pods);
    if !width.is_multiple_of(each) {
        let found =
            format!("{} switches above pods of {each} {} switches", this.switches, lower.name);
        let allowed = format!("a multiple of {}", u64::from(each) * u64::from(this.pods));
        return refuse("switches", found, allowed);
    }
    Ok(())
}

/// How many hosts under a switch of the lowest tier have `ratio` times the rate of its links upwards;
/// `None` if they are no whole number.
#[must_use]
pub fn oversubscribed(ratio: f64, host: Rate, up: Rate, uplinks: u64) -> Option<u32> {
    let hosts = ratio * uplinks as f64 * up.0 as f64 / host.0 as f64;
    let whole = hosts.round();
    let near = (hosts - whole).abs() <= 1e-9 * whole && (1.0..=65_536.0).contains(&whole);
    near.then_some(whole as u32)
}

/// What is known of a tier whose numbers follow from its switches' ports.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// Parallel links between two switches of this tier and the one below.
    pub links_per_pair: u32,
    /// Rate of those links; in the lowest tier of the hosts'.
    pub rate: Rate,
}

/// Switches and pods of each tier, and the hosts under one switch of the lowest, of the largest
/// network whose switches have `radix` ports. `ratio(i)` is how many times the rate of its links
/// upwards a switch of tier `i` has downwards.
///
/// # Errors
/// The tier whose ports cannot be split so.
pub fn of_radix(
    radix: u32,
    bundles: &[Bundle],
    ratio: impl Fn(usize) -> f64,
) -> Result<(u32, Vec<(u64, u64)>), usize> {
    let top = bundles.len() - 1;
    let (mut below, mut above) = (Vec::new(), vec![1]);
    for (tier, this) in bundles.iter().enumerate() {
        let Some(next) = bundles.get(tier + 1) else {
            below.push(u64::from(radix / this.links_per_pair));
            break;
        };
        let (down, up) = split(radix, this, next, ratio(tier)).ok_or(tier)?;
        below.push(u64::from(down));
        above.push(u64::from(up));
    }
    if below[top] == 0 {
        return Err(top);
    }
    let product = |numbers: &[u64]| numbers.iter().fold(1u64, |all, n| all.saturating_mul(*n));
    let counts = (0..=top).map(|tier| {
        let pods = product(&below[tier + 1..]);
        (pods.saturating_mul(product(&above[..=tier])), pods)
    });
    Ok((below[0] as u32, counts.collect()))
}

/// To how many switches (or hosts) below and to how many above a switch is linked: as many as its
/// ports allow.
fn split(radix: u32, this: &Bundle, next: &Bundle, ratio: f64) -> Option<(u32, u32)> {
    (1..=radix / next.links_per_pair).rev().find_map(|up| {
        let uplinks = u64::from(up) * u64::from(next.links_per_pair);
        let down = oversubscribed(ratio, this.rate, next.rate, uplinks)?;
        let fits = u64::from(down) + uplinks <= u64::from(radix);
        (fits && down.is_multiple_of(this.links_per_pair))
            .then_some((down / this.links_per_pair, up))
    })
}
