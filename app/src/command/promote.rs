//! `isobox promote`.

use super::look::Named;
use super::repo_paths;
use super::trusted;
use super::verification::Verification;
use super::workload::finish_interrupted;
use crate::cli::{ConflictStyle, Place, PromoteArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::choosing::Choosing;
use crate::output::console::Console;
use crate::output::review::{Asking, StandardStreams, destination, target};
use crate::output::stdout::{for_content, for_documents, unwritten};
use crate::output::{lifecycle, text};
use crate::use_case::import::Verdict;
use crate::use_case::promote::{self, Gate, Goal, Policing, Promoted, PromotionRequest, Verifier};
use crate::use_case::review::Deciding;
use crate::use_case::select::Selected;
use crate::use_case::take_over::{pruned_at, take_over_one};
use crate::wiring::Project;
use isobox_domain::policy::ViewLimit;
use isobox_domain::promotion::{Meeting, OnConflict, Repetition, Selection, Way, Wish};
use isobox_domain::record::{RecordEntry, TaskRecord};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Reviews and promotes a Task Result.
pub(super) fn promote(console: Console, arguments: &PromoteArguments) -> Result<ExitCode, Failure> {
    let mut named = Named::find(&arguments.place, &arguments.task)?;
    let name = named.told(console)?;
    let host_path = repository(arguments, &named.selected.record);
    let project = match named.store.is_archive() {
        true => Project::find(&Place { source: Some(host_path), records: arguments.place.records.clone() }),
        false => Project::at(&host_path, &named.store),
    };
    let project = project
        .map_err(|failure| failure.with_hint("name the repository to promote into with --source"))?
        .named_by(&arguments.place);
    if named.store.is_archive() && !arguments.dry_run {
        named = taken_over(console, arguments, &project, &named)?;
    }
    // Nothing else of the policy matters here.
    let views = trusted::views(&project);
    finish_interrupted(console, &project, &named.store, views);
    let mut request = request(arguments, &named.selected, &project, views)?;
    if arguments.patch {
        let mut chooser = Choosing { out: for_content()?, console };
        request.wish.selection = promote::choose(&project.promote_ports(&named.store), &request, &mut chooser)?;
    }
    if arguments.reviewed {
        let mut chooser = Deciding { marks: named.store.reviews()?.load()? };
        request.wish.selection = promote::choose(&project.promote_ports(&named.store), &request, &mut chooser)?;
    }
    let verification = Verification::of(console, (&arguments.verify, &arguments.place), &project, &named.store)?;
    let asking = if arguments.yes { Asking::AnsweredByFlag } else { Asking::Ask };
    let caveat = text::caveat(&request.record);
    let mut reviewer =
        StandardStreams { out: for_documents(), name: name.clone(), caveat, console, asking, working: None };
    let tell = |progress: crate::use_case::attempt::Progress<'_>| lifecycle::progress(console, progress);
    let verifier = verification.as_ref().map(|verification| verification as &dyn Verifier);
    let ports = promote::Ports { verifier, ..project.promote_ports(&named.store) };
    let promoted = promote::promote(&ports, &request, &mut reviewer, &tell);
    // Over, whatever came of it.
    reviewer.working = None;
    let promoted = promoted?;
    let line = match &promoted {
        Promoted::Rehearsed(plan) => {
            format!("{name} could be promoted into {}; nothing was changed", target(plan))
        }
        Promoted::Performed(plan, made) => format!("promoted {name} into {}", destination(plan, made.as_ref())),
    };
    writeln!(reviewer.out, "{line}").and_then(|()| reviewer.out.flush()).map_err(unwritten)?;
    if let Promoted::Performed(_, None) = &promoted {
        console.line("commit it before the next task, which starts from your last commit, next: git status");
    }
    Ok(ExitCode::SUCCESS)
}

fn request(
    arguments: &PromoteArguments,
    selected: &Selected,
    project: &Project,
    views: ViewLimit,
) -> Result<PromotionRequest, Failure> {
    Ok(PromotionRequest {
        digest: selected.digest,
        record: selected.record.clone(),
        wish: wish(arguments)?,
        goal: if arguments.dry_run { Goal::Rehearse } else { Goal::Perform },
        records_directory: project.records_directory(),
        gate: Gate {
            asked: project.gate()?,
            is_reviewed: arguments.reviewed,
            override_reason: arguments.override_reason.clone(),
        },
        message: message(&arguments.message),
        views,
        flags: arguments.place.flags(),
    })
}

fn wish(arguments: &PromoteArguments) -> Result<Wish, Failure> {
    Ok(Wish {
        repetition: if arguments.again { Repetition::Allowed } else { Repetition::Refused },
        selection: Selection {
            only: repo_paths::parse(&arguments.only)?,
            except: repo_paths::parse(&arguments.except)?,
            hunks: Vec::new(),
        },
        way: match &arguments.branch {
            Some(name) => Way::Branch(full_name(name.as_bytes())),
            None if arguments.commit => Way::Commit,
            None if arguments.index => Way::Index,
            None => Way::WorkingTree,
        },
        meeting: match (arguments.three_way, arguments.conflict) {
            (false, _) => Meeting::Exact,
            (true, ConflictStyle::Refuse) => Meeting::ThreeWay(OnConflict::Refuse),
            (true, ConflictStyle::Markers) => Meeting::ThreeWay(OnConflict::Mark),
        },
    })
}

/// Paragraphs as one message, as `git commit -m` makes it.
fn message(paragraphs: &[OsString]) -> Option<Vec<u8>> {
    let paragraphs: Vec<&[u8]> = paragraphs.iter().map(|paragraph| paragraph.as_bytes()).collect();
    (!paragraphs.is_empty()).then(|| paragraphs.join(b"\n\n".as_slice()))
}

fn full_name(branch: &[u8]) -> Vec<u8> {
    if branch.starts_with(b"refs/heads/") { branch.to_vec() } else { [b"refs/heads/", branch].concat() }
}

/// The Task of an Archive in the project's own store, where what happens to it goes on record. What could not be promoted
/// anyway is not taken over.
fn taken_over(
    console: Console,
    arguments: &PromoteArguments,
    project: &Project,
    archived: &Named,
) -> Result<Named, Failure> {
    let Selected { digest, record } = &archived.selected;
    promote::check(
        &project.promote_ports(&archived.store),
        &request(arguments, &archived.selected, project, ViewLimit::default())?,
    )?;
    let store = project.create_store()?;
    let entry =
        RecordEntry { task: record.task, attempt: record.attempt, record: *digest, committed_at: record.ended_at };
    match take_over_one(&store.take_over_ports(), &archived.store.take_over_source(), &entry)? {
        Verdict::Refused { reason } | Verdict::Partly { reason } | Verdict::NotImportable { reason } => {
            let message = format!("cannot take {} over from its archive", record.task);
            let failure = Failure::new(FailureKind::PromotionRefused, message).because(reason);
            return Err(match pruned_at(store.records(), digest)? {
                Some(_) => failure.with_hint("pass --records DIR to promote it by way of another store"),
                None => failure.with_hint("`isobox verify` says whether the archive is whole"),
            });
        }
        Verdict::Imported { .. } => console.line(&format!("imported {}", record.task)),
        Verdict::Continued { .. } | Verdict::Unchanged | Verdict::View => {}
    }
    Ok(Named::of(store, archived.selected.clone()))
}

/// `--source`, else the repository that the task started from, else, when that is gone, the one around the current directory.
fn repository(arguments: &PromoteArguments, record: &TaskRecord) -> PathBuf {
    let recorded = Path::new(OsStr::from_bytes(&record.source.host_path));
    match &arguments.place.source {
        Some(source) => source.clone(),
        None if recorded.is_dir() => recorded.to_owned(),
        None => PathBuf::from("."),
    }
}
