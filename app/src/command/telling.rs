//! Files that a task is told into, and what they would do to the repository.

use crate::cli::TellingFlags;
use crate::failure::{Failure, FailureKind};
use crate::inherited;
use crate::output::console::Console;
use crate::output::events::Telling;
use crate::wiring::Project;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::ProjectPolicy;
use isobox_domain::preflight::PreflightRule;

/// Opens the files that scripts read. One of Git's or of the store is refused before anything starts. One that would make
/// the repository unclean is told before anything starts, and refused where that would refuse the Task.
pub(super) fn telling(
    console: Console,
    project: &Project,
    policy: &ProjectPolicy,
    flags: &TellingFlags,
) -> Result<Telling, Failure> {
    for (flag, path) in flags.files() {
        if let Some(harmed) = project.harmed_by(path)? {
            let what = format!("{flag} {} lies in {harmed}; nothing was started", Escaped::path(path));
            return Err(Failure::new(FailureKind::Usage, what).with_hint("name a file that is nobody else's"));
        }
        if !project.is_dirtied_by(path)? {
            continue;
        }
        let what = format!("{flag} {} lies in the repository, which is not clean with it", Escaped::path(path));
        if policy.preflight.contains(&PreflightRule::CleanSource) {
            return Err(Failure::new(FailureKind::Usage, format!("{what}; nothing was started"))
                .with_hint("name a file outside of the repository, or one that Git ignores"));
        }
        console.warning(&format!("{what}: no result can be promoted until it is gone, or Git ignores it"));
    }
    warn_of_redirections(console, project)?;
    Telling::open(flags)
}

/// Warns of output that the caller's shell has begun to write into the repository, which is not clean then.
fn warn_of_redirections(console: Console, project: &Project) -> Result<(), Failure> {
    let [stdout, stderr] = [1, 2].map(inherited::file_behind);
    let stderr = stderr.filter(|file| stdout.as_ref() != Some(file));
    for (name, file) in [("standard output", stdout), ("standard error", stderr)] {
        if let Some(file) = file
            && project.is_dirtied_by(&file)?
        {
            let shown = Escaped::path(&file);
            console.warning(&format!(
                "{name} goes to {shown}, which makes the repository unclean: name a file outside of it, or one that Git ignores"
            ));
        }
    }
    Ok(())
}
