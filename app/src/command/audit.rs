//! `isobox audit`.

use super::look::Named;
use crate::cli::{
    AuditCheckArguments, AuditCheckpointArguments, AuditCommand, AuditKeyArguments, AuditProveArguments,
    AuditRebuildArguments,
};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::audit as shown;
use crate::output::console::Console;
use crate::output::stdout::{for_documents, unwritten};
use crate::output::text::counted;
use crate::output::working::Working;
use crate::use_case::audit::{self, check, prove};
use crate::wiring::{self, Store};
use isobox_ports::Gaps;
use isobox_store_format::log::{MAX_NOTE, MAX_PROOF};
use std::io::{self, Write};

/// Does what a command about the log says.
pub(super) fn audit(console: Console, command: &AuditCommand) -> Result<ExitCode, Failure> {
    match command {
        AuditCommand::InitKey(arguments) => init_key(console, arguments),
        AuditCommand::Checkpoint(arguments) => checkpoint(console, arguments),
        AuditCommand::Prove(arguments) => prove(arguments),
        AuditCommand::Check(arguments) => check(arguments),
        AuditCommand::Rebuild(arguments) => rebuild(console, arguments),
    }
}

fn init_key(console: Console, arguments: &AuditKeyArguments) -> Result<ExitCode, Failure> {
    let store = Store::create(&arguments.place)?;
    let key = store.with_audit_ports(|ports| audit::init_key(ports, arguments.name.as_deref()))?;
    print(|out| writeln!(out, "{key}"))?;
    console.line(
        "keep a copy of this key where whoever can write to the store cannot change it, next: isobox audit checkpoint",
    );
    Ok(ExitCode::SUCCESS)
}

fn checkpoint(console: Console, arguments: &AuditCheckpointArguments) -> Result<ExitCode, Failure> {
    let store = Store::find(&arguments.place, None)?;
    let gaps = if arguments.accept_losses { Gaps::LogAsLost } else { Gaps::Stop };
    let working = Working::start(console, "logging");
    let extended = store.with_audit_ports(|ports| audit::checkpoint(ports, gaps));
    drop(working);
    let extended = extended?;
    for gap in &extended.gaps {
        console.warning(&shown::gap(gap));
    }
    if arguments.json {
        print(|out| writeln!(out, "{:#}", shown::checkpoint_document(&extended)))?;
    } else {
        print(|out| out.write_all(&extended.note))?;
        let lost = match extended.lost {
            0 => String::new(),
            lost => format!(", {} as lost", counted(lost, "more")),
        };
        console.line(&format!("logged {}{lost}", counted(extended.added, "COMMIT")));
    }
    Ok(if extended.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::NO })
}

fn prove(arguments: &AuditProveArguments) -> Result<ExitCode, Failure> {
    let older = arguments.since.as_deref().map(|path| wiring::read_file(path, MAX_NOTE)).transpose()?;
    let older = older.as_deref().map(prove::parse_older).transpose()?;
    let older = older.map(|(_, checkpoint)| checkpoint);
    let Named { store, selected, .. } = Named::find(&arguments.place, &arguments.task)?;
    let proof = store.with_audit_ports(|ports| prove::prove(ports, &selected.digest, older.as_ref()))?;
    print(|out| write!(out, "{proof}"))?;
    Ok(ExitCode::SUCCESS)
}

fn check(arguments: &AuditCheckArguments) -> Result<ExitCode, Failure> {
    let proof = wiring::read_file(&arguments.proof, MAX_PROOF)?;
    let older = arguments.since.as_deref().map(|path| wiring::read_file(path, MAX_NOTE)).transpose()?;
    let older = older.as_deref().map(prove::parse_older).transpose()?;
    let keys = match &arguments.key {
        Some(key) => vec![key.clone()],
        None => wiring::with_audit_keys(audit::all_keys)?,
    };
    let checked = check::check(&proof, older.as_ref(), &keys);
    print(|out| match arguments.json {
        true => writeln!(out, "{:#}", shown::check_document(&checked)),
        false => shown::check(out, &checked),
    })?;
    Ok(if checked.refuted.is_none() { ExitCode::SUCCESS } else { ExitCode::NO })
}

fn rebuild(console: Console, arguments: &AuditRebuildArguments) -> Result<ExitCode, Failure> {
    let store = Store::find(&arguments.place, None)?;
    let working = Working::start(console, "rebuilding");
    let rebuilt = store.with_audit_ports(audit::rebuild);
    drop(working);
    let (checkpoint, rebuilt) = rebuilt?;
    match arguments.json {
        true => print(|out| writeln!(out, "{:#}", shown::rebuild_document(&checkpoint, &rebuilt)))?,
        false => {
            console.line(&format!("{} of {} of the log written anew", rebuilt.written, counted(rebuilt.files, "file")))
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = for_documents();
    write(&mut out).and_then(|()| out.flush()).map_err(unwritten)
}
