//! See `leafspine_fuzz::job_files`.
#![no_main]

use leafspine_fuzz::job_files;

libfuzzer_sys::fuzz_target!(|data: &[u8]| job_files::check(data));
