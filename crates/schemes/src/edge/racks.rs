//! The racks that a host's edge keeps state about.

use leafspine_core::{HostId, TorId};
use std::sync::Arc;

/// Racks that have rows of their own; beyond, racks share.
const MOST: usize = 256;

/// Which row of a table a host's rack has.
pub(crate) struct Racks {
    tor_of: Arc<[TorId]>,
    rows: usize,
}

impl Racks {
    pub(crate) fn new(tor_of: &Arc<[TorId]>) -> Racks {
        let racks = tor_of.iter().map(|tor| usize::from(tor.0) + 1).max().unwrap_or(1);
        Racks { tor_of: tor_of.clone(), rows: racks.min(MOST) }
    }

    /// Rows in all.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The row of the rack that `host` is in.
    pub(crate) fn row(&self, host: HostId) -> usize {
        let tor = self.tor_of.get(usize::from(host.0)).map_or(0, |tor| usize::from(tor.0));
        if tor < self.rows { tor } else { tor % self.rows }
    }

    /// The lowest-numbered host of each rack, in their order; racks without hosts have none.
    pub(crate) fn first_hosts(&self) -> Vec<(TorId, HostId)> {
        let last = self.tor_of.iter().map(|tor| usize::from(tor.0)).max().unwrap_or(0);
        let mut seen = vec![false; last + 1];
        let numbered = self.tor_of.iter().enumerate();
        numbered
            .filter(|(_, tor)| !std::mem::replace(&mut seen[usize::from(tor.0)], true))
            .map(|(host, tor)| (*tor, HostId(host as u16)))
            .collect()
    }
}

/// A table with a row for each rack. A row is made when its rack is first met: in a fabric of
/// thousands of hosts each has dealings with few racks, and all rows of all hosts are gigabytes.
pub(crate) struct Rows<T> {
    width: usize,
    blank: T,
    rows: Vec<Option<Box<[T]>>>,
}

impl<T: Copy> Rows<T> {
    /// So many rows of so many entries, all `blank`.
    pub(crate) fn new(rows: usize, width: usize, blank: T) -> Rows<T> {
        Rows { width, blank, rows: (0..rows).map(|_| None).collect() }
    }

    /// An entry.
    #[inline]
    pub(crate) fn get(&self, row: usize, at: usize) -> &T {
        self.rows[row].as_ref().map_or(&self.blank, |row| &row[at])
    }

    /// A row to write to.
    #[inline]
    pub(crate) fn row(&mut self, row: usize) -> &mut [T] {
        let (width, blank) = (self.width, self.blank);
        self.rows[row].get_or_insert_with(|| vec![blank; width].into_boxed_slice())
    }

    /// Whether the rack of this row has been met.
    #[inline]
    pub(crate) fn met(&self, row: usize) -> bool {
        self.rows[row].is_some()
    }

    /// Bytes of the rows that there are, and of the list of them.
    pub(crate) fn bytes(&self) -> u64 {
        let made = self.rows.iter().flatten().count() * self.width * size_of::<T>();
        (made + self.rows.len() * size_of::<Option<Box<[T]>>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn racks(hosts: u16, racks: u16) -> Racks {
        Racks::new(&(0..hosts).map(|host| TorId(host % racks)).collect())
    }

    /// Breaks if hosts of one rack have different rows, or of two racks the same while there is room.
    #[test]
    fn racks_have_rows() {
        let few = racks(12, 3);
        assert_eq!(few.rows(), 3);
        assert_eq!([0, 1, 2, 3, 11].map(|h| few.row(HostId(h))), [0, 1, 2, 0, 2]);
        assert_eq!(few.row(HostId(999)), 0, "a host that is not there harms nothing");
        let many = racks(600, 300);
        assert_eq!((many.rows(), many.row(HostId(256)), many.row(HostId(299))), (256, 0, 43));
    }

    /// Breaks if a rack's agent is not its lowest-numbered host, or if a rack without hosts has one.
    #[test]
    fn the_first_host_of_each_rack() {
        let firsts = |tors: &[u16]| -> Vec<(u16, u16)> {
            let racks = Racks::new(&tors.iter().map(|tor| TorId(*tor)).collect());
            racks.first_hosts().into_iter().map(|(tor, host)| (tor.0, host.0)).collect()
        };
        assert_eq!(firsts(&[0, 1, 2, 0, 1, 2]), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(firsts(&[2, 2, 0, 0, 5]), [(2, 0), (0, 2), (5, 4)]);
    }

    /// Breaks if a row takes memory before it is written to, if reading makes it, or if one row's
    /// entries are another's.
    #[test]
    fn rows_are_made_when_they_are_needed() {
        let mut rows = Rows::new(256, 32, 7u64);
        let empty = rows.bytes();
        assert_eq!((*rows.get(200, 31), empty, rows.met(200)), (7, 256 * 16, false));
        rows.row(200)[31] = 8;
        assert_eq!([*rows.get(200, 31), *rows.get(200, 30), *rows.get(199, 31)], [8, 7, 7]);
        assert_eq!((rows.bytes() - empty, rows.met(200)), (32 * 8, true));
    }
}
