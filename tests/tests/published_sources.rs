//! The whole workflow on source trees that others published, with their own build or test command in the Sandbox.

use isobox_tests::{Outcome, Project, User, crate_source, debian_source, ignored, outcome};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// One published tree, and what is done with it.
struct Tree {
    name: &'static str,
    fetch: fn(&Path, &Path) -> Result<(), String>,
    /// Builds or tests as the authors say, in a shell.
    command: &'static str,
    /// Whether the tree is of the kind that it was chosen for.
    is_as_chosen: fn(&BTreeMap<PathBuf, FileState>) -> bool,
}

const TREES: [Tree; 3] = [
    Tree {
        name: "busybox, over a thousand files",
        fetch: |scratch, tree| debian_source("busybox", scratch, tree),
        command: "make -s allnoconfig > /dev/null && make -s -j2 SKIP_STRIP=y && ./busybox; test -x busybox",
        is_as_chosen: |files| files.len() > 1_000,
    },
    Tree {
        name: "libzstd, with binaries and links",
        fetch: |scratch, tree| debian_source("libzstd", scratch, tree),
        command: "make -s -C lib -j2 libzstd.a CFLAGS=-O0 && test -f lib/libzstd.a",
        is_as_chosen: |files| {
            let links = files.values().any(|state| state.link.is_some());
            links && files.values().any(|state| state.bytes.contains(&0))
        },
    },
    Tree {
        name: "the crate fnv",
        fetch: |scratch, tree| crate_source("fnv", "1.0.7", scratch, tree),
        command: "cargo test --offline -q",
        is_as_chosen: |files| files.contains_key(Path::new("Cargo.toml")),
    },
];

/// What is to be the same on both sides of a Promotion.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    bytes: Vec<u8>,
    link: Option<PathBuf>,
    is_executable: bool,
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Builds use both cores already.
    arguments.test_threads = Some(1);
    let trials = TREES.into_iter().map(|tree| Trial::test(tree.name, move || build_and_promote(&tree))).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn build_and_promote(tree: &Tree) -> Result<(), Failed> {
    let project = Project::bare(User::Current);
    fs::remove_dir_all(project.repository().join("src"))?;
    let fetched = project.scratch().join("tree");
    if let Err(reason) = (tree.fetch)(&project.scratch(), &fetched) {
        // The registries of this machine are out of reach: nothing about isobox can be said.
        ignored(tree.name, &reason);
        return Ok(());
    }
    let copied = Command::new("cp").arg("-a").arg(fetched.join(".")).arg(project.repository()).status()?;
    assert!(copied.success());
    assert_eq!(at_home(&project, &["init"]).code, 0);
    add_toolchain_to_policy(&project)?;
    // Also what the authors' own `.gitignore` covers, such as compressed test data.
    project.git(&["add", "--all", "--force"]);
    project.commit_all("As published");
    let before = files(&project.repository());
    assert!((tree.is_as_chosen)(&before), "{} files", before.len());
    let script = format!(
        "export PATH={}/bin:$PATH CARGO_HOME=$HOME/cargo; set -e; {}; printf 'reviewed\\n' >> README.md; ln -s README.md linked; printf '\\000\\001' > binary.dat",
        toolchain().display(),
        tree.command
    );
    let retained = at_home(&project, &["run", "--retain-workspace", "--", "sh", "-c", &script]);
    assert_eq!(retained.code, 0, "{retained:?}");
    let left = files(&workspace_root(&project));
    let promoted = at_home(&project, &["promote", "--yes", "@latest"]);
    assert_eq!(promoted.code, 0, "{promoted:?}");
    compare(&project, &before, &left);
    Ok(())
}

/// Runs `isobox` with the caller's own HOME: a toolchain below somebody else's is not exposed.
fn at_home(project: &Project, arguments: &[&str]) -> Outcome {
    let mut command = project.isobox_command(arguments);
    command.env("HOME", std::env::home_dir().expect("a home directory"));
    for (name, place) in
        [("XDG_STATE_HOME", ".local/state"), ("XDG_CONFIG_HOME", ".config"), ("XDG_CACHE_HOME", ".cache")]
    {
        command.env(name, project.home().join(place));
    }
    outcome(command.output().expect("run isobox"))
}

/// The working tree is what the workload left, without what `.gitignore` leaves out.
fn compare(project: &Project, before: &BTreeMap<PathBuf, FileState>, left: &BTreeMap<PathBuf, FileState>) {
    let after = files(&project.repository());
    let ignored = |path: &Path| {
        let asked = project.command("git").args(["check-ignore", "-q", "--"]).arg(path).status().expect("run git");
        asked.success()
    };
    for (path, state) in left {
        if after.get(path) != Some(state) {
            assert!(!before.contains_key(path) && ignored(path), "{} differs", path.display());
        }
    }
    for path in after.keys() {
        let is_ours = path.starts_with(".isobox/tasks");
        assert!(is_ours || left.contains_key(path), "{} should be gone", path.display());
    }
    assert_eq!(after.get(Path::new("binary.dat")).map(|state| state.bytes.as_slice()), Some(&b"\0\x01"[..]));
}

/// The retained Workspace: the directory that holds a `.git`.
fn workspace_root(project: &Project) -> PathBuf {
    let mut candidates: Vec<PathBuf> = project.workspaces();
    let inner =
        candidates.iter().filter_map(|path| fs::read_dir(path).ok()).flatten().flatten().map(|entry| entry.path());
    let inner: Vec<PathBuf> = inner.collect();
    candidates.extend(inner);
    candidates.into_iter().find(|path| path.join(".git").exists()).expect("a retained workspace")
}

fn files(root: &Path) -> BTreeMap<PathBuf, FileState> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            if path == root.join(".git") {
                continue;
            }
            if metadata.is_dir() {
                pending.push(path);
                continue;
            }
            let link = fs::read_link(&path).ok();
            let bytes = if link.is_some() { Vec::new() } else { fs::read(&path).expect("read") };
            let is_executable = link.is_none() && metadata.mode() & 0o100 != 0;
            found.insert(path.strip_prefix(root).expect("below").to_owned(), FileState { bytes, link, is_executable });
        }
    }
    found
}

/// Where rustc, cargo and their libraries are, outside `/usr`.
fn toolchain() -> PathBuf {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().expect("run rustc");
    String::from_utf8_lossy(&output.stdout).trim().into()
}

fn add_toolchain_to_policy(project: &Project) -> Result<(), Failed> {
    let policy = project.read(".isobox/config.yaml");
    let shown = format!("  read:\n    - {}\n", toolchain().display());
    let with_read = match policy.lines().find(|line| line.trim_start().starts_with("read:")) {
        Some(line) => policy.replace(&format!("{line}\n"), &shown),
        None => policy.replace("filesystem:\n", &format!("filesystem:\n{shown}")),
    };
    project.write(".isobox/config.yaml", &with_read);
    assert_eq!(at_home(project, &["policy", "trust"]).code, 0);
    Ok(())
}
