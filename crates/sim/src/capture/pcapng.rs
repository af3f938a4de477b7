//! Blocks of a pcapng file (draft-ietf-opsawg-pcapng), little-endian.

use leafspine_core::{Rate, Time};

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// `LINKTYPE_ETHERNET`.
const ETHERNET: u16 = 1;
/// Nanoseconds.
const RESOLUTION: u8 = 9;

const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const SPEED: u16 = 8;
const TIME_RESOLUTION: u16 = 9;

/// The section header: how a file begins.
pub(super) fn section() -> Vec<u8> {
    let mut out = Vec::new();
    block(&mut out, SECTION, |out| {
        out.extend(BYTE_ORDER.to_le_bytes());
        // Version 1.0, of a length that is not said.
        out.extend([1, 0, 0, 0]);
        out.extend(u64::MAX.to_le_bytes());
        option(out, APPLICATION, concat!("leafspine ", env!("CARGO_PKG_VERSION")).as_bytes());
        option(out, 0, &[]);
    });
    out
}

/// An interface: a port with this name and rate. Packets are cut after their headers, which no fixed
/// length says.
pub(super) fn interface(name: &str, rate: Rate) -> Vec<u8> {
    let mut out = Vec::new();
    block(&mut out, INTERFACE, |out| {
        out.extend(ETHERNET.to_le_bytes());
        out.extend([0; 2]);
        out.extend(0u32.to_le_bytes());
        option(out, NAME, name.as_bytes());
        option(out, SPEED, &rate.0.to_le_bytes());
        option(out, TIME_RESOLUTION, &[RESOLUTION]);
        option(out, 0, &[]);
    });
    out
}

/// A packet. `frame` adds what is captured of it, and says how long it was.
pub(super) fn packet(
    out: &mut Vec<u8>,
    interface: u32,
    start: Time,
    frame: impl FnOnce(&mut Vec<u8>) -> u32,
) {
    let nanoseconds = start.0 / 1_000;
    block(out, PACKET, |out| {
        out.extend(interface.to_le_bytes());
        out.extend(((nanoseconds >> 32) as u32).to_le_bytes());
        out.extend((nanoseconds as u32).to_le_bytes());
        let lengths = out.len();
        out.extend([0; 8]);
        let original = frame(out);
        let captured = (out.len() - lengths - 8) as u32;
        out[lengths..lengths + 4].copy_from_slice(&captured.to_le_bytes());
        out[lengths + 4..lengths + 8].copy_from_slice(&original.to_le_bytes());
        pad(out, captured as usize);
    });
}

/// A block: its type, its length, its content, its length again.
fn block(out: &mut Vec<u8>, kind: u32, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    content(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend(length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

/// To four bytes.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(&[0; 3][..length.wrapping_neg() & 3]);
}
