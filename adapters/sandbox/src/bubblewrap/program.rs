//! Finding `bwrap`, and what to do when it does not work.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const NAME: &str = "bwrap";
const INSTALL: &str = "install it, e.g. with `apt install bubblewrap`";

/// The program on `path`, a value of PATH, or why none is used. Elements of PATH that are not absolute are passed over.
pub(super) fn find(path: &[u8]) -> Result<PathBuf, String> {
    let candidates = path.split(|&byte| byte == b':').map(|directory| Path::new(OsStr::from_bytes(directory)));
    let found = candidates
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(NAME))
        .find(|path| is_file(path));
    let found = found.ok_or_else(|| format!("there is no program `{NAME}` on PATH; {INSTALL}"))?;
    vet(&found).map(|()| found)
}

fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
}

/// A program that somebody else could have changed is not one to hand the user's files to.
fn vet(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let metadata = path.metadata().map_err(|error| format!("look at {shown}: {error}"))?;
    let self_uid = nix::unistd::geteuid().as_raw();
    match () {
        () if metadata.uid() != 0 && metadata.uid() != self_uid => {
            Err(format!("{shown} belongs to user {}, who is neither root nor you", metadata.uid()))
        }
        () if metadata.mode() & 0o002 != 0 => Err(format!("{shown} can be written by everybody")),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    fn program_of_mode(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::TempDir::new().expect("a temporary directory can be made");
        let program = directory.path().join(NAME);
        write(&program, "").expect("it can be written to");
        set_permissions(&program, Permissions::from_mode(mode)).expect("its owner may");
        (directory, program)
    }

    #[test]
    fn the_first_program_on_an_absolute_element_of_path_is_taken() {
        let (_plain, not_executable) = program_of_mode(0o644);
        let (_directory, program) = program_of_mode(0o755);
        let elements = ["", ".", "bin", "/nonexistent"].map(PathBuf::from);
        let parents = [&not_executable, &program].map(|path| path.parent().expect("it lies somewhere").to_owned());
        let path = std::env::join_paths(elements.iter().chain(&parents)).expect("no element holds a colon");
        assert_eq!(find(path.as_bytes()), Ok(program));
    }

    #[test]
    fn a_missing_program_comes_with_a_next_step() {
        let expected = "there is no program `bwrap` on PATH; install it, e.g. with `apt install bubblewrap`";
        for path in [&b""[..], b".", b"/nonexistent"] {
            assert_eq!(find(path), Err(expected.to_owned()));
        }
    }

    #[test]
    fn a_program_that_everybody_can_write_is_refused() {
        let (directory, program) = program_of_mode(0o777);
        let expected = format!("{} can be written by everybody", program.display());
        assert_eq!(find(directory.path().as_os_str().as_bytes()), Err(expected));
    }
}
