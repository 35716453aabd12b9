//! Publishers that are hostile, broken or slow: nothing that they do gets a program onto the machine.

use super::machine::{Machine, assert_refused};
use super::server::{Reply, Server};
use super::site::{PLATFORM, Site, release_file};
use crate::schema_checker::assert_described;
use crate::support::document;
use isobox_tests::{Outcome, isobox_program, outcome};
use minisign::KeyPair;
use std::fs;
use std::time::{Duration, Instant};

/// Updates a machine that has 0.1.0 from a site that offers 0.2.0, after `spoil`; nothing may have changed there.
fn refused(arguments: &[&str], words: &[&str], spoil: impl FnOnce(&Site, &Server)) -> Outcome {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    site.publish_fake("0.2.0");
    let server = Server::start(&site.public());
    spoil(&site, &server);
    let before = machine.listing("bin");
    let ran = machine.update(&site, &server.url(), arguments);
    assert_refused(&ran, words);
    assert!(ran.stderr.contains("nothing was replaced") && ran.stderr.contains("hint: "), "{ran:?}");
    assert_eq!(machine.listing("bin"), before);
    ran
}

fn spoiled(site: &Site, name: &str, spoil: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(site.path(name)).expect("read");
    spoil(&mut bytes);
    fs::write(site.path(name), bytes).expect("write");
}

#[test]
fn a_tampered_archive_is_refused() {
    refused(&[], &["SHA-256 ", " expected, found "], |site, _| {
        spoiled(site, &release_file("0.2.0"), |bytes| *bytes.last_mut().expect("a byte") ^= 1);
    });
}

#[test]
fn a_longer_archive_is_refused_without_reading_on() {
    refused(&[], &[" bytes expected, found more"], |_, server| server.reply(&release_file("0.2.0"), Reply::Endless));
}

#[test]
fn a_truncated_download_is_refused() {
    refused(&[], &[&release_file("0.2.0")], |_, server| server.reply(&release_file("0.2.0"), Reply::Half));
    refused(&[], &[" bytes expected, found "], |site, _| {
        spoiled(site, &release_file("0.2.0"), |bytes| bytes.truncate(bytes.len() / 2));
    });
}

#[test]
fn what_another_key_signed_is_refused() {
    refused(&[], &["no key that is trusted signed it"], |site, _| {
        site.sign_with(&KeyPair::generate_unencrypted_keypair().expect("keys"));
    });
}

#[test]
fn an_index_that_was_changed_after_it_was_signed_is_refused() {
    refused(&["--check"], &["no key that is trusted signed it"], |site, _| {
        spoiled(site, "releases.txt", |bytes| bytes.push(b'\n'));
    });
    refused(&["--check"], &["its signature is not one of minisign"], |site, _| {
        fs::write(site.path("releases.txt.minisig"), "trust me\n").expect("write");
    });
    refused(&["--check"], &["fetch http://", "404"], |_, server| {
        server.reply("releases.txt.minisig", Reply::Missing);
    });
}

#[test]
fn a_signed_index_that_makes_no_sense_is_refused() {
    refused(&["--check"], &["line 3: "], |site, _| {
        site.add(&format!("archive 0.3.0 {PLATFORM} 1 {} ../../etc/passwd", "0".repeat(64)));
    });
}

#[test]
fn an_index_without_end_is_refused() {
    for name in ["releases.txt", "releases.txt.minisig"] {
        refused(&["--check"], &["at most ", " bytes expected, found more"], |_, server| {
            server.reply(name, Reply::Endless);
        });
    }
}

#[test]
fn a_server_that_never_answers_is_not_waited_for() {
    for (name, reply) in [
        ("releases.txt", Reply::Silence),
        ("releases.txt", Reply::Trickle),
        (&release_file("0.2.0"), Reply::Silence),
        (&release_file("0.2.0"), Reply::Trickle),
    ] {
        let begun = Instant::now();
        let words = ["fetch http://", "timeout"];
        refused(&["--timeout", "1"], &words, |_, server| server.reply(name, reply.clone()));
        // A second is asked for; a hundred would be a hang.
        assert!(begun.elapsed() < Duration::from_secs(100), "{name} {reply:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    // A port that was free a moment ago.
    let gone = Server::start(&site.public()).url();
    let ran = machine.update(&site, &gone, &["--check"]);
    assert_refused(&ran, &["fetch http://127.0.0.1:", "try again later"]);
}

#[test]
fn redirects_are_followed_and_not_for_ever() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    site.publish_fake("0.2.0");
    let (server, other) = (Server::start(&site.public()), Server::start(&site.public()));
    server.reply(&release_file("0.2.0"), Reply::Redirect(format!("{}/{}", other.url(), release_file("0.2.0"))));
    let ran = machine.update(&site, &server.url(), &[]);
    assert_eq!((ran.code, machine.version("bin/isobox")), (0, "0.2.0".to_owned()), "{ran:?}");
    refused(&["--check"], &["redirect"], |_, server| {
        server.reply("releases.txt", Reply::Redirect("/releases.txt".to_owned()));
    });
}

#[test]
fn an_older_release_never_replaces_a_newer_program() {
    let (site, machine) = (Site::new(), Machine::with_release("0.3.0"));
    site.publish_fake("0.2.0");
    site.publish_fake("0.4.0-beta.1");
    let server = Server::start(&site.public());
    let before = machine.listing("bin");
    let ran = machine.update(&site, &server.url(), &["--json"]);
    let told = document(&ran);
    assert_described("update", &told);
    assert_eq!((ran.code, &told["state"], &told["newest"]), (0, &"ahead".into(), &"0.2.0".into()), "{told}");
    assert_eq!(machine.listing("bin"), before);
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn releases_for_other_machines_alone_are_none() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    let other = if PLATFORM.starts_with("x86") { "aarch64-unknown-linux-musl" } else { "x86_64-unknown-linux-musl" };
    site.add(&format!("archive 0.2.0 {other} 1 {} a", "0".repeat(64)));
    let server = Server::start(&site.public());
    let ran = machine.update(&site, &server.url(), &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("there is no release for this kind of machine"), "{ran:?}");
    assert_described("update", &document(&machine.update(&site, &server.url(), &["--check", "--json"])));
}

/// What is said of a site whose 0.2.0 is `program`, which is signed as it should be, and is refused.
fn refusal_of(program: &str) -> Outcome {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    let file = machine.at("home/program");
    fs::write(&file, program).expect("a program");
    site.publish("0.2.0", &file);
    let before = machine.listing("bin");
    let ran = machine.update(&site, &site.url(), &[]);
    assert_refused(&ran, &[&format!("{}: ", release_file("0.2.0"))]);
    assert_eq!(machine.listing("bin"), before);
    ran
}

fn refused_program(program: &str, words: &[&str]) {
    assert_refused(&refusal_of(program), words);
}

#[test]
fn a_program_that_does_not_work_here_never_gets_to_its_place() {
    // Some C libraries give to sh what the kernel does not execute.
    let ran = refusal_of("\x7fELF of another machine");
    let reasons = ["it does not start: ", "it ends with exit status: 127"];
    assert!(reasons.iter().any(|reason| ran.stderr.contains(reason)), "{ran:?}");
    refused_program("#!/bin/sh\nexit 3\n", &["it ends with exit status: 3"]);
    refused_program("#!/bin/sh\necho hello\n", &["is not what an isobox says"]);
    refused_program(&super::site::program_text("0.1.9"), &["version 0.2.0 expected, found 0.1.9"]);
    refused_program("#!/bin/sh\nwhile :; do echo more; done\n", &["it says too much"]);
}

/// The header of an entry that is the name of the next one, `length` bytes long; see tar(5), "GNU tar archives".
fn long_name(length: usize) -> Vec<u8> {
    let mut header = vec![0; 512];
    let fields = [(0, "././@LongLink".to_owned()), (100, "0000644".to_owned()), (124, format!("{length:011o}"))];
    let kind = [(156, "L".to_owned()), (257, "ustar  ".to_owned())];
    let spaces = [(148, " ".repeat(8))];
    for (at, text) in fields.iter().chain(&kind).chain(&spaces) {
        header[*at..at + text.len()].copy_from_slice(text.as_bytes());
    }
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

#[test]
fn a_name_of_400_mebibytes_in_a_release_file_is_updated_past_with_little_memory() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    site.publish_fake("0.2.0");
    let (length, file, header) = (400 << 20, site.path(&release_file("0.2.0")), machine.at("home/header"));
    fs::write(&header, long_name(length)).expect("write");
    let pack = format!(
        "{{ cat \"$1\"; head -c {length} /dev/zero; gzip -dc \"$0\"; }} | gzip -1 > new && mv new \"$0\" && sha256sum < \"$0\""
    );
    let packed =
        outcome(machine.command("/bin/sh").args(["-c", &pack]).args([&file, &header]).output().expect("run sh"));
    assert_eq!(packed.code, 0, "{packed:?}");
    let (hash, bytes) = (&packed.stdout[..64], fs::metadata(&file).expect("a file").len());
    let line = format!("archive 0.2.0 {PLATFORM} {bytes} {hash} {}", release_file("0.2.0"));
    fs::write(site.path("releases.txt"), format!("isobox-releases/v1\n{line}\n")).expect("an index");
    site.sign();
    let mut limited = machine.command("/bin/sh");
    limited.args(["-c", "ulimit -v 300000; exec \"$0\" \"$@\""]).arg(isobox_program());
    limited.args(["update", "--url", &site.url(), "--key", &site.key()]);
    let ran = outcome(limited.output().expect("run isobox"));
    assert_eq!((ran.code, machine.version("bin/isobox").as_str()), (0, "0.2.0"), "{ran:?}");
}

#[test]
fn what_is_no_key_or_no_place_is_a_mistake_of_usage() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    for arguments in [["--url", "ftp://example.org", "--key", &site.key()], ["--url", "file:///srv", "--key", "RW"]] {
        let mut command = machine.command(isobox_program());
        let ran = outcome(command.arg("update").args(arguments).output().expect("run isobox"));
        crate::support::assert_told(&ran, 2, &["read the ", "hint: "]);
    }
}
