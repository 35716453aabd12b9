//! What every implementation of [`V1Directories`] keeps.

use crate::{MAX_V1_RECORD_BYTES, V1Directories, V1Directory, V1Error, V1File};
use isobox_domain::repo_path::RepoPath;
use libtest_mimic::{Failed, Trial};
use std::io::Read;

/// The name of a record directory, which every place has, with an empty directory `artifacts` and no record.
pub const NAME: &str = "task-0123456789abcdef";

/// A place with record directories. Paths are below the place.
pub trait V1Place {
    /// The implementation under test, at `path`; the place itself is at the empty path.
    fn open(&self, path: &str) -> Result<Box<dyn V1Directories>, V1Error>;

    /// Writes a file, with the directories above it.
    fn file(&self, path: &str, content: &[u8]);

    /// Makes the file end at `length`.
    fn truncate(&self, path: &str, length: u64);

    /// Makes a directory.
    fn directory(&self, path: &str);

    /// Makes a symbolic link.
    fn link(&self, path: &str, target: &str);

    /// Makes a pipe that nobody writes to.
    fn pipe(&self, path: &str);

    /// Makes a character device, if this user may.
    fn device(&self, path: &str) -> bool;
}

type Case = fn(&dyn V1Place) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("record_directories_are_listed_and_others_are_not", others_are_not_listed),
    ("a_record_directory_names_itself", names_itself),
    ("what_is_not_there_is_none", missing_is_none),
    ("links_pipes_and_devices_are_refused_without_waiting", only_regular_files),
    ("a_record_that_is_too_long_is_refused", too_long_is_refused),
    ("a_file_that_becomes_shorter_is_an_error", shorter_is_an_error),
];

/// The suite, as tests of `name`. `place` is called once a case.
pub fn cases<P: V1Place + 'static>(name: &str, place: fn() -> P) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::v1_directories::{case}"), move || check(&place()));
    CASES.iter().map(trial).collect()
}

fn the_directory(place: &dyn V1Place) -> Result<Box<dyn V1Directory>, Failed> {
    Ok(place.open("")?.open(NAME.as_bytes())?)
}

fn within(path: &str) -> String {
    format!("{NAME}/{path}")
}

fn refused(opened: Result<Option<V1File>, V1Error>) -> Result<&'static str, Failed> {
    match opened {
        Err(V1Error::Refused { found, .. }) => Ok(found),
        Err(other) => Err(other.into()),
        Ok(_) => Err("it was opened".into()),
    }
}

fn others_are_not_listed(place: &dyn V1Place) -> Result<(), Failed> {
    place.directory("store");
    place.file("renamed/record.json", b"{}");
    place.link("task-00000000000000ff", "/");
    let directories = place.open("")?;
    let mut names = directories.names()?.collect::<Result<Vec<_>, _>>()?;
    names.sort();
    assert_eq!(names, [&b"renamed"[..], b"task-00000000000000ff", NAME.as_bytes()]);
    assert!(matches!(directories.open(b"task-00000000000000ff"), Err(V1Error::Refused { .. })));
    Ok(())
}

fn names_itself(place: &dyn V1Place) -> Result<(), Failed> {
    place.file(&within("record.json"), b"{}");
    let directories = place.open(&within("."))?;
    assert_eq!(directories.names()?.collect::<Result<Vec<_>, _>>()?, [NAME.as_bytes()]);
    assert_eq!(directories.open(NAME.as_bytes())?.record_json()?, Some(b"{}".to_vec()));
    Ok(())
}

fn missing_is_none(place: &dyn V1Place) -> Result<(), Failed> {
    let directory = the_directory(place)?;
    assert_eq!(directory.record_json()?, None);
    assert!(directory.file(&RepoPath::parse("artifacts/none")?)?.is_none());
    assert!(directory.file(&RepoPath::parse("none/none")?)?.is_none());
    Ok(())
}

fn only_regular_files(place: &dyn V1Place) -> Result<(), Failed> {
    place.file("secret", b"secret");
    place.link(&within("artifacts/link"), "../../secret");
    place.link(&within("artifacts/up"), "..");
    place.pipe(&within("artifacts/pipe"));
    let directory = the_directory(place)?;
    let found = |path: &str| refused(directory.file(&RepoPath::parse(path)?));
    let behind = "a symbolic link, or lies behind one";
    assert!(["a symbolic link", behind].contains(&found("artifacts/link")?));
    assert_eq!(found("artifacts/up/record.json")?, behind);
    assert_eq!(found("artifacts/pipe")?, "a pipe");
    assert_eq!(found("artifacts")?, "a directory");
    if place.device(&within("artifacts/device")) {
        assert_eq!(found("artifacts/device")?, "a device");
    }
    Ok(())
}

fn too_long_is_refused(place: &dyn V1Place) -> Result<(), Failed> {
    place.file(&within("record.json"), b"");
    place.truncate(&within("record.json"), MAX_V1_RECORD_BYTES + 1);
    let read = the_directory(place)?.record_json();
    assert!(matches!(read, Err(V1Error::Refused { found: "larger than isobox reads", .. })));
    Ok(())
}

fn shorter_is_an_error(place: &dyn V1Place) -> Result<(), Failed> {
    let file = within("artifacts/stdout.txt");
    place.file(&file, b"four");
    let mut opened = the_directory(place)?.file(&RepoPath::parse("artifacts/stdout.txt")?)?.ok_or("no file")?;
    place.truncate(&file, 3);
    assert_eq!(opened.length, 4);
    assert!(opened.content.read_to_end(&mut Vec::new()).is_err());
    Ok(())
}
