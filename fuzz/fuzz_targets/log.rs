#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isobox_fuzz_memory::watched(|| isobox_fuzz::run("log", bytes)));
