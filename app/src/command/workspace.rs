//! `isobox workspace list` and `isobox workspace dispose`.

use super::look::Named;
use crate::cli::{WorkspaceCommand, WorkspaceDisposeArguments, WorkspaceListArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::output::console::Console;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::{record_json, text};
use crate::use_case::workspaces::{Kept, each_standing, place};
use crate::wiring::{self, Store};
use isobox_domain::escape::Escaped;
use isobox_domain::record::TaskRecord;
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Does what a `workspace` command says.
pub(super) fn workspace(console: Console, command: &WorkspaceCommand) -> Result<ExitCode, Failure> {
    match command {
        WorkspaceCommand::List(arguments) => list(console, arguments),
        WorkspaceCommand::Dispose(arguments) => dispose(console, arguments),
    }
}

fn list(console: Console, arguments: &WorkspaceListArguments) -> Result<ExitCode, Failure> {
    let store = Store::find(&arguments.place, None)?;
    let (kept, code) = standing(console, &store)?;
    let mut out = for_documents();
    let written = match arguments.json {
        true => {
            let workspaces: Vec<Value> = kept.iter().map(document).collect();
            writeln!(out, "{:#}", json!({ "schema": "isobox.workspaces/v1", "workspaces": workspaces }))
        }
        false => kept.iter().try_for_each(|kept| writeln!(out, "{}", row(kept))),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    if kept.is_empty() && !arguments.json {
        console.line("no workspace was kept; `isobox run --retain-workspace -- CMD` keeps one");
    }
    Ok(code)
}

/// The records whose Workspaces stand, and the exit code that what is damaged gives.
fn standing(console: Console, store: &Store) -> Result<(Vec<Kept>, ExitCode), Failure> {
    let (mut kept, mut code) = (Vec::new(), ExitCode::SUCCESS);
    each_standing(store.records(), &mut |found| {
        match found {
            Ok(found) => kept.push(found),
            Err(error) => {
                console.warning(&one_line(&Failure::from(error)));
                code = ExitCode::STORE;
            }
        }
        Ok(())
    })?;
    Ok((kept, code))
}

fn row(kept: &Kept) -> String {
    let record = &kept.selected.record;
    let age = text::age(record.created_at, wiring::clock().now());
    format!("{}  {age:>4}  {}", text::attempt(record, kept.standing), Escaped::path(&kept.root))
}

fn document(Kept { selected, root, .. }: &Kept) -> Value {
    let record = &selected.record;
    json!({
        "id": record.task.to_string(),
        "record": selected.digest.to_string(),
        "attempt": record.attempt,
        "created_at": record.created_at.to_string(),
        "path": record_json::bytes(root.as_os_str().as_bytes()),
    })
}

fn dispose(console: Console, arguments: &WorkspaceDisposeArguments) -> Result<ExitCode, Failure> {
    if arguments.all {
        let store = Store::find(&arguments.place, None)?;
        let (kept, code) = standing(console, &store)?;
        kept.iter().try_for_each(|kept| remove(console, &kept.selected.record, &kept.root))?;
        return Ok(code);
    }
    for typed in &arguments.tasks {
        let Named { selected, .. } = Named::find(&arguments.place, typed)?;
        let record = &selected.record;
        let root = place(record).ok_or_else(|| {
            Failure::new(FailureKind::General, format!("no workspace was kept for {}", record.task))
                .with_hint("`isobox workspace list` shows those that were")
        })?;
        remove(console, record, &root)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(console: Console, record: &TaskRecord, root: &Path) -> Result<(), Failure> {
    let found = wiring::dispose_retained(root)?;
    let what = if found { "disposed" } else { "was gone already" };
    console.line(&format!("isobox task {}: workspace {what}: {}", record.task, Escaped::path(root)));
    Ok(())
}
