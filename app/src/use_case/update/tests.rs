//! The steps of an update, on made-up machines.

use super::*;
use isobox_domain::fact::Running;
use isobox_domain::release::{Archive, Build, ReleaseIndex};
use isobox_domain::update_target::{Access, Package};
use isobox_ports::FetchArchive;
use std::cell::{Cell, RefCell};
use std::io::Write;

/// A machine and a publisher in memory.
struct World {
    target: Option<UpdateTarget>,
    installed: RefCell<Identity>,
    kept: RefCell<Option<Version>>,
    index: String,
    fetched: Cell<u32>,
}

impl World {
    fn new(installed: &str) -> Self {
        let target = UpdateTarget {
            on_path: b"/home/ana/.local/bin/isobox".to_vec(),
            file: b"/home/ana/.local/bin/isobox".to_vec(),
            package: None,
            is_build_output: false,
            access: Access::Allowed,
            names: 1,
            running: Running::First,
            others: Vec::new(),
        };
        let hash = "0".repeat(64);
        Self {
            target: Some(target),
            installed: RefCell::new(Identity { version: installed.parse().unwrap(), build: Build::Release }),
            kept: RefCell::new(None),
            index: format!("isobox-releases/v1\narchive 0.2.0 x86_64-unknown-linux-musl 1 {hash} a\n"),
            fetched: Cell::new(0),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut UpdateTarget)) -> Self {
        change(self.target.as_mut().unwrap());
        self
    }

    fn ports(&self) -> Ports<'_> {
        Ports { targets: self, installation: self }
    }

    fn publisher(&self) -> Publisher<'_> {
        Publisher { source: self, key: KeyFrom::Build, platform: Platform::X86_64 }
    }

    fn update(&self) -> Result<Option<String>, Refused> {
        let plan = check(&self.ports(), &self.publisher())?;
        perform(&self.ports(), &self.publisher(), &plan)
    }

    fn version(&self) -> String {
        self.installed.borrow().version.to_string()
    }
}

impl UpdateTargets for World {
    fn find(&self) -> Result<Option<UpdateTarget>, UpdateError> {
        Ok(self.target.clone())
    }
}

impl ReleaseSource for World {
    fn index(&self) -> Result<ReleaseIndex, UpdateError> {
        self.fetched.set(self.fetched.get() + 1);
        Ok(ReleaseIndex::parse(self.index.as_bytes()).unwrap())
    }

    fn fetch(&self, _: &Archive, into: &mut dyn Write) -> Result<(), UpdateError> {
        self.fetched.set(self.fetched.get() + 1);
        into.write_all(b"a").unwrap();
        Ok(())
    }
}

impl Installation for World {
    fn identify(&self, _: &UpdateTarget) -> Result<Identity, UpdateError> {
        Ok(self.installed.borrow().clone())
    }

    fn replace(&self, _: &UpdateTarget, archive: &Archive, fetch: &FetchArchive<'_>) -> Result<String, UpdateError> {
        fetch(&mut Vec::new())?;
        let before = std::mem::replace(&mut self.installed.borrow_mut().version, archive.version.clone());
        *self.kept.borrow_mut() = Some(before);
        Ok("kept".to_owned())
    }

    fn roll_back(&self, _: &UpdateTarget) -> Result<Version, UpdateError> {
        let kept = self.kept.borrow_mut().take().ok_or(UpdateError::NothingKept { kept: "kept".to_owned() })?;
        self.installed.borrow_mut().version = kept.clone();
        Ok(kept)
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
    assert_eq!(world.update().unwrap().as_deref(), Some("kept"));
    assert_eq!(world.version(), "0.2.0");
    assert_eq!(world.update().unwrap(), None);
    assert_eq!(roll_back(&world.ports()).unwrap().1.to_string(), "0.1.0");
    assert_eq!(world.version(), "0.1.0");
}

#[test]
fn looking_fetches_the_index_alone_and_replaces_nothing() {
    let world = World::new("0.1.0");
    let plan = check(&world.ports(), &world.publisher()).unwrap();
    assert!(matches!(plan.step, Choice::Newer(archive) if archive.version == Version::new(0, 2, 0)));
    assert_eq!((world.fetched.get(), world.version()), (1, "0.1.0".to_owned()));
}

#[test]
fn what_is_refused_is_refused_before_anything_is_fetched() {
    let packaged = |target: &mut UpdateTarget| {
        target.package = Some(Package { manager: "dpkg", name: "isobox".to_owned() });
    };
    let development = World::new("0.1.0");
    development.installed.borrow_mut().build = Build::Development;
    for (world, reason) in [
        (World::new("0.1.0").with(packaged), "belongs to the package isobox, which dpkg looks after"),
        (development, "is a development build, which has no key of releases in it"),
    ] {
        assert_eq!(why(world.update().unwrap_err()), reason);
        assert_eq!((world.fetched.get(), world.version()), (0, "0.1.0".to_owned()));
    }
    assert!(roll_back(&World::new("0.1.0").with(packaged).ports()).is_err());
    let nothing = World { target: None, ..World::new("0.1.0") };
    assert!(matches!(nothing.update(), Err(Refused::NoTarget)));
}

#[test]
fn who_may_not_replace_the_program_may_still_look() {
    let world = World::new("0.1.0").with(|target| target.access = Access::BelongsTo(0));
    assert!(check(&world.ports(), &world.publisher()).is_ok());
    assert_eq!(why(world.update().unwrap_err()), "belongs to the user with uid 0");
    assert_eq!(
        (why(roll_back(&world.ports()).unwrap_err()), world.version()),
        ("belongs to the user with uid 0".to_owned(), "0.1.0".to_owned())
    );
}
