//! A leaf's uplinks: their numbers, which of them lead to one spine, and how fast their medium queue is.

use super::header::MOST_UPLINKS;
use super::table::{PortSet, Table};
use crate::stages::MEDIUM;
use crate::{Context, Neighbour, ParamError, SwitchEnv};
use leafspine_core::{PortId, Rate, Span};

/// No uplink has this number.
const NONE: u8 = u8::MAX;

/// Fractional bits of a pace.
const FRACTION: u32 = 16;

const PS_BITS_PER_BYTE: u128 = 8_000_000_000_000;

/// See the module's text.
pub(super) struct Uplinks {
    /// By port: the uplink's number, counted upwards; `NONE` for hosts' ports.
    number: Vec<u8>,
    /// By number.
    uplinks: Vec<Uplink>,
    /// Weight of the medium queue, and of all queues.
    weights: (u64, u64),
}

struct Uplink {
    port: PortId,
    /// All uplinks to the same spine, this one included.
    siblings: PortSet,
    /// The rate that `pace` is of: links may change theirs.
    rate: Rate,
    /// Picoseconds that the medium queue needs for a byte when all queues are backlogged, in 2^-16.
    pace: u64,
}

impl Uplinks {
    pub(super) fn new(env: &SwitchEnv) -> Result<Uplinks, ParamError> {
        let weight = |queue: u8| u64::from(env.weights.get(usize::from(queue)).map_or(1, |w| *w));
        let total: u64 = env.weights.iter().map(|w| u64::from(*w)).sum();
        let weights = (weight(MEDIUM).max(1), total.max(1));
        let mut found = Uplinks { number: Vec::new(), uplinks: Vec::new(), weights };
        let spine = |port: usize| match env.ports[port].neighbour {
            Neighbour::Switch(spine, _) => Some(spine),
            Neighbour::Host(_) => None,
        };
        let fabric: Vec<usize> = (0..env.ports.len()).filter(|p| spine(*p).is_some()).collect();
        if fabric.len() > MOST_UPLINKS {
            let links = fabric.len();
            let found = format!("a leaf with {links} uplinks");
            let allowed =
                format!("at most {MOST_UPLINKS}, whose levels fit into a header of 64 bits");
            return Err(ParamError::new("scheme", found, allowed));
        }
        found.number = vec![NONE; env.ports.len()];
        for (number, port) in fabric.iter().enumerate() {
            found.number[*port] = number as u8;
            let mut siblings = PortSet::default();
            for (other, at) in fabric.iter().enumerate() {
                if spine(*at) == spine(*port) {
                    siblings.insert(other as u8);
                }
            }
            let rate = env.ports[*port].rate;
            let port = PortId(*port as u16);
            let pace = found.pace_at(rate);
            found.uplinks.push(Uplink { port, siblings, rate, pace });
        }
        Ok(found)
    }

    /// `C x weight / total weight` (§II-B2b eqs. 1 and 2) as a time per byte.
    fn pace_at(&self, rate: Rate) -> u64 {
        let (weight, total) = self.weights;
        let ps = (PS_BITS_PER_BYTE * u128::from(total)) << FRACTION;
        let share = u128::from(rate.0.max(1)) * u128::from(weight);
        u64::try_from(ps / share).unwrap_or(u64::MAX)
    }

    /// The uplink that `port` is, if it leads to another switch.
    #[inline]
    pub(super) fn number(&self, port: PortId) -> Option<u8> {
        self.number.get(usize::from(port.0)).copied().filter(|number| *number != NONE)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.uplinks.len()
    }

    /// The ports of some uplinks, ascending.
    pub(super) fn ports_of(&self, some: PortSet) -> impl Iterator<Item = PortId> {
        let chosen = self.uplinks.iter().enumerate().filter(move |(n, _)| some.has(*n as u8));
        chosen.map(|(_, uplink)| uplink.port)
    }

    /// All uplinks whose link is up.
    pub(super) fn live(&self, cx: &Context<'_>) -> PortSet {
        let mut live = PortSet::default();
        for (number, uplink) in self.uplinks.iter().enumerate() {
            if cx.ports.is_up(uplink.port) {
                live.insert(number as u8);
            }
        }
        live
    }

    /// What a table that another leaf fed back says of the spine that `port` leads to: leaves number
    /// their uplinks alike, and a spine with parallel links to that leaf may choose any of them, so
    /// the highest of their levels counts.
    #[inline]
    pub(super) fn level_beyond(&self, port: PortId, table: Table) -> u32 {
        self.number(port)
            .map_or(0, |number| table.highest(self.uplinks[usize::from(number)].siblings))
    }

    /// Whether all links that the spine behind `port` has to the leaf that fed `free` back are in it.
    pub(super) fn is_free_beyond(&self, port: PortId, free: PortSet) -> bool {
        self.number(port).is_some_and(|n| free.has_all(self.uplinks[usize::from(n)].siblings))
    }

    /// How long the medium queue of `port` needs for so many bytes, by its weight.
    pub(super) fn medium_time(&mut self, port: PortId, bytes: u64, cx: &Context<'_>) -> Span {
        let Some(number) = self.number(port) else { return Span::ZERO };
        let rate = cx.ports.rate(port);
        let uplink = &self.uplinks[usize::from(number)];
        if uplink.rate != rate {
            let pace = self.pace_at(rate);
            let uplink = &mut self.uplinks[usize::from(number)];
            (uplink.rate, uplink.pace) = (rate, pace);
        }
        let pace = self.uplinks[usize::from(number)].pace;
        let ps = (u128::from(pace) * u128::from(bytes)) >> FRACTION;
        Span(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Bytes that all this takes.
    pub(super) fn bytes(&self) -> usize {
        self.number.len() + self.uplinks.len() * size_of::<Uplink>()
    }
}
