//! Which files and directories the rules of a policy hide.

use super::{entry, nothing_at};
use crate::view::{Entry, Item};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Fit, Glob, Step};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Most entries that are looked at in one directory that is shown: a Task waits for it.
const MOST_LOOKED_AT: usize = 200_000;
/// Most that is hidden in it: each takes a mount.
const MOST_HIDDEN: usize = 1000;

/// Places of a Sandbox, each once, without those in a directory that is hidden: nothing can be mounted there.
pub(super) fn outermost(mut places: Vec<(PathBuf, Kind)>) -> Vec<(PathBuf, Kind)> {
    places.sort();
    places.dedup_by(|one, other| one.0 == other.0);
    let outer: Vec<_> = places.iter().filter(|(place, _)| !lies_in(&places, place)).cloned().collect();
    outer
}

/// Whether a place lies in a directory that is hidden.
pub(super) fn lies_in(hidden: &[(PathBuf, Kind)], place: &Path) -> bool {
    let is_hidden = |outer: &Path| hidden.iter().any(|(path, kind)| *kind == Kind::Directory && path == outer);
    place.ancestors().skip(1).any(is_hidden)
}

/// What hides places of a Sandbox.
pub(super) fn hiding(places: Vec<(PathBuf, Kind)>) -> Vec<Entry> {
    let entries = places.into_iter().flat_map(|(place, kind)| match kind {
        Kind::Directory => nothing_at(&place, 0o000).to_vec(),
        Kind::File => vec![entry(place, Item::Masked)],
    });
    entries.collect()
}

/// What kind of thing is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A directory, with everything in it.
    Directory,
    /// Anything else.
    File,
}

impl Kind {
    /// Of what is at a host path; `None` where nothing is, or nothing that this user can look at.
    pub(super) fn at(host_path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(host_path).ok()?;
        Some(if found.is_dir() { Self::Directory } else { Self::File })
    }
}

/// The host paths, without links, that `patterns` of absolute paths name at and below `root`, which is one as well. A link that
/// is named stands for what it leads to, wherever that is. More than can be looked at is an error: it would not be hidden.
pub(super) fn find(root: &Path, patterns: &[Glob]) -> io::Result<Vec<PathBuf>> {
    let mut search = Search { root, patterns, left: MOST_LOOKED_AT, found: Vec::new() };
    search.look_at(root)?;
    Ok(search.found)
}

struct Search<'a> {
    root: &'a Path,
    patterns: &'a [Glob],
    left: usize,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    fn look_at(&mut self, path: &Path) -> io::Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| self.refusal("has more entries than can be searched"))?;
        let fit = fit(self.patterns, path);
        if !fit.matches && !fit.leads_on {
            return Ok(());
        }
        let kind = match fs::symlink_metadata(path) {
            Ok(found) => found.file_type(),
            Err(error) if is_out_of_reach(&error) => return Ok(()),
            Err(error) => return Err(while_looking_at(path, &error)),
        };
        match (fit.matches, kind.is_symlink()) {
            (true, false) => self.hide(path.to_owned()),
            (true, true) => match fs::canonicalize(path) {
                Ok(target) => self.hide(target),
                // It leads nowhere.
                Err(error) if is_out_of_reach(&error) || error.raw_os_error() == Some(libc::ELOOP) => Ok(()),
                Err(error) => Err(while_looking_at(path, &error)),
            },
            (false, _) if kind.is_dir() => self.look_into(path),
            (false, _) => Ok(()),
        }
    }

    fn look_into(&mut self, path: &Path) -> io::Result<()> {
        let patterns = self.patterns;
        let names = names(path);
        let steps: Vec<Step<'_>> = patterns.iter().flat_map(|glob| glob.ahead(&names)).collect();
        if steps.contains(&Step::Any) {
            match fs::read_dir(path) {
                Ok(mut entries) => return entries.try_for_each(|entry| self.look_at(&entry?.path())),
                Err(error) if error.kind() != io::ErrorKind::PermissionDenied => {
                    return Err(while_looking_at(path, &error));
                }
                Err(_) if is_enterable(path) => {
                    return Err(
                        self.refusal(&format!("has {}, whose files can be opened and not listed", Escaped::path(path)))
                    );
                }
                Err(_) => return Ok(()),
            }
        }
        let mut next: Vec<&[u8]> =
            steps.iter().filter_map(|step| if let Step::Name(name) = step { Some(*name) } else { None }).collect();
        next.sort_unstable();
        next.dedup();
        next.into_iter().try_for_each(|name| self.look_at(&path.join(OsStr::from_bytes(name))))
    }

    fn hide(&mut self, path: PathBuf) -> io::Result<()> {
        if self.found.len() >= MOST_HIDDEN {
            return Err(self.refusal("has more to hide than can be hidden"));
        }
        self.found.push(path);
        Ok(())
    }

    fn refusal(&self, why: &str) -> io::Error {
        io::Error::other(format!(
            "{} {why}: name a smaller directory, or a rule of `filesystem.hide` that says where to look",
            Escaped::path(self.root)
        ))
    }
}

/// What this user cannot look at, the workload cannot read either.
fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// Whether what lies in a directory can be reached by its name.
fn is_enterable(directory: &Path) -> bool {
    // `Path::join` would leave the dot out of what the kernel is asked.
    let mut inside = directory.as_os_str().to_owned();
    inside.push("/.");
    fs::symlink_metadata(inside).is_ok()
}

fn while_looking_at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("look for what is hidden at {}: {error}", Escaped::path(path)))
}

/// How a path lies to any of the patterns.
pub(super) fn fit(patterns: &[Glob], path: &Path) -> Fit {
    let names = names(path);
    patterns.iter().map(|glob| glob.fit(&names)).fold(Fit::default(), |all, one| Fit {
        matches: all.matches || one.matches,
        leads_on: all.leads_on || one.leads_on,
    })
}

fn names(path: &Path) -> Vec<&[u8]> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_bytes()),
        _ => None,
    });
    names.collect()
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
        let top = directory.path().canonicalize().unwrap();
        let root = top.join("root");
        fs::create_dir_all(root.join("a/.ssh")).unwrap();
        fs::create_dir_all(root.join("secrets")).unwrap();
        for file in ["a/.env", "a/.ssh/.env", "secrets/prod", "plain", "../beside"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink("link", root.join(".env")).unwrap();
        symlink("secrets/prod", root.join("link")).unwrap();
        symlink("../../beside", root.join("a/b.env")).unwrap();
        symlink("nowhere", root.join("a/c.env")).unwrap();
        let mut found = find(&root, &patterns(&root, &["**/.env", "*/.ssh", "**/*.env"])).unwrap();
        found.sort();
        assert_eq!(found, [top.join("beside"), root.join("a/.env"), root.join("a/.ssh"), root.join("secrets/prod")]);
    }

    #[test]
    fn what_is_searched_can_be_hidden_itself() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        assert_eq!(find(&root, &patterns(&root, &[""])).unwrap(), [root]);
    }

    #[test]
    fn what_lies_in_a_hidden_directory_is_hidden_with_it_and_once() {
        let places = [
            ("/x/dir/file", Kind::File),
            ("/x/dir", Kind::Directory),
            ("/x/dir.d", Kind::File),
            ("/x/dir", Kind::Directory),
        ];
        let entries = hiding(outermost(places.map(|(place, kind)| (PathBuf::from(place), kind)).to_vec()));
        let expected = [nothing_at(Path::new("/x/dir"), 0o000).to_vec(), vec![entry("/x/dir.d".into(), Item::Masked)]];
        assert_eq!(entries, expected.concat());
    }
}
