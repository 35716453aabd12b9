//! The fakes of an update keep what every publisher and every installation keeps.

use isobox_domain::release::{Build, ReleaseFile, Version};
use isobox_domain::update_target::UpdateTarget;
use isobox_ports::contract::installation::{self, InstallationFixture};
use isobox_ports::contract::release_source::{self, ReleaseSourceFixture, Signature};
use isobox_ports::contract::update_targets::{self, UpdateTargetsFixture};
use isobox_ports::fake::{InMemoryInstallation, InMemoryReleases, InMemoryUpdateTargets};
use isobox_ports::{Installation, ReleaseSource, UpdateTargets};
use libtest_mimic::Arguments;
use std::cell::Cell;
use std::process::ExitCode;

struct Releases(InMemoryReleases);

impl ReleaseSourceFixture for Releases {
    fn source(&self) -> &dyn ReleaseSource {
        &self.0
    }

    fn publish(&self, index: &[u8], signature: Signature) {
        match signature {
            Signature::Trusted => self.0.publish(index),
            Signature::Foreign | Signature::OfOtherBytes => self.0.publish_untrusted(index),
        }
    }

    fn put(&self, name: &str, content: &[u8]) {
        self.0.put(name, content);
    }
}

#[derive(Default)]
struct Machine(InMemoryUpdateTargets, Cell<u32>);

impl Machine {
    fn next(&self) -> Vec<u8> {
        self.1.set(self.1.get() + 1);
        format!("/{}/isobox", self.1.get()).into_bytes()
    }
}

impl UpdateTargetsFixture for Machine {
    fn targets(&self) -> &dyn UpdateTargets {
        &self.0
    }

    fn put(&self) -> Vec<u8> {
        let place = self.next();
        self.0.put(UpdateTarget::alone(place.clone()));
        place
    }

    fn put_link(&self, to: &[u8]) -> Vec<u8> {
        let place = self.next();
        self.0.put(UpdateTarget { on_path: place.clone(), ..UpdateTarget::alone(to.to_vec()) });
        place
    }

    fn state(&self) -> Vec<String> {
        vec![format!("{:?}", self.0)]
    }
}

struct Installed(InMemoryInstallation);

impl InstallationFixture for Installed {
    fn installation(&self) -> &dyn Installation {
        &self.0
    }

    fn target(&self) -> UpdateTarget {
        UpdateTarget::alone(b"/bin/isobox".to_vec())
    }

    fn packed(&self, _: &ReleaseFile, version: &Version) -> Vec<u8> {
        version.to_string().into_bytes()
    }

    fn names(&self) -> Vec<String> {
        let kept = self.0.has_kept().then(|| "isobox.old".to_owned());
        std::iter::once("isobox".to_owned()).chain(kept).collect()
    }
}

fn main() -> ExitCode {
    let mut trials = release_source::cases("in_memory", || Releases(InMemoryReleases::default()));
    trials.extend(update_targets::cases("in_memory", Machine::default));
    let old = || Installed(InMemoryInstallation::new(Version::new(1, 0, 0), Build::Release));
    trials.extend(installation::cases("in_memory", old));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
