//! The packets on links: they live in one array and are known by `u32` handles.

use leafspine_core::PacketMeta;
use leafspine_node::prefetch;
use std::ops::{Index, IndexMut};

/// A packet's place in the pool.
pub(crate) type Handle = u32;

/// A packet in a cache line of its own.
#[repr(align(64))]
struct Line(PacketMeta);

/// All packets on links. Freed places are used again, the last freed first: it is still cached.
#[derive(Default)]
pub(crate) struct Pool {
    packets: Vec<Line>,
    free: Vec<Handle>,
}

impl Pool {
    /// Takes a packet in.
    #[inline]
    pub(crate) fn put(&mut self, packet: &PacketMeta) -> Handle {
        let Some(handle) = self.free.pop() else { return self.grow(packet) };
        self.packets[handle as usize].0 = *packet;
        handle
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, packet: &PacketMeta) -> Handle {
        self.packets.push(Line(*packet));
        (self.packets.len() - 1) as Handle
    }

    /// Prefetches a packet.
    #[inline]
    pub(crate) fn prefetch(&self, handle: Handle) {
        prefetch(&self.packets, handle as usize);
    }

    #[inline]
    pub(crate) fn free(&mut self, handle: Handle) {
        self.free.push(handle);
    }
}

impl Index<Handle> for Pool {
    type Output = PacketMeta;
    #[inline]
    fn index(&self, handle: Handle) -> &PacketMeta {
        &self.packets[handle as usize].0
    }
}

impl IndexMut<Handle> for Pool {
    #[inline]
    fn index_mut(&mut self, handle: Handle) -> &mut PacketMeta {
        &mut self.packets[handle as usize].0
    }
}
