//! `isobox store`.

use super::{prune, repair};
use crate::cli::{StoreCommand, StoreCompactArguments, StoreStatArguments};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::console::Console;
use crate::output::stat::{self, Attempts};
use crate::output::stdout::{for_documents, unwritten};
use crate::output::store as shown;
use crate::output::working::Working;
use crate::use_case::open_tasks;
use crate::use_case::pin::Pin;
use crate::wiring::{Store, give_way};
use isobox_domain::compaction::Scope;
use isobox_ports::Advance;
use std::io::Write;

/// Does what a `store` command says.
pub(super) fn store(console: Console, command: &StoreCommand) -> Result<ExitCode, Failure> {
    match command {
        StoreCommand::Stat(arguments) => stat(console, arguments),
        StoreCommand::Compact(arguments) => compact(console, arguments),
        StoreCommand::Prune(arguments) => prune::prune(console, arguments),
        StoreCommand::Pin(arguments) => prune::pin(console, arguments, Pin::Set),
        StoreCommand::Unpin(arguments) => prune::pin(console, arguments, Pin::Taken),
        StoreCommand::Repair(arguments) => repair::repair(console, arguments),
        StoreCommand::RebuildIndex(arguments) => repair::rebuild_index(console, arguments),
    }
}

fn compact(console: Console, arguments: &StoreCompactArguments) -> Result<ExitCode, Failure> {
    if arguments.background {
        give_way();
    }
    let scope = if arguments.background { Scope::Sealed } else { Scope::All };
    let store = Store::find(&arguments.place, None)?;
    let working = Working::start_percent(console, "compacting");
    let advance = |advance: Advance| working.reach(100 * advance.done_bytes / advance.all_bytes.max(1));
    let done = store.compactor()?.compact(scope, &advance)?;
    drop(working);
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::compaction_document(&done)),
        false => shown::compaction(&mut out, &done),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    for left in &done.passed_by {
        console.warning(&format!("{} stays as it is: {}; `isobox verify` says more", left.file, left.reason));
    }
    Ok(ExitCode::SUCCESS)
}

/// Tells how much a store holds.
fn stat(console: Console, arguments: &StoreStatArguments) -> Result<ExitCode, Failure> {
    let store = Store::find(&arguments.place, None)?;
    let open = open_tasks::look(&store.open_tasks_ports())?;
    let running = open.iter().filter(|attempt| open_tasks::is_running(&***attempt)).count();
    let attempts = Attempts { running, interrupted: open.len() - running };
    let working = Working::start_percent(console, "going through the store");
    let advance = |advance: Advance| working.reach(100 * advance.done_bytes / advance.all_bytes.max(1));
    let found = store.measurer()?.measure(&advance)?;
    drop(working);
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", stat::document(&found, attempts)),
        false => stat::text(&mut out, &found, attempts),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}
