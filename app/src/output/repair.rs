//! What a repair did, for people and for programs.

use super::text::counted;
use super::verify;
use crate::use_case::repair::Repaired;
use isobox_ports::{MendMode, MendedFile};
use serde_json::{Value, json};
use std::io::{self, Write};

/// For people: each damaged file and what came of it, then what is still wrong.
pub(crate) fn text(out: &mut dyn Write, mode: MendMode, repaired: &Repaired) -> io::Result<()> {
    if repaired.before.is_sound() {
        return writeln!(out, "nothing is wrong with the store");
    }
    for MendedFile { file, restored, lost, quarantined } in &repaired.files {
        writeln!(out, "{:<13} {file}", "damaged")?;
        let did = if mode == MendMode::Look { "could be restored" } else { "restored" };
        if !restored.is_empty() {
            writeln!(out, "{:<13} {} {did}", "", counted(restored.len() as u64, "object"))?;
        }
        lost.iter().try_for_each(|lost| writeln!(out, "{:<13} no whole copy of {lost}", ""))?;
        quarantined.iter().try_for_each(|kept| writeln!(out, "{:<13} the damaged file is kept as {kept}", ""))?;
    }
    if repaired.records > 0 {
        writeln!(out, "{:<13} {}, with what was missing", "put again", counted(repaired.records, "record"))?;
    }
    match (mode, repaired.after.is_sound()) {
        (MendMode::Look, _) => writeln!(out, "nothing was changed"),
        (MendMode::Mend, true) => writeln!(out, "nothing is wrong with the store any more"),
        (MendMode::Mend, false) => {
            writeln!(out, "still wrong:")?;
            repaired.after.defects.iter().try_for_each(|defect| verify::one(out, defect))
        }
    }
}

/// For programs: a document of schema `isobox.repair/v1`.
pub(crate) fn document(mode: MendMode, repaired: &Repaired) -> Value {
    let ids = |ids: &[isobox_domain::content::ContentId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    let files = repaired.files.iter().map(|mended| {
        json!({
            "file": mended.file,
            "restored": ids(&mended.restored),
            "lost": ids(&mended.lost),
            "quarantined": mended.quarantined,
        })
    });
    json!({
        "schema": "isobox.repair/v1",
        "is_dry_run": mode == MendMode::Look,
        "files": files.collect::<Vec<_>>(),
        "records_put_again": repaired.records,
        "defects_before": repaired.before.defects.len() as u64 + repaired.before.untold,
        "defects": repaired.after.defects.iter().map(verify::defect).collect::<Vec<_>>(),
        "untold_defects": repaired.after.untold,
    })
}
