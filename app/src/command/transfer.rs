//! `isobox import`.

use crate::cli::{ImportArguments, TransferCommand};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind, one_line};
use crate::output::console::Console;
use crate::output::import::ImportWriter;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::working::Working;
use crate::use_case::import;
use crate::use_case::take_over::{self, Source};
use crate::wiring::{self, Importable, Store};
use std::io::Write;
use std::path::Path;

/// Does what a command that moves records says.
pub(super) fn transfer(console: Console, command: &TransferCommand) -> Result<ExitCode, Failure> {
    match command {
        TransferCommand::Import(arguments) => import(console, arguments),
        TransferCommand::Export(arguments) => super::export::export(console, arguments),
    }
}

/// Imports records; each that cannot be is told, and makes the command end with 1.
fn import(console: Console, arguments: &ImportArguments) -> Result<ExitCode, Failure> {
    let store = Store::create(&arguments.place)?;
    let mut writer = ImportWriter::new(for_documents(), console, arguments.json).map_err(unwritten)?;
    let working = Working::start(console, "importing");
    for path in &arguments.paths {
        match wiring::importable(path) {
            Err(failure) => writer.unreadable(path, &one_line(&failure)).map_err(unwritten)?,
            Ok(found) => found.iter().try_for_each(|one| take_over(&store, path, one, &mut writer, &working))?,
        }
    }
    drop(working);
    if writer.is_empty() {
        let places: Vec<String> = arguments.paths.iter().map(|path| shown(path)).collect();
        return Err(Failure::new(FailureKind::General, format!("there is no record in {}", places.join(", ")))
            .with_hint("name an archive, a store, or a directory with `task-…` directories of version 1 in it"));
    }
    match writer.finish(&arguments.place.flags()).map_err(unwritten)? {
        0 => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::NO),
    }
}

fn take_over(
    store: &Store,
    path: &Path,
    from: &Importable,
    writer: &mut ImportWriter<impl Write>,
    working: &Working,
) -> Result<(), Failure> {
    match from {
        Importable::Directories(directories) => store.with_import_ports(|ports| {
            import::import(ports, &**directories, &mut |name, verdict| {
                working.count();
                writer.add(path, name, &verdict).map_err(unwritten)
            })
        }),
        Importable::Store(held) => {
            if let Some(fault) = held.fault()? {
                writer.damaged(path, &fault).map_err(unwritten)?;
            }
            let source = Source { records: &**held, objects: &**held };
            take_over::take_over_all(&store.take_over_ports(), &source, &mut |entry, verdict| {
                working.count();
                writer.add_record(path, entry, &verdict).map_err(unwritten)
            })
        }
    }
}

/// A path for people.
pub(super) fn shown(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    isobox_domain::escape::Escaped(path.as_os_str().as_bytes()).to_string()
}
