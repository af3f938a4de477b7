//! See `leafspine_fuzz::guest_messages`.
#![no_main]

use leafspine_fuzz::guest_messages;

libfuzzer_sys::fuzz_target!(|data: &[u8]| guest_messages::check(data));
