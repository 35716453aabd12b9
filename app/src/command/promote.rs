//! `isobox promote`.

use super::look::Named;
use super::trusted;
use super::workload::finish_interrupted;
use crate::cli::PromoteArguments;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::lifecycle;
use crate::output::review::{Asking, StandardStreams, target};
use crate::output::stdout::{self, for_documents, unwritten};
use crate::use_case::promote::{self, Extent, Promoted, PromotionRequest};
use crate::wiring::Project;
use isobox_domain::promotion::Repetition;
use isobox_domain::record::TaskRecord;
use isobox_ports::IndexMode;
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Reviews and promotes a Task Result.
pub(super) fn promote(console: Console, arguments: &PromoteArguments) -> Result<ExitCode, Failure> {
    let named = Named::find(&arguments.place, &arguments.task)?;
    let name = named.told(console)?;
    let host_path = repository(arguments, &named.selected.record);
    let project = Project::at(&host_path, &named.store)
        .map_err(|failure| failure.with_hint("name the repository to promote into with --source"))?;
    // Nothing else of the policy matters here.
    let views = trusted::views(&project);
    finish_interrupted(console, &project, &named.store, views);
    let request = PromotionRequest {
        digest: named.selected.digest,
        record: named.selected.record,
        repetition: if arguments.again { Repetition::Allowed } else { Repetition::Refused },
        index: if arguments.index { IndexMode::Stage } else { IndexMode::Leave },
        extent: if arguments.dry_run { Extent::Rehearse } else { Extent::Perform },
        records_directory: project.records_directory(),
        views,
    };
    let asking = if arguments.yes { Asking::AnsweredByFlag } else { Asking::Ask };
    let mut reviewer = StandardStreams { out: for_documents(), name: name.clone(), console, asking, working: None };
    let tell = |progress: crate::use_case::attempt::Progress<'_>| lifecycle::progress(console, progress);
    let promoted = promote::promote(&project.promote_ports(&named.store), &request, &mut reviewer, &tell);
    // Over, whatever came of it.
    reviewer.working = None;
    let (task, flags) = (request.record.task, arguments.place.flags());
    // What is to be typed next is about the same place.
    let promoted = promoted.map_err(|failure| Failure {
        hint: failure.hint.as_ref().map(|hint| hint.replace(&format!("{task}`"), &format!("{task}{flags}`"))),
        ..failure
    })?;
    let line = match &promoted {
        Promoted::Rehearsed(plan) => {
            format!("{name} could be promoted into {}; nothing was changed", target(plan))
        }
        Promoted::Performed(plan) => format!("promoted {name} into {}", target(plan)),
    };
    writeln!(reviewer.out, "{line}").and_then(|()| reviewer.out.flush()).map_err(unwritten)?;
    if let (Promoted::Performed(_), true) = (&promoted, stdout::is_terminal()) {
        console.line("nothing is committed yet, next: git diff");
    }
    Ok(ExitCode::SUCCESS)
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
