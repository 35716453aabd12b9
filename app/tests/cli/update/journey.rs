//! The whole way: install, look, update, go back.

use super::installer::install;
use super::machine::Machine;
use super::server::Server;
use super::site::Site;
use crate::schema_checker::assert_described;
use crate::support::document;
use isobox_tests::{isobox_program, outcome};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// The version that the program under test says that it has.
fn own_version() -> String {
    let ran = outcome(std::process::Command::new(isobox_program()).arg("version").output().expect("run isobox"));
    ran.stdout.trim().trim_start_matches("isobox ").to_owned()
}

#[test]
fn an_installed_isobox_finds_a_newer_release_becomes_it_and_goes_back() {
    let (site, own) = (Site::new(), own_version());
    let server = Server::start(&site.public());
    site.publish(&own, &isobox_program());
    let mut machine = Machine::new();
    machine.path = vec![machine.at("home/.local/bin")];

    let installed = install(&machine, &site, &server.url(), &[]);
    assert_eq!(installed.code, 0, "{installed:?}");
    let isobox = "home/.local/bin/isobox";
    assert_eq!(machine.version(isobox), own);
    assert_eq!(fs::read(machine.at(isobox)).unwrap(), fs::read(isobox_program()).unwrap());

    // From here on, the installed program itself is what runs.
    let run = |arguments: &[&str]| {
        let mut command = machine.command(machine.at(isobox));
        command.arg("update").args(arguments);
        command.env("ISOBOX_RELEASE_URL", server.url()).env("ISOBOX_RELEASE_KEY", site.key());
        outcome(command.output().expect("run isobox"))
    };
    let told = |arguments: &[&str]| {
        let told = document(&run(arguments));
        assert_described("update", &told);
        told
    };
    assert_eq!(told(&["--check", "--json"])["state"], "current");
    site.publish_fake("9.0.0");
    site.publish_fake("9.10.0");
    site.publish_fake("10.0.0-rc.1");
    let checked = told(&["--check", "--json"]);
    assert_eq!((&checked["state"], &checked["newest"]), (&json!("newer"), &json!("9.10.0")));
    assert_eq!((machine.version(isobox), checked["action"].clone()), (own.clone(), json!("none")));

    let updated = run(&[]);
    assert_eq!(updated.code, 0, "{updated:?}");
    assert!(updated.stdout.starts_with(&format!("isobox 9.10.0 has replaced {own} at ")), "{updated:?}");
    assert_eq!(machine.version(isobox), "9.10.0");
    assert_eq!(machine.version("home/.local/bin/isobox.old"), own);
    assert_eq!(fs::metadata(machine.at(isobox)).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(told(&["--check", "--json"])["state"], "current");

    let back = run(&["--rollback"]);
    assert_eq!((back.code, machine.version(isobox)), (0, own.clone()), "{back:?}");
    let said = "it stays until the next `isobox update`: `isobox update --check` says what that would install\n";
    assert!(back.stdout.ends_with(said), "{back:?}");
    let forth = told(&["--rollback", "--json"]);
    assert_eq!((&forth["action"], &forth["installed"]), (&json!("rolled_back"), &json!("9.10.0")));
    let left: Vec<String> = machine.listing("home/.local/bin").into_keys().collect();
    assert_eq!(left, ["git-remote-isobox", "isobox", "isobox.old"]);
}

#[test]
fn a_check_fetches_no_archive_and_changes_nothing() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    site.publish_fake("0.2.0");
    let server = Server::start(&site.public());
    let before = machine.listing("bin");
    let ran = machine.update(&site, &server.url(), &["--check"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("isobox 0.2.0 can replace 0.1.0 at "), "{ran:?}");
    assert_eq!(machine.listing("bin"), before);
    assert_eq!(server.asked(), ["releases.txt", "releases.txt.minisig"]);
}

#[test]
fn releases_in_a_directory_of_this_machine_need_no_server() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    site.publish_fake("0.2.0");
    let url = site.url();
    let told = document(&machine.update(&site, &url, &["--json"]));
    assert_described("update", &told);
    assert_eq!((&told["action"], machine.version("bin/isobox")), (&json!("updated"), "0.2.0".to_owned()), "{told}");
    let machine = Machine::new();
    let to = machine.at("bin").to_string_lossy().into_owned();
    let ran = install(&machine, &site, &url, &["--to", &to]);
    assert_eq!((ran.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{ran:?}");
}

#[test]
fn nothing_to_go_back_to_is_said() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    let ran = machine.update(&site, "file:///nonexistent", &["--rollback"]);
    super::machine::assert_refused(&ran, &["there is no ", "isobox.old to go back to", "hint: "]);
}
