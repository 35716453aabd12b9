//! Copies of the host's files that a workload may change.
//!
//! ```text
//! <root>/copies-<32 hex digits>/      mode 0700, isobox's own: the copies of one attempt
//!     <number>/<name>                 one of them
//! ```

mod copying;

use crate::random::random_name;
use crate::workspace::disposal::remove;
use copying::Copying;
use isobox_domain::escape::Escaped;
use isobox_ports::{Access, Exposed, PrivateCopies, PrivateCopyError};
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const PREFIX: &str = "copies-";

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
    for index in &written {
        // What is hidden of one may lie in another.
        copying.look_for_hidden(&exposed.shown[*index].source, &exposed.hidden)?;
    }
    for index in written {
        let shown = &mut exposed.shown[index];
        let around = place.join(index.to_string());
        directory(&around, false)?;
        let copy = around.join(shown.source.file_name().unwrap_or(OsStr::new("root")));
        copying.copy(&shown.source, &copy)?;
        shown.source = copy;
    }
    exposed.hidden.extend(copying.hidden_elsewhere());
    Ok(())
}

fn failed(operation: String) -> impl FnOnce(io::Error) -> PrivateCopyError {
    move |source| PrivateCopyError { operation, source: source.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::policy::Glob;
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
    fn what_cannot_be_copied_is_named_and_leaves_nothing() {
        let stand = Stand::new(&[("one/plain", "plain"), ("one/large", "")]);
        fs::File::options().write(true).open(stand.path("one/large")).unwrap().set_len(3 << 30).unwrap();
        let mut exposed = stand.exposed(&["one"], &[]);
        let error = stand.copies.make(&stand.copies.reserve().unwrap(), &mut exposed).unwrap_err();
        assert_eq!(error.to_string(), format!("copy {}", stand.path("one/large").display()));
        assert!(error.source.to_string().contains("2 GiB"), "{}", error.source);
        assert_eq!(stand.left(), 0);
    }

    #[test]
    fn a_state_that_names_another_place_removes_nothing() {
        let stand = Stand::new(&[("one/plain", "plain")]);
        stand.copies.dispose(stand.path("one").as_os_str().as_bytes()).unwrap();
        assert!(stand.path("one/plain").exists());
    }
}
