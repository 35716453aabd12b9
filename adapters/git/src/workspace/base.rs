//! What a Workspace was made from, kept beside it for whoever captures it, in this process or a later one.
//!
//! A file is a sequence of fields, each ended by a NUL byte: `ISOBOX-BASE 2`, the number of packs and their names,
//! the number of layers, then for each layer its prefix (empty for the first), host path, commit and number of
//! attribute files, and for each of those its path and oid. Oids are hex digits, numbers decimal. Version 1 has the
//! name of one pack in place of their number and names.

use crate::fields::{self, count, invalid, number, read_regular, text};
use isobox_domain::git_oid::GitOid;
use isobox_domain::repo_path::RepoPath;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAGIC: &[u8] = b"ISOBOX-BASE 2";
const MAGIC_OF_ONE_PACK: &[u8] = b"ISOBOX-BASE 1";
/// Longest base that is read back, in bytes: some 100,000 `.gitattributes` files.
const LONGEST: u64 = 16 << 20;

/// What a Workspace was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// File names without extension of the packs that were put into the Workspace's `.git/objects/pack`: what lies
    /// there under other names is the workload's own.
    pub(crate) packs: Vec<String>,
    /// The trusted repository at the pinned commit, then each submodule that was checked out, outer before inner.
    pub(crate) layers: Vec<Layer>,
}

/// One repository at one commit, checked out at one place of the Workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layer {
    /// The submodule's path in the Workspace; `None` for the trusted repository itself.
    pub(crate) prefix: Option<RepoPath>,
    /// Working tree or Git directory of the repository that has the objects.
    pub(crate) host_path: PathBuf,
    /// The commit that was checked out.
    pub(crate) commit: GitOid,
    /// The commit's `.gitattributes` files, by their path from the layer's own root, in ascending order of path bytes.
    pub(crate) attribute_files: Vec<(RepoPath, GitOid)>,
}

impl Base {
    /// Writes it to a file that is not there yet.
    pub(crate) fn write(&self, host_path: &Path) -> io::Result<()> {
        fs::File::create_new(host_path)?.write_all(&self.encode())
    }

    /// Reads it back.
    pub(crate) fn load(host_path: &Path) -> io::Result<Self> {
        decode(&read_regular(host_path, LONGEST)?)
            .ok_or_else(|| invalid("it is no base of version 1 or 2, or was cut off"))
    }

    fn encode(&self) -> Vec<u8> {
        let mut fields = vec![MAGIC.to_vec(), count(self.packs.len())];
        fields.extend(self.packs.iter().map(|pack| pack.clone().into_bytes()));
        fields.push(count(self.layers.len()));
        for Layer { prefix, host_path, commit, attribute_files } in &self.layers {
            fields.push(prefix.as_ref().map_or_else(Vec::new, |prefix| prefix.as_bytes().to_vec()));
            fields.push(host_path.as_os_str().as_bytes().to_vec());
            fields.push(commit.to_string().into_bytes());
            fields.push(count(attribute_files.len()));
            fields.extend(
                attribute_files.iter().flat_map(|(path, oid)| [path.as_bytes().to_vec(), oid.to_string().into_bytes()]),
            );
        }
        fields::join(fields)
    }
}

fn decode(bytes: &[u8]) -> Option<Base> {
    let mut fields = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0);
    let packs = match fields.next()? {
        MAGIC => number(fields.next()?)?,
        MAGIC_OF_ONE_PACK => 1,
        _ => return None,
    };
    let packs = (0..packs).map(|_| Some(text(fields.next()?)?.to_owned())).collect::<Option<_>>()?;
    let layers = (0..number(fields.next()?)?).map(|_| decode_layer(&mut fields)).collect::<Option<_>>()?;
    fields.next().is_none().then_some(Base { packs, layers })
}

fn decode_layer<'a>(fields: &mut impl Iterator<Item = &'a [u8]>) -> Option<Layer> {
    let prefix = match fields.next()? {
        b"" => None,
        prefix => Some(RepoPath::parse(prefix).ok()?),
    };
    let host_path = PathBuf::from(OsStr::from_bytes(fields.next()?));
    let commit = GitOid::from_hex(text(fields.next()?)?)?;
    let files = number(fields.next()?)?;
    let attribute_files =
        (0..files).map(|_| Some((RepoPath::parse(fields.next()?).ok()?, GitOid::from_hex(text(fields.next()?)?)?)));
    Some(Layer { prefix, host_path, commit, attribute_files: attribute_files.collect::<Option<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base() -> Base {
        let path = |bytes: &[u8]| RepoPath::parse(bytes).expect("a valid path");
        let oid = GitOid::Sha1([3; 20]);
        let root = Layer { prefix: None, host_path: "/a\nb".into(), commit: oid, attribute_files: vec![] };
        let files = vec![(path(b".gitattributes"), oid), (path(b"\xff/.gitattributes"), oid)];
        let inner =
            Layer { prefix: Some(path(b"vendor/x")), host_path: "/m".into(), commit: oid, attribute_files: files };
        Base { packs: vec!["pack-0123".into(), "pack-45".into()], layers: vec![root, inner] }
    }

    #[test]
    fn a_base_is_read_back_as_it_was_written() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        base().write(&directory.path().join("base")).expect("it is written");
        assert_eq!(Base::load(&directory.path().join("base")).expect("it is read"), base());
    }

    #[test]
    fn a_base_of_version_1_has_one_pack() {
        let one = Base { packs: vec!["pack-0123".into()], ..base() };
        let text = one.encode();
        let rest = text.strip_prefix(b"ISOBOX-BASE 2\x001\0").expect("it has one pack");
        assert_eq!(decode(&[b"ISOBOX-BASE 1\0", rest].concat()), Some(one));
    }

    #[test]
    fn a_base_that_was_cut_off_anywhere_is_none() {
        let bytes = base().encode();
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None, "cut off after {length} bytes");
        }
    }

    #[test]
    fn what_lies_in_its_place_is_neither_waited_for_nor_followed() {
        let directory = tempfile::tempdir().expect("a directory is made");
        let place = directory.path().join("base");
        nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).expect("a pipe is made");
        assert!(Base::load(&place).is_err());
        fs::remove_file(&place).expect("it is removed");
        std::os::unix::fs::symlink("/dev/zero", &place).expect("a link is made");
        assert!(Base::load(&place).is_err());
        fs::remove_file(&place).expect("it is removed");
        fs::File::create(&place).and_then(|file| file.set_len(LONGEST + 1)).expect("a hole is made");
        assert!(Base::load(&place).is_err());
    }
}
