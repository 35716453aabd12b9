//! The probe of Sandboxes keeps what every probe keeps, on this machine and on made-up ones.

use isobox_domain::fact::{Fact, Namespace, OverlayPlace, Trial};
use isobox_ports::contract::host_probe::{self, Looked};
use isobox_ports::{HostProbe, OverlayKind, RuntimeBackend};
use isobox_sandbox::{BackendsProbe, LandlockBackend, SandboxProbe};
use libtest_mimic::{Arguments, Failed, Trial as Test};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    isobox_sandbox::stage::enter_if_asked();
    let mut tests = host_probe::cases("SandboxProbe", this_machine);
    tests.extend(host_probe::cases("BackendsProbe", backends));
    tests.push(Test::test("a_setting_that_restricts_namespaces_is_named_with_its_remedy", apparmor));
    tests.push(Test::test("every_namespace_is_tried_once", namespaces));
    tests.push(Test::test("what_is_said_of_overlays_is_what_the_backend_does", overlays));
    // One at a time: this process forks, and its threads must not hold locks then.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn this_machine() -> Looked {
    // It mounts over /sys and makes files there, in namespaces of its own.
    let watched = ["/sys/upper", "/sys/work", "/usr/made", "/etc"].map(PathBuf::from).to_vec();
    Looked { probe: Box::new(SandboxProbe::default()), watched, kept: Box::new(()) }
}

fn backends() -> Looked {
    Looked { probe: Box::new(BackendsProbe::default()), watched: vec![PathBuf::from("/etc")], kept: Box::new(()) }
}

fn apparmor() -> Result<(), Failed> {
    let root = tempfile::tempdir()?;
    let settings = root.path().join("proc/sys/kernel");
    fs::create_dir_all(&settings)?;
    fs::write(settings.join("apparmor_restrict_unprivileged_userns"), "1\n")?;
    let facts = SandboxProbe::below(root.path()).facts();
    let found = facts.iter().find_map(|fact| match fact {
        Fact::Restriction { setting, remedy } => Some((setting.as_str(), remedy.as_str())),
        _ => None,
    });
    let (setting, remedy) = found.ok_or("no restriction")?;
    assert_eq!(setting, "kernel.apparmor_restrict_unprivileged_userns=1");
    assert!(remedy.contains("AppArmor") && remedy.contains("sysctl"), "{remedy}");
    Ok(())
}

fn overlays() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let (cache, workspaces) = (directory.path().join("cache"), directory.path().join("workspaces"));
    let task = LandlockBackend::remembering(&cache);
    for place in [OverlayPlace::Memory, OverlayPlace::Workspaces] {
        let at = (place == OverlayPlace::Workspaces).then_some(workspaces.as_path());
        at.inspect(|at| drop(task.overlay(Some(at))));
        let before = listing(directory.path())?;
        let facts = SandboxProbe::default().remembering(&cache, workspaces.clone()).facts();
        let fact = facts.iter().find_map(|fact| match fact {
            Fact::Overlay(place, trial) => Some((*place, trial)),
            _ => None,
        });
        let (found, trial) = fact.ok_or("nothing is said of overlays")?;
        assert_eq!(found, place);
        assert_eq!(listing(directory.path())?, before, "nothing is made");
        match (trial, LandlockBackend::new().overlay(at)) {
            (Trial::Works(how), Ok(kind)) => {
                assert_eq!(how.contains("user namespace"), kind == OverlayKind::Unprivileged, "{how}");
            }
            (trial, found) => assert_eq!(Some(trial), found.err().map(Trial::Fails).as_ref()),
        }
    }
    Ok(())
}

/// Everything in a directory, at any depth, with its times of change.
fn listing(directory: &Path) -> io::Result<Vec<(PathBuf, i64, i64)>> {
    let metadata = directory.metadata()?;
    let mut found = vec![(directory.to_owned(), metadata.ctime(), metadata.ctime_nsec())];
    for entry in fs::read_dir(directory)? {
        let (path, metadata) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
        match metadata.is_dir() {
            true => found.extend(listing(&path)?),
            false => found.push((path, metadata.ctime(), metadata.ctime_nsec())),
        }
    }
    found.sort();
    Ok(found)
}

fn namespaces() -> Result<(), Failed> {
    let facts = SandboxProbe::default().facts();
    let tried: Vec<_> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Opens(namespace, Trial::Works(_) | Trial::Fails(_)) => Some(*namespace),
            _ => None,
        })
        .collect();
    assert_eq!(tried, Namespace::ALL);
    Ok(())
}
