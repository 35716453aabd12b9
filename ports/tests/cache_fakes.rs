//! The fakes of caches of package managers, and of the layers that lie on them, keep the contracts of their ports.

use isobox_domain::policy::DependencyCache;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::cache_layers::{self, CacheLayersFixture};
use isobox_ports::contract::dependency_caches::{self, DependencyCachesFixture};
use isobox_ports::fake::{InMemoryCacheLayers, NamedDependencyCaches};
use isobox_ports::{CacheLayer, CacheLayers, DependencyCaches};
use libtest_mimic::Arguments;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Default)]
struct Layers(InMemoryCacheLayers);

impl Layers {
    fn put(&self, project: &Path, is_in_use: bool) {
        let (used_at, project) = (Timestamp::nearest(1_800_000_000_000), Some(project.to_owned()));
        let name = format!("project/{}", self.remains());
        self.0.put(CacheLayer { name, project, bytes: 4096, used_at, is_in_use });
    }
}

impl CacheLayersFixture for Layers {
    fn layers(&self) -> &dyn CacheLayers {
        &self.0
    }

    fn write(&self, project: &Path) {
        self.put(project, false);
    }

    fn hold(&self, project: &Path) {
        self.put(project, true);
    }

    fn let_go(&self) {
        for layer in self.0.list().expect("memory is read") {
            self.0.put(CacheLayer { is_in_use: false, ..layer });
        }
    }

    fn remains(&self) -> usize {
        self.0.list().expect("memory is read").len()
    }
}

struct Caches(NamedDependencyCaches);

impl Caches {
    fn new() -> Self {
        let there = [DependencyCache::Cargo, DependencyCache::Npm, DependencyCache::Go];
        Self(NamedDependencyCaches::new(Path::new("/home/ana"), &there))
    }
}

impl DependencyCachesFixture for Caches {
    fn caches(&self, project: &Path) -> Box<dyn DependencyCaches + '_> {
        Box::new(self.0.of(project))
    }

    fn on_host(&self, below_home: &str) -> PathBuf {
        Path::new("/home/ana").join(below_home)
    }
}

fn main() -> ExitCode {
    let mut trials = cache_layers::cases("in_memory", Layers::default);
    trials.extend(dependency_caches::cases("named", Caches::new));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
