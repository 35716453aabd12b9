//! The steps of an update, on made-up machines.

use super::*;
use isobox_domain::release::Build;
use isobox_domain::update_target::{Access, Package};
use isobox_ports::fake::{InMemoryInstallation, InMemoryReleases, InMemoryUpdateTargets};

/// A machine and a publisher in memory.
struct World {
    targets: InMemoryUpdateTargets,
    installation: InMemoryInstallation,
    releases: InMemoryReleases,
}

impl World {
    /// A machine without a program, for which 0.2.0 is published.
    fn empty(installed: &str, build: Build) -> Self {
        let releases = InMemoryReleases::default();
        // What `sha256sum` says of the five bytes.
        let hash = "911fc0c48cb0c70601db5775a9bef1b740dc4cc9f9b46389b9f0563fe7eb94d7";
        releases
            .publish(format!("isobox-releases/v1\narchive 0.2.0 x86_64-unknown-linux-musl 5 {hash} a\n").as_bytes());
        releases.put("a", b"0.2.0");
        let installation = InMemoryInstallation::new(installed.parse().unwrap(), build);
        Self { targets: InMemoryUpdateTargets::default(), installation, releases }
    }

    fn new(installed: &str) -> Self {
        Self::with(installed, |_| {})
    }

    fn with(installed: &str, change: impl FnOnce(&mut UpdateTarget)) -> Self {
        let world = Self::empty(installed, Build::Release);
        let mut target = UpdateTarget::alone(b"/home/ana/.local/bin/isobox".to_vec());
        change(&mut target);
        world.targets.put(target);
        world
    }

    fn ports(&self) -> Ports<'_> {
        Ports { targets: &self.targets, installation: &self.installation }
    }

    fn publisher(&self) -> Publisher<'_> {
        Publisher { source: &self.releases, key: KeyFrom::Build, platform: Platform::X86_64 }
    }

    fn update(&self) -> Result<Option<String>, Refused> {
        let plan = check(&self.ports(), &self.publisher())?;
        perform(&self.ports(), &self.publisher(), &plan)
    }

    fn version(&self) -> String {
        self.installation.installed().to_string()
    }
}

fn why(refused: Refused) -> String {
    match refused {
        Refused::Target(_, refusal) => refusal.why,
        other => format!("{other:?}"),
    }
}

#[test]
fn a_newer_release_replaces_the_program_and_can_be_taken_back() {
    let world = World::new("0.1.0");
    assert_eq!(world.update().unwrap().as_deref(), Some("/home/ana/.local/bin/isobox.old"));
    assert_eq!(world.version(), "0.2.0");
    assert_eq!(world.update().unwrap(), None);
    assert_eq!(roll_back(&world.ports()).unwrap().1.to_string(), "0.1.0");
    assert_eq!(world.version(), "0.1.0");
}

#[test]
fn looking_fetches_the_index_alone_and_replaces_nothing() {
    let world = World::new("0.1.0");
    let plan = check(&world.ports(), &world.publisher()).unwrap();
    assert!(matches!(plan.step, Choice::Newer(release) if release.version == Version::new(0, 2, 0)));
    assert_eq!((world.releases.asked(), world.version()), (1, "0.1.0".to_owned()));
}

#[test]
fn what_is_refused_is_refused_before_anything_is_fetched() {
    let packaged = |target: &mut UpdateTarget| {
        target.package = Some(Package { manager: "dpkg", name: "isobox".to_owned() });
    };
    let development = World::empty("0.1.0", Build::Development);
    development.targets.put(UpdateTarget::alone(b"/opt/isobox".to_vec()));
    for (world, reason) in [
        (World::with("0.1.0", packaged), "belongs to the package isobox, which dpkg looks after"),
        (development, "is a development build, which has no key of releases in it"),
    ] {
        assert_eq!(why(world.update().unwrap_err()), reason);
        assert_eq!((world.releases.asked(), world.version()), (0, "0.1.0".to_owned()));
    }
    assert!(roll_back(&World::with("0.1.0", packaged).ports()).is_err());
    let nothing = World::empty("0.1.0", Build::Release);
    assert!(matches!(nothing.update(), Err(Refused::NoTarget)));
}

#[test]
fn who_may_not_replace_the_program_may_still_look() {
    let world = World::with("0.1.0", |target| target.access = Access::BelongsTo(0));
    assert!(check(&world.ports(), &world.publisher()).is_ok());
    assert_eq!(why(world.update().unwrap_err()), "belongs to the user with uid 0");
    assert_eq!(
        (why(roll_back(&world.ports()).unwrap_err()), world.version()),
        ("belongs to the user with uid 0".to_owned(), "0.1.0".to_owned())
    );
}
