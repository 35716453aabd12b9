//! What the documents say, looked up: every link, every page of the book, every key of the policy.

use isobox_tests::checkout;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(checkout().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Where documents are, besides the root.
const FOLDERS: [&str; 5] = ["docs", "docs/adr", "docs/commands", "docs/recipes", "skills/isobox-agent-guide"];

/// Every document, by its path from the root.
fn documents() -> Vec<String> {
    let below = FOLDERS.into_iter().flat_map(|folder| {
        let entries = fs::read_dir(checkout().join(folder)).expect("list a folder");
        entries.map(move |entry| format!("{folder}/{}", entry.expect("an entry").file_name().to_string_lossy()))
    });
    ["README.md".to_owned(), "CHANGELOG.md".to_owned()]
        .into_iter()
        .chain(below)
        .filter(|path| path.ends_with(".md"))
        .collect()
}

#[test]
fn every_link_of_every_document_leads_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        let folder = checkout().join(&document).parent().expect("a folder").to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if !target.starts_with("https://") && !file.is_empty() && !folder.join(file).exists() {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn every_key_of_the_policy_is_documented_and_no_other() {
    let policy = read("adapters/host/src/policy/default.yaml");
    let mut keys = BTreeSet::new();
    let mut section = String::new();
    for line in policy.lines().filter(|line| !line.trim_start().starts_with(['#', '-'])) {
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.strip_prefix("  ") {
            Some(key) => {
                keys.insert(format!("{section}.{key}"));
            }
            None if value.is_empty() => section = name.to_owned(),
            None => {
                keys.insert(name.to_owned());
            }
        }
    }
    let page = read("docs/policy.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let documented: BTreeSet<String> = rows.map(str::to_owned).filter(|key| !key.contains('/')).collect();
    assert_eq!(documented, keys);
}

#[test]
fn every_page_is_in_the_summary_of_the_book() {
    let summary = read("docs/SUMMARY.md");
    let pages = documents().into_iter().filter_map(|path| path.strip_prefix("docs/").map(str::to_owned));
    let missing: Vec<String> =
        pages.filter(|page| page != "SUMMARY.md" && !summary.contains(&format!("]({page})"))).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn no_page_of_the_book_links_out_of_it() {
    let mut outside = Vec::new();
    for document in documents().iter().filter(|path| path.starts_with("docs/")) {
        let folder = Path::new(document).parent().expect("a folder");
        for target in read(document).split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if !target.starts_with("https://") && !is_in_the_book(folder, target) {
                outside.push(format!("{document}: {target}"));
            }
        }
    }
    assert_eq!(outside, Vec::<String>::new());
}

/// Whether a relative link from a page in `folder` stays below `docs`.
fn is_in_the_book(folder: &Path, target: &str) -> bool {
    let ups = target.split('/').filter(|part| *part == "..").count();
    ups < folder.components().count()
}

#[test]
fn every_decision_is_in_the_index() {
    let index = read("docs/adr/README.md");
    for document in documents().iter().filter(|path| path.starts_with("docs/adr/0")) {
        let name = document.rsplit('/').next().expect("a name");
        assert!(index.contains(&format!("({name})")), "{name}");
    }
}

#[test]
fn the_scripts_that_the_readme_names_are_there_and_executable() {
    use std::os::unix::fs::PermissionsExt;
    let readme = read("README.md");
    for script in ["scripts/setup", "scripts/test"] {
        assert!(readme.contains(script), "{script}");
        let mode = fs::metadata(checkout().join(script)).expect("a script").permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{script}");
    }
}

#[test]
fn the_agent_guide_has_the_front_matter_that_agents_look_for() {
    let guide = read("skills/isobox-agent-guide/SKILL.md");
    let front = guide.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).expect("a front matter").0;
    let fields: Vec<(&str, &str)> = front.lines().filter_map(|line| line.split_once(": ")).collect();
    let [("name", name), ("description", description)] = fields[..] else { panic!("{fields:?}") };
    // The name is that of the directory; longer descriptions are cut off by agents.
    assert_eq!(name, "isobox-agent-guide");
    assert!((1..=1024).contains(&description.len()), "{}", description.len());
}
