//! Whether what stands at a path is what the Change Set's `before` says.

use super::dir::{Dir, identify, is_file, is_link};
use super::journal::Fingerprint;
use super::target::Target;
use isobox_domain::change::{Before, Mode};
use isobox_domain::repo_path::RepoPath;
use nix::sys::stat::FileStat;
use std::io;

/// What a comparison found.
pub(super) enum Comparison {
    /// It is; this tells whether it still is later.
    Same(Fingerprint),
    /// It is not: why.
    Different(String),
}

/// Compares `path`, whose directory is `parent`, with `before`.
///
/// A file may be in another form than isobox checks out, as long as it stands for the same blob.
pub(super) fn compare(
    target: &Target<'_>,
    parent: &Dir,
    path: &RepoPath,
    before: &Before,
    stat: &FileStat,
) -> io::Result<Comparison> {
    let is_same = match before.mode {
        Mode::Symlink if is_link(stat) => {
            Some(identify(parent.read_link(path.file_name())?.as_slice())?) == before.content
        }
        Mode::File | Mode::Executable if is_file(stat) => {
            if target.trusts_exec_bit && (stat.st_mode & 0o100 != 0) != (before.mode == Mode::Executable) {
                return Ok(Comparison::Different("its executable bit was changed meanwhile".into()));
            }
            has_content(target, parent, path, before, stat)?
        }
        _ => return Ok(Comparison::Different("it is another kind of thing meanwhile".into())),
    };
    if is_same {
        return Ok(Comparison::Same(Fingerprint::of(stat)));
    }
    Ok(Comparison::Different("its content was changed meanwhile".into()))
}

fn has_content(
    target: &Target<'_>,
    parent: &Dir,
    path: &RepoPath,
    before: &Before,
    stat: &FileStat,
) -> io::Result<bool> {
    let may_be_equal = before.content.is_some_and(|content| content.length == stat.st_size as u64);
    if may_be_equal && Some(identify(parent.open_file(path.file_name())?)?) == before.content {
        return Ok(true);
    }
    Ok(target.normalised_oid(path, parent.open_file(path.file_name())?)? == before.oid)
}
