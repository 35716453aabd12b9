//! `isobox export` for Git: as a commit, a branch, a mail, a Git bundle, or a tar archive of what changed.

use super::export::{ALL, Asked, tell};
use super::export_file::{Destination, tell_of};
use super::look::Named;
use super::transfer::shown;
use crate::cli::Format;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::export::Totals;
use crate::output::mbox::{self, Encoding, Mail, Scan};
use crate::output::stdout::{for_documents, unwritten};
use crate::output::text::counted;
use crate::use_case::result_commit::{self, Ports};
use crate::use_case::result_tar;
use crate::wiring;
use isobox_domain::change::ChangeSummary;
use isobox_domain::git_oid::GitOid;
use isobox_domain::result_commit as said;
use isobox_ports::CommitAside;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

/// Exports one Task as `format`.
pub(super) fn export(console: Console, asked: &Asked<'_>, format: Format) -> Result<ExitCode, Failure> {
    let [typed] = asked.tasks else { return Err(one_task()) };
    if typed == ALL {
        return Err(one_task());
    }
    let named = Named::find(&asked.arguments.place, typed)?;
    match format {
        Format::Commit | Format::Branch if asked.arguments.force => Err(nothing_to_replace()),
        Format::Commit => export_commit(console, asked, &named),
        Format::Branch => export_branch(console, asked, &named),
        Format::Tar => export_tar(console, asked, &named),
        _ => export_aside(console, asked, &named, format),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn one_task() -> Failure {
    Failure::new(FailureKind::Usage, "this format is of the result of one task")
        .with_hint("name one, or pass --format archive to carry the records of several")
}

fn nothing_to_replace() -> Failure {
    Failure::new(FailureKind::Usage, "--force replaces a file, and this format writes none")
        .with_hint("leave --force out; `git branch -f` moves a branch")
}

/// Into the repository that the destination names; `-` is the project's own.
fn export_commit(console: Console, asked: &Asked<'_>, named: &Named) -> Result<(), Failure> {
    let commits = match asked.destination.as_os_str() == "-" {
        true => named.store.result_commits(&asked.arguments.place)?,
        false => wiring::result_commits_around(asked.destination)?,
    };
    let flags = asked.arguments.place.flags();
    let ports = Ports { commits: &*commits, objects: named.store.objects(), flags: &flags };
    let made = result_commit::make(&ports, &named.selected)?;
    tell_of_not_captured(console, asked, named);
    if asked.destination.as_os_str() != "-" {
        let task = named.selected.record.task;
        console.line(&format!("exported {task} into {} as a commit, which nothing names", shown(asked.destination)));
    }
    tell_of_commit(console, asked, made, None)
}

fn export_branch(console: Console, asked: &Asked<'_>, named: &Named) -> Result<(), Failure> {
    let name = asked.destination.as_os_str().as_bytes();
    let full = if name.starts_with(b"refs/") { name.to_vec() } else { [b"refs/heads/", name].concat() };
    let flags = asked.arguments.place.flags();
    let commits = named.store.result_commits(&asked.arguments.place)?;
    let ports = Ports { commits: &*commits, objects: named.store.objects(), flags: &flags };
    let made = result_commit::make_branch(&ports, &named.selected, &full)?;
    tell_of_not_captured(console, asked, named);
    let task = named.selected.record.task;
    let sentence = format!("exported {task} as branch {}, which is at {}", shown(asked.destination), made.short());
    tell_of_commit(console, asked, made, Some(&sentence))
}

/// Tells which commit was made: on standard output, unless a sentence says it.
fn tell_of_commit(console: Console, asked: &Asked<'_>, made: GitOid, sentence: Option<&str>) -> Result<(), Failure> {
    match sentence {
        _ if asked.arguments.json => {
            let totals = Totals { exported: 1, commit: Some(made), ..Totals::default() };
            tell(console, asked, &totals, "")
        }
        Some(sentence) => {
            console.line(sentence);
            Ok(())
        }
        None => {
            let mut out = for_documents();
            writeln!(out, "{made}").and_then(|()| out.flush()).map_err(unwritten)
        }
    }
}

/// What is made beside the repository, and written to a file.
fn export_aside(console: Console, asked: &Asked<'_>, named: &Named, format: Format) -> Result<(), Failure> {
    let flags = asked.arguments.place.flags();
    let commits = named.store.result_commits(&asked.arguments.place)?;
    let ports = Ports { commits: &*commits, objects: named.store.objects(), flags: &flags };
    let made = result_commit::make_aside(&ports, &named.selected)?;
    let mut destination = Destination::begin(asked, format)?;
    let task = named.selected.record.task;
    match format {
        Format::Mbox => write_mail(&*made, named, destination.writer())?,
        _ => made.write_bundle(&format!("refs/heads/{task}"), destination.writer()).map_err(result_commit::refused)?,
    }
    destination.finish()?;
    tell_of_not_captured(console, asked, named);
    let totals = Totals { exported: 1, commit: Some(made.id()), ..Totals::default() };
    tell_of(console, asked, &totals, &format!("exported the result of {task}"))
}

fn write_mail(made: &dyn CommitAside, named: &Named, out: &mut dyn Write) -> Result<(), Failure> {
    let mut scan = Scan::default();
    made.write_patch(&mut scan).map_err(result_commit::refused)?;
    let record = &named.selected.record;
    let message = said::message(record, named.selected.digest);
    let mail = Mail {
        commit: made.id().to_string(),
        author: &made.author(),
        at: record.ended_at,
        message: &String::from_utf8_lossy(&message),
        encoding: Encoding::of(&scan),
    };
    mbox::write(out, &mail, |out| made.write_patch(out).map_err(result_commit::refused))
}

fn export_tar(console: Console, asked: &Asked<'_>, named: &Named) -> Result<(), Failure> {
    let mut destination = Destination::begin(asked, Format::Tar)?;
    let flags = asked.arguments.place.flags();
    let ports = result_tar::Ports { objects: named.store.objects(), flags: &flags };
    let ChangeSummary { deleted, .. } = result_tar::write(&ports, &named.selected, destination.writer())?;
    destination.finish()?;
    let task = named.selected.record.task;
    if deleted > 0 {
        let paths = counted(deleted, "deleted path");
        console.warning(&format!("{paths} cannot be told by a tar archive: isobox diff --name-only{flags} {task}"));
    }
    tell_of_not_captured(console, asked, named);
    let totals = Totals { exported: 1, ..Totals::default() };
    tell_of(console, asked, &totals, &format!("exported the changed files of {task}"))
}

/// Warns of what the workload left and nobody gets.
fn tell_of_not_captured(console: Console, asked: &Asked<'_>, named: &Named) {
    let record = &named.selected.record;
    let left_out = record.artifacts.change_set.map_or(0, |change_set| change_set.summary.not_captured);
    if left_out > 0 {
        let what = if left_out == 1 { "1 thing was" } else { &format!("{left_out} things were") };
        let flags = asked.arguments.place.flags();
        console.warning(&format!("{what} not captured, and not exported: isobox diff --stat{flags} {}", record.task));
    }
}
