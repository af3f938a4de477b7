//! See `leafspine_fuzz::scenario_toml`.
#![no_main]

use leafspine_fuzz::scenario_toml;

libfuzzer_sys::fuzz_target!(|data: &[u8]| scenario_toml::check(data));
