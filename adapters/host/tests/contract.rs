//! The adapters of this crate keep what every adapter of their ports keeps.

use isobox_domain::policy::{DependencyCache, ProjectPolicy};
use isobox_host::{
    Directories, FsAuditKeys, FsCacheLayers, FsDependencyCaches, FsPolicyPins, FsProjectFiles, InstallationProbe,
    POLICY_PATH, PathUpdateTargets, PolicyAskedProbe, PolicyTrustProbe, RandomTaskIds, ReadPaths, SystemClock,
    SystemStopwatch, YamlPolicySource, YamlUserPolicy,
};
use isobox_ports::contract::audit_keys::{self, AuditKeysFixture};
use isobox_ports::contract::cache_layers::{self, CacheLayersFixture};
use isobox_ports::contract::dependency_caches::{self, DependencyCachesFixture};
use isobox_ports::contract::host_probe::{self, Looked};
use isobox_ports::contract::machine::{clock_cases, stopwatch_cases, task_ids_cases};
use isobox_ports::contract::policy_pins::{self, Damage, PinsFixture};
use isobox_ports::contract::policy_source::{self, InPlace};
use isobox_ports::contract::project_files::{self, LinkTarget, Project};
use isobox_ports::contract::update_targets::{self, UpdateTargetsFixture};
use isobox_ports::{
    AuditKeys, CacheForm, CacheLayers, DependencyCaches, HiddenInCaches, Lent, OverlayKind, PolicyError, PolicyPins,
    ProjectFiles, UpdateTargets,
};
use libtest_mimic::Arguments;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::TempDir;

const POLICY: &str = "api_version: isobox.dev/v1alpha1\nkind: ProjectPolicy\ntool_call: {enabled: true}\n";

fn load(place: InPlace) -> Result<Option<ProjectPolicy>, PolicyError> {
    let project = tempfile::tempdir().expect("a temporary directory");
    let file = project.path().join(POLICY_PATH);
    fs::create_dir(file.parent().expect("a parent")).expect("a folder");
    fs::write(project.path().join("elsewhere"), POLICY).expect("write");
    match place {
        InPlace::Nothing => Ok(()),
        InPlace::Policy => fs::write(&file, POLICY),
        InPlace::NoPolicy => fs::write(&file, "policy: none\n"),
        InPlace::Empty => fs::write(&file, ""),
        InPlace::Link => symlink(project.path().join("elsewhere"), &file),
        InPlace::DanglingLink => symlink("nowhere", &file),
        InPlace::NoFile => fs::create_dir(&file),
    }
    .expect("put something in place");
    policy_source::read(&YamlPolicySource::new(project.path()))
}

/// A project in a directory, and what lies outside of it.
struct Folder {
    directory: TempDir,
    files: FsProjectFiles,
}

impl Folder {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for folder in ["project", "outside"] {
            fs::create_dir(directory.path().join(folder)).expect("a folder");
        }
        let files = FsProjectFiles::new(directory.path().join("project"));
        Self { directory, files }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("project").join(path)
    }
}

impl Project for Folder {
    fn files(&self) -> &dyn ProjectFiles {
        &self.files
    }

    fn link(&self, path: &str, to: LinkTarget) {
        let outside = self.directory.path().join("outside");
        let target = if to == LinkTarget::Directory { outside } else { outside.join("file") };
        symlink(target, self.path(path)).expect("a link");
    }

    fn directory(&self, path: &str) {
        fs::create_dir(self.path(path)).expect("a folder");
    }

    fn is_there(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let outside = fs::read_dir(self.directory.path().join("outside")).map(Iterator::count);
        assert!(std::thread::panicking() || outside.is_ok_and(|count| count == 0), "something was written outside");
    }
}

/// Trusted policies in a state directory of their own.
struct Pins {
    home: TempDir,
    pins: FsPolicyPins,
}

impl Pins {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let pins = Self::of(home.path());
        Self { home, pins }
    }

    fn of(home: &Path) -> FsPolicyPins {
        FsPolicyPins::new(Directories::from_variables(|name| (name == "HOME").then(|| home.into())))
    }

    fn file(&self, host_path: &Path) -> PathBuf {
        let name = blake3::hash(host_path.as_os_str().as_bytes()).to_hex().to_string();
        self.home.path().join(".local/state/isobox/trusted-policies").join(name)
    }
}

impl PinsFixture for Pins {
    fn pins(&self) -> &dyn PolicyPins {
        &self.pins
    }

    fn later(&self) -> Box<dyn PolicyPins + Send> {
        Box::new(Self::of(self.home.path()))
    }

    fn damage(&self, host_path: &Path, damage: Damage) {
        let file = self.file(host_path);
        let kept = fs::read(&file).expect("what was kept");
        let damaged = match damage {
            Damage::CutOff => kept[..kept.len() / 2].to_vec(),
            Damage::Emptied => Vec::new(),
            Damage::Overwritten => kept.repeat(1000),
        };
        fs::write(&file, damaged).expect("write");
    }

    fn open_up(&self, host_path: &Path) {
        fs::set_permissions(self.file(host_path), fs::Permissions::from_mode(0o666)).expect("chmod");
    }
}

fn installation() -> Looked {
    let home = tempfile::tempdir().expect("a temporary directory");
    let path = home.path().join("bin");
    fs::create_dir(&path).expect("a folder");
    let directories = Directories::from_variables(|name| (name == "HOME").then(|| home.path().into()));
    let probe = InstallationProbe::new("1.2.3", path.into(), None, directories);
    Looked { probe: Box::new(probe), watched: vec![home.path().to_owned()], kept: Box::new(home) }
}

fn policy() -> Looked {
    let project = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(project.path().join(".isobox")).expect("a folder");
    fs::write(project.path().join(POLICY_PATH), "network: {default: dney}\n").expect("write");
    let probe = YamlPolicySource::new(project.path());
    Looked { probe: Box::new(probe), watched: vec![project.path().to_owned()], kept: Box::new(project) }
}

fn policy_trust() -> Looked {
    let home = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(home.path().join(".isobox")).expect("a folder");
    fs::write(home.path().join(POLICY_PATH), POLICY).expect("write");
    let (source, pins) = (YamlPolicySource::new(home.path()), Pins::of(home.path()));
    pins.keep(&home.path().join("other"), &Default::default()).expect("keep");
    let probe = PolicyTrustProbe::new(source, pins, home.path().join(".git"));
    Looked { probe: Box::new(probe), watched: vec![home.path().to_owned()], kept: Box::new(home) }
}

/// A PATH of five directories, which are filled one after the other.
struct Machine {
    directory: TempDir,
    targets: PathUpdateTargets,
}

impl Machine {
    const PLACES: [&str; 5] = ["1", "2", "3", "4", "5"];

    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let root = directory.path().canonicalize().expect("it is there");
        let path = std::env::join_paths(Self::PLACES.map(|place| root.join(place))).expect("a PATH");
        let probe = InstallationProbe::new("1.2.3", path, None, Directories::from_variables(|_| None));
        Self { targets: PathUpdateTargets::new(probe, &root), directory }
    }

    fn next(&self) -> PathBuf {
        let root = self.directory.path().canonicalize().expect("it is there");
        let places = Self::PLACES.map(|place| root.join(place));
        let place = places.into_iter().find(|place| !place.exists()).expect("there is a place left");
        fs::create_dir(&place).expect("a directory");
        place.join("isobox")
    }

    fn program(&self, path: &Path) {
        let mark = self.directory.path().join("started");
        fs::write(path, format!("#!/bin/sh\ntouch {}\n", mark.display())).expect("write");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("chmod");
    }
}

impl UpdateTargetsFixture for Machine {
    fn targets(&self) -> &dyn UpdateTargets {
        &self.targets
    }

    fn put(&self) -> Vec<u8> {
        let place = self.next();
        self.program(&place);
        place.into_os_string().into_encoded_bytes()
    }

    fn put_link(&self, to: &[u8]) -> Vec<u8> {
        let (place, to) = (self.next(), self.directory.path().join(OsStr::from_bytes(to)));
        self.program(&to);
        symlink(to, &place).expect("a link");
        place.into_os_string().into_encoded_bytes()
    }

    fn state(&self) -> Vec<String> {
        let list = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
        let below = Self::PLACES.iter().flat_map(|place| list(self.directory.path().join(place)));
        let all = list(self.directory.path().to_owned()).chain(below);
        let mut state: Vec<String> = all
            .map(|entry| {
                let found = entry.path().symlink_metadata().expect("it is there");
                format!("{} {:?} {:?}", entry.path().display(), found.permissions(), found.modified().ok())
            })
            .collect();
        state.sort();
        state
    }
}

fn policy_asked() -> Looked {
    let home = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(home.path().join(".isobox")).expect("a folder");
    let read = format!("{POLICY}filesystem: {{read: [/nonexistent, /usr]}}\n");
    fs::write(home.path().join(POLICY_PATH), read).expect("write");
    let directories = Directories::from_variables(|name| (name == "HOME").then(|| home.path().into()));
    let (project, user) = (YamlPolicySource::new(home.path()), YamlUserPolicy::new(directories));
    let probe = PolicyAskedProbe::new(project, user, ReadPaths::new(None, &[]));
    Looked { probe: Box::new(probe), watched: vec![home.path().to_owned()], kept: Box::new(home) }
}

/// Keys of a user with a home of their own.
struct Keys {
    home: TempDir,
    keys: FsAuditKeys,
}

impl Keys {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        Self { keys: Self::of(&home), home }
    }

    fn of(home: &TempDir) -> FsAuditKeys {
        FsAuditKeys::new(Directories::from_variables(|name| (name == "HOME").then(|| home.path().into())))
    }
}

impl AuditKeysFixture for Keys {
    fn keys(&self) -> &dyn AuditKeys {
        &self.keys
    }

    fn later(&self) -> Box<dyn AuditKeys> {
        Box::new(Self::of(&self.home))
    }
}

/// A user with caches of package managers, and nothing lent yet.
struct User {
    directory: TempDir,
    layers: FsCacheLayers,
    held: RefCell<Vec<Lent>>,
}

impl User {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for file in [
            ".cargo/credentials.toml",
            ".cargo/registry/cache/a.crate",
            ".cargo/git/db/a-1/HEAD",
            ".npmrc",
            ".npm/_cacache/index-v5/x",
            "go/pkg/mod/cache/vcs/1/config",
        ] {
            let path = directory.path().join("home").join(file);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories are made");
            fs::write(path, "x").expect("write");
        }
        let layers = FsCacheLayers::new(&directory.path().join("cache"));
        Self { directory, layers, held: RefCell::default() }
    }

    fn home(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("it is there").join("home")
    }

    fn lend(&self, project: &Path) -> Lent {
        let form = CacheForm::Kept(OverlayKind::Unprivileged);
        self.caches(project).lend(&[DependencyCache::Npm], form, &HiddenInCaches::default()).expect("it is lent")
    }
}

impl CacheLayersFixture for User {
    fn layers(&self) -> &dyn CacheLayers {
        &self.layers
    }

    fn write(&self, project: &Path) {
        let upper = self.lend(project).layers[0].overlay.upper();
        fs::create_dir(upper.join("closed")).expect("a directory");
        fs::write(upper.join("closed/file"), [1; 10_000]).expect("write");
        symlink(self.home(), upper.join("closed/link")).expect("a link");
        fs::set_permissions(upper.join("closed"), Permissions::from_mode(0o000)).expect("it is closed");
    }

    fn hold(&self, project: &Path) {
        self.held.borrow_mut().push(self.lend(project));
    }

    fn let_go(&self) {
        self.held.borrow_mut().clear();
    }

    fn remains(&self) -> usize {
        fs::read_dir(self.directory.path().join("cache/dependencies")).expect("it is there").count()
    }
}

impl DependencyCachesFixture for User {
    fn caches(&self, project: &Path) -> Box<dyn DependencyCaches + '_> {
        let (home, cache) = (self.home(), self.directory.path().join("cache"));
        let paths = ReadPaths::new(Some(&home), &[]);
        Box::new(FsDependencyCaches::new(Some(&cache), project, Some(&home), paths, &|_| None))
    }

    fn on_host(&self, below_home: &str) -> PathBuf {
        self.home().join(below_home)
    }
}

fn main() -> ExitCode {
    let mut trials = policy_source::cases("yaml", load);
    trials.extend(clock_cases("system", || SystemClock));
    trials.extend(stopwatch_cases("system", || SystemStopwatch));
    trials.extend(task_ids_cases("random", || RandomTaskIds));
    trials.extend(policy_pins::cases("private_files", Pins::new));
    trials.extend(audit_keys::cases("private_files", Keys::new));
    trials.extend(project_files::cases("handles", Folder::new));
    trials.extend(update_targets::cases("path", Machine::new));
    trials.extend(cache_layers::cases("directories", User::new));
    trials.extend(dependency_caches::cases("directories", User::new));
    trials.extend(host_probe::cases("installation", installation));
    trials.extend(host_probe::cases("policy", policy));
    trials.extend(host_probe::cases("policy_trust", policy_trust));
    trials.extend(host_probe::cases("policy_asked", policy_asked));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
