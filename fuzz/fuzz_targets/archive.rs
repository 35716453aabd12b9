#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isobox_fuzz::run("archive", bytes));
