//! What of a package manager's directory is lent.

use super::{noted_urls, whiteouts};
use crate::exposing::named_on_host;
use crate::read_paths::ReadPaths;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::read::admit;
use isobox_domain::policy::{DependencyCache, Glob, HideRule};
use isobox_ports::{Cause, HiddenInCaches};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A part of a cache.
pub(super) struct Seed {
    /// What its layer is called.
    pub(super) name: String,
    /// Where it is, links resolved; `None` if it is not there.
    pub(super) host_path: Option<PathBuf>,
    /// Where the package manager looks for it, below a home directory.
    pub(super) below_home: PathBuf,
    /// Whose it is.
    pub(super) cache: DependencyCache,
}

impl Seed {
    pub(super) fn find(
        cache: DependencyCache,
        part: &str,
        home: Option<&Path>,
        variable: &dyn Fn(&str) -> Option<OsString>,
        paths: &ReadPaths,
    ) -> Result<Self, Cause> {
        let join = |directory: PathBuf| if part.is_empty() { directory } else { directory.join(part) };
        let host_path = match directory(cache, home, variable) {
            Some(directory) => resolve(&join(directory))?,
            None => None,
        };
        if let Some(path) = &host_path {
            admit(path.as_os_str().as_bytes(), paths.guards())?;
        }
        let name = if part.is_empty() { cache.name().to_owned() } else { format!("{}-{part}", cache.name()) };
        Ok(Self { name, host_path, below_home: join(PathBuf::from(cache.directory())), cache })
    }

    /// What in it is not lent: what the package manager keeps besides, and what a URL with a password was written into.
    pub(super) fn hidden(&self, asked: &HiddenInCaches<'_>, home: Option<&Path>) -> Vec<Glob> {
        let Some(host_path) = &self.host_path else { return Vec::new() };
        let below = |text: &[u8], root: &Path| Glob::new(text).below(root.as_os_str().as_bytes());
        let mut hidden: Vec<Glob> =
            self.cache.kept_out().iter().map(|text| below(text.as_bytes(), host_path)).collect();
        hidden.extend(noted_urls::with_password(&self.name, host_path).iter().map(|path| below(b"", path)));
        let within = asked.rules.iter().filter_map(HideRule::within);
        hidden.extend(within.map(|glob| glob.below(host_path.as_os_str().as_bytes())));
        hidden.extend(asked.patterns.iter().filter(|pattern| whiteouts::concerns(pattern, host_path)).cloned());
        if lies_in_hidden(host_path, asked.rules, home) {
            hidden.push(below(b"", host_path));
        }
        hidden
    }

    /// What its place in a layer is called. A workload may have copied whatever it saw into what it wrote, under any name, so
    /// what was written while something else was hidden, or nothing, is not found again.
    pub(super) fn place(&self, hidden: &[Glob]) -> String {
        let texts: BTreeSet<Vec<u8>> = hidden.iter().map(Glob::text).collect();
        // No component of a path has a NUL in it.
        let text: Vec<u8> = texts.iter().flat_map(|text| [text.as_slice(), b"\0"].concat()).collect();
        format!("{}-{}", self.name, &blake3::hash(&text).to_hex().as_str()[..16])
    }
}

/// The directory at `path`, links resolved; `None` if nothing is there, or something else. Whoever cannot look does not know
/// that.
fn resolve(path: &Path) -> io::Result<Option<PathBuf>> {
    let looking = |error: io::Error| io::Error::new(error.kind(), format!("look for {}: {error}", Escaped::path(path)));
    match fs::canonicalize(path).and_then(|found| Ok((fs::metadata(&found)?.is_dir(), found))) {
        Ok((is_directory, found)) => Ok(is_directory.then_some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(looking(error)),
    }
}

/// Where the package manager keeps everything, by the first variable that says so.
fn directory(
    cache: DependencyCache,
    home: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let said = cache.variables().iter().find_map(|(name, between)| {
        let value = variable(name).filter(|value| !value.is_empty())?;
        // GOPATH is a list, of which modules go into the first.
        let first = value.as_bytes().split(|byte| *byte == b':').next().unwrap_or_default().to_vec();
        let directory = PathBuf::from(OsString::from_vec(first));
        directory.is_absolute().then(|| if between.is_empty() { directory } else { directory.join(between) })
    });
    said.or_else(|| Some(home?.join(cache.directory())))
}

/// Whether a rule names a directory around `host_path`. Patterns do not tell: of those, some stand for no rule, such as the whole
/// of HOME, in which every cache lies.
fn lies_in_hidden(host_path: &Path, rules: &[HideRule], home: Option<&Path>) -> bool {
    named_on_host(rules, home).iter().any(|pattern| pattern.covers(host_path.as_os_str().as_bytes()))
}
