//! What every implementation of [`ProjectFiles`] keeps.

use crate::{ProjectFiles, ProjectFilesError};
use isobox_domain::repo_path::RepoPath;
use libtest_mimic::{Failed, Trial};

/// An empty project, and ways to put something into it that `ProjectFiles` does not make.
pub trait Project {
    /// The files under test.
    fn files(&self) -> &dyn ProjectFiles;

    /// Makes a link at `path` that leads outside of the project.
    fn link(&self, path: &str, to: LinkTarget);

    /// Makes an empty directory.
    fn directory(&self, path: &str);

    /// Whether there is anything at `path`.
    fn is_there(&self, path: &str) -> bool;
}

/// What a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    /// A directory.
    Directory,
    /// A file.
    File,
}

type Case = fn(&dyn Project) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("what_is_not_there_is_none", missing_is_none),
    ("files_are_written_with_their_directories_and_read_back", written_is_read_back),
    ("a_file_that_is_there_is_replaced", replaced),
    ("nothing_is_followed_or_written_through", nothing_is_followed),
    ("all_files_are_written_or_none", all_or_none),
];

/// The suite, as tests of `name`. `make` gives each an empty project of its own.
pub fn cases<P: Project + 'static>(name: &str, make: fn() -> P) -> Vec<Trial> {
    let trial =
        |&(case, check): &(&str, Case)| Trial::test(format!("{name}::project_files::{case}"), move || check(&make()));
    CASES.iter().map(trial).collect()
}

fn path(text: &str) -> Result<RepoPath, Failed> {
    Ok(RepoPath::parse(text)?)
}

fn write(project: &dyn Project, files: &[(&str, &str)]) -> Result<Result<(), ProjectFilesError>, Failed> {
    let files: Result<Vec<_>, Failed> =
        files.iter().map(|(name, content)| Ok((path(name)?, content.as_bytes().to_vec()))).collect();
    Ok(project.files().write(&files?))
}

fn assert_content(project: &dyn Project, name: &str, content: Option<&str>) -> Result<(), Failed> {
    let found = project.files().read(&path(name)?)?;
    assert_eq!(found.as_deref(), content.map(str::as_bytes), "{name}");
    Ok(())
}

fn missing_is_none(project: &dyn Project) -> Result<(), Failed> {
    assert_content(project, "a", None)?;
    assert_content(project, "a/b/c", None)
}

fn written_is_read_back(project: &dyn Project) -> Result<(), Failed> {
    write(project, &[("a/b/c", "1"), ("a/d", ""), ("e", "3")])??;
    assert_content(project, "a/b/c", Some("1"))?;
    assert_content(project, "a/d", Some(""))?;
    assert_content(project, "e", Some("3"))
}

fn replaced(project: &dyn Project) -> Result<(), Failed> {
    write(project, &[("a", "long before")])??;
    write(project, &[("a", "now")])??;
    assert_content(project, "a", Some("now"))
}

fn nothing_is_followed(project: &dyn Project) -> Result<(), Failed> {
    project.link("folder", LinkTarget::Directory);
    project.link("file", LinkTarget::File);
    project.directory("directory");
    write(project, &[("plain", "")])??;
    for name in ["folder/x", "file", "directory", "plain/x"] {
        let written = write(project, &[(name, "x")])?;
        assert!(matches!(written, Err(ProjectFilesError::InTheWay { .. })), "{name}: {written:?}");
        let read = project.files().read(&path(name)?);
        assert!(matches!(read, Err(ProjectFilesError::InTheWay { .. })), "{name}: {read:?}");
    }
    Ok(())
}

fn all_or_none(project: &dyn Project) -> Result<(), Failed> {
    project.link("folder", LinkTarget::Directory);
    write(project, &[("old", "before")])??;
    let written = write(project, &[("new/deep/file", "x"), ("old", "after"), ("folder/x", "x")])?;
    assert!(matches!(written, Err(ProjectFilesError::InTheWay { .. })), "{written:?}");
    assert_content(project, "old", Some("before"))?;
    assert!(!project.is_there("new"), "a directory of a write that failed is left");
    Ok(())
}
