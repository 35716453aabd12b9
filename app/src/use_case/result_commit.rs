//! Exports a Task Result as a commit, from its record alone: to the commit that the Task started from it adds what changed.

use crate::failure::{Failure, FailureKind};
use crate::use_case::select::Selected;
use isobox_domain::git_oid::GitOid;
use isobox_domain::result_commit;
use isobox_ports::{ApplyError, ChangeLines, CommitAside, CommitText, ObjectStore, ResultCommits};

/// What it touches.
#[derive(Clone, Copy)]
pub(crate) struct Ports<'a> {
    pub(crate) commits: &'a dyn ResultCommits,
    pub(crate) objects: &'a dyn ObjectStore,
    /// What names the store in a further command, each flag after a blank.
    pub(crate) flags: &'a str,
}

/// Makes the commit in the repository; nothing names it.
pub(crate) fn make(ports: &Ports<'_>, selected: &Selected) -> Result<GitOid, Failure> {
    with_content(ports, selected, &|base, lines, text| ports.commits.make(base, lines, ports.objects, text))
}

/// Makes the same commit beside the repository.
pub(crate) fn make_aside(ports: &Ports<'_>, selected: &Selected) -> Result<Box<dyn CommitAside>, Failure> {
    with_content(ports, selected, &|base, lines, text| ports.commits.make_aside(base, lines, ports.objects, text))
}

/// Makes the commit, and a branch that names it: `refs/heads/…`, which must not be there.
pub(crate) fn make_branch(ports: &Ports<'_>, selected: &Selected, name: &[u8]) -> Result<GitOid, Failure> {
    let made = make(ports, selected)?;
    ports.commits.make_branch(name, &made).map_err(|error| no_commit(refused(error), selected))?;
    Ok(made)
}

type Make<'a, T> = dyn Fn(&GitOid, ChangeLines<'_>, &CommitText) -> Result<T, ApplyError> + 'a;

/// Hands `make` what the commit lies on, what it changes and what it says. Its date is when the attempt ended, so that it is
/// the same each time.
fn with_content<T>(ports: &Ports<'_>, selected: &Selected, make: &Make<'_, T>) -> Result<T, Failure> {
    let Selected { digest, record } = selected;
    let made = || {
        let change_set = result_commit::content(record).map_err(|why| {
            Failure::new(FailureKind::General, why.to_string()).with_hint(why.hint(record, ports.flags))
        })?;
        let text = CommitText { message: result_commit::message(record, *digest), at: record.ended_at };
        make(&record.source.commit, ports.objects.changes(&change_set)?, &text).map_err(refused)
    };
    made().map_err(|failure| no_commit(failure, selected))
}

/// What is refused here is no Promotion.
pub(crate) fn refused(error: ApplyError) -> Failure {
    Failure { kind: FailureKind::General, ..Failure::from(error) }
}

fn no_commit(failure: Failure, selected: &Selected) -> Failure {
    failure.while_doing(format!("cannot make a commit of the result of {}", selected.record.task))
}
