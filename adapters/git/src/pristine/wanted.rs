//! Which pristine copy a Workspace is to lie on.

use isobox_domain::git_oid::GitOid;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A pristine copy by its place, with all that is needed to make it, or to make it anew after it was evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Absolute path of the copy.
    pub(crate) place: PathBuf,
    /// Absolute path of the source's working tree.
    pub(crate) source: PathBuf,
    /// The pinned commit.
    pub(crate) commit: GitOid,
    /// Full name of the branch that HEAD is on.
    pub(crate) branch: Option<Vec<u8>>,
}

impl Wanted {
    /// Its fields, each ended by a NUL byte. An absent branch is empty.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let commit = self.commit.to_string();
        let place = self.place.as_os_str().as_bytes();
        let source = self.source.as_os_str().as_bytes();
        let branch = self.branch.as_deref().unwrap_or_default();
        [place, source, commit.as_bytes(), branch].iter().flat_map(|field| [field, &[0][..]].concat()).collect()
    }

    /// Reads them back; `None` if these are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let fields: Vec<&[u8]> = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0).collect();
        let [place, source, commit, branch] = fields[..] else { return None };
        let commit = GitOid::from_hex(std::str::from_utf8(commit).ok()?)?;
        let branch = (!branch.is_empty()).then(|| branch.to_vec());
        let [place, source] = [place, source].map(|path| Path::new(OsStr::from_bytes(path)).to_owned());
        (place.is_absolute() && source.is_absolute()).then_some(Self { place, source, commit, branch })
    }
}
