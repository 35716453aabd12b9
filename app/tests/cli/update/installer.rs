//! `install.sh`, on machines with different programs.

use super::machine::Machine;
use super::server::{Reply, Server};
use super::site::{Site, release_file};
use isobox_tests::{Outcome, checkout, ignored, outcome};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What the script needs, but for what fetches and what verifies.
const TOOLS: [&str; 20] = [
    "awk",
    "cat",
    "chmod",
    "cut",
    "grep",
    "gzip",
    "head",
    "ln",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sed",
    "sha256sum",
    "tail",
    "tar",
    "timeout",
    "tr",
    "uname",
    "wc",
];

/// Runs the script on `machine`, for the releases at `url`.
pub(crate) fn install(machine: &Machine, site: &Site, url: &str, arguments: &[&str]) -> Outcome {
    let mut command = machine.command("/bin/sh");
    command.arg(script()).args(["--url", url, "--key", &site.key()]).args(arguments);
    outcome(command.env("ISOBOX_INSTALL_TIMEOUT", "60").output().expect("run install.sh"))
}

fn script() -> PathBuf {
    checkout().join("install.sh")
}

/// Installs into `bin` on a machine that has `programs` besides [`TOOLS`] and no others; `None` where one is not here.
fn install_with(programs: &[&str], machine: &Machine, site: &Site, url: &str, rest: &[&str]) -> Option<Outcome> {
    let tools = machine.folder("tools");
    for tool in TOOLS.iter().chain(programs) {
        let found =
            ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool)).into_iter().find(|path| path.exists());
        symlink(found?, tools.join(tool)).ok();
    }
    let to = machine.at("bin").to_string_lossy().into_owned();
    let mut command = machine.command("/bin/sh");
    command.arg(script()).args(["--url", url, "--key", &site.key(), "--to", &to]).args(rest);
    command.env("PATH", &tools).env("ISOBOX_INSTALL_TIMEOUT", "2");
    Some(outcome(command.output().expect("run install.sh")))
}

/// Asserts that the script ends with an error that has `why` in it, and leaves the directory as it was.
fn assert_kept(machine: &Machine, why: &str, run: impl FnOnce() -> Outcome) {
    let before = machine.listing("bin");
    let ran = run();
    assert_eq!((ran.code, machine.listing("bin")), (1, before), "{ran:?}");
    assert!(ran.stderr.contains(why), "{why}: {ran:?}");
}

#[test]
fn the_newest_stable_release_is_installed_or_the_one_asked_for() {
    let site = Site::new();
    for version in ["0.9.0", "0.10.0", "0.2.0", "1.0.0-rc.1"] {
        site.publish_fake(version);
    }
    let url = site.url();
    for (arguments, version) in
        [(&[][..], "0.10.0"), (&["--version", "0.9.0"], "0.9.0"), (&["--version", "1.0.0-rc.1"], "1.0.0-rc.1")]
    {
        let machine = Machine::new();
        let to = machine.at("new/bin").to_string_lossy().into_owned();
        let ran = install(&machine, &site, &url, &[&["--to", &to], arguments].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains("Put it on your PATH"), "{ran:?}");
        assert_eq!(machine.version("new/bin/isobox"), version);
        assert_eq!(machine.listing("new/bin").len(), 2);
        let link = fs::read_link(machine.at("new/bin/git-remote-isobox")).expect("a link");
        assert_eq!(link, Path::new("isobox"));
    }
}

#[test]
fn nothing_is_installed_that_was_not_signed_whichever_program_verifies() {
    for verifier in ["minisign", "openssl"] {
        let (site, url) = Site::with_release("0.2.0");
        let machine = Machine::new();
        let Some(ran) = install_with(&[verifier], &machine, &site, &url, &[]) else {
            ignored("install.sh", &format!("there is no {verifier}"));
            continue;
        };
        assert_eq!((ran.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{ran:?}");
        assert!(ran.stdout.contains("its signature and checksum are right"), "{ran:?}");
        let refused = |why: &str| {
            assert_kept(&machine, why, || install_with(&[verifier], &machine, &site, &url, &[]).expect("it was there"));
        };
        let good = fs::read(site.path(&release_file("0.2.0"))).expect("read");
        fs::write(site.path(&release_file("0.2.0")), &good[..good.len() - 1]).expect("write");
        refused(", and should have ");
        let mut bad = good.clone();
        *bad.last_mut().expect("a byte") ^= 1;
        fs::write(site.path(&release_file("0.2.0")), bad).expect("write");
        refused("is not what was signed");
        fs::write(site.path(&release_file("0.2.0")), &good).expect("write");
        site.sign_with(&minisign::KeyPair::generate_unencrypted_keypair().expect("keys"));
        refused("did not sign");
        site.sign();
        fs::write(site.path("releases.txt.minisig"), "").expect("write");
        refused("did not sign");
        site.sign();
        let mut index = fs::read(site.path("releases.txt")).expect("read");
        index.push(b'\n');
        fs::write(site.path("releases.txt"), index).expect("write");
        refused("did not sign");
    }
}

#[test]
fn whichever_program_fetches_servers_that_err_or_never_answer_install_nothing() {
    for program in ["curl", "wget"] {
        let (site, _) = Site::with_release("0.2.0");
        let server = Server::start(&site.public());
        let machine = Machine::new();
        let run = || install_with(&[program, "openssl"], &machine, &site, &server.url(), &[]);
        let Some(ran) = run() else {
            ignored("install.sh", &format!("there is no {program}, or no openssl"));
            continue;
        };
        assert_eq!((ran.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{ran:?}");
        let name = release_file("0.2.0");
        for (reply, why) in [
            (Reply::Missing, "cannot fetch "),
            (Reply::Silence, "cannot fetch "),
            (Reply::Half, ""),
            (Reply::Endless, ""),
            (Reply::Trickle, ""),
        ] {
            server.reply(&name, reply);
            assert_kept(&machine, why, || run().expect("it was there"));
        }
    }
}

#[test]
fn where_nothing_can_verify_a_signature_that_is_said() {
    let ((site, url), machine) = (Site::with_release("0.2.0"), Machine::new());
    let run = |rest: &[&str]| install_with(&[], &machine, &site, &url, rest).expect("the tools are here");
    assert_kept(&machine, "nothing here can verify a signature", || run(&[]));
    let accepted = run(&["--checksum-only"]);
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert!(accepted.stdout.contains("its signature was NOT verified"), "{accepted:?}");
}

#[test]
fn what_others_look_after_is_left_alone() {
    let ((site, url), machine) = (Site::with_release("0.2.0"), Machine::new());
    symlink("/nonexistent/store/isobox", machine.at("bin/isobox")).expect("a link");
    let to = machine.at("bin").to_string_lossy().into_owned();
    assert_kept(&machine, "is a symbolic link", || install(&machine, &site, &url, &["--to", &to]));
    fs::remove_file(machine.at("bin/isobox")).expect("remove");
    machine.folder("bin/isobox");
    assert_kept(&machine, "is a directory", || install(&machine, &site, &url, &["--to", &to]));
}

#[test]
fn a_name_for_git_that_something_else_has_is_left_to_it() {
    let ((site, url), machine) = (Site::with_release("0.2.0"), Machine::new());
    let to = machine.at("bin").to_string_lossy().into_owned();
    let other = machine.at("bin/git-remote-isobox");
    fs::write(&other, "mine").expect("write");
    let ran = install(&machine, &site, &url, &["--to", &to]);
    assert!(ran.code == 0 && ran.stdout.contains("git-remote-isobox is something else, and stays"), "{ran:?}");
    assert_eq!(fs::read_to_string(&other).expect("it is there"), "mine");
    fs::remove_file(&other).expect("remove");
    for _ in 0..2 {
        let ran = install(&machine, &site, &url, &["--to", &to]);
        assert!(ran.code == 0 && !ran.stdout.contains("git-remote-isobox"), "{ran:?}");
        assert_eq!(fs::read_link(&other).expect("a link"), Path::new("isobox"));
    }
}

#[test]
fn a_program_that_does_not_run_here_is_not_installed() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    fs::write(machine.at("home/program"), "#!/bin/sh\necho isobox 7.0.0\n").expect("write");
    site.publish("0.2.0", &machine.at("home/program"));
    let (url, to) = (site.url(), machine.at("bin").to_string_lossy().into_owned());
    assert_kept(&machine, "the program is isobox 7.0.0, and should be isobox 0.2.0", || {
        install(&machine, &site, &url, &["--to", &to])
    });
}

#[test]
fn a_script_that_was_cut_short_on_its_way_does_nothing() {
    let ((site, url), machine) = (Site::with_release("0.2.0"), Machine::new());
    let text = fs::read_to_string(script()).expect("the script");
    let cut = machine.at("home/cut.sh");
    fs::write(&cut, text.trim_end().strip_suffix("main \"$@\"").expect("the call at its end")).expect("write");
    let mut command = machine.command("/bin/sh");
    let ran = outcome(command.arg(cut).args(["--url", &url, "--key", &site.key()]).output().expect("run it"));
    assert_eq!((ran.code, machine.listing("home").len()), (0, 1), "{ran:?}");
}
