//! The whole way: install, look, update, go back.

use crate::machine::{Machine, document};
use crate::server::Server;
use crate::site::{Site, archive};
use isobox_tests::{Outcome, isobox_program, outcome};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn install_script() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../install.sh")
}

fn install(machine: &Machine, site: &Site, url: &str, arguments: &[&str]) -> Outcome {
    let mut command = machine.command("/bin/sh");
    command.arg(install_script()).args(["--url", url, "--key", &site.key()]).args(arguments);
    outcome(command.output().expect("run install.sh"))
}

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
    assert_eq!(document(&run(&["--check", "--json"]))["state"], "current");
    site.publish_fake("9.0.0");
    site.publish_fake("9.10.0");
    site.publish_fake("10.0.0-rc.1");
    let checked = document(&run(&["--check", "--json"]));
    assert_eq!((&checked["state"], &checked["newest"]), (&json!("newer"), &json!("9.10.0")));
    assert_eq!((machine.version(isobox), checked["action"].clone()), (own.clone(), json!("none")));

    let updated = run(&[]);
    assert_eq!(updated.code, 0, "{updated:?}");
    assert!(updated.stdout.starts_with(&format!("isobox 9.10.0 has replaced {own} at ")), "{updated:?}");
    assert_eq!(machine.version(isobox), "9.10.0");
    assert_eq!(machine.version("home/.local/bin/isobox.old"), own);
    assert_eq!(fs::metadata(machine.at(isobox)).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(document(&run(&["--check", "--json"]))["state"], "current");

    let back = run(&["--rollback"]);
    assert_eq!((back.code, machine.version(isobox)), (0, own.clone()), "{back:?}");
    let forth = document(&run(&["--rollback", "--json"]));
    assert_eq!((&forth["action"], &forth["installed"]), (&json!("rolled_back"), &json!("9.10.0")));
    assert_eq!(machine.listing("home/.local/bin").len(), 2);
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
    let url = format!("file://{}", site.public().display());
    let ran = machine.update(&site, &url, &[]);
    assert_eq!((ran.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{ran:?}");
    let machine = Machine::new();
    let to = machine.at("bin").to_string_lossy().into_owned();
    let ran = install(&machine, &site, &url, &["--to", &to]);
    assert_eq!((ran.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{ran:?}");
}

#[test]
fn nothing_to_go_back_to_is_said() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    let ran = machine.update(&site, "file:///nonexistent", &["--rollback"]);
    crate::machine::assert_refused(&ran, &["there is no ", "isobox.old to go back to", "hint: "]);
}

#[test]
fn the_installer_chooses_the_newest_stable_release_or_the_one_asked_for() {
    let site = Site::new();
    for version in ["0.9.0", "0.10.0", "0.2.0", "1.0.0-rc.1"] {
        site.publish_fake(version);
    }
    let url = format!("file://{}", site.public().display());
    for (arguments, version) in [(&[][..], "0.10.0"), (&["--version", "0.9.0"], "0.9.0")] {
        let machine = Machine::new();
        let to = machine.at("new/bin").to_string_lossy().into_owned();
        let ran = install(&machine, &site, &url, &[&["--to", &to], arguments].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains("its signature and checksum are right"), "{ran:?}");
        assert!(ran.stdout.contains("Put it on your PATH"), "{ran:?}");
        assert_eq!(machine.version("new/bin/isobox"), version);
        assert_eq!(machine.listing("new/bin").len(), 1);
    }
}

#[test]
fn the_installer_installs_nothing_that_was_not_signed() {
    let site = Site::new();
    site.publish_fake("0.2.0");
    let url = format!("file://{}", site.public().display());
    let (good, signature) = (fs::read(site.path(&archive("0.2.0"))).unwrap(), site.path("releases.txt.minisig"));
    let refused = |why: &str| {
        let machine = Machine::with_release("0.1.0");
        let to = machine.at("bin").to_string_lossy().into_owned();
        let before = machine.listing("bin");
        let ran = install(&machine, &site, &url, &["--to", &to]);
        assert_eq!((ran.code, machine.listing("bin")), (1, before), "{ran:?}");
        assert!(ran.stderr.contains(why), "{why}: {ran:?}");
    };
    fs::write(site.path(&archive("0.2.0")), &good[..good.len() - 1]).unwrap();
    refused("nothing was installed");
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(site.path(&archive("0.2.0")), bad).unwrap();
    refused("is not what was signed");
    fs::write(site.path(&archive("0.2.0")), &good).unwrap();
    site.sign_with(&minisign::KeyPair::generate_unencrypted_keypair().unwrap());
    refused("did not sign");
    site.sign();
    let mut index = fs::read(site.path("releases.txt")).unwrap();
    index.push(b'\n');
    fs::write(site.path("releases.txt"), index).unwrap();
    refused("did not sign");
    fs::write(&signature, "").unwrap();
    refused("did not sign");
}

#[test]
fn the_installer_says_so_where_nothing_can_verify_a_signature() {
    let (site, mut machine) = (Site::new(), Machine::new());
    site.publish_fake("0.2.0");
    let url = format!("file://{}", site.public().display());
    // Everything that the script needs, but for what verifies.
    let tools = machine.folder("tools");
    for tool in [
        "awk",
        "cut",
        "grep",
        "gzip",
        "head",
        "mkdir",
        "mktemp",
        "mv",
        "rm",
        "sed",
        "sha256sum",
        "tail",
        "tar",
        "tr",
        "uname",
        "wc",
        "chmod",
    ] {
        std::os::unix::fs::symlink(format!("/usr/bin/{tool}"), tools.join(tool)).expect("a link");
    }
    machine.path = vec![tools.clone()];
    let to = machine.at("bin").to_string_lossy().into_owned();
    let run = |arguments: &[&str]| {
        let mut command = machine.command("/bin/sh");
        command.env("PATH", &tools).arg(install_script()).args(["--url", &url, "--key", &site.key(), "--to", &to]);
        outcome(command.args(arguments).output().expect("run install.sh"))
    };
    let refused = run(&[]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("nothing here can verify a signature"), "{refused:?}");
    let accepted = run(&["--checksum-only"]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(accepted.stdout.contains("its signature was NOT verified"), "{accepted:?}");
}
