//! `isobox cache`.

use crate::cli::{CacheCommand, CachePruneArguments, CacheStatArguments};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::cache::{self as shown, Contents, Look};
use crate::output::console::Console;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::working::Working;
use crate::use_case::cache::{Ports, Prune, of_layers, prune};
use crate::wiring;
use isobox_domain::cache_limits::CacheLimits;
use std::io::Write;

/// Does what a `cache` command says.
pub(super) fn cache(console: Console, command: &CacheCommand) -> Result<ExitCode, Failure> {
    match command {
        CacheCommand::Stat(arguments) => stat(console, arguments),
        CacheCommand::Prune(arguments) => remove(console, arguments),
    }
}

fn stat(console: Console, arguments: &CacheStatArguments) -> Result<ExitCode, Failure> {
    let working = Working::start(console, "looking at the cache");
    let (cache, look) = (wiring::workspace_cache()?, if arguments.verify { Look::Whole } else { Look::Brief });
    let copies = match look {
        Look::Whole => cache.verify()?,
        Look::Brief => cache.list()?,
    };
    let layers = wiring::cache_layers()?.list().map_err(of_layers)?;
    drop(working);
    let contents = Contents { copies: &copies, look, layers: &layers };
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::stat_document(contents)),
        false => shown::stat(&mut out, contents, wiring::clock().now()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(ExitCode::SUCCESS)
}

fn remove(console: Console, arguments: &CachePruneArguments) -> Result<ExitCode, Failure> {
    let how = if arguments.dry_run { Prune::Shown } else { Prune::Performed };
    let working = Working::start(console, "pruning the cache");
    let (copies, layers) = (wiring::workspace_cache()?, wiring::cache_layers()?);
    let ports = Ports { copies: &*copies, layers: &*layers, clock: wiring::clock() };
    let pruned = prune(&ports, limits(arguments), how)?;
    drop(working);
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::pruned_document(&pruned, how)),
        false => shown::pruned(&mut out, &pruned, how, wiring::clock().now()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    if how == Prune::Shown && !pruned.is_nothing() && !arguments.json {
        console.line("nothing was removed yet; run it without --dry-run to remove them");
    }
    Ok(ExitCode::SUCCESS)
}

fn limits(arguments: &CachePruneArguments) -> CacheLimits {
    match (arguments.all, arguments.keep_within, arguments.max_size) {
        (true, _, _) => CacheLimits::NOTHING,
        (false, None, None) => CacheLimits::UPKEEP,
        (false, within_ms, most_bytes) => CacheLimits { within_ms, most_bytes },
    }
}
