//! See `leafspine_fuzz::flow_csv`.
#![no_main]

use leafspine_fuzz::flow_csv;

libfuzzer_sys::fuzz_target!(|data: &[u8]| flow_csv::check(data));
