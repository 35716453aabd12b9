//! Tests of the report.

use super::RiskCategory::*;
use super::*;
use crate::change::{Before, NotCaptured};
use crate::content::ContentId;
use crate::git_oid::GitOid;
use crate::repo_path::RepoPath;

fn path(bytes: &[u8]) -> RepoPath {
    RepoPath::parse(bytes).expect("a path")
}

fn content(byte: u8, length: u64) -> ContentRef {
    ContentRef { id: ContentId::new([byte; 32]), length }
}

fn before(mode: Mode) -> Before {
    Before { mode, oid: GitOid::Sha1([1; 20]), content: Some(content(1, 10)) }
}

fn after(mode: Mode) -> After {
    After { mode, content: content(2, 10), binary: false }
}

fn change(name: &[u8], before: Option<Before>, after: Option<After>) -> ChangeLine {
    ChangeLine::Change(Change { path: path(name), before, after, renamed_from: None, submodule: None })
}

fn categories_of(line: &ChangeLine, target: Option<&[u8]>) -> Vec<RiskCategory> {
    PromotionReport::default().examine(line, target).into_iter().map(|finding| finding.category).collect()
}

#[test]
fn the_categories_know_their_place_in_the_list() {
    for (position, category) in RiskCategory::ALL.into_iter().enumerate() {
        assert_eq!(category.index(), position, "{}", category.name());
    }
}

#[test]
fn names_with_a_role_are_flagged_and_plain_ones_are_not() {
    let expected: &[(&[u8], &[RiskCategory])] = &[
        (b"src/main.c", &[]),
        (b"docs/binary.md", &[]),
        (b"a/install.sh", &[Script]),
        (b"MAKEFILE", &[Script, BuildExecution]),
        (b"crates/x/build.rs", &[Script, BuildExecution]),
        (b".husky/pre-push", &[Hook]),
        (b".cargo/config.toml", &[DependencyManifest, BuildExecution]),
        (b"Cargo.lock", &[DependencyManifest]),
        (b"requirements-dev.txt", &[DependencyManifest]),
        (b".github/workflows/ci.yml", &[CiWorkflow]),
        (b"AGENTS.md", &[AgentInstructions]),
        (b"sub/CLAUDE.md", &[AgentInstructions]),
        (b".cursorrules", &[AgentInstructions]),
        (b".cursor/rules/x", &[AgentInstructions]),
        (b".claude/settings.json", &[AgentInstructions]),
        (b".github/copilot-instructions.md", &[AgentInstructions]),
        (b"GEMINI.md", &[AgentInstructions]),
        (b".vscode/tasks.json", &[EditorTask]),
        (b".idea/workspace.xml", &[EditorTask]),
        (b".isobox/config.yaml", &[IsoboxPolicy]),
        (b".isobox", &[IsoboxPolicy]),
        (b".gitattributes", &[GitControl]),
        (b"x/.gitignore", &[GitControl]),
        (b".gitmodules", &[GitControl]),
        (b".git./config", &[GitControl]),
        (b"x/.GIT ", &[GitControl]),
        (b"git~1", &[GitControl]),
        (b".git::$INDEX_ALLOCATION/config", &[GitControl]),
        (b"git~10", &[]),
        (b".gitx", &[]),
        (b".env", &[Secret]),
        (b".env.example", &[]),
        (b"a\xe2\x80\xaegnp.exe", &[DeceptiveName]),
        (b"a\xff", &[DeceptiveName]),
        (b"a\nb", &[DeceptiveName]),
    ];
    for (name, categories) in expected {
        let found = categories_of(&change(name, None, Some(after(Mode::File))), None);
        assert_eq!(found, *categories, "{}", Escaped(name));
    }
}

#[test]
fn tests_are_known_by_their_names() {
    for name in [
        "tests.rs",
        "src/x/tests.rs",
        "a/FooTest.java",
        "BarTests.cs",
        "test_a.py",
        "a_test.go",
        "t.spec.ts",
        "spec/a.rb",
    ] {
        assert!(is_test(&path(name.as_bytes())), "{name}");
    }
    for name in ["latest.rs", "src/contest.py", "spec.yaml", "attestation.rs", "Greatest.java"] {
        assert!(!is_test(&path(name.as_bytes())), "{name}");
    }
}

#[test]
fn executables_and_mode_changes_are_flagged() {
    let of = |b: Option<Mode>, a: Option<Mode>| categories_of(&change(b"x", b.map(before), a.map(after)), None);
    assert_eq!(of(None, Some(Mode::Executable)), [ExecutableAdded]);
    assert_eq!(of(Some(Mode::Executable), Some(Mode::Executable)), [ExecutableEdited]);
    assert_eq!(of(Some(Mode::File), Some(Mode::Executable)), [ModeChange]);
    assert_eq!(of(Some(Mode::Executable), Some(Mode::File)), [ExecutableEdited, ModeChange]);
    assert_eq!(of(Some(Mode::File), Some(Mode::Symlink)), [ModeChange, Symlink]);
    assert_eq!(of(Some(Mode::Submodule), Some(Mode::File)), [ModeChange, Submodule]);
    assert_eq!(of(Some(Mode::File), None), []);
}

#[test]
fn large_and_binary_content_is_flagged() {
    let big = After { mode: Mode::File, content: content(2, LARGE_FILE_BYTES), binary: true };
    assert_eq!(categories_of(&change(b"x", None, Some(big)), None), [LargeFile, Binary]);
}

#[test]
fn a_link_is_described_by_where_it_leads() {
    let note = |name: &[u8], target: Option<&[u8]>| {
        let mut found = PromotionReport::default().examine(&change(name, None, Some(after(Mode::Symlink))), target);
        found.pop().and_then(|finding| finding.note).expect("a note")
    };
    assert_eq!(note(b"a/b", Some(b"/etc/passwd")), "to /etc/passwd, an absolute path");
    assert_eq!(note(b"a/b", Some(b"../../x")), "to ../../x, outside of the repository");
    assert_eq!(note(b"a/b", Some(b"../x\n")), "to ../x\\n");
    assert_eq!(note(b"a/b", Some(b"../.GIT/config")), "to ../.GIT/config, inside a Git directory");
    assert_eq!(note(b"a", None), "its target is not known");
}

#[test]
fn what_the_workload_hid_is_flagged() {
    let hidden = |origin| {
        let reason = NotCapturedReason::Ignored { rule: b"*.log".to_vec(), rule_file: path(b".gitignore"), origin };
        ChangeLine::NotCaptured(NotCaptured { workspace_path: b"x.log".to_vec(), reason })
    };
    let note = "rule `*.log` in .gitignore was added by the workload".to_owned();
    assert_eq!(
        PromotionReport::default().examine(&hidden(RuleOrigin::Workload), None),
        [Finding { category: HidingRule, level: RiskLevel::High, line: None, note: Some(note), dependencies: None }]
    );
    assert_eq!(categories_of(&hidden(RuleOrigin::Commit), None), []);
    let nested = NotCaptured { workspace_path: b"n".to_vec(), reason: NotCapturedReason::NestedRepository };
    assert_eq!(categories_of(&ChangeLine::NotCaptured(nested), None), [NestedRepository]);
}

#[test]
fn a_licence_that_is_no_more_is_told() {
    let gone = |name: &[u8]| categories_of(&change(name, Some(before(Mode::File)), None), None);
    for name in [&b"LICENSE"[..], b"LICENSE-MIT", b"docs/Copying.txt", b"NOTICE.md"] {
        assert_eq!(gone(name), [LicenceRemoved], "{}", name.escape_ascii());
    }
    assert_eq!(gone(b"licenses.rs"), []);
}

#[test]
fn the_level_of_a_path_is_that_of_its_worst_finding() {
    let level = |name: &[u8], after: Option<After>, target: Option<&[u8]>| {
        level_of(&PromotionReport::default().examine(&change(name, None, after), target))
    };
    let link = || Some(after(Mode::Symlink));
    assert_eq!(level(b"src/main.c", Some(after(Mode::File)), None), None);
    assert_eq!(
        level(b"x", Some(After { content: content(2, LARGE_FILE_BYTES), ..after(Mode::File) }), None),
        Some(RiskLevel::Low)
    );
    assert_eq!(level(b"tools/build.sh", Some(after(Mode::Executable)), None), Some(RiskLevel::Medium));
    assert_eq!(level(b"hooks/build.sh", Some(after(Mode::Executable)), None), Some(RiskLevel::High));
    assert_eq!(level(b"x", link(), Some(b"y")), Some(RiskLevel::Low));
    assert_eq!(level(b"x", link(), None), Some(RiskLevel::Medium));
    assert_eq!(level(b"x", link(), Some(b"../y")), Some(RiskLevel::High));
}

#[test]
fn totals_count_every_line_and_every_category() {
    let mut report = PromotionReport::default();
    report.examine(&change(b"Makefile", None, Some(after(Mode::Executable))), None);
    report.examine(&change(b".env", None, Some(after(Mode::File))), None);
    report.examine(&change(b"plain", Some(before(Mode::File)), None), None);
    assert_eq!(report.summary(), ChangeSummary { added: 2, deleted: 1, ..Default::default() });
    assert_eq!(report.flagged(), 2);
    assert_eq!(report.levels(), [(RiskLevel::High, 2), (RiskLevel::Medium, 0), (RiskLevel::Low, 0)]);
    assert_eq!(
        report.categories().collect::<Vec<_>>(),
        [(Script, 1), (ExecutableAdded, 1), (Secret, 1), (BuildExecution, 1)]
    );
}
