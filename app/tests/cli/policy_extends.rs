//! A policy that stands on others.

use crate::support::{assert_told, document};
use isobox_tests::{Project, User};

const HEAD: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\n";

/// A project whose policy stands on a file that stands on a preset; neither is trusted.
fn extending() -> Project {
    let project = Project::bare(User::Current);
    project.write(".isobox/config.yaml", &format!("{HEAD}extends: ./base.yaml\ntool_call: {{enabled: true}}\n"));
    project.write(".isobox/base.yaml", &format!("{HEAD}extends: read-only\nrecords: {{views: 3}}\n"));
    project.write(".gitignore", ".isobox/tasks/\n");
    project.commit_all("policy");
    project
}

#[test]
fn what_is_extended_holds_and_is_told_by_its_file_and_line() {
    let project = extending();
    let trusted = project.isobox(&["policy", "trust"]);
    assert!(trusted.stdout.contains("records.views") && trusted.stdout.contains("read_only"), "{trusted:?}");
    let shown = project.isobox(&["policy", "show", "--effective", "--origin"]);
    let base = project.repository().join(".isobox/base.yaml").display().to_string();
    for line in [format!("    {base}:4\n"), "    preset `read-only`:7\n".to_owned()] {
        assert!(shown.stdout.contains(&line), "{line}: {}", shown.stdout);
    }
    let json = document(&project.isobox(&["policy", "show", "--effective", "--origin", "--json"]));
    let views = json["values"].as_array().expect("values").iter().find(|value| value["key"] == "records.views");
    assert_eq!(views.expect("the key")["place"]["project"]["path"], base.as_str());
    let ran = project.isobox(&["tool", "-q", "--", "sh", "-c", "echo x > README.md; cat README.md"]);
    assert_eq!(ran.stdout, "hello\n", "{ran:?}");
}

#[test]
fn an_edit_of_what_is_extended_is_asked_about_as_one_of_the_policy() {
    let project = extending();
    assert_eq!(project.isobox(&["policy", "trust"]).code, 0);
    assert_eq!(project.isobox(&["tool", "-q", "--", "true"]).code, 0);
    project.write(".isobox/base.yaml", &format!("{HEAD}network: {{default: inherited}}\n"));
    project.commit_all("wider");
    let refused = project.isobox(&["tool", "-q", "--", "true"]);
    assert_told(&refused, 125, &["`network.default` is inherited and was deny", "nothing was started"]);
}

#[test]
fn a_mistake_is_told_in_the_file_that_it_is_in() {
    let project = extending();
    project.write(".isobox/base.yaml", &format!("{HEAD}network: {{default: dney}}\n"));
    let base = project.repository().join(".isobox/base.yaml").display().to_string();
    let checked = project.isobox(&["policy", "check"]);
    assert_told(&checked, 3, &[&format!("{base}:3:20: `network.default`"), "did you mean `deny`?"]);
}

#[test]
fn presets_are_listed_and_printed_as_the_policies_that_they_are() {
    let project = Project::bare(User::Current);
    let listed = project.isobox(&["policy", "presets"]);
    let names: Vec<&str> = listed.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["strict", "bounded", "offline-build", "read-only"]);
    for name in names {
        let printed = project.isobox(&["policy", "presets", name]);
        assert_eq!(printed.code, 0, "{printed:?}");
        project.write(".isobox/config.yaml", &printed.stdout);
        let shown = project.isobox(&["policy", "show"]);
        assert_eq!(shown.code, 0, "{name}: {shown:?}");
    }
    assert_told(&project.isobox(&["policy", "presets", "nothing"]), 1, &["there is no preset `nothing`"]);
}
