use super::*;
use proptest::prelude::*;

const ALL: [Manifest; 7] = [
    Manifest::Cargo,
    Manifest::CargoLock,
    Manifest::Npm,
    Manifest::NpmLock,
    Manifest::Pip,
    Manifest::PyProject,
    Manifest::Go,
];

/// Each dependency as `name|group|what is asked for`.
fn named(manifest: Manifest, text: &str) -> Vec<String> {
    let found = Ecosystems.dependencies(manifest, text.as_bytes()).expect("a manifest");
    found.iter().map(|(key, asked)| format!("{}|{}|{asked}", key.name, key.group)).collect()
}

#[test]
fn cargo_tells_versions_sources_targets_and_what_takes_the_place_of_another() {
    let text = r#"
        [dependencies]
        serde = { version = "1", features = ["derive"] }
        mine = { path = "../mine" }
        shared.workspace = true
        [dev-dependencies]
        rand = "0.9"
        [target.'cfg(unix)'.dependencies]
        nix = { git = "https://example.com/nix", branch = "main" }
        [workspace.dependencies]
        log = "0.4"
        [patch.crates-io]
        log = { path = "log" }
    "#;
    assert_eq!(
        named(Manifest::Cargo, text),
        [
            "log|patch crates-io|path log",
            "log|workspace|0.4",
            "mine||path ../mine",
            "nix|cfg(unix)|git https://example.com/nix branch main",
            "rand|dev-dependencies|0.9",
            "serde||1",
            "shared||workspace",
        ]
    );
}

#[test]
fn a_lock_of_cargo_tells_every_version_and_a_foreign_source() {
    let text = r#"
        [[package]]
        name = "a"
        version = "1.0.0"
        source = "registry+https://github.com/rust-lang/crates.io-index"
        [[package]]
        name = "a"
        version = "2.0.0"
        source = "git+https://example.com/a"
    "#;
    assert_eq!(named(Manifest::CargoLock, text), ["a||1.0.0, 2.0.0 git+https://example.com/a"]);
}

#[test]
fn npm_tells_its_tables_and_locks_of_both_forms() {
    let text = r#"{"dependencies":{"left-pad":"^1"},"devDependencies":{"jest":"29"},"overrides":{"a":{"b":"1"}}}"#;
    assert_eq!(named(Manifest::Npm, text), ["a|overrides|{\"b\":\"1\"}", "jest|devDependencies|29", "left-pad||^1"]);
    let new = r#"{"packages":{"":{"version":"0"},"node_modules/@a/b":{"version":"1","resolved":"https://evil.example/b"},
        "node_modules/c/node_modules/d":{"version":"2","resolved":"https://registry.npmjs.org/d","hasInstallScript":true}}}"#;
    assert_eq!(named(Manifest::NpmLock, new), ["@a/b||1 https://evil.example/b", "d||2 with an install script"]);
    let old = r#"{"dependencies":{"a":{"version":"1","dependencies":{"b":{"version":"2"}}}}}"#;
    assert_eq!(named(Manifest::NpmLock, old), ["a||1", "b||2"]);
}

#[test]
fn pip_tells_requirements_urls_and_options() {
    let text = "# a comment\nFlask_Login[x] >= 1.0 ; python_version > '3'  # why\nb==2 \\\n  --hash=sha256:1\n\
        c @ https://example.com/c.zip#egg=c\n--index-url https://evil.example\n-e ./local\ngit+https://example.com/d#egg=d\n";
    assert_eq!(
        named(Manifest::Pip, text),
        [
            "--index-url|option|https://evil.example",
            "-e|option|./local",
            "b||==2",
            "c||@ https://example.com/c.zip#egg=c",
            "flask-login||[x] >= 1.0 ; python_version > '3'",
            "git+https://example.com/d#egg=d||",
        ]
    );
}

#[test]
fn a_python_project_tells_the_tables_of_the_standard_and_of_poetry() {
    let text = r#"
        [build-system]
        requires = ["hatchling"]
        [project]
        dependencies = ["requests>=2"]
        optional-dependencies.fast = ["orjson"]
        [dependency-groups]
        test = ["pytest", { include-group = "lint" }]
        [tool.poetry.group.dev.dependencies]
        ruff = { version = "1", optional = true }
    "#;
    assert_eq!(
        named(Manifest::PyProject, text),
        [
            "hatchling|build-system|",
            "orjson|fast|",
            "pytest|test|",
            "requests||>=2",
            "ruff|dev|{ optional = true, version = \"1\" }",
            "{ include-group = \"lint\" }|test|",
        ]
    );
}

#[test]
fn go_tells_blocks_lines_and_what_is_indirect() {
    let text = "module x\ngo 1.22\nrequire a.com/a v1.0.0 // why\nrequire (\n\tb.com/b v2.0.0 // indirect\n)\n\
        replace a.com/a => ../a\nretract v0.1.0\n";
    assert_eq!(named(Manifest::Go, text), ["a.com/a||v1.0.0", "a.com/a|replace|=> ../a", "b.com/b|indirect|v2.0.0"]);
}

#[test]
fn what_is_no_manifest_is_unreadable() {
    for manifest in [Manifest::Cargo, Manifest::CargoLock, Manifest::Npm, Manifest::NpmLock, Manifest::PyProject] {
        assert_eq!(Ecosystems.dependencies(manifest, b"{[("), None);
    }
    for manifest in ALL {
        assert_eq!(Ecosystems.dependencies(manifest, b"\xff"), None);
    }
    let deep = format!("{{\"dependencies\":{{\"a\":{}", "[".repeat(100_000));
    assert_eq!(Ecosystems.dependencies(Manifest::Npm, deep.as_bytes()), None);
    let deep = format!("a = {}", "[".repeat(100_000));
    assert_eq!(Ecosystems.dependencies(Manifest::Cargo, deep.as_bytes()), None);
}

proptest! {
    #[test]
    fn nothing_makes_a_reader_panic(
        content in prop_oneof![
            "(dependencies|\\[|\\]|\\{|\\}|=|\"|'|a|1|,|:|#|-|//|require|\\(|\\)|\\\\|\n| |\u{e4}){0,60}",
            ".{0,80}",
        ]
    ) {
        for manifest in ALL {
            let once = Ecosystems.dependencies(manifest, content.as_bytes());
            prop_assert_eq!(Ecosystems.dependencies(manifest, content.as_bytes()), once);
        }
    }
}
