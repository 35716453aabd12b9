//! `isobox list`.

use crate::cli::{ListArguments, WhichTasks};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, one_line};
use crate::output::console::Console;
use crate::output::list::{Form, Layout, ListWriter, Listing, left_out};
use crate::output::stdout::{self, unwritten};
use crate::output::working::Working;
use crate::output::{columns, text};
use crate::use_case::find::{self, Found, Query, Rest};
use crate::wiring::{self, Store};
use isobox_domain::listing::{CommandPattern, Direction, Filter, Limit, Order, PromotionWanted};
use isobox_domain::task_state::TaskState;
use isobox_domain::timestamp::Timestamp;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

/// So many Tasks are shown on a terminal unless more are asked for: a few screens, of which the newest is the first.
const ON_A_TERMINAL: u64 = 50;

/// What came before a listing's end.
#[derive(Clone, Copy, Default)]
struct Seen {
    damaged: u64,
    reviewable: u64,
}

/// Lists the tasks of a store. What is damaged is told, and ends the command with the store's exit code.
pub(super) fn list(console: Console, arguments: &ListArguments) -> Result<ExitCode, Failure> {
    let (form, query) = (form(arguments), query(arguments));
    let mut writer = ListWriter::new(stdout::for_documents(), form);
    let mut seen = Seen::default();
    let rest = match Store::find_if_any(&arguments.place)? {
        Some(store) => write(console, &store, &query, &mut writer, &mut seen)?,
        None => Rest::default(),
    };
    let is_empty = writer.finish(rest).map_err(unwritten)? == Listing::Empty;
    if let Form::Table(_) = form {
        if is_empty && seen.damaged == 0 {
            console.line(match query.filter.is_empty() {
                true => "there is no task yet: `isobox tool -- CMD` or `isobox run -- CMD` makes one",
                false => "no task matches",
            });
        }
        if seen.reviewable > 0 && stdout::is_terminal() {
            let results = text::counted(seen.reviewable, "result");
            let flags = arguments.place.flags();
            console.line(&format!(
                "\n{results} to review, next: isobox show{flags} TASK, then isobox promote or reject{flags} TASK"
            ));
        }
    }
    if !arguments.json
        && let Some(told) = left_out(rest)
    {
        console.line(&told);
    }
    Ok(if seen.damaged == 0 { ExitCode::SUCCESS } else { ExitCode::STORE })
}

/// Writes what `query` finds; what was left out.
fn write(
    console: Console,
    store: &Store,
    query: &Query,
    writer: &mut ListWriter<impl Write>,
    seen: &mut Seen,
) -> Result<Rest, Failure> {
    let mut working = Some(Working::start(console, "looking through the records"));
    find::find(&store.find_ports()?, query, &mut |found| match found {
        Ok(found) => {
            // Rows go to the same terminal.
            drop(working.take());
            seen.reviewable += u64::from(is_reviewable(found));
            writer.add(found).map_err(unwritten)
        }
        Err(error) => {
            seen.damaged += 1;
            console.warning(&one_line(&Failure::from(error)));
            Ok(())
        }
    })
}

fn form(arguments: &ListArguments) -> Form {
    match (arguments.json, arguments.jsonl) {
        (true, _) => Form::Document,
        (_, true) => Form::Lines,
        (false, false) => {
            let (now, columns) = (wiring::clock().now(), columns::of_stdout());
            Form::Table(Layout { now, columns, key: arguments.sort.0 })
        }
    }
}

fn query(arguments: &ListArguments) -> Query {
    let is_for_people = !arguments.json && !arguments.jsonl && stdout::is_terminal();
    let default = if is_for_people { Limit::Most(ON_A_TERMINAL) } else { Limit::All };
    let direction = if arguments.reverse { Direction::Ascending } else { Direction::Descending };
    Query {
        filter: filter(&arguments.which, wiring::clock().now()),
        order: Order { key: arguments.sort.0, direction },
        limit: arguments.limit.map_or(default, |limit| limit.0),
    }
}

fn filter(which: &WhichTasks, now: Timestamp) -> Filter {
    let promotion = match (which.promoted, which.unpromoted) {
        (true, _) => Some(PromotionWanted::Promoted),
        (_, true) => Some(PromotionWanted::Unpromoted),
        (false, false) => None,
    };
    Filter {
        outcomes: which.outcome.iter().map(|flag| flag.0).collect(),
        states: which.state.iter().map(|flag| flag.0).collect(),
        backends: which.backend.iter().map(|flag| flag.0).collect(),
        promotion,
        since: which.since.map(|when| when.first(now)),
        until: which.until.map(|when| when.last(now)),
        command: which.command.as_ref().map(|typed| CommandPattern::new(typed.as_bytes())),
        task: which.task.clone(),
        path: which.path.clone(),
    }
}

fn is_reviewable(found: Found<'_>) -> bool {
    match found {
        Found::Open(..) => false,
        Found::Recorded(listed) => listed.state() == TaskState::Unreviewed && text::is_reviewable(&listed.record),
    }
}
