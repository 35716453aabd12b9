//! Which files and directories the rules of a policy hide.

use super::{entry, nothing_at};
use crate::view::{Entry, Item};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Fit, Glob};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Most entries that are looked at in one directory that is shown: a Task waits for it.
const MOST_LOOKED_AT: usize = 200_000;
/// Most that is hidden in it: each takes a mount.
const MOST_HIDDEN: usize = 1000;

/// Something that stays hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hidden {
    /// Its path below what was searched; empty for that itself.
    pub(super) path: PathBuf,
    /// Whether it is a directory.
    pub(super) is_directory: bool,
}

impl Hidden {
    /// What hides it where it is shown.
    pub(super) fn at(&self, place: &Path) -> Vec<Entry> {
        hiding(place, self.is_directory)
    }
}

/// What hides a file or a directory.
pub(super) fn hiding(place: &Path, is_directory: bool) -> Vec<Entry> {
    match is_directory {
        true => nothing_at(place, 0o000).to_vec(),
        false => vec![entry(place.to_owned(), Item::Masked)],
    }
}

/// What `patterns` of absolute paths name at and below `root`, an absolute path without links. A link that is named stands
/// for what it leads to, if that lies below `root` as well. More than can be looked at is an error: it would not be hidden.
pub(super) fn find(root: &Path, patterns: &[Glob]) -> io::Result<Vec<Hidden>> {
    let mut search = Search { root, patterns, left: MOST_LOOKED_AT, found: Vec::new() };
    search.look_at(root, Path::new(""))?;
    Ok(search.found)
}

struct Search<'a> {
    root: &'a Path,
    patterns: &'a [Glob],
    left: usize,
    found: Vec<Hidden>,
}

impl Search<'_> {
    fn look_at(&mut self, path: &Path, below: &Path) -> io::Result<()> {
        let fit = fit(self.patterns, path);
        if !fit.matches && !fit.leads_on {
            return Ok(());
        }
        // What cannot be looked at by this user cannot be read by the workload either.
        let Ok(kind) = fs::symlink_metadata(path).map(|found| found.file_type()) else { return Ok(()) };
        if fit.matches {
            let target = kind.is_symlink().then(|| fs::canonicalize(path).ok());
            return match target {
                None => self.hide(below, kind.is_dir()),
                Some(target) => match target.as_deref().and_then(|target| target.strip_prefix(self.root).ok()) {
                    Some(inside) => self.hide(inside, self.root.join(inside).is_dir()),
                    None => Ok(()),
                },
            };
        }
        if kind.is_dir() { self.look_into(path, below) } else { Ok(()) }
    }

    fn look_into(&mut self, path: &Path, below: &Path) -> io::Result<()> {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            self.left =
                self.left.checked_sub(1).ok_or_else(|| self.refusal("has more entries than can be searched"))?;
            self.look_at(&entry.path(), &below.join(entry.file_name()))?;
        }
        Ok(())
    }

    fn hide(&mut self, path: &Path, is_directory: bool) -> io::Result<()> {
        if self.found.len() >= MOST_HIDDEN {
            return Err(self.refusal("has more to hide than can be hidden"));
        }
        self.found.push(Hidden { path: path.to_owned(), is_directory });
        Ok(())
    }

    fn refusal(&self, why: &str) -> io::Error {
        io::Error::other(format!(
            "{} {why}: name a smaller directory, or a rule of `filesystem.hide` that says where to look",
            Escaped::path(self.root)
        ))
    }
}

/// How a path lies to any of the patterns.
pub(super) fn fit(patterns: &[Glob], path: &Path) -> Fit {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_bytes()),
        _ => None,
    });
    let names: Vec<&[u8]> = names.collect();
    patterns.iter().map(|glob| glob.fit(&names)).fold(Fit::default(), |all, one| Fit {
        matches: all.matches || one.matches,
        leads_on: all.leads_on || one.leads_on,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn patterns(root: &Path, written: &[&str]) -> Vec<Glob> {
        written.iter().map(|text| Glob::new(text.as_bytes()).below(root.as_os_str().as_bytes())).collect()
    }

    #[test]
    fn files_directories_and_what_links_lead_to_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/.ssh")).unwrap();
        fs::create_dir_all(root.join("secrets")).unwrap();
        for file in ["a/.env", "a/.ssh/.env", "secrets/prod", "plain"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink("secrets/prod", root.join(".env")).unwrap();
        symlink("/etc/passwd", root.join("a/b.env")).unwrap();
        let mut found = find(&root, &patterns(&root, &["**/.env", "*/.ssh", "**/*.env"])).unwrap();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        let expected = [("a/.env", false), ("a/.ssh", true), ("secrets/prod", false)];
        let expected = expected.map(|(path, is_directory)| Hidden { path: path.into(), is_directory });
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_searched_can_be_hidden_itself() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let found = find(&root, &patterns(&root, &[""])).unwrap();
        assert_eq!(found, [Hidden { path: PathBuf::new(), is_directory: true }]);
    }
}
