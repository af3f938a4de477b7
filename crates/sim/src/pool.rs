//! The packet pool: packets live in one array and move as `u32` handles.

use crate::prefetch::prefetch;
use leafspine_core::PacketMeta;
use std::ops::{Index, IndexMut};

/// A packet's place in the pool.
pub(crate) type Handle = u32;

/// All packets in flight. Freed places are used again, the last freed first: it is still cached.
#[derive(Default)]
pub(crate) struct Pool {
    packets: Vec<PacketMeta>,
    free: Vec<Handle>,
}

impl Pool {
    /// A place for a new packet, which is blank. Filled in place: see `calendar::Node`.
    #[inline]
    pub(crate) fn take(&mut self) -> Handle {
        let Some(handle) = self.free.pop() else { return self.grow() };
        self.packets[handle as usize] = PacketMeta::default();
        handle
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> Handle {
        self.packets.push(PacketMeta::default());
        (self.packets.len() - 1) as Handle
    }

    /// Sends for a packet that will be needed.
    #[inline]
    pub(crate) fn prefetch(&self, handle: Handle) {
        prefetch(&self.packets, handle as usize);
    }

    /// A packet to read and another to write.
    #[inline]
    pub(crate) fn pair(&mut self, read: Handle, write: Handle) -> (&PacketMeta, &mut PacketMeta) {
        let [read, write] = self
            .packets
            .get_disjoint_mut([read as usize, write as usize])
            .expect("two packets in two places");
        (read, write)
    }

    /// Takes a packet in.
    pub(crate) fn put(&mut self, packet: PacketMeta) -> Handle {
        let handle = self.take();
        self.packets[handle as usize] = packet;
        handle
    }

    #[inline]
    pub(crate) fn free(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// The places that are not in use.
    pub(crate) fn unused(&self) -> &[Handle] {
        &self.free
    }

    /// Packets in the pool now.
    pub(crate) fn in_use(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    /// The most packets that were in the pool at once.
    pub(crate) fn high_water(&self) -> usize {
        self.packets.len()
    }
}

impl Index<Handle> for Pool {
    type Output = PacketMeta;
    #[inline]
    fn index(&self, handle: Handle) -> &PacketMeta {
        &self.packets[handle as usize]
    }
}

impl IndexMut<Handle> for Pool {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut PacketMeta {
        &mut self.packets[handle as usize]
    }
}
