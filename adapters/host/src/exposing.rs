//! From what a policy exposes by choice to what a Sandbox shows and passes on.

use crate::host_program::{self, HostProgram};
use crate::read_paths::{ReadPathError, ReadPaths};
use isobox_domain::escape::Escaped;
use isobox_domain::policy::read::{hidden, is_control_socket};
use isobox_domain::policy::{CopyChanges, Glob, HideRule, ReuseInput, ReuseKind, SandboxPolicy, WriteRule};
use isobox_ports::{Access, Exposed, Place, Program, Shown};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Variables that isobox sets itself.
const OWN_VARIABLES: [&str; 7] = ["HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD"];

/// Something cannot be exposed.
#[derive(Debug, thiserror::Error)]
pub enum ExposingError {
    /// A path cannot.
    #[error(transparent)]
    Path(#[from] ReadPathError),
    /// A Reuse Input cannot.
    #[error("the reuse input `{input}` cannot be had: {reason}")]
    Input {
        /// The input, escaped for people.
        input: String,
        /// Why.
        reason: String,
        /// What to do about it.
        hint: Option<&'static str>,
    },
}

impl ExposingError {
    /// What to do about it, if that is known.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Path(_) => Some(isobox_domain::policy::read::ADVICE),
            Self::Input { hint, .. } => *hint,
        }
    }
}

/// Resolves what a policy exposes against this machine and the environment of the caller.
#[derive(Clone, Debug)]
pub struct Exposing<'a> {
    /// What may be exposed.
    pub paths: &'a ReadPaths,
    /// The caller's own PATH.
    pub caller_path: &'a [u8],
}

impl Exposing<'_> {
    /// Resolves the paths of `asked` in place, and gives what is to be shown. `variable` is the value of a variable that is
    /// passed on.
    pub fn resolve(
        &self,
        asked: &mut SandboxPolicy,
        variable: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Exposed, ExposingError> {
        asked.read = self.paths.resolve(&asked.read)?;
        let mut written: Vec<WriteRule> = Vec::new();
        for WriteRule { path, changes } in &asked.files.write {
            let rule = WriteRule { path: self.paths.resolve_one(path)?, changes: *changes };
            if !written.contains(&rule) {
                written.push(rule);
            }
        }
        asked.files.write = written;
        for path in &mut asked.files.unsafe_shown {
            *path = self.paths.resolve_unsafe(path)?;
        }
        let mut exposed = Exposed::default();
        for path in asked.read.iter().chain(&asked.files.unsafe_shown) {
            exposed.shown.push(self.shown(Path::new(OsStr::from_bytes(path)), &[]));
        }
        for WriteRule { path, changes } in &asked.files.write {
            let shown = self.shown(Path::new(OsStr::from_bytes(path)), &[]);
            let access = match changes {
                CopyChanges::Discarded => Access::ReadWrite,
                CopyChanges::Captured => Access::Captured,
            };
            exposed.shown.push(Shown { access, ..shown });
        }
        for input in &asked.reuse_inputs {
            self.add(input, &asked.files.unsafe_shown, variable, &mut exposed)?;
        }
        exposed.shown = each_once(exposed.shown);
        let ruled = self.ruled(asked, &exposed.shown);
        drop_hidden(&mut exposed, &ruled);
        exposed.hidden = self.hidden(asked, ruled, &exposed.shown);
        Ok(exposed)
    }

    fn add(
        &self,
        input: &ReuseInput,
        unsafe_shown: &[Vec<u8>],
        variable: &dyn Fn(&str) -> Option<Vec<u8>>,
        exposed: &mut Exposed,
    ) -> Result<(), ExposingError> {
        match input.kind {
            ReuseKind::Path => exposed.shown.push(self.path(input)?),
            ReuseKind::HostBinary => self.program(input, exposed)?,
            ReuseKind::LocalIntegration => exposed.shown.push(self.socket(input, unsafe_shown)?),
            ReuseKind::EnvVar => exposed.environment.push((input.value.clone(), value_of(input, variable)?)),
            // Refused when the policy is resolved, for every backend.
            ReuseKind::CredentialRef => {}
        }
        Ok(())
    }

    fn path(&self, input: &ReuseInput) -> Result<Shown, ExposingError> {
        let (written, is_changeable) = input.path();
        let access = if is_changeable { Access::ReadWrite } else { Access::ReadOnly };
        let resolved = self.paths.resolve_one(written)?;
        let links = self.absolute(written);
        Ok(Shown { access, ..self.shown(Path::new(OsStr::from_bytes(&resolved)), links.as_slice()) })
    }

    /// As it is written, links not resolved.
    fn absolute(&self, written: &[u8]) -> Vec<PathBuf> {
        let home = self.paths.home().map(|home| home.as_os_str().as_bytes());
        let absolute = isobox_domain::policy::read::expand_home(written, home).ok();
        absolute.map(|path| PathBuf::from(OsStr::from_bytes(&path))).into_iter().collect()
    }

    fn socket(&self, input: &ReuseInput, unsafe_shown: &[Vec<u8>]) -> Result<Shown, ExposingError> {
        let resolved = self.paths.canonical(input.value.as_bytes())?;
        let refuse = |reason: &str, hint| Err(refused(input, reason.to_owned(), hint));
        if !fs::metadata(&resolved).is_ok_and(|found| found.file_type().is_socket()) {
            return refuse("it is no socket", Some("name the path of a Unix socket"));
        }
        let path = resolved.as_os_str().as_bytes();
        if is_control_socket(path) && !unsafe_shown.iter().any(|known| known == path) {
            return refuse(
                "whoever reaches that socket rules the machine",
                Some("--unsafe-expose with the path of the socket exposes it all the same"),
            );
        }
        let links = self.absolute(input.value.as_bytes());
        Ok(self.shown(&resolved, &links))
    }

    fn program(&self, input: &ReuseInput, exposed: &mut Exposed) -> Result<(), ExposingError> {
        let found = host_program::resolve(input.value.as_bytes(), self.caller_path, self.paths);
        let HostProgram { names, shown } = found.map_err(|reason| {
            refused(
                input,
                reason,
                Some("name a program that is on PATH, or its path; what it needs besides is shown by `path=`"),
            )
        })?;
        for path in shown {
            exposed.notes.push(format!(
                "the workload can read {}, for the reuse input host_binary={}",
                Escaped::path(&path),
                Escaped(input.value.as_bytes())
            ));
            exposed.shown.push(Shown { source: path.clone(), places: vec![Place::At(path)], access: Access::ReadOnly });
        }
        exposed.programs.extend(names.into_iter().map(|(name, found, target)| Program { name, found, target }));
        Ok(())
    }

    /// `source` at its own path, at those of `links` that lead to it, and, for what is in the home directory, at the same
    /// place below the Sandbox's.
    fn shown(&self, source: &Path, links: &[PathBuf]) -> Shown {
        let mut places = vec![Place::At(source.to_owned())];
        for path in links.iter().map(PathBuf::as_path).chain([source]) {
            places.push(Place::At(path.to_owned()));
            places.extend(self.below_home(path).map(Place::BelowHome));
        }
        let mut known: Vec<Place> = Vec::new();
        places.retain(|place| {
            let is_first = !known.contains(place);
            known.push(place.clone());
            is_first
        });
        Shown { source: source.to_owned(), places, access: Access::ReadOnly }
    }

    fn below_home(&self, path: &Path) -> Option<PathBuf> {
        let home = self.paths.home()?;
        let canonical = fs::canonicalize(home).ok();
        let homes = [Some(home.to_owned()), canonical].into_iter().flatten();
        let below = homes.into_iter().find_map(|home| path.strip_prefix(home).map(Path::to_owned).ok());
        below.filter(|below| below.components().next().is_some())
    }

    /// Patterns of what the rules of the policy hide in what is `shown`.
    fn ruled(&self, asked: &SandboxPolicy, shown: &[Shown]) -> Vec<Glob> {
        let on_host = named_on_host(&asked.files.hide, self.paths.home());
        let within = asked.files.hide.iter().filter_map(HideRule::within);
        let roots = || shown.iter().map(|shown| shown.source.as_os_str().as_bytes());
        on_host.into_iter().chain(within.flat_map(|glob| roots().map(move |root| glob.below(root)))).collect()
    }

    /// The same, and what stays hidden though no rule names it.
    fn hidden(&self, asked: &SandboxPolicy, ruled: Vec<Glob>, shown: &[Shown]) -> Vec<Glob> {
        let roots: Vec<Vec<u8>> = shown.iter().map(|shown| shown.source.as_os_str().as_bytes().to_vec()).collect();
        let unnamed = hidden(self.paths.guards(), &roots, &asked.files.unsafe_shown);
        ruled.into_iter().chain(unnamed).collect()
    }
}

/// Patterns of absolute host paths that `rules` name, by each path that leads there.
pub(crate) fn named_on_host(rules: &[HideRule], home: Option<&Path>) -> Vec<Glob> {
    let canonical = home.and_then(|home| fs::canonicalize(home).ok());
    let homes = [home, canonical.as_deref()].map(|home| home.map(|home| home.as_os_str().as_bytes()));
    let named = rules.iter().flat_map(|rule| homes.iter().filter_map(|home| rule.on_host(*home)));
    named.flat_map(|glob| [without_links(&glob), target(&glob), Some(glob)]).flatten().collect()
}

/// Does not show what lies in something that `ruled` hides, by its own path or by one that leads there: a search below it would
/// not find what is around it.
fn drop_hidden(exposed: &mut Exposed, ruled: &[Glob]) {
    let is_hidden = |path: &Path| ruled.iter().any(|glob| glob.covers(path.as_os_str().as_bytes()));
    let Exposed { shown, notes, .. } = exposed;
    shown.retain(|Shown { source, places, .. }| {
        let written = places.iter().filter_map(|place| if let Place::At(path) = place { Some(path) } else { None });
        let is_hidden = is_hidden(source) || written.into_iter().any(|path| is_hidden(path));
        if is_hidden {
            notes.push(format!(
                "the rule that shows {} has no effect: `filesystem.hide` names it, or a directory that it lies in",
                Escaped::path(source)
            ));
        }
        !is_hidden
    });
}

/// The pattern of what `glob` leads to, if it is the path of a link.
fn target(glob: &Glob) -> Option<Glob> {
    let names: Vec<&[u8]> = glob.fixed_prefix().collect();
    let written = Path::new("/").join(names.iter().map(|name| Path::new(OsStr::from_bytes(name))).collect::<PathBuf>());
    let is_whole = names.len() == glob.length();
    let target = is_whole.then(|| fs::canonicalize(&written).ok())?.filter(|target| *target != written)?;
    Some(Glob::new(b"").below(target.as_os_str().as_bytes()))
}

/// The same pattern with what the fixed directories at its beginning lead to; `None` if that is what it has.
fn without_links(glob: &Glob) -> Option<Glob> {
    let names: Vec<&[u8]> = glob.fixed_prefix().collect();
    // A link that the pattern names in full is its own to name.
    let directories = if names.len() == glob.length() { names.len().saturating_sub(1) } else { names.len() };
    let written: PathBuf = std::iter::once(&b"/"[..])
        .chain(names.into_iter().take(directories))
        .map(|name| Path::new(OsStr::from_bytes(name)))
        .collect();
    let canonical = fs::canonicalize(&written).ok().filter(|canonical| *canonical != written)?;
    Some(glob.moved(directories, canonical.as_os_str().as_bytes()))
}

/// Each source once, with all that its rules say together: where it appears, and the most that may be done with it. What lies in
/// something else comes after it: its place is there by then.
fn each_once(mut shown: Vec<Shown>) -> Vec<Shown> {
    shown.sort_by(|one, other| one.source.cmp(&other.source));
    let mut once: Vec<Shown> = Vec::new();
    for shown in shown {
        match once.last_mut().filter(|last| last.source == shown.source) {
            Some(last) => {
                last.access = last.access.max(shown.access);
                let further = shown.places.into_iter().filter(|place| !last.places.contains(place));
                let further: Vec<Place> = further.collect();
                last.places.extend(further);
            }
            None => once.push(shown),
        }
    }
    once
}

fn value_of(input: &ReuseInput, variable: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Vec<u8>, ExposingError> {
    let name = input.value.as_str();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(refused(input, "that is no name of a variable".to_owned(), Some("write NAME or NAME=value")));
    }
    if OWN_VARIABLES.contains(&name) {
        return Err(refused(input, "isobox sets this variable itself".to_owned(), None));
    }
    variable(name).ok_or_else(|| {
        refused(input, "it is not set here".to_owned(), Some("set the variable, or write env_var=NAME=value"))
    })
}

fn refused(input: &ReuseInput, reason: String, hint: Option<&'static str>) -> ExposingError {
    ExposingError::Input { input: format!("{}={}", input.kind.name(), Escaped(input.value.as_bytes())), reason, hint }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up_host::Host;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_several_rules_name_is_shown_once_with_all_that_they_say() {
        let host = Host::with(&["home/state", "home/other"]);
        symlink(host.path("home/state"), host.path("home/link")).unwrap();
        let [state, other, link] = ["state", "other", "link"].map(|name| host.path("home").join(name));
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        let input =
            |path: &Path| ReuseInput { kind: ReuseKind::Path, value: format!("{}:rw", path.display()), digest: None };
        let rule = |path: &Path, changes| WriteRule { path: bytes(path), changes };
        let mut asked = SandboxPolicy { read: vec![bytes(&state), bytes(&other)], ..SandboxPolicy::default() };
        asked.files.write = vec![rule(&state, CopyChanges::Captured), rule(&state, CopyChanges::Discarded)];
        asked.reuse_inputs = vec![input(&link), input(&state)];
        let paths = ReadPaths::new(Some(&host.path("home")), &[]);
        let exposed = Exposing { paths: &paths, caller_path: b"" }.resolve(&mut asked, &|_| None).unwrap();
        let found: Vec<_> = exposed.shown.iter().map(|shown| (shown.source.clone(), shown.access)).collect();
        assert_eq!(found, [(other, Access::ReadOnly), (state, Access::Captured)]);
        assert!(exposed.shown[1].places.contains(&Place::At(link)), "{:?}", exposed.shown[1].places);
    }
}
