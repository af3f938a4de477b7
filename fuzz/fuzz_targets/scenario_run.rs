//! See `leafspine_fuzz::scenario_run`.
#![no_main]

use leafspine_fuzz::{overrides, scenario_run};

libfuzzer_sys::fuzz_target!(|data: &[u8]| scenario_run::check(data));

// Mostly another key or value, else other bytes.
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    match seed.is_multiple_of(4) {
        true => libfuzzer_sys::fuzzer_mutate(data, size, max_size),
        false => overrides::mutate(data, size, max_size, seed),
    }
});
