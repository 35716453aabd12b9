//! Stages the artifacts of one record directory.

use super::Stopped;
use isobox_domain::content::ContentRef;
use isobox_domain::record::TaskArtifacts;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::v1::{DIFF_FILE, STDERR_FILE, STDOUT_FILE, V1Output, V1Record};
use isobox_ports::{Attempt, ObjectWriter, Role, V1Directory, V1File};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};

/// What was staged of a record directory.
#[derive(Debug, Default)]
pub(super) struct Staged {
    pub(super) artifacts: TaskArtifacts,
    /// What the record names but the directory does not have.
    pub(super) missing: Vec<RepoPath>,
}

/// Stages `json` and the artifacts that `v1` names; without a record, those that the existing tool names always alike.
pub(super) fn stage(
    attempt: &dyn Attempt,
    directory: &dyn V1Directory,
    json: &[u8],
    v1: Option<&V1Record>,
) -> Result<Staged, Stopped> {
    let mut staging = Staging { attempt, directory, staged: Staged::default() };
    staging.staged.artifacts.v1_record = Some(staging.copy(Role::V1Record, &mut &json[..])?);
    match v1 {
        Some(v1) => {
            staging.staged.artifacts.stdout = staging.output(Role::Stdout, &v1.stdout)?;
            staging.staged.artifacts.stderr = staging.output(Role::Stderr, &v1.stderr)?;
            staging.staged.artifacts.patch = staging.output(Role::Patch, &v1.diff)?;
            staging.staged.artifacts.v1_files = staging.files(&v1.untracked)?;
        }
        None => {
            staging.staged.artifacts.stdout = staging.usual(Role::Stdout, STDOUT_FILE)?;
            staging.staged.artifacts.stderr = staging.usual(Role::Stderr, STDERR_FILE)?;
            staging.staged.artifacts.patch = staging.usual(Role::Patch, DIFF_FILE)?;
        }
    }
    Ok(staging.staged)
}

struct Staging<'a> {
    attempt: &'a dyn Attempt,
    directory: &'a dyn V1Directory,
    staged: Staged,
}

impl Staging<'_> {
    fn output(&mut self, role: Role, output: &V1Output) -> Result<Option<ContentRef>, Stopped> {
        match output {
            V1Output::Absent => Ok(None),
            V1Output::Inline(text) => self.copy(role, &mut text.as_bytes()).map(Some),
            V1Output::File(path) => {
                let file = self.directory.file(path)?;
                if file.is_none() {
                    self.staged.missing.push(path.clone());
                }
                self.whole(role, file)
            }
        }
    }

    fn usual(&mut self, role: Role, path: &str) -> Result<Option<ContentRef>, Stopped> {
        match RepoPath::parse(path) {
            Ok(path) => self.whole(role, self.directory.file(&path)?),
            Err(_) => Ok(None),
        }
    }

    // What is empty is absent.
    fn whole(&self, role: Role, file: Option<V1File>) -> Result<Option<ContentRef>, Stopped> {
        let file = file.filter(|file| file.length > 0);
        file.map(|mut file| self.copy(role, &mut (&mut file.content).take(file.length))).transpose()
    }

    fn copy(&self, role: Role, content: &mut dyn Read) -> Result<ContentRef, Stopped> {
        let mut writer = self.attempt.stage(role)?;
        copy(content, &mut *writer)?;
        Ok(writer.finish()?)
    }

    fn files(&mut self, paths: &[RepoPath]) -> Result<Option<ContentRef>, Stopped> {
        let mut archive: Option<Box<dyn ObjectWriter>> = None;
        for path in paths.iter().collect::<BTreeSet<_>>() {
            let Some(mut file) = self.directory.file(path)? else {
                self.staged.missing.push(path.clone());
                continue;
            };
            let archive = match &mut archive {
                Some(archive) => archive,
                none => none.insert(self.attempt.stage(Role::V1Files)?),
            };
            // A path has at most 4095 bytes.
            let head = [&(path.as_bytes().len() as u32).to_le_bytes(), path.as_bytes(), &file.length.to_le_bytes()];
            copy(&mut head.concat().as_slice(), &mut **archive)?;
            copy(&mut (&mut file.content).take(file.length), &mut **archive)?;
        }
        Ok(archive.map(ObjectWriter::finish).transpose()?)
    }
}

/// Copies, and tells whose fault it is when that fails: reading is the directory's, writing the store's.
fn copy(from: &mut dyn Read, to: &mut dyn Write) -> Result<(), Stopped> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Stopped::Refused(format!("an artifact could not be read: {error}"))),
        };
        to.write_all(&buffer[..count]).map_err(unwritten)?;
    }
}

fn unwritten(error: io::Error) -> Stopped {
    use crate::failure::{Failure, FailureKind};
    let is_full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let failure = Failure::new(FailureKind::Store, "write to the task store").because(error);
    Stopped::Failed(match is_full {
        true => failure.with_hint("free some space on the disk of the task store, then import again"),
        false => failure,
    })
}
