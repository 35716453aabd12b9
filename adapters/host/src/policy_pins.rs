//! The policies that a user trusts: a small private file a project, in the user's state directory.

use crate::directories::{Directories, DirectoriesError};
use isobox_domain::content::ContentId;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{TrustedPolicies, Value};
use isobox_ports::{Cause, PolicyPins, PolicyPinsError};
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the directory in the user's state directory.
const FOLDER: &str = "trusted-policies";
/// First line of a file: what it is, and in which form.
const HEAD: &str = "isobox trusted policies 1";
/// Last line of a file: nothing after it is missing.
const END: &str = "end";
/// Longest file that is read or written, in bytes: 16 digests take 1.1 KiB of it, what a policy says the rest.
const LONGEST_BYTES: usize = 8 << 10;

/// Pins in `trusted-policies` of the user's state directory, each file named after the BLAKE3 of its project's path.
#[derive(Clone, Debug)]
pub struct FsPolicyPins {
    directories: Directories,
}

impl FsPolicyPins {
    /// Of the user whose `directories` are given. Nothing is looked at or made yet.
    pub const fn new(directories: Directories) -> Self {
        Self { directories }
    }

    fn directory(&self) -> Result<PathBuf, DirectoriesError> {
        Ok(self.directories.state()?.join(FOLDER))
    }
}

impl PolicyPins for FsPolicyPins {
    fn load(&self, host_path: &Path) -> TrustedPolicies {
        // Whatever stands in the way, the answer is the same: the user is asked once more.
        let directory = self.directory().ok().filter(|directory| is_own(directory));
        directory.map(|directory| load(&file(&directory, host_path))).unwrap_or_default()
    }

    fn change(
        &self,
        host_path: &Path,
        change: &mut dyn FnMut(TrustedPolicies) -> TrustedPolicies,
    ) -> Result<(), PolicyPinsError> {
        let directory = self.directory().map_err(|error| unkept("find a directory for", host_path, error))?;
        let file = file(&directory, host_path);
        Directories::create(&directory).map_err(|error| unkept("use directory", &directory, error))?;
        // Held until the end of this function, and for a moment only.
        let lock = File::open(&directory).map_err(|error| unkept("open", &directory, error))?;
        lock.lock().map_err(|error| unkept("lock", &directory, error))?;
        replace(&directory, &file, &encode(&change(load(&file)))).map_err(|error| unkept("write", &file, error))
    }
}

fn file(directory: &Path, host_path: &Path) -> PathBuf {
    directory.join(blake3::hash(host_path.as_os_str().as_bytes()).to_hex().as_str())
}

fn unkept(operation: &'static str, host_path: &Path, source: impl Into<Cause>) -> PolicyPinsError {
    PolicyPinsError { operation, host_path: Escaped::path(host_path).to_string(), source: source.into() }
}

/// Whether nobody else can put files into a directory.
fn is_own(directory: &Path) -> bool {
    directory
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0)
}

fn load(file: &Path) -> TrustedPolicies {
    read(file).ok().flatten().and_then(|text| decode(&text)).unwrap_or_default()
}

/// The text of a file; `None` where it is not one that this user, and nobody else, could have written.
fn read(file: &Path) -> io::Result<Option<String>> {
    // O_NONBLOCK: a FIFO in its place must not block.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(file)?;
    if !is_private(&file.metadata()?) {
        return Ok(None);
    }
    // With room for all of it, one read takes it.
    let mut text = String::with_capacity(LONGEST_BYTES + 1);
    file.take(LONGEST_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(Some(text).filter(|text| text.len() <= LONGEST_BYTES))
}

fn is_private(found: &Metadata) -> bool {
    found.is_file() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0
}

// It is not flushed: whoever loses it to a crash is asked once more, and a half of it is nothing.
fn replace(directory: &Path, file: &Path, text: &str) -> io::Result<()> {
    let mut whole = tempfile::Builder::new().prefix(".pin-").tempfile_in(directory)?;
    whole.write_all(text.as_bytes())?;
    whole.persist(file).map(|_: File| ()).map_err(|failed| failed.error)
}

/// A line of what it is, one a digest, one a key and its value, and one that says that this was all.
fn encode(trusted: &TrustedPolicies) -> String {
    let mut text = format!("{HEAD}\n");
    trusted.digests().iter().for_each(|digest| text.push_str(&format!("{digest}\n")));
    // Values are escaped for people, so that none has a line break.
    for line in trusted.values().iter().map(|(key, value)| format!("{key} {value}\n")) {
        // A long list is left out; the other keys still tell what is different.
        if text.len() + line.len() + END.len() < LONGEST_BYTES {
            text.push_str(&line);
        }
    }
    text + END + "\n"
}

fn decode(text: &str) -> Option<TrustedPolicies> {
    let lines = text.strip_prefix(HEAD)?.strip_prefix('\n')?.strip_suffix('\n')?;
    let mut lines: Vec<&str> = lines.split('\n').collect();
    if lines.pop() != Some(END) {
        return None;
    }
    let count = lines.iter().take_while(|line| line.starts_with("b3:")).count();
    let (digests, values) = lines.split_at(count);
    let digests: Option<Vec<ContentId>> = digests.iter().map(|digest| digest.parse().ok()).collect();
    let value = |line: &&str| line.split_once(' ').map(|(key, value)| (key.to_owned(), Value::parse(value)));
    let values: Option<Vec<(String, Value)>> = values.iter().map(value).collect();
    Some(TrustedPolicies::new(digests?, values?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::policy::ProjectPolicy;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const PROJECT: &str = "/home/ana/app/.git";

    /// Pins in a directory of their own, and the file of the one project in them.
    fn pinned() -> (tempfile::TempDir, FsPolicyPins, PathBuf, TrustedPolicies) {
        let home = tempfile::tempdir().unwrap();
        let pins = FsPolicyPins::new(Directories::from_variables(|name| (name == "HOME").then(|| home.path().into())));
        let file = file(&pins.directory().unwrap(), Path::new(PROJECT));
        let trusted = TrustedPolicies::default().with(ContentId::new([7; 32]), &ProjectPolicy::default());
        pins.keep(Path::new(PROJECT), &trusted).unwrap();
        (home, pins, file, trusted)
    }

    #[test]
    fn a_file_is_private_and_nothing_else_is_left() {
        let (_home, pins, file, _) = pinned();
        let directory = pins.directory().unwrap();
        assert_eq!(fs::metadata(&directory).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(directory).unwrap().count(), 1);
    }

    #[test]
    fn a_link_or_a_fifo_in_the_place_of_a_file_is_nothing() {
        let (home, pins, file, trusted) = pinned();
        fs::rename(&file, home.path().join("elsewhere")).unwrap();
        symlink(home.path().join("elsewhere"), &file).unwrap();
        assert_eq!(pins.load(Path::new(PROJECT)), TrustedPolicies::default());
        fs::remove_file(&file).unwrap();
        nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(pins.load(Path::new(PROJECT)), TrustedPolicies::default());
        pins.keep(Path::new(PROJECT), &trusted).unwrap();
        assert_eq!(pins.load(Path::new(PROJECT)), trusted);
    }

    #[test]
    fn no_part_of_a_file_is_taken_for_the_whole() {
        let (_home, _, _, trusted) = pinned();
        let text = encode(&trusted);
        assert_eq!(decode(&text), Some(trusted));
        for length in 0..text.len() {
            assert_eq!(decode(&text[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_list_that_is_too_long_to_be_kept_costs_no_other_key() {
        let mut policy = ProjectPolicy::default();
        policy.sandbox.read = (0..4000).map(|n| format!("/opt/{n}").into_bytes()).collect();
        let trusted = TrustedPolicies::default().with(ContentId::new([7; 32]), &policy);
        let kept = decode(&encode(&trusted)).unwrap();
        let keys = |trusted: &TrustedPolicies| trusted.values().iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        let expected: Vec<_> = keys(&trusted).into_iter().filter(|key| key != "filesystem.read").collect();
        assert_eq!(keys(&kept), expected);
    }

    #[test]
    fn a_directory_that_others_can_write_to_takes_no_pin() {
        let (_home, pins, _, trusted) = pinned();
        fs::set_permissions(pins.directory().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = pins.keep(Path::new(PROJECT), &trusted).unwrap_err();
        assert!(refused.to_string().starts_with("use directory "), "{refused}");
        assert_eq!(pins.load(Path::new(PROJECT)), TrustedPolicies::default(), "others could have put it there");
    }
}
