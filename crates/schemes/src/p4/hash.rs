//! The hash of a five-tuple that P4's `HashAlgorithm.crc32` gives.

use crc::{CRC_32_ISO_HDLC, Crc, Table};
use leafspine_core::FiveTuple;

const CRC32: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISO_HDLC);

/// CRC-32 of the four bytes of `salt` and the thirteen of the tuple on the wire.
#[inline]
pub(crate) fn crc32(tuple: FiveTuple, salt: u32) -> u32 {
    let mut digest = CRC32.digest();
    digest.update(&salt.to_be_bytes());
    digest.update(&tuple.wire_bytes());
    digest.finalize()
}
