//! Names of links, ports and switches, as scenarios write them.

use crate::kinds::{Plan, canonical_number};
use crate::{Graph, Owner, TopologyError};
use leafspine_core::{HostId, SwitchId, TorId};

impl Graph {
    /// A node's name: `host5`, `leaf0`.
    #[must_use]
    pub fn node_name(&self, node: Owner) -> String {
        match node {
            Owner::Host(host) => match self.host_names.get(usize::from(host.0)) {
                Some(name) => name.clone(),
                None => format!("host{}", host.0),
            },
            Owner::Switch(switch) => self.switch(switch).name.clone(),
        }
    }

    /// A port's name, its own end first: `leaf0-spine3`, `leaf0-spine3#1`, `host5-leaf0`.
    #[must_use]
    pub fn port_name(&self, port: u32) -> String {
        let (this, link) = self.port_and_link(port);
        let suffix = match link.parallel {
            0 => String::new(),
            number => format!("#{number}"),
        };
        let other = self.ports[this.peer as usize].owner;
        format!("{}-{}{suffix}", self.node_name(this.owner), self.node_name(other))
    }

    fn port_and_link(&self, port: u32) -> (&crate::LinkEnd, &crate::Link) {
        let port = &self.ports[port as usize];
        (port, &self.links[port.link as usize])
    }

    /// The link with this name, either end first; `#0` may be left out.
    ///
    /// # Errors
    /// No such link: the nearest name and what links there are.
    pub fn link_by_name(&self, name: &str) -> Result<u32, TopologyError> {
        self.find_link(name).ok_or_else(|| self.unknown_link(name))
    }

    fn find_link(&self, name: &str) -> Option<u32> {
        let (ends, parallel) = match name.split_once('#') {
            Some((ends, number)) => (ends, canonical_number(number)?),
            None => (name, 0),
        };
        // Names of a file's nodes may have dashes of their own; no two links read alike.
        ends.match_indices('-').find_map(|(at, _)| {
            let (one, other) =
                (self.node_by_name(&ends[..at])?, self.node_by_name(&ends[at + 1..])?);
            self.ports_of_node(one)
                .map(|port| self.port_and_link(port))
                .find(|(port, link)| {
                    self.ports[port.peer as usize].owner == other
                        && u32::from(link.parallel) == parallel
                })
                .map(|(port, _)| port.link)
        })
    }

    /// The links whose name matches `pattern`, either end first, ascending. `*` stands for any text,
    /// as in [`Graph::ports_matching`].
    ///
    /// # Errors
    /// None matches: the nearest name and what links there are.
    pub fn links_matching(&self, pattern: &str) -> Result<Vec<u32>, TopologyError> {
        if !pattern.contains('*') {
            return self.link_by_name(pattern).map(|link| vec![link]);
        }
        let matches = |link: &crate::Link| {
            self.port_matches(link.a, pattern) || self.port_matches(link.b, pattern)
        };
        let links = self.links.iter().enumerate();
        let found: Vec<u32> =
            links.filter(|(_, link)| matches(link)).map(|(number, _)| number as u32).collect();
        match found.is_empty() {
            true => Err(self.unknown_link(pattern)),
            false => Ok(found),
        }
    }

    fn unknown_link(&self, name: &str) -> TopologyError {
        TopologyError::UnknownLink {
            name: name.to_owned(),
            nearest: most_similar(name, self.links.iter().map(|link| link.name.clone())),
            allowed: self.allowed_links(),
        }
    }

    fn ports_of_node(&self, node: Owner) -> std::ops::Range<u32> {
        match node {
            Owner::Switch(switch) => self.ports_of(switch),
            Owner::Host(host) => {
                let port = self.host_port[usize::from(host.0)];
                port..port + 1
            }
        }
    }

    fn node_by_name(&self, name: &str) -> Option<Owner> {
        if let Some(host) = self.kind.host_named(name) {
            return Some(Owner::Host(HostId(host as u16)));
        }
        let switch = self.switches.iter().position(|switch| switch.name == name)?;
        Some(Owner::Switch(SwitchId(switch as u16)))
    }

    /// The switch with hosts that has this name.
    ///
    /// # Errors
    /// No such switch, or one without hosts: the nearest name and what there are.
    pub fn tor_by_name(&self, name: &str) -> Result<TorId, TopologyError> {
        let tors = || self.switches.iter().filter(|switch| switch.tor.is_some());
        tors().find(|switch| switch.name == name).and_then(|switch| switch.tor).ok_or_else(|| {
            TopologyError::UnknownTor {
                name: name.to_owned(),
                nearest: most_similar(name, tors().map(|switch| switch.name.clone())),
                allowed: match self.kind.plan() {
                    Plan::Tiers(shape) => span_of(&shape.tiers[0].name, shape.tors()),
                    Plan::Links(wiring) => listed(wiring.tor_names()),
                },
            }
        })
    }

    /// Global indices of the ports whose name matches `pattern`, ascending. `*` stands for any
    /// text: `leaf0-*` is every port of `leaf0`, `*` every port of the fabric, `leaf0-spine3` the
    /// one of `leaf0` (its first link to `spine3`), `leaf0-spine3#*` all parallel ones.
    ///
    /// # Errors
    /// None matches: the nearest name and what links there are.
    pub fn ports_matching(&self, pattern: &str) -> Result<Vec<u32>, TopologyError> {
        let all = 0..self.ports.len() as u32;
        let found: Vec<u32> =
            all.clone().filter(|port| self.port_matches(*port, pattern)).collect();
        if found.is_empty() {
            return Err(TopologyError::UnknownPort {
                pattern: pattern.to_owned(),
                nearest: most_similar(pattern, all.map(|port| self.port_name(port))),
                allowed: self.allowed_links(),
            });
        }
        Ok(found)
    }

    fn port_matches(&self, port: u32, pattern: &str) -> bool {
        let name = self.port_name(port);
        let first = self.port_and_link(port).1.parallel == 0;
        matches_glob(pattern, &name) || first && matches_glob(pattern, &format!("{name}#0"))
    }

    /// "host0..host255 to leaf0..leaf7, leaf0..leaf7 to spine0..spine7".
    fn allowed_links(&self) -> String {
        let shape = match self.kind.plan() {
            Plan::Tiers(shape) => shape,
            Plan::Links(_) => return listed(self.links.iter().map(|link| link.name.as_str())),
        };
        let tiers = shape.tiers.iter().enumerate();
        let spans: Vec<String> = std::iter::once(span_of("host", u64::from(self.hosts())))
            .chain(tiers.map(|(at, tier)| span_of(&tier.name, shape.count(at))))
            .collect();
        let pairs: Vec<String> =
            spans.windows(2).map(|pair| format!("{} to {}", pair[0], pair[1])).collect();
        let mut text = pairs.join(", ");
        let most = shape.tiers.iter().map(|tier| tier.links).max().unwrap_or(1);
        if most > 1 {
            text += &format!(" (#0..#{})", most - 1);
        }
        text + &shape.note()
    }
}

/// How many names a message lists.
const LISTED: usize = 6;

/// The first of some names, and how many more there are.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    match more {
        0 => names.join(", "),
        _ => format!("{} and {more} more", names.join(", ")),
    }
}

/// "leaf0..leaf7", or "core0" if there is one.
fn span_of(name: &str, count: u64) -> String {
    match count {
        1 => format!("{name}0"),
        _ => format!("{name}0..{name}{}", count - 1),
    }
}

/// The most similar name (fewest edits, transpositions count one), the first among equals.
fn most_similar(name: &str, names: impl Iterator<Item = String>) -> String {
    names.min_by_key(|other| strsim::osa_distance(name, other)).unwrap_or_default()
}

/// The name that was probably meant: the fewest edits, the first among equals, and no more edits
/// than a third of the name's length (but two for short names), or else none. Upper and lower case
/// are alike.
#[must_use]
pub fn nearest<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let found = found.to_lowercase();
    let near = |name: &&str| {
        let distance = strsim::osa_distance(&found, &name.to_lowercase());
        (distance <= (name.len() / 3).max(2) && distance < name.len()).then_some(distance)
    };
    names
        .into_iter()
        .filter_map(|name| near(&name).map(|distance| (distance, name)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_owned())
}

/// Whether `text` is `pattern` with each `*` replaced by some text.
#[must_use]
pub fn matches_glob(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let tail = pieces.pop().unwrap_or_default();
    // The leftmost place for each piece leaves most text for the others.
    for piece in pieces {
        let Some(at) = text.find(piece) else {
            return false;
        };
        text = &text[at + piece.len()..];
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if a piece may overlap another, or if an end is not anchored.
    #[test]
    fn globs() {
        for (pattern, text) in
            [("*", ""), ("*", "a-b"), ("leaf0-*", "leaf0-spine1"), ("*-spine1", "leaf0-spine1")]
        {
            assert!(matches_glob(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("leaf0-*", "leaf01-x"), ("aba*aba", "aba"), ("*b*b", "ab"), ("a*", "ba"), ("a", "ab")]
        {
            assert!(!matches_glob(pattern, text), "{pattern} {text}");
        }
        assert!(matches_glob("l*-s*#*", "leaf0-spine1#1"));
    }

    /// Breaks if a transposition or a missing letter is not mended, or if far names are suggested.
    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["web-search", "data-mining", "k", "ecmp"];
        for (found, meant) in [
            ("web-serch", Some("web-search")),
            ("datamining", Some("data-mining")),
            ("emcp", Some("ecmp")),
            ("letflow", None),
            ("ECMP", Some("ecmp")),
            ("Web-Search", Some("web-search")),
            ("", None),
        ] {
            assert_eq!(nearest(found, names).as_deref(), meant, "{found}");
        }
    }
}
