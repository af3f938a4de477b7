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

    /// The lowest-numbered host of each rack, by rack; racks without hosts have none.
    pub(crate) fn first_hosts(&self) -> Vec<(TorId, HostId)> {
        let mut found: Vec<(TorId, HostId)> = Vec::new();
        for (host, tor) in self.tor_of.iter().enumerate() {
            if found.iter().all(|(seen, _)| seen != tor) {
                found.push((*tor, HostId(host as u16)));
            }
        }
        found
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

    /// Breaks if a rack's agent is not its lowest-numbered host.
    #[test]
    fn the_first_host_of_each_rack() {
        let hosts: Vec<u16> = racks(12, 3).first_hosts().into_iter().map(|(_, h)| h.0).collect();
        assert_eq!(hosts, [0, 1, 2]);
    }
}
