//! Packets of every kind, and what of them no scheme may change.

use leafspine_core::{Ecn, Flags, HostId, PacketMeta, SchemeHeader};
use leafspine_schemes::testing::{control, data};

/// What of a packet schemes write and read, from any sender.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    pub header: [u32; 2],
    pub tag: u16,
    pub class: u8,
    pub path: u16,
}

impl Fields {
    /// The packet with these.
    pub fn on(self, packet: PacketMeta) -> PacketMeta {
        let Fields { header, tag, class, path } = self;
        PacketMeta { header: SchemeHeader(header), tag, class, path, ..packet }
    }
}

/// A packet from `src` to `dst`; `kind` says what.
pub fn packet(kind: u8, src: HostId, dst: HostId, flow: u16, seq: u32) -> PacketMeta {
    let flags = [
        Flags::ACK,
        Flags::SYN,
        Flags::SYN.with(Flags::ACK),
        Flags::FIN.with(Flags::ACK),
        Flags::RST,
        Flags::PROBE,
        Flags::ACK.with(Flags::ECE),
        Flags::default(),
    ];
    let (src, dst) = (src.0, dst.0);
    match kind % 16 {
        n @ 0..=7 => {
            PacketMeta { seq: seq % 5_000, ..control(src, dst, flow, flags[usize::from(n)]) }
        }
        8 => PacketMeta { size: 41, payload: 1, ..data(src, dst, flow, 7) },
        9 => PacketMeta { ecn: Ecn::Congested, ..data(src, dst, flow, 8) },
        10 => PacketMeta { ecn: Ecn::NotCapable, ..data(src, dst, flow, 9) },
        11 => PacketMeta { size: 9_000, payload: 8_960, ..data(src, dst, flow, 10) },
        12 => {
            let whole = data(src, dst, flow, 11);
            PacketMeta { flags: whole.flags.with(Flags::FIN), ..whole }
        }
        _ => data(src, dst, flow, seq % 5_000),
    }
}

/// A scheme may write its header, `class`, `tag`, `path`, the size that it pays for, and CE where
/// the packet may be marked; all else is not its own.
pub fn assert_own(name: &str, before: &PacketMeta, after: &PacketMeta) {
    let kept = PacketMeta {
        header: before.header,
        class: before.class,
        tag: before.tag,
        path: before.path,
        size: before.size,
        ecn: before.ecn,
        flags: before.flags,
        ..*after
    };
    assert_eq!(kept, *before, "{name} changes what is not its own");
    assert!(after.size >= before.size, "{name} makes a packet shorter");
    let capable = before.ecn != Ecn::NotCapable;
    let marked = after.ecn == Ecn::Congested;
    assert!(after.ecn == before.ecn || (capable && marked), "{name} turns {before:?} to {after:?}");
    // Of the flags, congestion's may be set.
    let congestion = Flags::ECE.with(Flags::CWR);
    assert_eq!(after.flags.without(congestion), before.flags.without(congestion), "{name}");
}

/// A scheme's own packet must be one that a network could carry.
pub fn assert_probe(name: &str, probe: &PacketMeta, hosts: u32) {
    assert!(probe.flags.has(Flags::PROBE), "{name} sends {probe:?}, which is no probe");
    assert!((20..=1_500).contains(&probe.size), "{name}: a probe of {} bytes", probe.size);
    assert!(u32::from(probe.dst().0) < hosts, "{name}: a probe to host {}", probe.dst().0);
}

/// Everything of a packet that a scheme may have decided, as one number.
pub fn digest(packet: &PacketMeta) -> u64 {
    let header = u64::from(packet.header.0[0]) << 32 | u64::from(packet.header.0[1]);
    let rest = [
        u64::from(packet.size),
        u64::from(packet.flags.0),
        packet.ecn as u64,
        packet.class.into(),
        packet.tag.into(),
        packet.path.into(),
        packet.tuple.0,
    ];
    rest.iter().fold(header, |sum, part| leafspine_core::mix(sum ^ part))
}
