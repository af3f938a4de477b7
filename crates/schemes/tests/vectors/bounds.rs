//! What a vector may say: places that exist, and numbers that a run could have. Schemes rely on
//! both, because the engine keeps to them.

use super::line::Wrong;
use leafspine_core::{Rate, Span, Time, TorId};
use leafspine_schemes::edge::HostEnv;
use leafspine_schemes::{Backlog, Neighbour, PortInfo, SwitchEnv};
use std::fmt::Display;

/// As scenarios have it.
const FASTEST: u64 = 8_000_000_000_000;
/// The same bound as on round trips, which time stamps can tell apart.
const LONGEST: Span = Span(281_000_000_000_000);
const MOST_HOSTS: u32 = 65_536;

fn within<T: PartialOrd + Display + Copy>(
    what: &str,
    found: T,
    low: T,
    high: T,
) -> Result<(), Wrong> {
    match (low..=high).contains(&found) {
        true => Ok(()),
        false => Err(format!("{what}={found}; allowed: {low} to {high}")),
    }
}

pub fn rate(rate: Rate) -> Result<(), Wrong> {
    within("rate", rate.0, 1, FASTEST)
}

pub fn delay(delay: Span) -> Result<(), Wrong> {
    within("delay", delay.0, 0, LONGEST.0)
}

/// Runs end before this.
pub fn time(time: Time) -> Result<(), Wrong> {
    within("time", time.0, 0, Time::END.0)
}

/// No run is longer. It may have gone on for a while when a vector begins.
pub fn span(what: &str, span: Span) -> Result<(), Wrong> {
    within(what, span.0, 0, Time::END.0)
}

/// What has been going on since then began in the past.
pub fn past(what: &str, since: Time, now: Time) -> Result<(), Wrong> {
    within(what, since.0, 0, now.0)
}

/// What waits at a port in all is counted in 32 bits.
pub fn backlog<'a>(queues: impl Iterator<Item = &'a Backlog>) -> Result<(), Wrong> {
    let sums = |sum: [u64; 2], queue: &Backlog| {
        [sum[0] + u64::from(queue.packets), sum[1] + u64::from(queue.bytes)]
    };
    let [packets, bytes] = queues.fold([0, 0], sums);
    within("packets", packets, 0, u32::MAX.into())?;
    within("bytes", bytes, 0, u32::MAX.into())
}

fn fabric(hosts: u32, tor_of: &[TorId], tors: u16) -> Result<(), Wrong> {
    within("hosts", hosts, 1, MOST_HOSTS)?;
    if tor_of.len() != hosts as usize {
        return Err(format!("hosts={hosts}, but {} are under ToRs", tor_of.len()));
    }
    match tor_of.iter().find(|tor| tor.0 >= tors) {
        Some(tor) => Err(format!("tor={}, but there are {tors}", tor.0)),
        None => Ok(()),
    }
}

fn port(info: &PortInfo, hosts: u32) -> Result<(), Wrong> {
    rate(info.rate)?;
    delay(info.delay)?;
    match info.neighbour {
        Neighbour::Host(host) if u32::from(host.0) >= hosts => Err(format!("no host {}", host.0)),
        _ => Ok(()),
    }
}

/// Packets go to ToRs that exist.
pub fn leads_to(tor: u16, tors: u16) -> Result<(), Wrong> {
    within("to", tor, 0, tors - 1)
}

/// Whether a port leads to another switch.
pub fn leads_on(env: &SwitchEnv, port: u16) -> bool {
    let neighbour = env.ports.get(usize::from(port)).map(|info| info.neighbour);
    matches!(neighbour, Some(Neighbour::Switch(..)))
}

/// Whether there can be such a switch.
pub fn switch(env: &SwitchEnv) -> Result<(), Wrong> {
    fabric(env.hosts, &env.tor_of, env.tors)?;
    if let Some(tor) = env.tor {
        within("tor", tor.0, 0, env.tors - 1)?;
    }
    within("level", env.level.0, 0, 2)?;
    within("mtu", env.mtu, 1, u16::MAX.into())?;
    within("base_rtt", env.base_rtt.0, 0, LONGEST.0)?;
    within("queues", env.queues, 1, 64)?;
    if env.weights.len() != usize::from(env.queues) || env.weights.contains(&0) {
        return Err(format!("one weight for each of {} queues, above 0", env.queues));
    }
    if env.ports.is_empty() || env.ports.len() > usize::from(u16::MAX) {
        return Err(format!("{} ports", env.ports.len()));
    }
    let to_hosts = env.ports.iter().map(|info| matches!(info.neighbour, Neighbour::Host(_)));
    if !to_hosts.is_sorted_by(|a, b| a >= b) {
        return Err("ports to hosts come first".to_owned());
    }
    env.ports.iter().try_for_each(|info| port(info, env.hosts))
}

/// Whether there can be such a host.
pub fn host(env: &HostEnv) -> Result<(), Wrong> {
    fabric(env.hosts, &env.tor_of, u16::MAX)?;
    if env.tor_of.get(usize::from(env.host.0)) != Some(&env.tor) {
        return Err(format!("host {} is not under tor {}", env.host.0, env.tor.0));
    }
    within("mtu", env.mtu, 1, u16::MAX.into())?;
    within("mss", env.mss, 1, env.mtu)?;
    rate(env.rate)?;
    rate(env.uplink_rate)?;
    within("base_rtt", env.base_rtt.0, 0, LONGEST.0)
}
