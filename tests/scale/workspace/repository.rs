//! Repositories of three sizes, the same on every machine.

use isobox_tests::{Project, User};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How large a repository is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// A handful of files.
    Tiny,
    /// As many as a library has.
    Medium,
    /// As many as a large product has.
    Large,
}

impl Size {
    /// Every size, the smallest first.
    pub(crate) const ALL: [Self; 3] = [Self::Tiny, Self::Medium, Self::Large];

    /// What it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Tiny => "tiny",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// Files besides those of every project.
    pub(crate) const fn files(self) -> usize {
        match self {
            Self::Tiny => 0,
            Self::Medium => 1_428,
            Self::Large => 56_970,
        }
    }
}

/// Files of one directory, and directories of one directory.
const FILES_OF_ONE: usize = 23;
const DIRECTORIES_OF_ONE: usize = 9;
/// Bytes of a file: most are small, one of a hundred is large. A mean of 4.6 KB, as in a checkout of Linux without drivers.
const SMALL: u64 = 7_000;
const LARGE: u64 = 110_000;

/// A project with a repository of `size`, whose every file is committed.
pub(crate) fn make(size: Size, user: User) -> Project {
    let project = Project::initialised(user);
    let mut random = Random(0x1507_0b0c);
    for number in 0..size.files() {
        let path = project.repository().join(path(number));
        fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
        fs::write(&path, text(&mut random)).expect("a file");
    }
    if size.files() > 0 {
        give(&project.repository());
        // Git packs so many objects by itself, in the background of whatever is measured next.
        project.git(&["config", "gc.auto", "0"]);
        project.commit_all("Add everything");
        project.git(&["gc", "--quiet"]);
    }
    project
}

/// Everything in `repository` becomes its owner's.
fn give(repository: &Path) {
    let owner = repository.metadata().expect("the repository");
    let owner = format!("{}:{}", owner.uid(), owner.gid());
    let status = Command::new("chown").args(["-R", &owner]).arg(repository).status().expect("run chown");
    assert!(status.success());
}

/// The file `number`: names of usual length, up to six directories deep.
pub(crate) fn path(number: usize) -> PathBuf {
    let mut directory = number / FILES_OF_ONE;
    let mut path = PathBuf::from("tree");
    while directory > 0 {
        path.push(format!("component_{}", directory % DIRECTORIES_OF_ONE));
        directory /= DIRECTORIES_OF_ONE;
    }
    path.join(format!("source_file_{number:05}.rs"))
}

fn text(random: &mut Random) -> String {
    let most = if random.below(100) == 0 { LARGE } else { SMALL };
    let length = random.below(most) as usize;
    let mut text = String::with_capacity(length + 80);
    while text.len() < length {
        text.push_str(&format!(
            "    let value_{} = compute({}, {});\n",
            random.below(997),
            random.below(1 << 30),
            length
        ));
    }
    text
}

/// Knuth's generator of MMIX: enough for texts that do not repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}
