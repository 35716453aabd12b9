//! `git-remote-isobox`: isobox under the name by which Git starts it for `git fetch isobox://TASK`.

use super::look::Named;
use crate::cli::Place;
use crate::exit_code::ExitCode;
use crate::failure::{Failure, FailureKind};
use crate::output::console::{Colour, Console, ErrorForm, Verbosity};
use crate::output::pager::Paging;
use crate::output::stdout::for_documents;
use crate::use_case::git_remote::serve;
use crate::use_case::result_commit::Ports;
use crate::wiring::FetchingRepository;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What Git calls a program for URLs that begin with `isobox://`, or with `isobox::`.
const NAME: &str = "git-remote-isobox";
const SCHEME: &[u8] = b"isobox://";

/// Answers Git, if that is who started this program.
pub(super) fn answered(arguments: &[OsString]) -> Option<ExitCode> {
    let program = Path::new(arguments.first()?);
    if program.file_name() != Some(OsStr::new(NAME)) {
        return None;
    }
    let errors = ErrorForm::Text;
    let console = Console { verbosity: Verbosity::Normal, errors, colour: Colour::Auto, paging: Paging::Never };
    Some(match answer(console, &arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let code = failure.kind.exit_code();
            console.failure(&failure, code);
            code
        }
    })
}

/// Git names a remote, which is the URL itself where it has no name, and then the URL.
fn answer(console: Console, arguments: &[OsString]) -> Result<(), Failure> {
    let Some(url) = arguments.get(1).or_else(|| arguments.first()) else {
        return Err(by_git("no remote was named"));
    };
    let git_dir = std::env::var_os("GIT_DIR").ok_or_else(|| by_git("Git does not say which repository fetches"))?;
    let repository = FetchingRepository::open(Path::new(&git_dir))?;
    let place = Place { source: None, records: Some(repository.records()) };
    let named = Named::find_to_show(console, &place, task_of(url))?;
    let flags = place.flags();
    let ports = Ports { commits: repository.commits(), objects: named.store.objects(), flags: &flags };
    serve(&ports, &named.selected, &mut std::io::stdin().lock(), &mut for_documents())
}

fn by_git(why: &str) -> Failure {
    Failure::new(FailureKind::Usage, why)
        .with_hint(format!("{NAME} is started by Git: in a repository, `git fetch isobox://@latest`"))
}

/// What a URL names, without the scheme that it may have.
fn task_of(url: &OsStr) -> &OsStr {
    let bytes = url.as_bytes();
    OsStr::from_bytes(bytes.strip_prefix(SCHEME).unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_task_with_its_scheme_and_without() {
        for url in ["isobox://@latest~2", "@latest~2"] {
            assert_eq!(task_of(OsStr::new(url)), "@latest~2");
        }
    }
}
