//! Looking after the cache.

use crate::fixture::{commit, trial};
use crate::scene::{Scene, as_overlay, overlay};
use isobox_domain::git_oid::GitOid;
use isobox_git::{FsWorkspaceCache, GixWorkspaces};
use isobox_ports::contract::workspace_cache::{WorkspaceCacheFixture, cases};
use isobox_ports::{WorkspaceCache, WorkspaceError, WorkspaceRequest, Workspaces};
use libtest_mimic::Trial;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

pub(crate) fn trials() -> Vec<Trial> {
    let own = vec![
        trial("what_was_not_used_for_a_month_goes_when_another_copy_is_made", upkeep),
        trial("a_copy_that_goes_while_it_is_listed_is_not_listed_as_damaged", listed_meanwhile),
    ];
    own.into_iter().chain(cases("fs_workspace_cache", Fixture::new)).collect()
}

struct Fixture {
    scene: Scene,
    cache: FsWorkspaceCache,
    made: Mutex<Vec<GitOid>>,
    held: Mutex<Vec<GixWorkspaces>>,
}

impl Fixture {
    fn new() -> Self {
        let scene = Scene::new();
        let cache = FsWorkspaceCache::new(scene.cache());
        Self { scene, cache, made: Mutex::default(), held: Mutex::default() }
    }

    fn use_copy(&self, commit: GitOid) -> GixWorkspaces {
        let source = isobox_domain::source::WorkspaceSource { commit, ..self.scene.source() };
        let workspaces = self.scene.workspaces();
        let request = WorkspaceRequest { source: &source, form: as_overlay() };
        let reserved = workspaces.reserve(&request).expect("a place is reserved");
        overlay(&workspaces.create(&reserved, &request).expect("it is made"));
        workspaces.dispose(&reserved).expect("it is removed");
        workspaces
    }
}

/// Of this process.
fn threads() -> usize {
    fs::read_dir("/proc/self/task").expect("the threads are listed").count()
}

impl WorkspaceCacheFixture for Fixture {
    fn cache(&self) -> &dyn WorkspaceCache {
        &self.cache
    }

    fn make(&self) -> GitOid {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        fs::write(self.scene.app.join("number"), format!("{}\n", made.len())).expect("a file is written");
        commit(&self.scene.app);
        let commit = self.scene.source().commit;
        let before = threads();
        drop(self.use_copy(commit));
        // Whatever looks after the cache in the background has each copy for a moment.
        let started = Instant::now();
        while threads() > before && started.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        made.push(commit);
        commit
    }

    fn hold(&self, commit: &GitOid) {
        let workspaces = self.use_copy(*commit);
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(workspaces);
    }

    fn let_go(&self) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn damage(&self, commit: &GitOid) {
        let is_of = |place: &std::path::PathBuf| place.to_string_lossy().contains(&commit.to_string());
        for place in self.scene.cached().into_iter().filter(is_of) {
            fs::write(place.join("seal"), "nonsense").expect("it is written");
        }
    }

    fn remains(&self) -> usize {
        self.scene.cached().len()
    }
}

fn listed_meanwhile() {
    let scene = Scene::new();
    let cache = FsWorkspaceCache::new(scene.cache());
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let list = || {
            while !is_done.load(Ordering::Relaxed) {
                let copies = cache.list()?;
                assert!(copies.iter().all(|copy| copy.seal.is_some()), "{copies:?}");
            }
            Ok::<_, WorkspaceError>(())
        };
        let listed = scope.spawn(list);
        for _ in 0..100 {
            scene.tree();
            for copy in cache.list().expect("it is listed") {
                cache.evict(&copy.name).expect("it is evicted, or in use");
            }
        }
        is_done.store(true, Ordering::Relaxed);
        listed.join().expect("it ends").expect("it is listed");
    });
}

fn upkeep() {
    let scene = Scene::new();
    let old = scene.tree();
    let month = SystemTime::now() - Duration::from_secs(31 * 24 * 60 * 60);
    let directory = fs::File::open(old.parent().expect("it has a parent")).expect("it opens");
    directory.set_modified(month).expect("its time is set");
    crate::fixture::git(&scene.app, ["checkout", "--quiet", "--orphan", "unrelated"]);
    commit(&scene.app);
    let started = Instant::now();
    let new = scene.tree();
    // It goes on beside the rest.
    while old.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now();
    }
    assert!(!old.exists() && new.exists());
}
