//! Copying files of the host, without what is hidden.

use super::baseline::Baseline;
use super::failed;
use isobox_domain::change::Mode;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Fit, Glob, Standing};
use isobox_ports::PrivateCopyError;
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Most that is copied for one Task: more would take its disk, and its time.
const MOST_ENTRIES: usize = 200_000;
const MOST_BYTES: u64 = 2 << 30;
/// Most entries that are looked at for what is hidden, which by links can be one several times.
const MOST_LOOKED_AT: usize = 5 * MOST_ENTRIES;

/// What to do about something that cannot be copied.
const SMALLER: &str = "name the smallest directory that will do, or leave what is in the way out of `filesystem.write`";

/// Copies for one attempt.
pub(super) struct Copying {
    /// Host paths that no copy has, links resolved.
    hidden: HashSet<PathBuf>,
    left_to_look_at: usize,
    left_entries: usize,
    left_bytes: u64,
}

impl Default for Copying {
    fn default() -> Self {
        Self {
            hidden: HashSet::new(),
            left_to_look_at: MOST_LOOKED_AT,
            left_entries: MOST_ENTRIES,
            left_bytes: MOST_BYTES,
        }
    }
}

impl Copying {
    /// Notes what `patterns` of absolute host paths name in `source`, and what links that they name lead to. Links on the way are
    /// followed to what lies in `shown`.
    pub(super) fn look_for_hidden(
        &mut self,
        source: &Path,
        patterns: &[Glob],
        shown: &[PathBuf],
    ) -> Result<(), PrivateCopyError> {
        let mut seen = HashSet::new();
        let mut open = vec![(source.to_owned(), Standing::of(patterns, source.as_os_str().as_bytes()))];
        while let Some((path, standing)) = open.pop() {
            let failed = || failed(format!("look for what is hidden at {}", Escaped::path(&path)));
            let given_up = || failed()(io::Error::other(standing.given_up(Escaped::path(source), "/")));
            self.left_to_look_at = self.left_to_look_at.checked_sub(1).ok_or_else(given_up)?;
            let Fit { matches, leads_on } = standing.fit();
            if matches {
                // A link that leads nowhere hides nothing but itself.
                self.hidden.extend(fs::canonicalize(&path).ok());
                self.hidden.insert(path);
                continue;
            }
            let directory = match fs::symlink_metadata(&path).map_err(failed())?.file_type() {
                kind if leads_on && kind.is_dir() => path.clone(),
                kind if leads_on && kind.is_symlink() => match linked_directory(&path, shown) {
                    Some(directory) => directory,
                    None => continue,
                },
                _ => continue,
            };
            if seen.insert((directory.clone(), standing.clone())) {
                for entry in fs::read_dir(&directory).map_err(failed())? {
                    let name = entry.map_err(failed())?.file_name();
                    open.push((directory.join(&name), standing.of_entry(name.as_bytes())));
                }
            }
        }
        Ok(())
    }

    /// Patterns of what was noted, which may be shown by other rules as well.
    pub(super) fn hidden_elsewhere(&self) -> impl Iterator<Item = Glob> {
        self.hidden.iter().map(|path| Glob::new(b"").below(path.as_os_str().as_bytes()))
    }

    /// Copies a file or directory to `place`. Links stay links, and what is neither a file, a directory nor a link is left out.
    /// What is copied is noted in `baseline`, if there is one.
    pub(super) fn copy(
        &mut self,
        source: &Path,
        place: &Path,
        mut baseline: Option<&mut Baseline>,
    ) -> Result<(), PrivateCopyError> {
        if self.hidden.contains(source) {
            return Ok(());
        }
        let failed = || {
            |error: io::Error| match failed(format!("copy {}", Escaped::path(source)))(error) {
                PrivateCopyError::Io { operation, source } => {
                    PrivateCopyError::Refused { operation, source, hint: SMALLER }
                }
                other => other,
            }
        };
        let too_much =
            |what: &str| failed()(io::Error::other(format!("all that the workload may write has more than {what}")));
        self.left_entries = self.left_entries.checked_sub(1).ok_or_else(|| too_much("200000 entries"))?;
        let found = fs::symlink_metadata(source).map_err(failed())?;
        if found.is_dir() {
            DirBuilder::new().mode(0o700).create(place).map_err(failed())?;
            for entry in fs::read_dir(source).map_err(failed())? {
                let name = entry.map_err(failed())?.file_name();
                self.copy(&source.join(&name), &place.join(&name), baseline.as_deref_mut())?;
            }
            if let Some(baseline) = baseline {
                baseline.note_directory(source.as_os_str().as_bytes());
            }
            let mode = found.permissions().mode() & 0o777 | 0o700;
            return fs::set_permissions(place, Permissions::from_mode(mode)).map_err(failed());
        }
        if found.is_file() {
            self.left_bytes = self.left_bytes.checked_sub(found.len()).ok_or_else(|| too_much("2 GiB"))?;
        }
        copy_one(source, place, &found).map_err(failed())?;
        match baseline {
            Some(baseline) => note(baseline, source, place, &found).map_err(failed()),
            None => Ok(()),
        }
    }
}

/// The directory that a link leads to, if it lies in what is `shown`.
fn linked_directory(link: &Path, shown: &[PathBuf]) -> Option<PathBuf> {
    let target = fs::canonicalize(link).ok()?;
    (shown.iter().any(|shown| target.starts_with(shown)) && target.is_dir()).then_some(target)
}

/// Notes what was copied, as it is in the copy.
fn note(baseline: &mut Baseline, source: &Path, place: &Path, found: &fs::Metadata) -> io::Result<()> {
    let path = source.as_os_str().as_bytes();
    if found.is_symlink() {
        let target = fs::read_link(place)?;
        let target = target.as_os_str().as_bytes();
        return baseline.note(path, Mode::Symlink, target.len() as u64, target);
    }
    if !found.is_file() {
        return Ok(());
    }
    let file = File::open(place)?;
    let copied = file.metadata()?;
    let mode = if copied.permissions().mode() & 0o100 == 0 { Mode::File } else { Mode::Executable };
    baseline.note(path, mode, copied.len(), file)
}

fn copy_one(source: &Path, place: &Path, found: &fs::Metadata) -> io::Result<()> {
    if found.is_symlink() {
        return symlink(fs::read_link(source)?, place);
    }
    if !found.is_file() {
        return Ok(());
    }
    fs::copy(source, place)?;
    if found.permissions().mode() & 0o200 == 0 {
        // The times of what cannot be written cannot be set by opening it; they matter to nobody.
        return Ok(());
    }
    // Tools take what is newer than its source for done.
    File::options().write(true).open(place)?.set_modified(found.modified()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn a_search_for_what_is_hidden_ends() {
        let host = tempfile::tempdir().unwrap();
        let root = host.path().canonicalize().unwrap();
        fs::write(root.join("a"), "").unwrap();
        fs::write(root.join("b"), "").unwrap();
        let patterns = [Glob::new(b"**/a").below(root.as_os_str().as_bytes())];
        let search = |left_to_look_at| {
            let mut copying = Copying { left_to_look_at, ..Copying::default() };
            copying.look_for_hidden(&root, &patterns, &[]).map(|()| copying.hidden)
        };
        assert_eq!(search(3).unwrap(), HashSet::from([root.join("a")]));
        let told = search(2).unwrap_err().source().unwrap().to_string();
        assert!(told.starts_with(&format!("{} has more entries", root.display())), "{told}");
    }
}
