//! The table of faults in `docs/faults.md`: every row has tests, every test exists and attacks on the backends it should.

use isobox_tests::checkout;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows of each section: one goes when its fault is ruled out for good by the code's shape, never otherwise.
const SECTIONS: [(&str, usize); 7] =
    [("HOST", 14), ("HOLE", 18), ("GATE", 30), ("LOST", 18), ("PROC", 9), ("MOVE", 7), ("STORE", 12)];

struct Row {
    id: String,
    backends: String,
    /// Empty where the row says `missing`.
    tests: Vec<String>,
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn rows() -> Vec<Row> {
    let document = read(&checkout().join("docs/faults.md"));
    let lines = document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id "));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    // A bar that belongs to the text is escaped.
    let line = line.replace("\\|", "/");
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [id, _, backends, tests] = cells[..] else { panic!("four cells in {line}") };
    let tests = tests.split(", ").filter(|test| *test != "missing").map(|test| test.trim_matches('`').to_owned());
    Row { id: id.to_owned(), backends: backends.to_owned(), tests: tests.collect() }
}

/// Where a test has to be: files, the name of its function, and whether it is a case of a contract.
fn places(test: &str) -> (Vec<PathBuf>, String, bool) {
    let parts: Vec<&str> = test.split("::").collect();
    let root = checkout();
    match parts[..] {
        ["security", file, name] => (vec![root.join(format!("tests/security/{file}.rs"))], name.to_owned(), false),
        ["cli", file, name] => (vec![root.join(format!("app/tests/cli/{file}.rs"))], name.to_owned(), false),
        ["contract", port, name] => (vec![root.join(format!("ports/src/contract/{port}.rs"))], name.to_owned(), true),
        [file, name] => (vec![root.join(format!("tests/tests/{file}.rs"))], name.to_owned(), false),
        [package, module, name] => {
            let folder = match package {
                "isobox" => root.join("app/src"),
                "isobox-domain" => root.join("domain/src"),
                adapter => root.join(format!("adapters/{}/src", adapter.trim_start_matches("isobox-"))),
            };
            let candidates =
                ["{}.rs", "{}/tests.rs", "{}/mod.rs", "../tests/{}.rs"].map(|place| place.replace("{}", module));
            let files = candidates.map(|candidate| folder.join(candidate)).into_iter().filter(|file| file.exists());
            (files.collect(), name.to_owned(), false)
        }
        _ => panic!("`{test}` names no test"),
    }
}

/// The text of a test; `None` if there is none.
fn text_of(test: &str) -> Option<String> {
    let (files, name, is_case) = places(test);
    files.iter().filter(|file| file.exists()).find_map(|file| {
        let text = read(file);
        let is_in_a_table = || text.contains(&format!("(\"{name}\","));
        if is_case {
            return is_in_a_table().then_some(text);
        }
        // What a machine may not be able to run stands in a table, too.
        let Some(start) = text.find(&format!("fn {name}(")) else { return is_in_a_table().then_some(text) };
        let before = text[..start].lines().rev().take(3).collect::<Vec<_>>().join("\n");
        let end = text[start..].find("\n}\n").map_or(text.len(), |length| start + length);
        let written_out = before.contains("#[test]").then(|| text[start..end].to_owned());
        written_out.or_else(|| section_of(&text, &name).map(|section| format!("{section}\n{}", &text[start..end])))
    })
}

/// The backends that a promise is tested on: the section of `promises!` in `text` that names it.
fn section_of(text: &str, name: &str) -> Option<String> {
    let (_, table) = text.split_once("isobox_tests::promises! {\n")?;
    let (table, _) = table.split_once("\n}\n")?;
    let (before, _) = table.split_once(&format!("        {name},\n"))?;
    before
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_suffix(": ["))
        .map(|section| format!("promises of {section}"))
}

/// Whether tests attack on both backends, each by itself or together.
fn are_on_both(tests: &[String]) -> bool {
    let texts: Vec<String> = tests.iter().filter_map(|test| text_of(test)).collect();
    let mention = |word: &str| texts.iter().any(|text| text.contains(word));
    let by_contract = tests.iter().any(|test| test.starts_with("contract::runtime_backend::"));
    let on_host = mention("promises of host");
    let contained = mention("promises of containing") || mention("promises of bubblewrap");
    mention("promises of every") || by_contract || (contained && on_host)
}

#[test]
fn every_row_names_tests_that_exist() {
    let rows = rows();
    let tests = rows.iter().flat_map(|row| row.tests.iter().map(move |test| (&row.id, test)));
    let absent: Vec<String> =
        tests.filter(|(_, test)| text_of(test).is_none()).map(|(id, test)| format!("{id}: {test}")).collect();
    assert_eq!(absent, Vec::<String>::new());
    let missing: Vec<&str> = rows.iter().filter(|row| row.tests.is_empty()).map(|row| row.id.as_str()).collect();
    assert_eq!(missing, Vec::<&str>::new(), "rows without a test");
}

#[test]
fn a_fault_of_both_backends_is_attacked_on_both() {
    let both = rows().into_iter().filter(|row| row.backends == "both");
    let one_sided: Vec<String> = both.filter(|row| !are_on_both(&row.tests)).map(|row| row.id).collect();
    assert_eq!(one_sided, Vec::<String>::new());
}

#[test]
fn no_row_went_away_and_none_is_there_twice() {
    let rows = rows();
    for (section, count) in SECTIONS {
        let expected: BTreeSet<String> = (1..=count).map(|number| format!("{section}-{number:02}")).collect();
        let found: Vec<&String> = rows.iter().map(|row| &row.id).filter(|id| id.starts_with(section)).collect();
        assert_eq!(found.len(), count, "{section}");
        assert_eq!(found.into_iter().cloned().collect::<BTreeSet<_>>(), expected);
    }
    assert!(rows.iter().all(|row| ["both", "any"].contains(&row.backends.as_str())));
}

#[test]
fn a_test_that_is_not_there_and_a_function_that_is_no_test_are_seen() {
    assert_eq!(text_of("security::streams::no_such_promise"), None);
    assert_eq!(text_of("security::streams::run_arguments"), None);
    assert_eq!(text_of("contract::runtime_backend::no_such_case"), None);
    assert!(text_of("faults_table::every_row_names_tests_that_exist").is_some());
    assert!(row("| X-01 | a \\| b | both | missing |").tests.is_empty());
}
