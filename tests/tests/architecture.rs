//! The architecture as a test: which crate may know which, and what may be written where.

use isobox_tests::checkout;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

/// Longest file, in lines. Most are a third of that.
const LONGEST_FILE: usize = 500;

/// The arrows: a crate, and the crates of the workspace that it may use.
const ARROWS: [(&str, &[&str]); 12] = [
    ("isobox-domain", &[]),
    ("isobox-ports", &["isobox-domain"]),
    ("isobox-store-format", &["isobox-domain"]),
    ("isobox-git", &["isobox-domain", "isobox-ports", "isobox-removal"]),
    ("isobox-host", &["isobox-domain", "isobox-ports", "isobox-removal"]),
    ("isobox-manifest", &["isobox-domain", "isobox-ports"]),
    ("isobox-release", &["isobox-domain", "isobox-ports"]),
    ("isobox-removal", &[]),
    ("isobox-sandbox", &["isobox-domain", "isobox-ports", "isobox-removal"]),
    ("isobox-store", &["isobox-domain", "isobox-ports", "isobox-store-format"]),
    ("isobox-v1", &["isobox-domain", "isobox-ports"]),
    (
        "isobox",
        &[
            "isobox-domain",
            "isobox-git",
            "isobox-host",
            "isobox-manifest",
            "isobox-ports",
            "isobox-release",
            "isobox-sandbox",
            "isobox-store",
            "isobox-store-format",
            "isobox-v1",
        ],
    ),
];

/// Each heavy dependency has one home.
const HOMES: [(&str, &[&str]); 14] = [
    ("gix", &["isobox-git"]),
    ("landlock", &["isobox-sandbox"]),
    ("seccompiler", &["isobox-sandbox"]),
    ("granit-parser", &["isobox-host"]),
    ("clap", &["isobox"]),
    ("ratatui", &["isobox"]),
    ("serde_json", &["isobox", "isobox-manifest", "isobox-release", "isobox-v1"]),
    ("toml", &["isobox-manifest"]),
    ("ureq", &["isobox-release"]),
    ("rustls", &["isobox-release"]),
    ("minisign-verify", &["isobox-release"]),
    ("ciborium", &["isobox-store-format"]),
    ("ring", &["isobox-store-format"]),
    ("crc32c", &["isobox-store-format", "isobox-store"]),
];

/// What no line of a crate that is pure may name, besides what clippy sees.
const IMPURE: [&str; 10] = [
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::os::unix::net",
    "std::thread",
    "SystemTime",
    "Instant",
    "::now(",
    "extern crate",
];

/// Technologies that a port does not name.
const TECHNOLOGIES: [&str; 8] = ["gix::", "nix::", "libc::", "Errno", "serde", "ciborium", "landlock::", "clap::"];

/// What writes to a stream of the process.
const PRINTING: [&str; 6] = ["println!", "print!", "eprintln!", "eprint!", "io::stdout()", "io::stderr()"];

/// Every Rust file below `directory` of the workspace, by its path from the root.
fn rust_files(directory: &str) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut open = vec![checkout().join(directory)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("list a folder") {
            let path = entry.expect("list a folder").path();
            if path.is_dir() && !path.ends_with("target") {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(checkout()).expect("below the root").to_string_lossy().into_owned();
                files.insert(name, fs::read_to_string(&path).expect("read a file"));
            }
        }
    }
    files
}

/// The lines of the product in a file: without comments, and without the tests at its end.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    product.lines().enumerate().map(|(index, line)| (index + 1, line.split("//").next().unwrap_or_default()))
}

fn is_test_code(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Every line of `files` that holds one of `words`.
fn mentions(files: &BTreeMap<String, String>, words: &[&str]) -> Vec<String> {
    let product = files.iter().filter(|(path, _)| !is_test_code(path));
    let lines = product.flat_map(|(path, text)| product_lines(text).map(move |(number, line)| (path, number, line)));
    let found = lines.filter(|(_, _, line)| words.iter().any(|word| line.contains(word)));
    found.map(|(path, number, line)| format!("{path}:{number}: {}", line.trim())).collect()
}

fn nothing() -> Vec<String> {
    Vec::new()
}

struct Package {
    name: String,
    /// Name of a dependency, and whether it is for tests alone.
    dependencies: Vec<(String, bool)>,
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version=1", "--no-deps", "--offline"];
    let output = Command::new(cargo).args(arguments).current_dir(checkout()).output().expect("run cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("metadata");
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let dependency = |value: &serde_json::Value| (text(&value["name"]), value["kind"] == "dev");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let package = |value: &serde_json::Value| Package {
        name: text(&value["name"]),
        dependencies: value["dependencies"].as_array().expect("dependencies").iter().map(dependency).collect(),
    };
    packages.map(package).collect()
}

/// The arrows and homes that `packages` break.
fn broken_arrows(packages: &[Package]) -> Vec<String> {
    let mut broken = Vec::new();
    for package in packages.iter().filter(|package| package.name != "isobox-tests") {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            broken.push(format!("{} has no arrows", package.name));
            continue;
        };
        for (dependency, _) in package.dependencies.iter().filter(|(_, is_for_tests)| !is_for_tests) {
            let home = HOMES.iter().find(|(name, _)| name == dependency);
            let is_allowed = match dependency.starts_with("isobox") {
                true => allowed.contains(&dependency.as_str()),
                false => home.is_none_or(|(_, homes)| homes.contains(&package.name.as_str())),
            };
            if !is_allowed {
                broken.push(format!("{} uses {dependency}", package.name));
            }
        }
    }
    broken
}

#[test]
fn every_arrow_between_crates_is_one_of_the_architecture() {
    let packages = packages();
    assert_eq!(broken_arrows(&packages), nothing());
    let known: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    assert!(known.is_subset(&found), "{known:?} {found:?}");
}

#[test]
fn a_wrong_arrow_and_a_second_home_are_seen() {
    let package = |name: &str, dependency: &str, is_for_tests| Package {
        name: name.to_owned(),
        dependencies: vec![(dependency.to_owned(), is_for_tests)],
    };
    let packages = [
        package("isobox-domain", "isobox-ports", false),
        package("isobox-git", "isobox-store", false),
        package("isobox-store", "gix", false),
        package("isobox-store", "isobox-git", true),
        package("isobox-new", "thiserror", false),
    ];
    let expected = [
        "isobox-domain uses isobox-ports",
        "isobox-git uses isobox-store",
        "isobox-store uses gix",
        "isobox-new has no arrows",
    ];
    assert_eq!(broken_arrows(&packages), expected);
}

#[test]
fn only_the_wiring_names_an_adapter() {
    let mut files = rust_files("app/src");
    files.remove("app/src/wiring.rs").expect("the wiring");
    files.retain(|path, _| !path.starts_with("app/src/wiring/"));
    let adapters =
        ["isobox_git", "isobox_host", "isobox_release", "isobox_sandbox", "isobox_store::", "use isobox_store;"];
    assert_eq!(mentions(&files, &adapters), nothing());
}

#[test]
fn nothing_prints_outside_of_the_output() {
    let product = ["app/src", "domain/src", "ports/src", "store-format/src", "adapters"];
    let files: BTreeMap<String, String> = product.into_iter().flat_map(rust_files).collect();
    let is_output = |path: &str| path == "app/src/output.rs" || path.starts_with("app/src/output/");
    let others = files.into_iter().filter(|(path, _)| !is_output(path)).collect();
    assert_eq!(mentions(&others, &PRINTING), nothing());
}

#[test]
fn use_cases_touch_the_world_through_ports_alone() {
    let mut files = rust_files("app/src/use_case");
    files.retain(|path, _| !path.starts_with("app/src/use_case/fixture"));
    // A Workspace that was kept is the user's: whether it still stands is all that is looked at.
    files.remove("app/src/use_case/workspaces.rs").expect("the workspaces that were kept");
    assert_eq!(mentions(&files, &["std::fs", "std::env", "std::process", "std::net"]), nothing());
}

#[test]
fn unsafe_code_is_in_the_sandbox_alone() {
    let product = ["app", "domain", "ports", "store-format", "adapters", "tests"];
    let files = product.into_iter().flat_map(rust_files).filter(|(path, _)| !path.starts_with("adapters/sandbox/"));
    // In two pieces, so that this file does not find itself.
    let words = ["{", "fn", "impl", "extern"].map(|word| format!("{} {word}", "unsafe"));
    let lines = files.flat_map(|(path, text)| {
        let words = &words;
        let found = text.lines().filter(|line| words.iter().any(|word| line.contains(word)));
        found.map(|line| format!("{path}: {line}")).collect::<Vec<_>>()
    });
    assert_eq!(lines.collect::<Vec<_>>(), nothing());
    for library in [
        "domain",
        "ports",
        "store-format",
        "adapters/git",
        "adapters/host",
        "adapters/release",
        "adapters/removal",
        "adapters/store",
    ] {
        let text = fs::read_to_string(checkout().join(library).join("src/lib.rs")).expect("a library");
        assert!(text.contains("#![forbid(unsafe_code)]"), "{library}");
    }
}

#[test]
fn what_is_pure_touches_neither_files_nor_time_nor_processes() {
    for folder in ["domain/src", "store-format/src"] {
        let mut found = mentions(&rust_files(folder), &IMPURE);
        // The scanner reads through a handle that it is given; it opens none.
        found.retain(|line| !line.ends_with("impl ReadAt for std::fs::File {"));
        assert_eq!(found, nothing(), "{folder}");
    }
}

#[test]
fn ports_name_no_technology() {
    let files = rust_files("ports/src").into_iter().filter(|(path, _)| {
        !["contract", "fake", "fault"].iter().any(|testing| path.starts_with(&format!("ports/src/{testing}")))
    });
    let files = files.collect();
    assert_eq!(mentions(&files, &TECHNOLOGIES), nothing());
    assert_eq!(mentions(&files, &["std::fs", "std::process", "std::env"]), nothing());
}

#[test]
fn the_domain_knows_no_serialization() {
    assert_eq!(mentions(&rust_files("domain/src"), &["serde", "ciborium", "Serialize", "blake3::"]), nothing());
}

#[test]
fn no_file_is_longer_than_one_can_read() {
    let folders = ["app", "domain", "ports", "store-format", "adapters", "tests"];
    let files: BTreeMap<String, String> = folders.into_iter().flat_map(rust_files).collect();
    let lengths = files.iter().map(|(path, text)| (path, text.lines().count()));
    let long: Vec<String> =
        lengths.filter(|(_, length)| *length > LONGEST_FILE).map(|(p, n)| format!("{p}: {n}")).collect();
    assert_eq!(long, nothing());
    assert!(files.len() > 50, "{}", files.len());
}

#[test]
fn every_file_says_first_what_it_is_for() {
    let folders = ["app/src", "domain/src", "ports/src", "store-format/src", "adapters"];
    let files: BTreeMap<String, String> = folders.into_iter().flat_map(rust_files).collect();
    let silent = files.iter().filter(|(path, text)| !is_test_code(path) && !text.starts_with("//! "));
    assert_eq!(silent.map(|(path, _)| path.clone()).collect::<Vec<_>>(), nothing());
}

#[test]
fn a_forbidden_word_is_seen_in_code_and_not_in_comments_or_tests() {
    let file = "fn a() { std::fs::read(); }\n// std::fs\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
    let files = BTreeMap::from([("domain/src/x.rs".to_owned(), file.to_owned())]);
    assert_eq!(mentions(&files, &IMPURE), ["domain/src/x.rs:1: fn a() { std::fs::read(); }"]);
}
