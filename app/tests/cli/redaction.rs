//! Output that is shown or exported without what is secret-shaped in it.

use crate::support::{assert_told, document};
use isobox_tests::{Project, User};
use std::fs;

const TOKEN: &str = "ghp_0123456789abcdefghij0123456789";

/// A project whose newest Task printed secrets on both streams, and wrote one into a file.
fn leaked() -> Project {
    let project = Project::initialised(User::Current);
    let script = format!(
        "echo before; echo 'Authorization: Bearer {TOKEN}'; echo API_KEY=hunter22 >&2; echo 'token={TOKEN}' > leaked; \
         printf -- '-----BEGIN PRIVATE KEY-----\\nMIIEsecret\\n-----END PRIVATE KEY-----\\nafter\\n'"
    );
    // From a script, so that the command line itself has no secret in it that is masked anyway.
    project.write("leak.sh", &script);
    project.commit_all("Leak");
    assert_eq!(project.isobox(&["tool", "-q", "--", "sh", "leak.sh"]).code, 0);
    project
}

const STDOUT: &str = "before\nAuthorization: Bearer [redacted]\n-----BEGIN PRIVATE KEY-----\n[redacted]\n\
                      -----END PRIVATE KEY-----\nafter\n";

#[test]
fn logs_are_kept_exact_and_shown_without_secrets_if_asked_for() {
    let project = leaked();
    let exact = project.isobox(&["logs", "@latest"]);
    assert!(exact.stdout.contains(TOKEN) && exact.stdout.contains("MIIEsecret") && exact.stderr.contains("hunter22"));
    for flags in [&["logs", "--redact", "@latest"][..], &["logs", "--redact", "--follow", "@latest"]] {
        let redacted = project.isobox(flags);
        assert_eq!((redacted.code, redacted.stdout.as_str()), (0, STDOUT));
        assert!(redacted.stderr.starts_with("API_KEY=[redacted]\n3 secret-shaped strings redacted\n"), "{redacted:?}");
    }
    let none = project.isobox(&["logs", "--redact", "--stderr", "@latest"]);
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        ("API_KEY=[redacted]\n", "1 secret-shaped string redacted\n")
    );
}

#[test]
fn a_line_that_was_held_back_and_cannot_be_written_is_told() {
    let project = Project::initialised(User::Current);
    assert_eq!(project.isobox(&["tool", "-q", "--", "printf", "no end of the line"]).code, 0);
    let full = fs::File::options().write(true).open("/dev/full").expect("a device");
    let mut command = project.isobox_command(&["logs", "--redact", "@latest"]);
    let told = command.stdout(full).output().expect("run isobox");
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert_eq!(told.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left on device") && !said.contains("redacted"), "{said}");
}

#[test]
fn a_view_is_exported_without_secrets_if_asked_for() {
    let project = leaked();
    let place = project.scratch().join("out");
    let place = place.to_str().expect("text");
    let exported = project.isobox(&["export", "--redact", "@latest", place]);
    assert_told(&exported, 0, &["secret-shaped strings redacted"]);
    let directory = fs::read_dir(place).expect("list").next().expect("a directory").expect("an entry").path();
    let read = |path: &str| fs::read_to_string(directory.join(path)).expect(path);
    assert_eq!(read("artifacts/stdout.txt"), STDOUT);
    assert!(read("artifacts/diff.patch").contains("+token=[redacted]\n"));
    assert!(read("record.json").contains("\"outcome\": \"success\""));
}

#[test]
fn a_record_is_shown_without_secrets_and_stays_a_document() {
    let project = leaked();
    let failed = project.isobox(&["tool", "-q", "--", "/no/such/token=abcd1234efgh"]);
    assert_eq!(failed.code, 127);
    let shown = project.isobox(&["show", "--redact", "@latest"]);
    assert_told(&shown, 0, &["redacted\n"]);
    assert!(!shown.stdout.contains("abcd1234efgh"), "{shown:?}");
    let redacted = document(&project.isobox(&["show", "--json", "--redact", "@latest"]));
    assert_eq!(redacted["outcome"], "launch_failure");
    assert!(!redacted.to_string().contains("abcd1234efgh"), "{redacted}");
}

#[test]
fn what_is_verified_by_its_hash_is_not_redacted() {
    let project = leaked();
    assert_told(&project.isobox(&["show", "--raw", "--redact", "@latest"]), 2, &["their hash is what verifies them"]);
    let place = project.scratch().join("one");
    let place = place.to_str().expect("text");
    for (flags, reason) in [
        (["--format", "archive"], "their hash is what verifies them"),
        (["--format", "patch"], "it would make other files"),
        (["--format", "in-toto"], "it is about digests"),
        (["--layout", "v1"], "byte for byte"),
    ] {
        let arguments = [&["export", "--redact"], &flags[..], &["@latest", place]].concat();
        assert_told(&project.isobox(&arguments), 2, &["cannot be redacted", reason]);
        assert!(!project.scratch().join("one").exists());
    }
}
