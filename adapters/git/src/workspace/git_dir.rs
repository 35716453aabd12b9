//! The `.git` of a Workspace: a repository of its own at the pinned commit, for the workload to commit and compare in.
//!
//! History is cut off below the pinned commit (as in a clone of depth 1), so that its cost is that of one commit; through a
//! copy that lies on those of ancestors, their objects are there too, and nothing names them. It has one branch, no remote,
//! no hooks and no path of the host. isobox never reads it back as anything but opaque bytes.

use super::checkout::Made;
use super::pinned::Tracked;
use super::{failure, pack};
use crate::oid;
use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::index::entry::{Flags, Mode as IndexMode, Stat, stat::Time};
use isobox_domain::change::Mode;
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use isobox_ports::WorkspaceError;
use std::fs;
use std::io;
use std::path::Path;

/// Who commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// `user.name`.
    pub(crate) name: Option<BString>,
    /// `user.email`.
    pub(crate) email: Option<BString>,
}

impl Identity {
    /// The host user's, as the source's configuration says.
    pub(crate) fn of(repository: &gix::Repository) -> Self {
        let config = repository.config_snapshot();
        let value = |key: &str| config.string(key).map(|value| BString::from(value.to_vec()));
        Self { name: value("user.name"), email: value("user.email") }
    }
}

/// What a `.git` is made of.
#[derive(Clone, Copy)]
pub(crate) struct Contents<'a> {
    /// The pinned commit.
    pub(crate) commit: &'a GitOid,
    /// Whether history is cut off below it.
    pub(crate) has_parents: bool,
    /// Full name of the branch that HEAD is on; `None` for a detached HEAD.
    pub(crate) branch: Option<&'a [u8]>,
    /// Every object, in ascending order.
    pub(crate) objects: &'a [ObjectId],
}

/// Makes `git_dir` with objects of `repository`: the name of their pack. The index is still to be written.
pub(crate) fn create(
    git_dir: &Path,
    repository: &gix::Repository,
    contents: Contents<'_>,
) -> Result<String, WorkspaceError> {
    lay_out(git_dir, &contents, &Identity::of(repository)).map_err(|e| failure("write the workspace's .git", e))?;
    pack::write(repository, contents.objects, &git_dir.join("objects/pack"))
        .map_err(|e| failure("write the objects of the workspace's .git", e))
}

fn lay_out(git_dir: &Path, contents: &Contents<'_>, identity: &Identity) -> io::Result<()> {
    let Contents { commit, has_parents, branch, .. } = *contents;
    // Git makes further ones when it needs them.
    for directory in ["", "objects", "objects/pack", "refs"] {
        fs::create_dir(git_dir.join(directory))?;
    }
    fs::write(git_dir.join("config"), config(commit, identity))?;
    if has_parents {
        fs::write(git_dir.join("shallow"), format!("{commit}\n"))?;
    }
    match branch.filter(|branch| branch.starts_with(b"refs/heads/")) {
        Some(branch) => {
            let packed = [format!("{commit} ").as_bytes(), branch, b"\n"].concat();
            fs::write(git_dir.join("packed-refs"), packed)?;
            fs::write(git_dir.join("HEAD"), [b"ref: ", branch, b"\n"].concat())
        }
        None => fs::write(git_dir.join("HEAD"), format!("{commit}\n")),
    }
}

fn config(commit: &GitOid, identity: &Identity) -> Vec<u8> {
    let mut config = match commit {
        GitOid::Sha1(_) => b"[core]\n\trepositoryformatversion = 0\n".to_vec(),
        GitOid::Sha256(_) => b"[core]\n\trepositoryformatversion = 1\n".to_vec(),
    };
    config.extend(b"\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n");
    if let GitOid::Sha256(_) = commit {
        config.extend(b"[extensions]\n\tobjectformat = sha256\n");
    }
    // What Git tidies up in the background would outlive the command that caused it.
    config.extend(b"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
    let user = [("name", &identity.name), ("email", &identity.email)];
    for (position, (key, value)) in user.into_iter().filter_map(|(k, v)| Some((k, v.as_ref()?))).enumerate() {
        if position == 0 {
            config.extend(b"[user]\n");
        }
        config.extend([b"\t", key.as_bytes(), b" = ", &quoted(value)[..], b"\n"].concat());
    }
    config
}

/// A value as git-config(1) writes it: between quotes, with `"`, `\` and line ends escaped.
fn quoted(value: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for &byte in value {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', byte]),
            b'\n' => quoted.extend(b"\\n"),
            b'\t' => quoted.extend(b"\\t"),
            0 => {}
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'"');
    quoted
}

/// Makes an index: the paths of the first layer with what `stat(2)` said, so that `git status` reads no file again.
pub(crate) struct IndexWriter {
    state: gix::index::State,
}

impl IndexWriter {
    /// One without paths.
    pub(crate) fn new(hash: gix::hash::Kind) -> Self {
        Self { state: gix::index::State::new(hash) }
    }

    /// Adds a path. Paths come in ascending order of their bytes.
    pub(crate) fn add(&mut self, path: &RepoPath, mode: Mode, oid: &GitOid, made: &Made) {
        let (stat, mode) = (index_stat(made), index_mode(mode));
        self.state.dangerously_push_entry(stat, oid::to_gix(oid), Flags::empty(), mode, path.as_bytes().as_bstr());
    }

    /// Writes it.
    pub(crate) fn finish(self, git_dir: &Path) -> Result<(), WorkspaceError> {
        let mut file = gix::index::File::from_state(self.state, git_dir.join("index"));
        file.write(gix::index::write::Options::default()).map_err(|e| failure("write the workspace's index", e))
    }
}

/// Writes the index of a whole checkout.
pub(crate) fn write_index(
    git_dir: &Path,
    hash: gix::hash::Kind,
    tracked: &[Tracked],
    made: &[Made],
) -> Result<(), WorkspaceError> {
    let mut index = IndexWriter::new(hash);
    for (tracked, made) in tracked.iter().zip(made).filter(|(tracked, _)| tracked.layer == 0) {
        index.add(&tracked.path, tracked.mode, &tracked.oid, made);
    }
    index.finish(git_dir)
}

fn index_mode(mode: Mode) -> IndexMode {
    match mode {
        Mode::File => IndexMode::FILE,
        Mode::Executable => IndexMode::FILE_EXECUTABLE,
        Mode::Symlink => IndexMode::SYMLINK,
        Mode::Submodule => IndexMode::COMMIT,
    }
}

/// Git keeps the lower 32 bits of every number.
fn index_stat(made: &Made) -> Stat {
    let time = |ns: i64| Time { secs: ns.div_euclid(1_000_000_000) as u32, nsecs: ns.rem_euclid(1_000_000_000) as u32 };
    Stat {
        mtime: time(made.stat.mtime_ns),
        ctime: time(made.stat.ctime_ns),
        dev: made.device as u32,
        ino: made.stat.inode as u32,
        uid: made.uid,
        gid: made.gid,
        size: made.stat.size as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_end_a_line_or_a_quotation_stay_inside_of_their_value() {
        let identity = Identity { name: Some("A\"\n[core]\n\thooksPath = /x\\".into()), email: None };
        let expected = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[user]\n\tname = \"A\\\"\\n[core]\\n\\thooksPath = /x\\\\\"\n";
        assert_eq!(config(&GitOid::Sha1([0; 20]), &identity).as_bstr(), expected.as_bstr());
    }
}
