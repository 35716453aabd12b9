//! The published JSON Schemas describe what isobox really prints: every document, and every field of it.

use crate::schema_checker::{assert_described, schema};
use crate::support::{document, tool};
use isobox_tests::{Outcome, Project, User};
use serde_json::{Value, json};
use std::fs;

#[test]
fn the_list_and_every_record_are_described() {
    let project = Project::initialised(User::Current);
    assert_described("list", &json!({ "schema": "isobox.list/v1", "tasks": [], "not_shown": 0, "not_looked_at": 0 }));
    tool(&project, "true");
    let changing =
        "echo said; echo no >&2; echo change >> README.md; rm run.sh; mkdir empty; ln -s /etc l; printf x > $'a\\377'";
    let bash = project.isobox(&["tool", "--", "bash", "-c", changing]);
    assert_eq!(bash.code, 0, "{bash:?}");
    assert_eq!(project.isobox(&["promote", "--yes", "@latest"]).code, 0);
    project.commit_all("Promoted");
    tool(&project, "echo AKIA0123456789ABCDEF >> README.md");
    assert_eq!(project.isobox(&["reject", "@latest", "--reason", "no"]).code, 0);
    project.isobox(&["tool", "--", "sh", "-c", "kill -9 $$"]);
    project.isobox(&["tool", "--", "no-such-command-18"]);
    project.isobox(&["run", "--retain-workspace", "--backend", "host", "--", "false"]);
    assert_eq!(project.isobox(&["rerun", "--trust-policy", "@latest"]).code, 1);
    let list = document(&project.isobox(&["list", "--json"]));
    assert_described("list", &list);
    let tasks = list["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.len(), 7);
    let lines = project.isobox(&["list", "--jsonl"]).stdout;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("a document")).collect();
    for (line, task) in lines.iter().zip(tasks) {
        assert_described("task", line);
        assert_eq!((&line["id"], &line["schema"]), (&task["id"], &json!("isobox.task/v1")));
    }
    assert_eq!(lines.len(), 7);
    let stat = document(&project.isobox(&["store", "stat", "--json"]));
    assert_described("store-stat", &stat);
    assert_eq!((&stat["kinds"]["records"]["count"], &stat["kinds"]["events"]["count"]), (&json!(7), &json!(2)));
    for task in tasks {
        let record = task["record"].as_str().expect("a digest");
        let shown = document(&project.isobox(&["show", "--json", record]));
        assert_described("record", &shown);
        let diff = document(&project.isobox(&["diff", "--json", record]));
        assert_described("diff", &diff);
        assert_described("report", &document(&project.isobox(&["report", "--format=json", record])));
        assert_eq!((&diff["files"], &diff["changes"]), (&shown["promotion_report"]["files"], &task["changes"]));
    }
    let [first, second] = [&tasks[0]["record"], &tasks[1]["record"]].map(|record| record.as_str().expect("a digest"));
    assert_described("compare", &document(&project.isobox(&["compare", "--json", first, first])));
    assert_eq!(project.isobox(&["compare", "--json", first, second, "--", "l"]).code, 0);
    assert_described("workspaces", &document(&project.isobox(&["workspace", "list", "--json"])));
    for arguments in [&["verify", "--json", "--sample=1/2"][..], &["verify", "--json", "@latest"]] {
        assert_described("verify", &document(&project.isobox(arguments)));
    }
    let lane = project.repository().join(".git/isobox/store/lanes/lane-00.pack");
    let mut bytes = fs::read(&lane).expect("a lane");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&lane, bytes).expect("write");
    assert_described("verify", &document(&project.isobox(&["verify", "--json"])));
}

#[test]
fn versions_and_errors_are_described() {
    let project = Project::initialised(User::Current);
    assert_described("version", &document(&project.isobox(&["version", "--json"])));
    for arguments in
        [&["--json-errors", "show", "@latest"][..], &["--json-errors", "bogus"], &["--json-errors", "tool"]]
    {
        let failed = project.isobox(arguments);
        let error = serde_json::from_str(&failed.stderr).unwrap_or_else(|error| panic!("{error}: {failed:?}"));
        assert_described("error", &error);
    }
}

#[test]
fn what_doctor_and_policy_commands_find_is_described() {
    let project = Project::bare(User::Current);
    let described = |name: &str, arguments: &[&str], code: i32| {
        let ran = project.isobox(arguments);
        assert_eq!(ran.code, code, "{ran:?}");
        assert_described(name, &document(&ran));
        document(&ran)
    };
    assert_eq!(described("policy", &["policy", "show", "--effective", "--json"], 0)["trusted"], Value::Null);
    described("doctor", &["doctor", "--json"], 0);
    project.write(".isobox/config.yaml", "network: {default: dney, port: 1}\n");
    let checked = described("policy-check", &["policy", "check", "--json"], 3);
    assert_eq!(checked["files"][0]["mistakes"].as_array().expect("mistakes").len(), 4, "{checked:#}");
    described("doctor", &["doctor", "--json"], 1);
    let head = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n";
    project.write(".isobox/config.yaml", head);
    assert_eq!(described("policy-check", &["policy", "check", "--json"], 0)["valid"], true);
    described("policy", &["policy", "show", "--json"], 0);
    described("policy", &["policy", "show", "--effective", "--origin", "--json"], 0);
    described("policy-explanation", &["policy", "explain", "--json", "net", "crates.io:443"], 1);
    described("policy-explanation", &["policy", "explain", "--json", "env", "TERM"], 0);
    described("doctor", &["doctor", "--json"], 0);
}

#[test]
fn what_was_exported_and_what_an_import_took_over_is_described() {
    let project = Project::initialised(User::Current);
    tool(&project, "echo change >> README.md");
    let old = project.scratch().join("old");
    let shown = old.display().to_string();
    for (task, expected) in [("@latest", ("exported", 1)), ("@all", ("there", 1))] {
        let exported = document(&project.isobox(&["export", "--json", "--layout", "v1", task, &shown]));
        assert_described("export", &exported);
        assert_eq!(exported[expected.0], expected.1, "{exported:#}");
    }
    fs::create_dir(old.join("task-0000000000000001")).expect("a folder");
    fs::write(old.join("task-0000000000000001/record.json"), "{").expect("a record that is none");
    let records = project.scratch().join("records").display().to_string();
    let import = || project.isobox(&["import", "--json", "--records", &records, &shown, "/no/such/place"]);
    for expected in [("imported", 1), ("unchanged", 1)] {
        let imported = import();
        assert_eq!(imported.code, 1, "{imported:?}");
        let told = document(&imported);
        assert_described("import", &told);
        assert_eq!(told[expected.0], expected.1, "{told:#}");
        assert_eq!(told["directories"].as_array().expect("directories").len(), 2, "{told:#}");
    }
}

/// Every command that takes `--json`, and the schema of what it prints then.
const DOCUMENTS: [(&str, &str); 24] = [
    ("audit check", "audit-check"),
    ("audit checkpoint", "audit-checkpoint"),
    ("audit rebuild", "audit-rebuild"),
    ("backend list", "backends"),
    ("cache prune", "cache-prune"),
    ("cache stat", "cache-stat"),
    ("compare", "compare"),
    ("diff", "diff"),
    ("doctor", "doctor"),
    ("export", "export"),
    ("import", "import"),
    ("list", "list"),
    ("policy check", "policy-check"),
    ("policy explain", "policy-explanation"),
    ("policy show", "policy"),
    ("show", "record"),
    ("store compact", "store-compact"),
    ("store prune", "store-prune"),
    ("store repair", "repair"),
    ("store stat", "store-stat"),
    ("update", "update"),
    ("verify", "verify"),
    ("version", "version"),
    ("workspace list", "workspaces"),
];

#[test]
fn every_command_that_prints_a_document_has_a_schema_and_no_other_does() {
    let project = Project::bare(User::Current);
    let help = |command: &str| {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).filter(|word| !word.is_empty()).collect();
        project.isobox(&words).stdout
    };
    let commands = |of: &str| -> Vec<String> {
        let text = help(of);
        let list = text.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
        let name =
            |line: &str| line.strip_prefix("  ")?.split(' ').next().filter(|name| !name.is_empty()).map(str::to_owned);
        list.lines().filter_map(name).collect()
    };
    let mut found = Vec::new();
    for command in commands("") {
        let below = commands(&command).into_iter().map(|sub| format!("{command} {sub}"));
        found.extend(
            std::iter::once(command.clone())
                .chain(below)
                .filter(|name| help(name).contains("  --json\n") || help(name).contains("  --json ")),
        );
    }
    found.sort();
    assert_eq!(found, DOCUMENTS.map(|(command, _)| command));
    DOCUMENTS.iter().for_each(|(_, name)| assert_eq!(schema(name)["type"], "object"));
}

fn events(project: &Project) -> Vec<Value> {
    let text = fs::read_to_string(project.scratch().join("events")).expect("events");
    text.lines().map(|line| serde_json::from_str(line).expect("a document a line")).collect()
}

fn tool_with_events(project: &Project, arguments: &[&str]) -> Outcome {
    let target = format!("--events={}", project.scratch().join("events").display());
    project.isobox(&[&["tool", &target], arguments].concat())
}

#[test]
fn the_life_of_a_task_is_told_as_json_lines() {
    let project = Project::initialised(User::Current);
    let id_file = project.scratch().join("id");
    let flag = format!("--id-file={}", id_file.display());
    let run = tool_with_events(&project, &[&flag, "--", "sh", "-c", "echo change >> README.md; exit 3"]);
    assert_eq!(run.code, 3);
    let task = crate::support::task_of(&run);
    assert_eq!(fs::read_to_string(id_file).expect("an id"), format!("{task}\n"));
    project.write("untracked", "");
    let unused = project.scratch().join("unused");
    let refused = format!("--id-file={}", unused.display());
    assert_eq!(tool_with_events(&project, &[&refused, "--", "true"]).code, 125);
    assert!(!unused.exists(), "there is no id");
    let told = events(&project);
    told.iter().for_each(|event| assert_described("event", event));
    let names: Vec<&Value> = told.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["started", "ended", "failed"]);
    assert_eq!((&told[0]["id"], &told[1]["id"]), (&json!(task), &json!(task)));
    assert_eq!((&told[1]["exit_code"], &told[1]["changes"]["modified"]), (&json!(3), &json!(1)));
}

#[test]
fn events_go_to_an_open_descriptor_and_what_cannot_be_opened_starts_nothing() {
    let project = Project::initialised(User::Current);
    // Into the middle of a file that is written by others, too.
    let script = r#"{ echo first; "$0" --quiet tool --events fd:5 -- echo said 5>&1 >&2; echo last; } > "$1""#;
    let target = project.scratch().join("told");
    let mut command = project.command("sh");
    command.args(["-c", script]).arg(isobox_tests::isobox_program()).arg(&target);
    let run = isobox_tests::outcome(command.output().expect("run sh"));
    assert_eq!((run.code, run.stderr.as_str()), (0, "said\n"));
    let told = fs::read_to_string(target).expect("what was told");
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[3]), (4, "first", "last"), "{told}");
    for line in &lines[1..3] {
        assert_described("event", &serde_json::from_str(line).expect("a document"));
    }
    for flag in ["--events=fd:77", "--events=/no/such/directory/events", "--id-file=/no/such/directory/id"] {
        let refused = project.isobox(&["tool", flag, "--", "true"]);
        assert_eq!(refused.code, 125);
        assert!(refused.stderr.contains("nothing was started"), "{refused:?}");
    }
    assert_eq!(document(&project.isobox(&["list", "--json"]))["tasks"].as_array().expect("tasks").len(), 1);
}
