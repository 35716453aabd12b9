//! What is replaced on machines with several programs, links and package managers, and what is left to others.

use super::machine::{Machine, assert_refused};
use super::site::Site;
use crate::support::document;
use isobox_tests::{Outcome, User, ignored, isobox_program, outcome};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

fn updated(machine: &Machine) -> Outcome {
    let (site, url) = Site::with_release("0.2.0");
    machine.update(&site, &url, &[])
}

#[test]
fn a_second_program_on_path_is_told_and_left_alone() {
    let mut machine = Machine::with_release("0.1.0");
    machine.path.push(machine.folder("other"));
    machine.program("other/isobox", "0.0.9");
    let ran = updated(&machine);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("other/isobox is another isobox on PATH, and stays as it is"), "{ran:?}");
    assert_eq!([machine.version("bin/isobox"), machine.version("other/isobox")], ["0.2.0", "0.0.9"]);
}

#[test]
fn the_first_on_path_is_updated_whichever_runs() {
    let mut machine = Machine::with_release("0.1.0");
    machine.path.insert(0, machine.folder("first"));
    machine.program("first/isobox", "0.0.9");
    let ran = updated(&machine);
    assert!(ran.stderr.contains("the isobox that runs now is not "), "{ran:?}");
    assert_eq!([machine.version("first/isobox"), machine.version("bin/isobox")], ["0.2.0", "0.1.0"]);
}

#[test]
fn a_symbolic_link_stays_and_what_it_leads_to_is_replaced() {
    let mut machine = Machine::new();
    machine.folder("opt");
    machine.program("opt/isobox", "0.1.0");
    symlink("../opt/isobox", machine.at("bin/isobox")).expect("a link");
    machine.path.push(machine.at("opt"));
    let ran = updated(&machine);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("the link stays as it is"), "{ran:?}");
    assert_eq!(fs::read_link(machine.at("bin/isobox")).expect("a link"), std::path::Path::new("../opt/isobox"));
    assert_eq!([machine.version("bin/isobox"), machine.version("opt/isobox.old")], ["0.2.0", "0.1.0"]);
    assert_eq!(machine.listing("bin").len(), 1);
}

#[test]
fn a_hard_link_keeps_the_program_before_and_that_is_said() {
    let mut machine = Machine::with_release("0.1.0");
    machine.path.push(machine.folder("other"));
    fs::hard_link(machine.at("bin/isobox"), machine.at("other/isobox")).expect("a link");
    let ran = updated(&machine);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("has 1 more by hard links"), "{ran:?}");
    assert!(ran.stderr.contains("other/isobox is a hard link to the same program"), "{ran:?}");
    assert_eq!([machine.version("bin/isobox"), machine.version("other/isobox")], ["0.2.0", "0.1.0"]);
}

#[test]
fn what_package_managers_look_after_is_left_to_them() {
    for (folder, keeper) in [
        ("opt/Cellar/isobox/0.1.0/bin", "is looked after by Homebrew"),
        ("home/.cargo/bin", "is looked after by Cargo"),
        ("home/.local/share/mise/installs/isobox/0.1.0", "is looked after by mise"),
    ] {
        let machine = Machine::new();
        machine.folder(folder);
        machine.program(&format!("{folder}/isobox"), "0.1.0");
        symlink(machine.at(folder).join("isobox"), machine.at("bin/isobox")).expect("a link");
        let before = machine.listing(folder);
        let (site, url) = Site::with_release("0.2.0");
        for arguments in [&[][..], &["--check"], &["--rollback"]] {
            let ran = machine.update(&site, &url, arguments);
            assert_refused(&ran, &["isobox does not replace ", keeper, "hint: update it with "]);
        }
        assert_eq!((machine.listing(folder), machine.listing("bin").len()), (before, 1));
    }
}

#[test]
fn a_development_build_is_left_alone_unless_a_key_is_named() {
    let machine = Machine::new();
    assert!(Command::new("cp").arg(isobox_program()).arg(machine.at("bin/isobox")).status().expect("run cp").success());
    let told =
        document(&outcome(machine.command(isobox_program()).args(["version", "--json"]).output().expect("run isobox")));
    if told["build"] != "development" {
        return ignored("update of a development build", "the program under test is a release");
    }
    for arguments in [&["update"][..], &["update", "--check"]] {
        let mut command = machine.command(isobox_program());
        let ran = outcome(command.args(arguments).args(["--url", "file:///nonexistent"]).output().expect("run isobox"));
        assert_refused(&ran, &["is a development build", "build it again from its source"]);
    }
    let site = Site::new();
    site.publish_fake("9.0.0");
    let ran = machine.update(&site, &site.url(), &[]);
    assert_eq!((ran.code, machine.version("bin/isobox")), (0, "9.0.0".to_owned()), "{ran:?}");
}

#[test]
fn what_cargo_built_is_left_alone_even_so() {
    let machine = Machine::with_release("0.1.0");
    fs::write(machine.at("bin/.cargo-lock"), "").expect("write");
    fs::write(machine.at("CACHEDIR.TAG"), "").expect("write");
    assert_refused(&updated(&machine), &["is a development build", "cargo build"]);
}

#[test]
fn without_isobox_on_path_there_is_nothing_to_update() {
    let mut machine = Machine::new();
    machine.path = vec![machine.folder("empty")];
    let mut command = machine.command(isobox_program());
    let (site, url) = Site::with_release("0.2.0");
    command.env("PATH", machine.at("empty")).args(["update", "--url", &url, "--key", &site.key()]);
    assert_refused(&outcome(command.output().expect("run isobox")), &["there is no `isobox` on PATH", "hint: "]);
}

#[test]
fn rights_stay_as_they_are_and_none_are_added() {
    let machine = Machine::with_release("0.1.0");
    fs::set_permissions(machine.at("bin/isobox"), fs::Permissions::from_mode(0o4751)).expect("chmod");
    assert_eq!(updated(&machine).code, 0);
    let metadata = fs::metadata(machine.at("bin/isobox")).expect("metadata");
    assert_eq!(metadata.mode() & 0o7777, 0o751);
}

#[test]
fn what_belongs_to_another_user_is_refused_with_the_way_out() {
    if !nix::unistd::geteuid().is_root() {
        return ignored("update of another user's program", "only root can make one");
    }
    // An ordinary user's project, to start isobox as that user.
    let project = isobox_tests::Project::bare(User::Ordinary);
    let machine = Machine::with_release("0.1.0");
    let (site, url) = Site::with_release("0.2.0");
    let mut command = project.command(isobox_program());
    command.env("PATH", machine.at("bin")).args(["update", "--url", &url, "--key", &site.key()]);
    let ran = outcome(command.output().expect("run isobox"));
    assert_refused(&ran, &["belongs to the user with uid 0", "as root"]);
    let ran = outcome(command.arg("--check").output().expect("run isobox"));
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("isobox 0.2.0 can replace 0.1.0"), "{ran:?}");
    // Root keeps the owner of what it replaces.
    std::os::unix::fs::chown(machine.at("bin/isobox"), Some(65533), Some(65533)).expect("chown");
    assert_eq!(machine.update(&site, &url, &[]).code, 0);
    let metadata = fs::metadata(machine.at("bin/isobox")).expect("metadata");
    assert_eq!((metadata.uid(), metadata.gid(), machine.version("bin/isobox")), (65533, 65533, "0.2.0".to_owned()));
}

#[test]
fn two_updates_at_once_do_not_meet() {
    let machine = Machine::with_release("0.1.0");
    let handle = fs::File::open(machine.at("bin")).expect("open");
    handle.lock().expect("lock");
    assert_refused(&updated(&machine), &["is being replaced by another process"]);
    handle.unlock().expect("unlock");
    assert_eq!(updated(&machine).code, 0);
}

#[test]
fn a_kept_program_that_others_could_have_written_is_not_put_back() {
    let machine = Machine::with_release("0.2.0");
    machine.program("bin/isobox.old", "0.1.0");
    fs::set_permissions(machine.at("bin/isobox.old"), fs::Permissions::from_mode(0o777)).expect("chmod");
    let (site, url) = Site::with_release("0.2.0");
    assert_refused(&machine.update(&site, &url, &["--rollback"]), &["others could have written it"]);
    fs::remove_file(machine.at("bin/isobox.old")).expect("remove");
    symlink("/bin/true", machine.at("bin/isobox.old")).expect("a link");
    assert_refused(&machine.update(&site, &url, &["--rollback"]), &["to go back to"]);
    assert_eq!(machine.version("bin/isobox"), "0.2.0");
}
