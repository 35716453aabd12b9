//! `scripts/release-archive`, by which releases are packed.

use super::machine::Machine;
use super::site::{Site, release_file};
use std::fs;
use std::time::{Duration, SystemTime};

#[test]
fn the_same_program_gives_the_same_archive_whenever_and_wherever_it_is_packed() {
    let packed = |age| {
        let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
        let program = fs::File::open(machine.at("bin/isobox")).expect("a program");
        program.set_modified(SystemTime::now() - age).expect("set its time");
        site.publish("0.1.0", &machine.at("bin/isobox"));
        fs::read(site.path(&release_file("0.1.0"))).expect("an archive")
    };
    assert!(packed(Duration::ZERO) == packed(Duration::from_secs(1_000_000)));
}

#[test]
fn what_was_published_is_never_published_with_other_bytes() {
    let (site, machine) = (Site::new(), Machine::with_release("0.1.0"));
    site.publish("0.1.0", &machine.at("bin/isobox"));
    let published = || ["releases.txt", &release_file("0.1.0")].map(|name| fs::read(site.path(name)).expect("read"));
    let before = published();
    assert_eq!(site.pack("0.1.0", &machine.at("bin/isobox")).code, 0);
    fs::write(machine.at("bin/isobox"), "#!/bin/sh\necho other\n").expect("write");
    let refused = site.pack("0.1.0", &machine.at("bin/isobox"));
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("already, with other bytes"), "{refused:?}");
    assert!(published() == before);
}
