//! `isobox store prune`, `pin` and `unpin`.

use super::look::Named;
use crate::cli::{StorePinArguments, StorePruneArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::prune::{Form, PruneWriter};
use crate::output::stdout::{for_documents, unwritten};
use crate::output::working::Working;
use crate::use_case::pin::{self, Pin};
use crate::use_case::prune::{self, Clockwork};
use crate::wiring::{self, Store};
use isobox_domain::retention::{Retention, Unpromoted};
use isobox_ports::Advance;

/// Shows what would go, or lets it go.
pub(super) fn prune(console: Console, arguments: &StorePruneArguments) -> Result<ExitCode, Failure> {
    let retention = retention(arguments);
    if !retention.says_anything() {
        return Err(Failure::new(FailureKind::Usage, "nothing says which records to keep")
            .with_hint("name what to keep, for example `isobox store prune --keep-last 100 --keep-within 30d`"));
    }
    let store = Store::find(&arguments.place, None)?;
    let ports = store.prune_ports()?;
    let clockwork = if arguments.trust_clock { Clockwork::Trusted } else { Clockwork::Doubted };
    let form = if arguments.json { Form::Document } else { Form::Table(wiring::clock().now()) };
    let mut writer = PruneWriter::new(for_documents(), form);
    let plan = prune::plan(&ports, retention, clockwork, &mut |listed| writer.add(listed).map_err(unwritten))?;
    writer.planned(&plan).map_err(unwritten)?;
    let removed = match arguments.apply {
        true => {
            let working = Working::start_percent(console, "pruning");
            let advance = |advance: Advance| working.reach(100 * advance.done_bytes / advance.all_bytes.max(1));
            Some(prune::perform(&ports, &plan, retention, &advance)?)
        }
        false => None,
    };
    writer.finish(&plan, removed.as_ref()).map_err(unwritten)?;
    tell(console, arguments, &plan, removed.as_ref().map(|(spared, _)| *spared));
    for left in removed.iter().flat_map(|(_, swept)| &swept.passed_by) {
        console.warning(&format!("{} stays as it is: {}; `isobox verify` says more", left.file, left.reason));
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(console: Console, arguments: &StorePruneArguments, plan: &prune::Plan, spared: Option<u64>) {
    if plan.is_partial {
        console.warning("there are more records to drop: run it once more");
    }
    match spared {
        Some(0) => {}
        Some(_) => console.warning("some records stay: something happened to them meanwhile"),
        None if plan.doomed.is_empty() || arguments.json => {}
        None => console.line("nothing was removed yet; run it with --apply to remove them"),
    }
}

fn retention(arguments: &StorePruneArguments) -> Retention {
    Retention {
        last: arguments.keep_last,
        within_ms: arguments.keep_within,
        failed: arguments.keep_failed,
        promoted: arguments.keep_promoted,
        unpromoted: if arguments.drop_unpromoted { Unpromoted::MayGo } else { Unpromoted::Stay },
        most_bytes: arguments.max_size,
    }
}

/// Pins tasks, or unpins them.
pub(super) fn pin(console: Console, arguments: &StorePinArguments, pin: Pin) -> Result<ExitCode, Failure> {
    let word = if pin == Pin::Set { "pinned" } else { "unpinned" };
    for typed in &arguments.tasks {
        let Named { store, selected, .. } = Named::find(&arguments.place, typed)?;
        let before = if pin::pin(&store.pin_ports()?, &selected, pin)? { "" } else { " before" };
        console.line(&format!("{} was {word}{before}", selected.record.task));
    }
    Ok(ExitCode::SUCCESS)
}
