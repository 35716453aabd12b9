//! Copies of the host's files that a workload may change.
//!
//! ```text
//! <root>/copies-<32 hex digits>/      mode 0700, isobox's own: the copies of one attempt
//!     <number>/<name>                 one of them
//!     baseline                        what those held that are captured: see baseline.rs
//! ```

mod baseline;
mod copying;

pub(crate) use baseline::{Copied, hashed};

use crate::capture::copies::{Part, Telling};
use crate::random::random_name;
use crate::workspace::disposal::remove;
use baseline::{Baseline, relative};
use copying::Copying;
use isobox_domain::escape::Escaped;
use isobox_ports::{Access, CaptureSink, Exposed, PrivateCopies, PrivateCopyError};
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const PREFIX: &str = "copies-";
const BASELINE: &str = "baseline";
/// The name of a copy whose source has none.
const NAMELESS: &str = "root";

/// Private copies below one directory of the user.
#[derive(Clone, Debug)]
pub struct FsPrivateCopies {
    root: PathBuf,
}

impl FsPrivateCopies {
    /// Copies below `root`, which need not be there yet.
    pub const fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Where the copies of `state` are; what names another place names none of them.
    fn place(&self, state: &[u8]) -> Option<PathBuf> {
        let place = PathBuf::from(OsStr::from_bytes(state));
        let is_own = place.parent() == Some(&self.root)
            && place.file_name().is_some_and(|name| name.as_bytes().starts_with(PREFIX.as_bytes()));
        is_own.then_some(place)
    }
}

impl PrivateCopies for FsPrivateCopies {
    fn reserve(&self) -> Result<Vec<u8>, PrivateCopyError> {
        let name = random_name().map_err(failed("choose a place for private copies".to_owned()))?;
        Ok(self.root.join(format!("{PREFIX}{name}")).into_os_string().into_vec())
    }

    fn make(&self, reserved: &[u8], exposed: &mut Exposed) -> Result<(), PrivateCopyError> {
        let nowhere = || failed("make private copies".to_owned())(io::ErrorKind::InvalidInput.into());
        let place = self.place(reserved).ok_or_else(nowhere)?;
        let made = make(&self.root, &place, exposed);
        if made.is_err() {
            // Why nothing was made matters more; the attempt names the place until this works.
            drop(remove(&place));
        }
        made
    }

    fn capture(&self, state: &[u8], sink: &mut dyn CaptureSink) -> Result<(), PrivateCopyError> {
        let Some(place) = self.place(state) else { return Ok(()) };
        let baseline = place.join(BASELINE);
        let operation = format!("read what was copied to {}", Escaped::path(&place));
        let Baseline { roots, mut files } = match Baseline::read(&baseline) {
            Ok(baseline) => baseline,
            // Nothing is captured.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(operation)(error)),
        };
        let mut parts: Vec<_> = roots.iter().flat_map(|root| [(Part::Itself, root), (Part::Inside, root)]).collect();
        parts.sort_by_key(|(part, (path, _))| part.first(path));
        let mut telling = Telling::new(&mut files, sink);
        for (part, (path, number)) in parts {
            let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or(OsStr::new(NAMELESS));
            let copy = place.join(number.to_string()).join(name);
            telling.tell(part, &copy, path).map_err(|error| PrivateCopyError::Io {
                operation: format!("capture what changed in the copy of /{}", Escaped(path)),
                source: error.into(),
            })?;
        }
        Ok(())
    }

    fn shown(&self, state: &[u8]) -> String {
        Escaped(state).to_string()
    }

    fn dispose(&self, state: &[u8]) -> Result<(), PrivateCopyError> {
        let Some(place) = self.place(state) else { return Ok(()) };
        remove(&place).map_err(failed(format!("remove the private copies at {}", Escaped::path(&place))))
    }
}

fn make(root: &Path, place: &Path, exposed: &mut Exposed) -> Result<(), PrivateCopyError> {
    let directory = |path: &Path, recursive| {
        let made = DirBuilder::new().recursive(recursive).mode(0o700).create(path);
        made.map_err(failed(format!("make the directory {}", Escaped::path(path))))
    };
    directory(root, true)?;
    directory(place, false)?;
    let written: Vec<usize> =
        (0..exposed.shown.len()).filter(|index| exposed.shown[*index].access != Access::ReadOnly).collect();
    let mut copying = Copying::default();
    let sources: Vec<PathBuf> = exposed.shown.iter().map(|shown| shown.source.clone()).collect();
    for index in &written {
        // What is hidden of one may lie in another.
        copying.look_for_hidden(&sources[*index], &exposed.hidden, &sources)?;
    }
    let captured: Vec<&Path> = written
        .iter()
        .map(|index| &exposed.shown[*index])
        .filter(|shown| shown.access == Access::Captured)
        .map(|shown| shown.source.as_path())
        .collect();
    for inner in &captured {
        if let Some(outer) = captured.iter().find(|outer| inner != *outer && inner.starts_with(outer)) {
            let why = format!("{} lies in {}, which is captured as well", Escaped::path(inner), Escaped::path(outer));
            return Err(PrivateCopyError::Refused {
                operation: format!("capture a copy of {}", Escaped::path(inner)),
                source: why.into(),
                hint: "leave the inner one out of `filesystem.write`: it is captured with the outer one",
            });
        }
    }
    let mut baseline = Baseline::default();
    for index in written {
        let shown = &mut exposed.shown[index];
        let around = place.join(index.to_string());
        directory(&around, false)?;
        let copy = around.join(shown.source.file_name().unwrap_or(OsStr::new(NAMELESS)));
        let noted = (shown.access == Access::Captured).then_some(&mut baseline);
        copying.copy(&shown.source, &copy, noted)?;
        if shown.access == Access::Captured {
            let path = relative(shown.source.as_os_str().as_bytes()).to_vec();
            baseline.roots.push((path, index as u32));
        }
        shown.source = copy;
    }
    if !baseline.roots.is_empty() {
        let file = place.join(BASELINE);
        baseline.write(&file).map_err(failed(format!("write {}", Escaped::path(&file))))?;
    }
    exposed.hidden.extend(copying.hidden_elsewhere());
    Ok(())
}

fn failed(operation: String) -> impl FnOnce(io::Error) -> PrivateCopyError {
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => PrivateCopyError::Full { operation },
        _ => PrivateCopyError::Io { operation, source: source.into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::change::{Change, ChangeLine};
    use isobox_domain::policy::Glob;
    use isobox_ports::fake::RecordingSink;
    use isobox_ports::{Place, Shown};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Stand {
        host: tempfile::TempDir,
        copies: FsPrivateCopies,
    }

    impl Stand {
        fn new(files: &[(&str, &str)]) -> Self {
            let host = tempfile::tempdir().unwrap();
            for (path, content) in files {
                let path = host.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            let copies = FsPrivateCopies::new(host.path().join("private"));
            Self { host, copies }
        }

        fn path(&self, path: &str) -> PathBuf {
            self.host.path().canonicalize().unwrap().join(path)
        }

        fn exposed(&self, sources: &[&str], hidden: &[&str]) -> Exposed {
            let shown = sources.iter().map(|source| Shown {
                source: self.path(source),
                places: vec![Place::At(self.path(source))],
                access: Access::ReadWrite,
            });
            let root = self.path("");
            let hidden = hidden.iter().map(|rule| Glob::new(rule.as_bytes()).below(root.as_os_str().as_bytes()));
            Exposed { shown: shown.collect(), hidden: hidden.collect(), ..Exposed::default() }
        }

        fn captured(&self, state: &[u8]) -> RecordingSink {
            let mut sink = RecordingSink::default();
            self.copies.capture(state, &mut sink).unwrap();
            sink
        }

        fn told(&self, state: &[u8]) -> Vec<String> {
            let root = relative(self.path("").as_os_str().as_bytes()).to_vec();
            self.captured(state).lines.iter().map(|line| told(line, &root)).collect()
        }

        fn left(&self) -> usize {
            fs::read_dir(self.path("private")).map(Iterator::count).unwrap_or_default()
        }
    }

    #[test]
    fn a_copy_has_everything_but_what_is_hidden_and_what_hidden_links_lead_to() {
        let stand = Stand::new(&[
            ("one/deep/plain", "plain"),
            ("one/deep/secret", "secret"),
            ("one/target", "secret"),
            ("two/target", "secret"),
            ("two/plain", "plain"),
        ]);
        symlink("deep/plain", stand.path("one/link")).unwrap();
        symlink("../target", stand.path("one/deep/a.env")).unwrap();
        symlink("../../two/target", stand.path("one/deep/b.env")).unwrap();
        symlink("/etc/hostname", stand.path("one/deep/c.env")).unwrap();
        let mut exposed = stand.exposed(&["one", "two"], &["**/secret", "**/*.env"]);
        let state = stand.copies.reserve().unwrap();
        stand.copies.make(&state, &mut exposed).unwrap();
        let [one, two] = [0, 1].map(|index: usize| exposed.shown[index].source.clone());
        assert_eq!(fs::read_to_string(one.join("link")).unwrap(), "plain");
        for hidden in [one.join("deep/secret"), one.join("target"), one.join("deep/a.env"), two.join("target")] {
            assert!(fs::symlink_metadata(&hidden).is_err(), "{}", hidden.display());
        }
        assert_eq!(fs::read_to_string(two.join("plain")).unwrap(), "plain");
        // What is shown elsewhere, it is hidden there.
        let target = fs::canonicalize("/etc/hostname").unwrap();
        assert!(exposed.hidden.contains(&Glob::new(target.as_os_str().as_bytes())));
        fs::set_permissions(one.join("deep"), Permissions::from_mode(0o000)).unwrap();
        stand.copies.dispose(&state).unwrap();
        stand.copies.dispose(&state).unwrap();
        assert_eq!((stand.left(), stand.path("one/deep/secret").exists()), (0, true));
    }

    #[test]
    fn a_pattern_leads_through_links_to_what_is_copied() {
        let stand = Stand::new(&[("one/v1/secret", "secret"), ("two/secret", "secret"), ("two/plain", "plain")]);
        symlink("v1", stand.path("one/current")).unwrap();
        symlink("../two", stand.path("one/curious")).unwrap();
        symlink("..", stand.path("one/v1/circle")).unwrap();
        let mut exposed = stand.exposed(&["one", "two"], &["**/cur*/secret"]);
        let state = stand.copies.reserve().unwrap();
        stand.copies.make(&state, &mut exposed).unwrap();
        let [one, two] = [0, 1].map(|index: usize| exposed.shown[index].source.clone());
        assert!(!one.join("v1/secret").exists() && !two.join("secret").exists());
        assert!(one.join("current/circle/v1").exists() && two.join("plain").exists());
    }

    #[test]
    fn what_changed_in_a_copy_is_told_against_what_was_copied() {
        let stand = Stand::new(&[
            ("one/changed", "before"),
            ("one/deep/gone", "gone"),
            ("one/kept", "kept"),
            ("one/now-a-directory", "file"),
            ("one.d/file", "before"),
            ("two", "single"),
        ]);
        let mut exposed = stand.exposed(&["one", "one.d", "two"], &[]);
        exposed.shown.iter_mut().for_each(|shown| shown.access = Access::Captured);
        let state = stand.copies.reserve().unwrap();
        stand.copies.make(&state, &mut exposed).unwrap();
        let [one, dotted, two] = [0, 1, 2].map(|index: usize| exposed.shown[index].source.clone());
        fs::write(one.join("changed"), "after").unwrap();
        fs::remove_dir_all(one.join("deep")).unwrap();
        fs::create_dir_all(one.join("made/locked")).unwrap();
        fs::write(one.join("made/locked/file"), "made").unwrap();
        fs::set_permissions(one.join("made/locked/file"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(one.join("made/locked"), Permissions::from_mode(0o000)).unwrap();
        fs::create_dir(one.join("empty")).unwrap();
        fs::remove_file(one.join("now-a-directory")).unwrap();
        fs::create_dir(one.join("now-a-directory")).unwrap();
        fs::write(one.join("now-a-directory/inner"), "inner").unwrap();
        symlink("kept", one.join("link")).unwrap();
        fs::write(dotted.join("file"), "after").unwrap();
        fs::write(&two, "changed").unwrap();
        let sink = stand.captured(&state);
        assert_eq!(
            stand.told(&state),
            [
                "one.d/file Modified",
                "one/changed Modified",
                "one/deep/gone Deleted",
                "one/empty EmptyDirectory",
                "one/link Added",
                "one/made/locked/file Added",
                "one/now-a-directory Deleted",
                "one/now-a-directory/inner Added",
                "two Modified",
            ]
        );
        let ChangeLine::Change(Change { before: Some(before), .. }) = &sink.lines[1] else { panic!("a change") };
        // What `git hash-object` says of `before`.
        assert_eq!(before.oid.to_string(), "ee2363a4dfc456efa66b2e71979a1f8f8f07a208");
    }

    #[test]
    fn copies_whose_names_begin_alike_are_told_in_the_order_of_paths() {
        let stand = Stand::new(&[
            ("conf/inner", "before"),
            ("conf/kept", "kept"),
            ("conf.json", "before"),
            ("note", "before"),
            ("note.md", "before"),
            ("was", "file"),
            ("was.txt", "before"),
        ]);
        let sources = ["conf", "conf.json", "note", "note.md", "was", "was.txt"];
        let mut exposed = stand.exposed(&sources, &[]);
        exposed.shown.iter_mut().for_each(|shown| shown.access = Access::Captured);
        let state = stand.copies.reserve().unwrap();
        stand.copies.make(&state, &mut exposed).unwrap();
        let [conf, json, note, md, was, txt] =
            [0, 1, 2, 3, 4, 5].map(|index: usize| exposed.shown[index].source.clone());
        for path in [conf.join("inner"), json, note, md, txt] {
            fs::write(path, "after").unwrap();
        }
        fs::remove_file(&was).unwrap();
        fs::create_dir(&was).unwrap();
        fs::write(was.join("inner"), "made").unwrap();
        assert_eq!(
            stand.told(&state),
            [
                "conf.json Modified",
                "conf/inner Modified",
                "note Modified",
                "note.md Modified",
                "was Deleted",
                "was.txt Modified",
                "was/inner Added",
            ]
        );
    }

    fn told(line: &ChangeLine, root: &[u8]) -> String {
        let below = |path: &[u8]| String::from_utf8_lossy(path.strip_prefix(root).unwrap_or(path)).into_owned();
        match line {
            ChangeLine::Change(change) => format!("{} {:?}", below(change.path.as_bytes()), change.kind()),
            ChangeLine::NotCaptured(left) => format!("{} {:?}", below(&left.workspace_path), left.reason),
        }
    }

    #[test]
    fn what_cannot_be_copied_is_named_and_leaves_nothing() {
        let stand = Stand::new(&[("one/plain", "plain"), ("one/large", "")]);
        fs::File::options().write(true).open(stand.path("one/large")).unwrap().set_len(3 << 30).unwrap();
        let mut exposed = stand.exposed(&["one"], &[]);
        let error = stand.copies.make(&stand.copies.reserve().unwrap(), &mut exposed).unwrap_err();
        assert_eq!(error.to_string(), format!("copy {}", stand.path("one/large").display()));
        let PrivateCopyError::Refused { source, hint, .. } = error else { panic!("another failure: {error:?}") };
        assert!(source.to_string().contains("2 GiB"), "{source}");
        assert!(hint.contains("smallest directory"), "{hint}");
        assert_eq!(stand.left(), 0);
    }

    #[test]
    fn a_state_that_names_another_place_removes_nothing() {
        let stand = Stand::new(&[("one/plain", "plain")]);
        stand.copies.dispose(stand.path("one").as_os_str().as_bytes()).unwrap();
        assert!(stand.path("one/plain").exists());
    }
}
