//! Levels and sets of a leaf's uplinks, as they travel in headers.

/// A level of two bits for each uplink of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Table(pub(super) u64);

/// A set of a leaf's uplinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PortSet(pub(super) u32);

impl Table {
    /// The level of uplink `number`.
    #[inline]
    pub(super) fn level(self, number: u8) -> u32 {
        (self.0 >> (2 * u32::from(number)) & 3) as u32
    }

    /// Sets the level of uplink `number`, which has at most two bits.
    #[inline]
    pub(super) fn set(&mut self, number: u8, level: u32) {
        let shift = 2 * u32::from(number);
        self.0 = self.0 & !(3 << shift) | u64::from(level & 3) << shift;
    }

    /// The highest level of any of `ports`.
    #[inline]
    pub(super) fn highest(self, ports: PortSet) -> u32 {
        let (mut rest, mut highest) = (ports.0, 0);
        while rest != 0 {
            highest = highest.max(self.level(rest.trailing_zeros() as u8));
            rest &= rest - 1;
        }
        highest
    }
}

impl PortSet {
    /// Whether uplink `number` is in the set.
    #[inline]
    pub(super) fn has(self, number: u8) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Whether all of `other` are in the set.
    #[inline]
    pub(super) fn has_all(self, other: PortSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Puts uplink `number` in.
    #[inline]
    pub(super) fn insert(&mut self, number: u8) {
        self.0 |= 1 << number;
    }

    /// Takes uplink `number` out.
    #[inline]
    pub(super) fn remove(&mut self, number: u8) {
        self.0 &= !(1 << number);
    }

    /// Whether no uplink is in the set.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Breaks if the level of parallel links is not their highest.
    #[test]
    fn the_highest_of_some_ports() {
        let mut table = Table::default();
        for (port, level) in [(0, 3), (2, 1), (3, 2), (30, 2)] {
            table.set(port, level);
        }
        let of = |table: Table, ports: &[u8]| {
            let mut set = PortSet::default();
            ports.iter().for_each(|port| set.insert(*port));
            table.highest(set)
        };
        assert_eq!(
            [of(table, &[]), of(table, &[1]), of(table, &[2]), of(table, &[2, 3])],
            [0, 0, 1, 2]
        );
        assert_eq!([of(table, &[30]), of(table, &[0, 30])], [2, 3]);
        table.set(0, 0);
        assert_eq!(of(table, &[0]), 0);
    }
}
