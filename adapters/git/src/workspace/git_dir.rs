//! The `.git` of a Workspace: a repository of its own at the pinned commit, for the workload to commit and compare in.
//!
//! History is cut off below the pinned commit (as in a clone of depth 1), so that its cost is that of one commit; through a
//! copy that lies on those of ancestors, their objects are there too, and nothing names them. It has one branch, no remote,
//! no hooks and no path of the host. isobox never reads it back as anything but opaque bytes.

use super::checkout::Made;
use super::index::IndexWriter;
use super::pinned::{Pinned, Tracked};
use super::{failure, pack};
use gix::ObjectId;
use gix::bstr::BString;
use isobox_domain::git_oid::GitOid;
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
    /// Every object, each once, in the order in which they are best read.
    pub(crate) objects: &'a [ObjectId],
}

impl<'a> Contents<'a> {
    /// Those of `pinned` alone.
    pub(crate) fn of(pinned: &'a Pinned, branch: Option<&'a [u8]>) -> Self {
        let Pinned { base, has_parents, objects, .. } = pinned;
        Self { commit: &base.layers[0].commit, has_parents: *has_parents, branch, objects }
    }
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

/// Writes the index of a whole checkout: the paths of the first layer.
pub(crate) fn write_index(
    git_dir: &Path,
    hash: gix::hash::Kind,
    tracked: &[Tracked],
    made: &[Made],
) -> Result<(), WorkspaceError> {
    let write = || {
        let mut index = IndexWriter::create(git_dir)?;
        for (tracked, made) in tracked.iter().zip(made).filter(|(tracked, _)| tracked.layer == 0) {
            index.add(&tracked.path, tracked.mode, &tracked.oid, made)?;
        }
        index.finish(hash)
    };
    write().map_err(|e| failure("write the workspace's index", e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::bstr::ByteSlice;

    #[test]
    fn names_that_could_end_a_line_or_a_quotation_stay_inside_of_their_value() {
        let identity = Identity { name: Some("A\"\n[core]\n\thooksPath = /x\\".into()), email: None };
        let expected = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[user]\n\tname = \"A\\\"\\n[core]\\n\\thooksPath = /x\\\\\"\n";
        assert_eq!(config(&GitOid::Sha1([0; 20]), &identity).as_bstr(), expected.as_bstr());
    }
}
