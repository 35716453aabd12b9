//! Replays the corpora of the fuzz targets: what once was found stays found, without a fuzzer.

#[allow(unreachable_pub, reason = "the same file is a library of its own below fuzz/")]
#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn fuzz() -> PathBuf {
    isobox_tests::checkout().join("fuzz")
}

fn names_in(directory: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fuzz().join(directory)).expect("list a directory");
    entries.map(|entry| entry.expect("list a directory").file_name().into_string().expect("a plain name")).collect()
}

/// Whether the fuzzer named a file, by the SHA-1 of what is in it; a person's name says what the file showed.
fn is_found(file: &str) -> bool {
    file.len() == 40 && file.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn every_target_survives_its_corpus_and_what_people_put_into_the_others() {
    for corpus in names_in("corpus") {
        for file in names_in(&format!("corpus/{corpus}")) {
            let bytes = fs::read(fuzz().join("corpus").join(&corpus).join(&file)).expect("read a corpus file");
            for (target, _) in targets::TARGETS {
                if target == corpus || !is_found(&file) {
                    println!("{target} with {corpus}/{file}");
                    targets::run(target, &bytes);
                }
            }
        }
    }
}

#[test]
fn every_target_has_a_program_and_a_corpus() {
    let names: BTreeSet<String> = targets::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let programs: BTreeSet<String> = names.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!((names_in("fuzz_targets"), names_in("corpus")), (programs, names.clone()));
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("read the manifest");
    for name in names {
        assert!(!names_in(&format!("corpus/{name}")).is_empty(), "{name} has seeds");
        let program = fs::read_to_string(fuzz().join(format!("fuzz_targets/{name}.rs"))).expect("read a program");
        assert!(program.contains(&format!("run(\"{name}\", bytes)")), "{name} runs itself");
        assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name} is built");
    }
}
