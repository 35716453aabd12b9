use super::*;
use isobox_domain::policy::HideRule;
use isobox_ports::{CacheLayers, Eviction};
use nix::dir::Dir;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

const KEPT: CacheForm = CacheForm::Kept(OverlayKind::Unprivileged);

/// A home directory with a cache of each, and a place for layers.
struct Host(TempDir);

impl Host {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        for file in [
            ".cargo/credentials.toml",
            ".cargo/config.toml",
            ".cargo/registry/cache/a.crate",
            ".cargo/git/db/a-1/HEAD",
            ".npmrc",
            ".npm/_cacache/index-v5/x",
            ".npm/_logs/x",
            ".cache/pip/wheels/x",
            "go/pkg/mod/cache/vcs/1/config",
        ] {
            host.put(file, "x");
        }
        host
    }

    fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.home().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn layers(&self) -> FsCacheLayers {
        FsCacheLayers::new(&self.0.path().join("cache"))
    }

    fn lend(&self, project: &str, caches: &[DependencyCache], form: CacheForm) -> Result<Lent, CacheError> {
        self.lend_by(project, caches, form, &|_| None)
    }

    fn lend_by(
        &self,
        project: &str,
        caches: &[DependencyCache],
        form: CacheForm,
        variable: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Lent, CacheError> {
        self.lend_hiding(project, caches, form, variable, &HiddenInCaches::default())
    }

    fn lend_hiding(
        &self,
        project: &str,
        caches: &[DependencyCache],
        form: CacheForm,
        variable: &dyn Fn(&str) -> Option<OsString>,
        hidden: &HiddenInCaches<'_>,
    ) -> Result<Lent, CacheError> {
        let (home, cache) = (self.home(), self.0.path().join("cache"));
        let paths = ReadPaths::new(Some(&home), &[]);
        let caches_of = FsDependencyCaches::new(Some(&cache), Path::new(project), Some(&home), paths, variable);
        caches_of.lend(caches, form, hidden)
    }

    /// Where the layer of npm lies that an attempt gets while this is hidden.
    fn npm_place(&self, patterns: &[Glob], rules: &[HideRule]) -> PathBuf {
        let hidden = HiddenInCaches { patterns, rules };
        let lent = self.lend_hiding("/app/.git", &[DependencyCache::Npm], KEPT, &|_| None, &hidden).unwrap();
        lent.layers[0].overlay.place.clone()
    }
}

/// What is hidden below a layer.
fn whiteouts(layered: &Layered) -> Vec<PathBuf> {
    let (below, mut found) = (&layered.overlay.lowers[0], Vec::new());
    let mut open = vec![below.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_char_device() => found.push(entry.path().strip_prefix(below).unwrap().to_owned()),
                kind => panic!("{kind:?}"),
            }
        }
    }
    found
}

fn seen(lent: &Lent) -> Vec<(PathBuf, PathBuf)> {
    lent.layers.iter().map(|layer| (layer.overlay.lowers.last().unwrap().clone(), layer.below_home.clone())).collect()
}

#[test]
fn what_was_downloaded_is_lent_and_nothing_that_lies_beside_it() {
    let host = Host::new();
    let lent = host.lend("/app/.git", &DependencyCache::ALL, KEPT).unwrap();
    let parts = [".cargo/registry", ".cargo/git", ".npm/_cacache", ".cache/pip", "go/pkg/mod"];
    let home = host.home().canonicalize().unwrap();
    assert_eq!(seen(&lent), parts.map(|part| (home.join(part), part.into())));
    assert!(lent.layers.iter().all(|layer| layer.overlay.upper().is_dir() && layer.overlay.work().is_dir()));
    assert_eq!(whiteouts(&lent.layers[4]), ["cache/vcs"].map(PathBuf::from));
    assert!(lent.layers[..4].iter().all(|layered| whiteouts(layered).is_empty()));
    let read = host.lend("/app/.git", &[DependencyCache::Npm], CacheForm::ReadOnly).unwrap();
    let place = Place::BelowHome(".npm/_cacache".into());
    assert_eq!(
        (read.shown, read.layers),
        (vec![Shown { source: home.join(".npm/_cacache"), places: vec![place], access: Access::ReadOnly }], Vec::new())
    );
}

#[test]
fn a_variable_says_where_a_cache_is_and_one_that_is_not_there_is_empty() {
    let host = Host::new();
    host.put("elsewhere/registry/x", "x");
    let elsewhere = host.home().join("elsewhere").canonicalize().unwrap();
    let variable = |name: &str| (name == "CARGO_HOME").then(|| elsewhere.clone().into_os_string());
    let lent = host.lend_by("/app/.git", &[DependencyCache::Cargo], KEPT, &variable).unwrap();
    let (lowers, places): (Vec<_>, Vec<_>) = seen(&lent).into_iter().unzip();
    assert_eq!(lowers[0], elsewhere.join("registry"));
    assert_eq!(fs::read_dir(&lowers[1]).unwrap().count(), 0);
    assert_eq!(places, [".cargo/registry", ".cargo/git"].map(PathBuf::from));
}

#[test]
fn a_variable_does_not_lead_to_what_is_never_exposed() {
    let host = Host::new();
    host.put(".ssh/id", "x");
    let variable = |name: &str| (name == "PIP_CACHE_DIR").then(|| host.home().join(".ssh").into_os_string());
    let refused = host.lend_by("/app/.git", &[DependencyCache::Pip], KEPT, &variable).err().unwrap();
    assert!(refused.source.to_string().contains("never exposed"), "{}", refused.source);
}

#[test]
fn a_note_of_a_url_with_a_password_stays_hidden() {
    let host = Host::new();
    host.put(".cargo/git/db/a-1/FETCH_HEAD", "1\t\t'main' of https://ana:token@git.example/a\n");
    host.put(".cargo/git/db/b-2/FETCH_HEAD", "1\t\t'main' of https://git.example/b@2 ssh://git@git.example/b\n");
    let lent = host.lend("/app/.git", &[DependencyCache::Cargo], KEPT).unwrap();
    assert_eq!(whiteouts(&lent.layers[1]), ["db/a-1/FETCH_HEAD"].map(PathBuf::from));
    drop(lent);
    host.put(".cargo/git/db/a-1/FETCH_HEAD", "");
    let lent = host.lend("/app/.git", &[DependencyCache::Cargo], KEPT).unwrap();
    assert_eq!(whiteouts(&lent.layers[1]), [""; 0].map(PathBuf::from));
}

#[test]
fn a_url_with_a_password_stays_hidden_wherever_cargo_notes_it() {
    let host = Host::new();
    let registry = [
        "index/a-1/.git/FETCH_HEAD",
        "index/a-1/.git/config",
        "index/a-1/.git/logs/refs/remotes/origin/HEAD",
        "index/b-2/config.json",
    ];
    let git = [
        "checkouts/a-1/f00/.git/FETCH_HEAD",
        "checkouts/a-1/f00/.git/logs/HEAD",
        "checkouts/a-1/f00/.git/modules/x/y/config",
        "checkouts/b-2/f00/below/it/.git/FETCH_HEAD",
        "db/a-1/config",
        "db/a-1/logs/HEAD",
    ];
    host.put(".cargo/git/checkouts/b-2/f00/.gitmodules", "");
    host.put(".cargo/git/checkouts/b-2/f00/config", "source with an https://ana:token@git.example/a");
    host.put(".cargo/registry/index/b-2/.cache/x", "https://git.example/a");
    let long = format!("{}\n= https://ana:token@git.example/a", "x ".repeat(1 << 16));
    registry
        .iter()
        .for_each(|file| host.put(&format!(".cargo/registry/{file}"), "\"https://ana:token@git.example/a\""));
    git.iter().for_each(|file| host.put(&format!(".cargo/git/{file}"), &long));
    let lent = host.lend("/app/.git", &[DependencyCache::Cargo], KEPT).unwrap();
    let sorted = |layered: &Layered| {
        let mut found = whiteouts(layered);
        found.sort();
        found
    };
    assert_eq!(sorted(&lent.layers[0]), registry.map(PathBuf::from));
    assert_eq!(sorted(&lent.layers[1]), git.map(PathBuf::from));
}

#[test]
fn a_layer_is_one_attempts_and_one_projects_and_is_found_again() {
    let host = Host::new();
    let place = |lent: &Lent| lent.layers[0].overlay.place.clone();
    let first = host.lend("/app/.git", &[DependencyCache::Npm], KEPT).unwrap();
    let second = host.lend("/app/.git", &[DependencyCache::Npm], KEPT).unwrap();
    let other = host.lend("/other/.git", &[DependencyCache::Npm], KEPT).unwrap();
    let places = [place(&first), place(&second), place(&other)];
    assert!(places[0] != places[1] && places[0] != places[2] && places[1] != places[2]);
    drop(first);
    assert_eq!(place(&host.lend("/app/.git", &[DependencyCache::Npm], KEPT).unwrap()), places[0]);
}

#[test]
fn what_was_written_where_something_else_was_hidden_is_not_found() {
    let host = Host::new();
    let npm = host.home().canonicalize().unwrap().join(".npm/_cacache");
    let below = |text: &str, root: &Path| Glob::new(text.as_bytes()).below(root.as_os_str().as_bytes());
    let [key, token] = ["**/key", "**/token"].map(|rule| HideRule::parse(rule).unwrap());
    let open = host.npm_place(&[], &[]);
    let hiding = host.npm_place(&[], std::slice::from_ref(&key));
    assert_ne!(hiding, open);
    assert_eq!(host.npm_place(&[], &[]), open);
    assert_eq!(host.npm_place(&[], std::slice::from_ref(&key)), hiding);
    assert_ne!(host.npm_place(&[], &[key.clone(), token.clone()]), hiding);
    assert_ne!(host.npm_place(&[below("x/*", &npm)], &[]), open);
    // In whichever order, and whatever is hidden elsewhere.
    let elsewhere = [below("", &host.home().join(".ssh")), below("*.pem", Path::new("/opt"))];
    assert_eq!(host.npm_place(&elsewhere, &[]), open);
    assert_eq!(host.npm_place(&[], &[token.clone(), key.clone()]), host.npm_place(&[], &[key, token]));
}

#[test]
fn what_a_layer_takes_is_added_up_whatever_directories_are_called_and_however_deep_they_are() {
    let host = Host::new();
    let lent = host.lend("/app/.git", &[DependencyCache::Npm], KEPT).unwrap();
    let upper = lent.layers[0].overlay.upper();
    let bytes = || host.layers().list().unwrap()[0].bytes;
    let empty = bytes();
    let mut open = Dir::open(&upper, OFlag::O_DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..300 {
        mkdirat(&open, "work", Mode::S_IRWXU).unwrap();
        open = Dir::openat(&open, "work", OFlag::O_DIRECTORY, Mode::empty()).unwrap();
    }
    let file = openat(&open, "file", OFlag::O_CREAT | OFlag::O_WRONLY, Mode::S_IRUSR).unwrap();
    fs::File::from(file).write_all(&vec![1; 3_000_000]).unwrap();
    symlink(host.home(), upper.join("link")).unwrap();
    for side in 0..8 {
        let side = upper.join(format!("side-{side}"));
        fs::create_dir(&side).unwrap();
        fs::write(side.join("file"), vec![1; 1_000_000]).unwrap();
    }
    fs::write(host.home().join("large"), vec![1; 8_000_000]).unwrap();
    let added = bytes() - empty;
    assert!((11_000_000..16_000_000).contains(&added), "{added}");
    drop(lent);
}

#[test]
fn a_cache_that_cannot_be_looked_for_is_not_taken_for_an_empty_one() {
    let host = Host::new();
    symlink("loop", host.home().join("loop")).unwrap();
    let looped = host.home().join("loop");
    let variable = |name: &str| (name == "CARGO_HOME").then(|| looped.clone().into_os_string());
    for form in [KEPT, CacheForm::ReadOnly] {
        let failed = host.lend_by("/app/.git", &[DependencyCache::Cargo], form, &variable).err().unwrap();
        assert_eq!(failed.operation, "lend the cargo cache");
        assert!(
            failed.source.to_string().starts_with(&format!("look for {}/registry: ", looped.display())),
            "{failed:?}"
        );
    }
}

#[test]
fn what_was_written_before_the_machine_was_started_is_not_found() {
    let host = Host::new();
    let lend = || host.lend("/app/.git", &[DependencyCache::Npm], KEPT).unwrap().layers.remove(0).overlay;
    let written = lend().upper().join("written");
    let boot = lend().place.ancestors().nth(3).unwrap().join("boot");
    fs::write(&written, "x").unwrap();
    lend();
    assert!(written.exists());
    // As in a start before, and as a power cut leaves it.
    for left in [Some("a-start-before"), Some(""), None] {
        fs::write(&written, "x").unwrap();
        left.map_or_else(|| fs::remove_file(&boot), |left| fs::write(&boot, left)).unwrap();
        lend();
        assert!(!written.exists(), "{left:?}");
    }
    fs::write(&written, "x").unwrap();
    lend();
    assert!(written.exists());
}

#[test]
fn a_layer_is_taken_and_listed_while_another_removes_layers() {
    let host = Host::new();
    let lend = || host.lend("/app/.git", &[DependencyCache::Npm], KEPT).map(drop);
    lend().unwrap();
    let name = host.layers().list().unwrap()[0].name.clone();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let evicting = scope.spawn(|| {
            while !is_over.load(Relaxed) {
                host.layers().evict(&name).unwrap();
            }
        });
        let listing = scope.spawn(|| -> Vec<_> {
            std::iter::repeat_with(|| host.layers().list()).take_while(|_| !is_over.load(Relaxed)).collect()
        });
        let lent: Vec<_> = (0..500).map(|_| lend()).collect();
        is_over.store(true, Relaxed);
        evicting.join().unwrap();
        lent.into_iter().for_each(|lent| lent.unwrap());
        listing.join().unwrap().into_iter().for_each(|listed| drop(listed.unwrap()));
    });
}

#[test]
fn what_lies_in_the_way_of_a_layer_is_told_of_at_once() {
    let host = Host::new();
    let lend = || host.lend("/app/.git", &[DependencyCache::Npm], KEPT);
    let layer = lend().unwrap().layers[0].overlay.place.ancestors().nth(3).unwrap().to_owned();
    let root = layer.ancestors().nth(2).unwrap();
    for place in [layer.as_path(), layer.parent().unwrap(), root] {
        let puts: [fn(&Path); 2] = [|at| fs::write(at, "").unwrap(), |at| symlink("/nonexistent", at).unwrap()];
        for put in puts {
            let aside = root.with_file_name("aside");
            fs::rename(place, &aside).unwrap();
            put(place);
            let told = format!("{:?}", lend().map(drop).unwrap_err());
            assert!(!told.contains("as often as it is made"), "{}: {told}", place.display());
            fs::remove_file(place).unwrap();
            fs::rename(&aside, place).unwrap();
        }
    }
    lend().unwrap();
}

#[test]
fn a_layer_that_nobody_used_for_long_goes_when_another_is_taken() {
    let host = Host::new();
    let lend = |project: &str| host.lend(project, &[DependencyCache::Npm], KEPT).unwrap();
    let [old, recent, held] = ["/old/.git", "/recent/.git", "/held/.git"].map(lend);
    let layer = |lent: &Lent| lent.layers[0].overlay.place.ancestors().nth(3).unwrap().to_owned();
    let layers = [&old, &recent, &held].map(layer);
    for (layer, days) in layers.iter().zip([31, 29, 31]) {
        let used = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        fs::File::options().write(true).open(layer.join("used")).unwrap().set_modified(used).unwrap();
    }
    drop((old, recent));
    drop(lend("/app/.git"));
    let started = Instant::now();
    while layers[0].exists() && started.elapsed() < Duration::from_secs(20) {
        std::thread::yield_now();
    }
    assert_eq!(layers.map(|layer| layer.exists()), [false, true, true]);
    drop(held);
}

#[test]
fn a_layer_in_which_directories_lie_deeper_than_a_path_goes_is_removed() {
    let host = Host::new();
    let lent = host.lend("/app/.git", &[DependencyCache::Npm], KEPT).unwrap();
    let (upper, deep) = (lent.layers[0].overlay.upper(), "directory/".repeat(300));
    for part in 1..=5 {
        let next = upper.join(format!("part-{part}")).join(&deep);
        fs::create_dir_all(&next).unwrap();
        if part > 1 {
            fs::rename(upper.join(format!("part-{}", part - 1)), next.join("more")).unwrap();
        }
    }
    drop(lent);
    let name = host.layers().list().unwrap()[0].name.clone();
    assert_eq!(host.layers().evict(&name).unwrap(), Eviction::Removed);
    assert_eq!(host.layers().list().unwrap(), []);
}

#[test]
fn layers_are_listed_and_removed_whatever_is_in_them_unless_they_are_in_use() {
    let host = Host::new();
    assert_eq!(host.layers().list().unwrap(), []);
    let lent = host.lend("/app/.git", &[DependencyCache::Npm], KEPT).unwrap();
    let upper = lent.layers[0].overlay.upper();
    fs::create_dir(upper.join("closed")).unwrap();
    fs::write(upper.join("closed/file"), vec![1; 10_000]).unwrap();
    symlink(host.home(), upper.join("link")).unwrap();
    fs::set_permissions(upper.join("closed"), fs::Permissions::from_mode(0o0)).unwrap();
    let listed = host.layers().list().unwrap();
    assert_eq!(
        (listed.len(), listed[0].project.as_deref(), listed[0].is_in_use),
        (1, Some(Path::new("/app/.git")), true)
    );
    assert_eq!(host.layers().evict(&listed[0].name).unwrap(), Eviction::InUse);
    drop(lent);
    assert_eq!(host.layers().evict(&listed[0].name).unwrap(), Eviction::Removed);
    assert_eq!(host.layers().evict(&listed[0].name).unwrap(), Eviction::Removed);
    assert_eq!(host.layers().list().unwrap(), []);
    assert!(host.home().join(".npm/_cacache/index-v5/x").exists());
    assert!(host.layers().evict("../pristine").is_err());
}
