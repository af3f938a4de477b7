//! Packets on links, in blocks that all links of a domain share: a link has as many as it needs now,
//! not as many as it ever needed.

use leafspine_core::PacketMeta;
use leafspine_node::prefetch;

/// Places of a block's packets and the place after them, which has none: there the next block is
/// noted.
const PLACES: u32 = 8;

/// A number of [`Blocks`]: of a packet, or of the end of a block.
pub(super) type Place = u32;

/// Arrival times of a block's packets, beside each other so that looking for what is due does not
/// touch the packets: one cache line. The last word is the first place of the next block.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Times([u64; PLACES as usize]);

/// A packet in a cache line of its own.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Held(PacketMeta);

/// Packets on links, by their places.
pub(super) struct Blocks {
    times: Vec<Times>,
    /// The places at blocks' ends are not used.
    packets: Vec<Held>,
    /// The first place of a block that no link has: the last that was given back, which is still
    /// cached. [`Blocks::END`]: there is none.
    free: Place,
}

impl Default for Blocks {
    /// One block: that of links on which nothing has been yet.
    fn default() -> Blocks {
        let mut blocks = Blocks { times: Vec::new(), packets: Vec::new(), free: Blocks::END };
        blocks.grow();
        blocks
    }
}

impl Blocks {
    /// The place of a link on which nothing has been yet: a block's end, so that a place is taken
    /// with the first packet.
    pub(super) const END: Place = PLACES - 1;

    /// Whether this is the end of a block.
    #[inline(always)]
    pub(super) fn is_end(place: Place) -> bool {
        place % PLACES == Blocks::END
    }

    /// The first place of its block.
    #[inline(always)]
    pub(super) fn first_of(place: Place) -> Place {
        place & !(PLACES - 1)
    }

    /// When the packet at a place arrives.
    #[inline(always)]
    pub(super) fn time(&self, place: Place) -> u64 {
        self.times[(place / PLACES) as usize].0[(place % PLACES) as usize]
    }

    /// The packet at a place.
    #[inline(always)]
    pub(super) fn packet(&self, place: Place) -> &PacketMeta {
        &self.packets[place as usize].0
    }

    pub(super) fn packet_mut(&mut self, place: Place) -> &mut PacketMeta {
        &mut self.packets[place as usize].0
    }

    /// Prefetches a packet.
    #[inline(always)]
    pub(super) fn prefetch(&self, place: Place) {
        prefetch(&self.packets, place as usize);
    }

    #[inline(always)]
    pub(super) fn put(&mut self, place: Place, time: u64, packet: &PacketMeta) {
        self.note(place, time);
        self.packets[place as usize].0 = *packet;
    }

    #[inline(always)]
    fn note(&mut self, place: Place, word: u64) {
        self.times[(place / PLACES) as usize].0[(place % PLACES) as usize] = word;
    }

    /// Where the packets go on that have come to a block's end.
    #[inline]
    pub(super) fn after(&self, end: Place) -> Place {
        self.time(end) as Place
    }

    /// The first place of a block that no link had.
    pub(super) fn take(&mut self) -> Place {
        if self.free == Blocks::END {
            self.grow();
            return (self.packets.len() - PLACES as usize) as Place;
        }
        let taken = self.free;
        self.free = self.after(taken + Blocks::END);
        taken
    }

    /// Packets go on from a block's end to `first` of another.
    pub(super) fn link(&mut self, end: Place, first: Place) {
        self.note(end, first.into());
    }

    /// Gives the block with this end back. Returns where packets go on after it.
    #[inline(never)]
    pub(super) fn give_back(&mut self, end: Place) -> Place {
        let after = self.after(end);
        self.link(end, self.free);
        self.free = Blocks::first_of(end);
        after
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.times.push(Times([0; PLACES as usize]));
        let packet = Held(PacketMeta::default());
        self.packets.extend([packet; PLACES as usize]);
    }
}
