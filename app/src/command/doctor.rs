//! `isobox doctor`.

use crate::cli::DoctorArguments;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::columns;
use crate::output::doctor as shown;
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::doctor as look;
use crate::wiring;
use isobox_domain::escape::Escaped;
use isobox_domain::finding::{Severity, worst};
use isobox_ports::HostProbe;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Looks at the machine and the project, changes nothing, and says what stands in the way.
pub(super) fn doctor(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let directory = arguments.path.as_deref().unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let what = format!("{} is no directory", Escaped(directory.as_os_str().as_bytes()));
        return Err(Failure::new(FailureKind::Usage, what).with_hint("name a directory, or leave it out"));
    }
    let look = |probes: &[&dyn HostProbe]| match arguments.probe {
        false => look::doctor(&look::Ports { probes, attack: None }),
        true => wiring::with_attack(directory, |attack| look::doctor(&look::Ports { probes, attack: Some(attack) })),
    };
    let findings = wiring::with_probes(directory, look);
    let mut out = for_documents();
    let written = match arguments.json {
        true => writeln!(out, "{:#}", shown::document(&findings)),
        false => shown::text(&mut out, &findings, columns::of_stdout()),
    };
    written.and_then(|()| out.flush()).map_err(unwritten)?;
    Ok(if worst(&findings) == Severity::Error { ExitCode::NO } else { ExitCode::SUCCESS })
}
