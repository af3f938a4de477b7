//! See `leafspine_fuzz::decision_vectors`.
#![no_main]

use leafspine_fuzz::decision_vectors;

libfuzzer_sys::fuzz_target!(|data: &[u8]| decision_vectors::check(data));
