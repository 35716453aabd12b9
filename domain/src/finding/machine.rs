//! Findings about the installation: programs on PATH and isobox's own directories.

use super::Finding;
use crate::fact::{Duplicate, Fact, Relation, Running, Trial};

pub(super) fn judge(fact: &Fact) -> Option<Finding> {
    Some(match fact {
        Fact::Version(version) => Finding::machine("isobox.version", "asked this program", format!("isobox {version}")),
        Fact::OnPath { first, running, duplicates } => on_path(first.as_deref(), *running, duplicates),
        Fact::Git(found) => git(found.as_deref()),
        Fact::OwnDirectory(role, trial) => own_directory(role, trial),
        _ => return None,
    })
}

fn on_path(first: Option<&str>, running: Running, duplicates: &[Duplicate]) -> Finding {
    let tried = "looked for `isobox` in every directory of PATH, and compared inodes";
    let Some(first) = first else {
        return Finding::machine("isobox.path", tried, "there is no `isobox` on PATH")
            .warning("agents and scripts that type `isobox` do not find it")
            .fix("put the directory of the program on PATH, e.g. ~/.local/bin");
    };
    let listed = duplicates.iter().map(|other| format!("\n{}: {}", other.host_path, words(other.relation)));
    let finding = Finding::machine("isobox.path", tried, format!("{first} is the first{}", listed.collect::<String>()));
    let is_other = |other: &Duplicate| other.relation == Relation::OtherFile;
    match running {
        Running::Other => finding
            .warning("`isobox` on PATH is not the program that runs now: its findings may be others")
            .fix("remove the one that is not wanted, or put its directory later on PATH"),
        Running::First if duplicates.iter().any(is_other) => finding
            .warning("another order of PATH starts another isobox, perhaps of another version")
            .fix("remove the copies that are not wanted"),
        Running::First => finding,
    }
}

const fn words(relation: Relation) -> &'static str {
    match relation {
        Relation::SamePath => "the same file, reached through another path",
        Relation::SymbolicLink => "a symbolic link to the same file",
        Relation::HardLink => "a hard link to the same file",
        Relation::OtherFile => "another file",
    }
}

fn git(found: Option<&str>) -> Finding {
    let tried = "looked for `git` in every directory of PATH";
    match found {
        Some(path) => Finding::machine("git.path", tried, path),
        None => Finding::machine("git.path", tried, "there is no `git` on PATH")
            .warning("isobox itself starts no `git`, but you cannot commit what it promotes")
            .fix("install it, e.g. with `apt install git`"),
    }
}

fn own_directory(role: &str, trial: &Trial) -> Finding {
    let check = format!("directories.{role}");
    let tried = "looked at the directory, or at the one in which it would be made, and who may write there";
    match trial {
        Trial::Works(found) => Finding::machine(check, tried, found),
        Trial::Fails(why) => {
            let finding = Finding::machine(check, tried, why);
            let finding = match role {
                "state" => finding.error("no Workspace can be made, so that every Task is refused"),
                "config" => finding.warning("a Task whose command holds what looks like a secret is refused: the key that masks it is kept there"),
                _ => finding.warning("every Task tries anew whether a Sandbox starts"),
            };
            finding
                .fix("give the directory to yourself with mode 0700, or set HOME or the XDG variable to another place")
        }
    }
}
