//! `isobox init`.

use crate::cli::InitArguments;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, one_line};
use crate::output::console::Console;
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::init::InitialTrust;
use crate::wiring::{self, Initialised};
use isobox_domain::escape::Escaped;
use std::io::{self, Write};

/// What whoever set a repository up has not looked at yet.
const UNTRUSTED: &str =
    "you have not trusted its policy yet: look at it with `isobox policy show`, then `isobox policy trust`";

/// Sets up a repository and prints the command that commits what was written.
pub(super) fn init(console: Console, arguments: &InitArguments) -> Result<ExitCode, Failure> {
    let done = wiring::initialise(arguments.path.as_deref())?;
    print(&mut for_documents(), &done).map_err(unwritten)?;
    match done.trust {
        InitialTrust::Given => {}
        InitialTrust::NotYet => console.line(UNTRUSTED),
        InitialTrust::NotKept(error) => {
            let why = one_line(&Failure::from(error));
            console.warning(&format!("the policy is asked about before it is used: {why}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(out: &mut dyn Write, Initialised { root, written, others, .. }: &Initialised) -> io::Result<()> {
    let shown_root = Escaped::path(root).to_string();
    if written.is_empty() {
        writeln!(out, "{shown_root} is set up for isobox already; nothing was changed")?;
        return out.flush();
    }
    for path in written {
        writeln!(out, "wrote {shown_root}/{path}")?;
    }
    let paths: Vec<String> = written.iter().map(ToString::to_string).collect();
    let git = format!("git -C {}", quoted(&shown_root));
    if *others > 0 {
        let more = if *others == 1 { "entry" } else { &format!("{others} entries") };
        writeln!(
            out,
            "\nA task starts from what is committed alone: commit, stash or ignore the other {more} as well."
        )?;
    }
    writeln!(out, "\nCommit it, then run something:\n")?;
    writeln!(out, "  {git} add {} && {git} commit -m 'Set up isobox'", paths.join(" "))?;
    writeln!(out, "  isobox tool -- echo hello")?;
    out.flush()
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
