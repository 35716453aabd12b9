//! Where the time went.

use crate::schema_checker::assert_described;
use crate::support::{document, task_of};
use isobox_tests::{Outcome, Project, User};
use std::collections::BTreeMap;

/// The table on standard error: names, each with its ms.
fn table(outcome: &Outcome) -> BTreeMap<String, f64> {
    let lines = outcome.stderr.lines().skip_while(|line| *line != "where the time went:").skip(1);
    let rows = lines.map_while(|line| line.strip_suffix(" ms")?.split_whitespace().collect::<Vec<_>>().try_into().ok());
    rows.map(|[name, ms]: [&str; 2]| (name.to_owned(), ms.parse().expect("a number"))).collect()
}

#[test]
fn the_time_is_printed_by_phases_that_make_up_the_whole_and_the_record_has_the_same_numbers() {
    let project = Project::initialised(User::Current);
    let ran = project.isobox(&["tool", "--timings", "--", "sh", "-c", "sleep 0.2; echo change >> README.md"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let mut printed = table(&ran);
    assert!((200.0..5_000.0).contains(&printed["workload"]), "{ran:?}");
    let total = printed.remove("total").expect("a total");
    let sum: f64 = printed.values().sum();
    assert!((sum - total).abs() < 0.1 * (printed.len() + 1) as f64, "{sum} of {total}: {ran:?}");
    let task = task_of(&ran);
    let shown = document(&project.isobox(&["show", "--json", &task]));
    assert_described("record", &shown);
    let recorded = shown["timings_us"].as_object().expect("timings");
    let after = ["publish", "dispose", "other"];
    let expected: Vec<&String> = printed.keys().filter(|name| !after.contains(&name.as_str())).collect();
    let mut names: Vec<&String> = recorded.keys().collect();
    names.sort();
    assert_eq!(names, expected);
    for (name, us) in recorded {
        let ms = (us.as_u64().expect("a number") / 100) as f64 / 10.0;
        assert!((ms - printed[name]).abs() < 0.01, "{name}: {ms} ms and {} ms", printed[name]);
    }
    let people = project.isobox(&["show", &task]).stdout;
    let line = people.lines().find(|line| line.starts_with("timings ")).unwrap_or_else(|| panic!("{people}"));
    assert!(line.contains(&format!("workload {:.1} ms", printed["workload"])), "{line}");
    assert_eq!(project.isobox(&["verify", &task]).code, 0);
}

#[test]
fn nothing_is_said_of_the_time_unless_it_is_asked_for_and_then_quiet_is_no_obstacle() {
    let project = Project::initialised(User::Current);
    let silent = project.isobox(&["tool", "--", "true"]);
    assert!(!silent.stderr.contains("where the time went"), "{silent:?}");
    let shown = document(&project.isobox(&["show", "--json", "@latest"]));
    assert_eq!(shown.get("timings_us"), None);
    let asked = project.isobox(&["run", "-q", "--timings", "--", "false"]);
    assert!(asked.code == 1 && asked.stderr.starts_with("where the time went:\n"), "{asked:?}");
    project.write("untracked", "");
    let refused = project.isobox(&["tool", "--timings", "--", "true"]);
    assert_eq!(refused.code, 125);
    assert!(table(&refused).contains_key("preflight") && !table(&refused).contains_key("workload"), "{refused:?}");
}
