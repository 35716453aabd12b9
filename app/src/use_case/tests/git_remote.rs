//! What Git asks a remote, and what it is answered.

use super::result_commits::{attempted, ports};
use crate::failure::Failure;
use crate::use_case::fixture::{World, edit};
use crate::use_case::git_remote::serve;
use crate::use_case::result_commit::make_aside;
use crate::use_case::select::Selected;
use isobox_domain::git_oid::GitOid;

fn asked(world: &World, selected: &Selected, questions: &str) -> Result<String, Failure> {
    let mut answers = Vec::new();
    serve(&ports(world), selected, &mut questions.as_bytes(), &mut answers)?;
    Ok(String::from_utf8(answers).expect("text"))
}

fn listed(world: &World, selected: &Selected) -> (GitOid, String) {
    let id = make_aside(&ports(world), selected).expect("a commit").id();
    let task = selected.record.task;
    (id, format!("@refs/heads/{task} HEAD\n{id} refs/heads/{task}\n\n"))
}

#[test]
fn a_result_is_listed_without_being_made_and_made_when_it_is_fetched() {
    let (world, selected) = attempted(edit);
    let (id, list) = listed(&world, &selected);
    let told = asked(&world, &selected, "capabilities\nlist\n\n").expect("answers");
    assert_eq!(told, format!("fetch\noption\npush\nobject-format\n\n{list}"));
    assert_eq!(world.repository.files_of(&id), None);
    let fetch =
        format!("option object-format true\noption depth 1\nlist\nfetch {id} HEAD\nfetch {id} refs/heads/x\n\n\n");
    let told = asked(&world, &selected, &fetch).expect("answers");
    assert_eq!(told, format!("ok\nunsupported\n:object-format sha1\n{list}\n"));
    assert!(world.repository.files_of(&id).is_some());
}

#[test]
fn what_is_pushed_or_unknown_or_too_long_is_refused() {
    let (world, selected) = attempted(edit);
    let (id, _) = listed(&world, &selected);
    let long = "x".repeat(1 << 20);
    for (questions, why) in [
        ("list for-push\n".to_owned(), "read-only"),
        ("push refs/heads/a:refs/heads/b\n\n".to_owned(), "read-only"),
        ("dance\n".to_owned(), "`dance`"),
        (long, "in a line of more than 65536 bytes"),
        (format!("fetch {id} HEAD\n\n"), "no question"),
        (format!("list\nfetch {} HEAD\n\n", "1".repeat(40)), "no question"),
        (format!("list\nfetch {id} HEAD\ncapabilities\n\n"), "no question"),
        (format!("list\nfetch {id} HEAD\n"), "no question"),
        ("list\nfetch \u{fffd}\n\n".to_owned(), "no question"),
    ] {
        let refused = asked(&world, &selected, &questions).expect_err("a refusal").message;
        assert!(refused.contains(why), "{refused}");
        assert_eq!(world.repository.files_of(&id), None);
    }
    assert_eq!(asked(&world, &selected, "").expect("Git went away"), "");
    assert_eq!(asked(&world, &selected, "capab").expect("Git went away"), "");
}
