//! `isobox cache stat` and `prune`.

use crate::copies::copies;
use crate::schema_checker::assert_described;
use crate::support::document;
use isobox_tests::{Project, User};
use serde_json::json;
use std::fs;

#[test]
fn a_cache_that_was_never_used_holds_nothing_and_is_not_made() {
    let project = Project::initialised(User::Current);
    let stat = project.isobox(&["cache", "stat"]);
    assert_eq!((stat.code, stat.stdout.as_str()), (0, "holds     0 copies, 0 usable, 0 in use\non disk   0 B\n"));
    for look in [&["cache", "stat", "--json"][..], &["cache", "stat", "--verify", "--json"]] {
        let stat = document(&project.isobox(look));
        assert_described("cache-stat", &stat);
        assert_eq!(stat["is_verified"], json!(look.contains(&"--verify")));
    }
    let pruned = project.isobox(&["cache", "prune"]);
    assert_eq!((pruned.code, pruned.stdout.as_str()), (0, "kept      0\nremoved   0, 0 bytes\n"));
    assert_described("cache-prune", &document(&project.isobox(&["cache", "prune", "--all", "--json"])));
    assert!(!project.home().join(".cache/isobox/pristine").exists());
}

#[test]
fn what_is_damaged_is_shown_and_removed_only_when_that_is_wanted() {
    let project = Project::initialised(User::Current);
    let copy = project.home().join(".cache/isobox/pristine/0123456789abcdef/0123-4567");
    fs::create_dir_all(copy.join("tree")).expect("directories");
    let stat = document(&project.isobox(&["cache", "stat", "--json"]));
    assert_described("cache-stat", &stat);
    let listed = &stat["copies"][0];
    assert_eq!((&listed["name"], &listed["is_whole"]), (&json!("0123456789abcdef/0123-4567"), &json!(false)));
    let shown = document(&project.isobox(&["cache", "prune", "--dry-run", "--json"]));
    assert_described("cache-prune", &shown);
    assert_eq!((&shown["applied"], &shown["removed"][0]["name"]), (&json!(false), &listed["name"]));
    assert!(copy.exists());
    let pruned = project.isobox(&["cache", "prune"]);
    assert!(pruned.stdout.contains("damaged  0123456789abcdef/0123-4567\n"), "{}", pruned.stdout);
    assert!(pruned.stdout.ends_with("kept      0\nremoved   1, 0 bytes\n"), "{}", pruned.stdout);
    assert!(!copy.parent().expect("a parent").exists());
}

#[test]
fn all_and_a_limit_contradict_each_other() {
    let project = Project::initialised(User::Current);
    assert_eq!(project.isobox(&["cache", "prune", "--all", "--max-size", "1GiB"]).code, 2);
}

/// More files than are looked at in each use.
#[test]
fn what_somebody_edits_in_the_cache_is_found_by_a_look_at_every_file_and_made_anew() {
    let project = Project::initialised(User::Current);
    if !project.has_overlays("an edit in the cache") {
        return;
    }
    for number in 0..300 {
        project.write(&format!("file-{number:03}"), "as committed\n");
    }
    project.commit_all("Add files");
    let read = || project.isobox(&["tool", "-q", "--workspace", "overlay", "--", "cat", "file-001"]).stdout;
    assert_eq!(read(), "as committed\n");
    assert!(stat_of(&project, &["--verify"]).contains("whole, 0 in use"));
    let copies = copies(&project);
    let edited = copies.iter().map(|copy| copy.join("tree/file-001")).find(|file| file.exists()).expect("a copy");
    fs::write(edited, "edited\n").expect("it is written");
    assert!(stat_of(&project, &["--verify"]).contains("damaged"));
    assert_eq!(read(), "as committed\n");
    assert!(!stat_of(&project, &["--verify"]).contains("damaged"));
}

fn stat_of(project: &Project, flags: &[&str]) -> String {
    let stat = project.isobox(&[&["cache", "stat"], flags].concat());
    assert_eq!(stat.code, 0, "{stat:?}");
    stat.stdout
}
