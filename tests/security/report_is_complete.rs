//! Promise: the Promotion Report names every path that a Promotion would change, and flags what deserves a look.

use isobox_tests::Case;
use std::fs;

isobox_tests::promises! {
    every: [
        what_deserves_a_look_is_flagged,
        every_changed_path_is_named_whatever_its_bytes,
        settings_of_the_user_do_not_bend_the_report,
        a_record_whose_bytes_were_changed_is_refused,
        a_changed_view_has_no_say,
    ],
}

fn report(case: &Case) -> String {
    let shown = case.project.isobox(&["promote", "--dry-run", "@latest"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    format!("{}{}", shown.stdout, shown.stderr)
}

fn every_changed_path_is_named_whatever_its_bytes(case: &Case) {
    case.run_well(r#"mkdir -p 'x b'; for n in "naïve–名" "$(printf 'tab\tend')" 'quote"end' 'back\slash' "$(printf 'new\nline')" "$(printf 'raw\377')" "x b/y"; do echo 1 > "$n"; done; git mv README.md moved.md"#);
    let report = report(case);
    for shown in ["naïve–名", r"tab\tend", "quote", "back", r"new\nline", "raw", "x b/y", "README.md", "moved.md"] {
        assert!(report.contains(shown), "{shown} in {report}");
    }
    assert!(!report.contains("new\nline"), "{report}");
}

fn settings_of_the_user_do_not_bend_the_report(case: &Case) {
    for (key, value) in [
        ("diff.mnemonicPrefix", "true"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("diff.renames", "copies"),
        ("color.ui", "always"),
        ("core.quotePath", "false"),
    ] {
        case.project.git(&["config", key, value]);
    }
    case.run_well("git mv run.sh moved.sh; echo change >> README.md");
    let report = report(case);
    for path in ["README.md", "run.sh", "moved.sh"] {
        assert!(report.contains(path), "{path} in {report}");
    }
    let patch = case.patch();
    assert!(patch.contains("diff --git a/README.md b/README.md") && !patch.contains('\u{1b}'), "{patch}");
}

fn what_deserves_a_look_is_flagged(case: &Case) {
    // What a workload does, the path, and a word of the finding.
    let risky = [
        ("echo x > install.sh; chmod +x install.sh", "install.sh", "script"),
        ("echo x >> run.sh", "run.sh", "executable"),
        ("mkdir -p .husky; echo x > .husky/pre-commit", ".husky/pre-commit", "hook"),
        ("echo '{}' > package.json", "package.json", "dependency"),
        ("mkdir -p .github/workflows; echo x > .github/workflows/ci.yml", ".github/workflows/ci.yml", "CI"),
        ("head -c 2000000 /dev/zero | tr '\\0' a > large.txt", "large.txt", "large"),
        ("printf '\\000' > data.bin", "data.bin", "binary"),
        ("ln -s /etc/passwd absolute", "absolute", "link"),
        ("ln -s ../../../etc escaping", "escaping", "link"),
        ("chmod +x README.md", "README.md", "mode"),
        ("echo '[submodule \"x\"]' > .gitmodules", ".gitmodules", "git_control"),
        ("mkdir .vscode; echo '{}' > .vscode/tasks.json", ".vscode/tasks.json", "editor"),
        ("echo x > AGENTS.md", "AGENTS.md", "agent"),
        ("echo '# x' >> .isobox/config.yaml", ".isobox/config.yaml", "policy"),
        ("echo x > \"$(printf 'bidi\\342\\200\\256name')\"", "bidi", "deceptive_name"),
    ];
    for (script, path, word) in risky {
        case.run_well(script);
        let report = report(case);
        let line = report.lines().find(|line| line.contains(path)).unwrap_or_default();
        assert!(
            report.contains(path) && report.to_lowercase().contains(&word.to_lowercase()),
            "{word} for {path} in {report}"
        );
        assert!(!line.is_empty(), "{report}");
    }
}

fn a_record_whose_bytes_were_changed_is_refused(case: &Case) {
    case.run_well("echo a-rather-particular-change >> README.md");
    let lanes = case.project.repository().join(".git/isobox/store/lanes");
    for entry in fs::read_dir(lanes).expect("lanes") {
        let path = entry.expect("an entry").path();
        let mut bytes = fs::read(&path).expect("read");
        // A bit here and there from the payload of the first entry on: what is there twice is whole nowhere.
        bytes.iter_mut().skip(70).step_by(64).for_each(|byte| *byte ^= 1);
        fs::write(&path, bytes).expect("write");
    }
    let promoted = case.promote();
    assert_ne!(promoted.code, 0, "{promoted:?}");
    assert_eq!(case.project.read("README.md"), "hello\n");
}

fn a_changed_view_has_no_say(case: &Case) {
    case.run_well("echo change >> README.md");
    let views = case.project.repository().join(".isobox/tasks");
    for entry in fs::read_dir(&views).expect("views") {
        let view = entry.expect("an entry").path();
        if !view.is_dir() {
            continue;
        }
        fs::write(view.join("artifacts/diff.patch"), "diff --git a/evil b/evil\n").expect("write");
        fs::write(view.join("record.json"), "{\"result\": {\"artifacts\": \"../../.git/config\"}}").expect("write");
        let promoted = case.project.isobox(&["promote", "--yes", &view.to_string_lossy()]);
        assert_eq!(promoted.code, 0, "{promoted:?}");
    }
    assert_eq!(case.project.read("README.md"), "hello\nchange\n");
    assert!(!case.project.repository().join("evil").exists());
}
