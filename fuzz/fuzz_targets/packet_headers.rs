//! See `leafspine_fuzz::packet_headers`.
#![no_main]

use leafspine_fuzz::packet_headers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| packet_headers::check(data));
