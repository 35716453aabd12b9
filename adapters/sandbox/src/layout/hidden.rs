//! Which files and directories the rules of a policy hide.

use super::{entry, nothing_at};
use crate::view::{Entry, Item};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{Fit, Standing, Step};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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
        Some(found.file_type().into())
    }
}

impl From<FileType> for Kind {
    fn from(found: FileType) -> Self {
        if found.is_dir() { Self::Directory } else { Self::File }
    }
}

/// The host paths, without links, of what is named at and below `host`, which is one as well and stands to the patterns as
/// `standing`. A link that is named stands for what it leads to, wherever that is; links on the way are followed to what lies in
/// `shown`. More than can be looked at is an error: it would not be hidden.
pub(super) fn find(host: &Path, standing: Standing<'_>, shown: &[&Path]) -> io::Result<Vec<PathBuf>> {
    Search { host, shown, left: MOST_LOOKED_AT, open: Vec::new(), found: Vec::new() }.of(standing)
}

struct Search<'a, 'p> {
    host: &'a Path,
    shown: &'a [&'a Path],
    left: usize,
    /// Directories to look into.
    open: Vec<(PathBuf, Standing<'p>)>,
    found: Vec<PathBuf>,
}

impl<'p> Search<'_, 'p> {
    fn of(mut self, standing: Standing<'p>) -> io::Result<Vec<PathBuf>> {
        self.look_at(self.host.to_owned(), standing)?;
        let mut seen = HashSet::new();
        while let Some((directory, standing)) = self.open.pop() {
            if seen.insert((directory.clone(), standing.clone())) {
                self.look_into(&directory, &standing)?;
            }
        }
        Ok(self.found)
    }

    fn look_at(&mut self, path: PathBuf, standing: Standing<'p>) -> io::Result<()> {
        let given_up = || io::Error::other(standing.given_up(Escaped::path(self.host), "/"));
        self.left = self.left.checked_sub(1).ok_or_else(given_up)?;
        let Fit { matches, leads_on } = standing.fit();
        if !matches && !leads_on {
            return Ok(());
        }
        let Some(found) = there(fs::symlink_metadata(&path), &path)? else { return Ok(()) };
        let is_link = found.file_type().is_symlink();
        let target = if is_link { there(fs::canonicalize(&path), &path)? } else { Some(path) };
        let Some(target) = target else { return Ok(()) };
        if matches {
            return self.hide(target);
        }
        let is_shown = !is_link || self.shown.iter().any(|shown| target.starts_with(shown));
        if is_shown && target.is_dir() {
            self.open.push((target, standing));
        }
        Ok(())
    }

    fn look_into(&mut self, path: &Path, standing: &Standing<'p>) -> io::Result<()> {
        let steps: Vec<Step<'_>> = standing.ahead().collect();
        if !steps.contains(&Step::Any) {
            let names = steps.iter().filter_map(|step| if let Step::Name(name) = step { Some(*name) } else { None });
            let names: BTreeSet<&[u8]> = names.collect();
            return names
                .into_iter()
                .try_for_each(|name| self.look_at(path.join(OsStr::from_bytes(name)), standing.of_entry(name)));
        }
        match fs::read_dir(path) {
            Ok(mut entries) => entries.try_for_each(|entry| {
                let name = entry?.file_name();
                self.look_at(path.join(&name), standing.of_entry(name.as_bytes()))
            }),
            Err(error) if error.kind() != io::ErrorKind::PermissionDenied => Err(while_looking_at(path, &error)),
            Err(_) if is_enterable(path) => {
                Err(self.refusal(&format!("has {}, whose files can be opened and not listed", Escaped::path(path))))
            }
            Err(_) => Ok(()),
        }
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
            Escaped::path(self.host)
        ))
    }
}

/// What was found at `path`. What this user cannot look at, the workload cannot read either, nor where a link leads to nothing.
fn there<T>(found: io::Result<T>, path: &Path) -> io::Result<Option<T>> {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, PermissionDenied};
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidFilename | PermissionDenied) => Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => Ok(None),
        Err(error) => Err(while_looking_at(path, &error)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::policy::Glob;
    use std::os::unix::fs::symlink;

    fn find(root: &Path, written: &[&str], shown: &[&Path]) -> Vec<PathBuf> {
        let patterns = written.iter().map(|text| Glob::new(text.as_bytes()).below(root.as_os_str().as_bytes()));
        let patterns: Vec<Glob> = patterns.collect();
        let mut found = super::find(root, Standing::of(&patterns, root.as_os_str().as_bytes()), shown).unwrap();
        found.sort();
        found.dedup();
        found
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
        let long = "x".repeat(300);
        for (target, link) in [("nowhere", "c"), ("../plain/file", "d"), (&long, "e"), ("f.env", "f")] {
            symlink(target, root.join(format!("a/{link}.env"))).unwrap();
            symlink(target, root.join(format!("a/{link}"))).unwrap();
        }
        let found = find(&root, &["**/.env", "*/.ssh", "**/*.env"], &[&root]);
        assert_eq!(found, [top.join("beside"), root.join("a/.env"), root.join("a/.ssh"), root.join("secrets/prod")]);
    }

    #[test]
    fn a_pattern_leads_through_links_to_what_is_shown_and_in_no_circles() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let [root, other, unseen] = ["root", "other", "unseen"].map(|name| top.join(name));
        for place in [&root.join("v1"), &other, &unseen] {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join("secret"), "x").unwrap();
        }
        for (target, link) in [("v1", "current"), ("../other", "cup"), ("../unseen", "cut"), ("../..", "v1/cycle")] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(".", root.join("self")).unwrap();
        let found = |pattern: &str| find(&root, &[pattern], &[&root, &other]);
        assert_eq!(found("cu*/secret"), [other.join("secret"), root.join("v1/secret")]);
        assert_eq!(found("**/current/secret"), [root.join("v1/secret")]);
        assert_eq!(found("self/self/self/current/secret"), [root.join("v1/secret")]);
        assert_eq!(found("**/secret"), [other.join("secret"), root.join("v1/secret")]);
    }

    #[test]
    fn more_than_can_be_searched_is_refused_with_the_place_the_pattern_and_a_way_on() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(root.join(name), "x").unwrap();
        }
        let patterns = [Glob::new(b"**/a").below(root.as_os_str().as_bytes())];
        let search = |left| {
            let standing = Standing::of(&patterns, root.as_os_str().as_bytes());
            Search { host: &root, shown: &[], left, open: Vec::new(), found: Vec::new() }.of(standing)
        };
        assert_eq!(search(4).unwrap(), [root.join("a")]);
        let told = search(3).unwrap_err().to_string();
        let root = root.display();
        assert!(
            told.starts_with(&format!("{root} has more entries")) && told.contains(&format!("`{root}/**/a`")),
            "{told}"
        );
    }

    #[test]
    fn what_is_searched_can_be_hidden_itself() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        assert_eq!(find(&root, &[""], &[&root]), [root.as_path()]);
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
