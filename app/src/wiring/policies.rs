//! The adapters behind the user's own policy, behind a project's as it is written, and behind what is trusted.

use super::{Location, Project};
use crate::failure::{Failure, FailureKind};
use crate::use_case::trusted_policy;
use isobox_domain::escape::Escaped;
use isobox_domain::policy::{ReuseKind, SandboxPolicy, read};
use isobox_git::GixRepository;
use isobox_host::{
    Directories, Exposing, FsDependencyCaches, FsPolicyPins, MaskKey, ReadPaths, YamlPolicySource, YamlUserPolicy,
};
use isobox_ports::{Exposed, PolicyPins, PolicyPreset, PolicySource};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A variable and its value.
pub(crate) type Variable = (String, Vec<u8>);

impl Project {
    /// The project's policy as it is written, whatever the user's own allows, and whether it is trusted or not.
    pub(crate) fn written_policy(&self) -> impl PolicySource + use<> {
        YamlPolicySource::new(self.repository.root())
    }

    /// Host paths that `written` in a policy stand for; those that must not be exposed are refused.
    pub(crate) fn read_paths(&self, written: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Failure> {
        if written.is_empty() {
            return Ok(Vec::new());
        }
        let paths = exposable(&self.directories, &self.repository, &self.location).resolve(written);
        paths.map_err(|error| {
            Failure::new(FailureKind::Policy, error.to_string()).because(error).with_hint(read::ADVICE)
        })
    }

    /// What `asked` exposes of this host, its paths resolved in place and its variables with the digests of their values.
    /// `given` are values that were typed; others are the caller's own.
    pub(crate) fn exposed(&self, asked: &mut SandboxPolicy, given: &[Variable]) -> Result<Exposed, Failure> {
        let files = &asked.files;
        if asked.read.is_empty()
            && asked.reuse_inputs.is_empty()
            && files.write.is_empty()
            && files.unsafe_shown.is_empty()
            && files.hide.iter().all(|rule| rule.within().is_some())
            && asked.caches.is_empty()
        {
            return Ok(Exposed::default());
        }
        let exposed = expose(&exposable(&self.directories, &self.repository, &self.location), asked, given)?;
        self.digest_variables(asked, &exposed)?;
        Ok(exposed)
    }

    /// What package managers downloaded, for Tasks of this project, by the variables of the caller.
    pub(super) fn dependency_caches<'a>(
        &self,
        variable: &'a dyn Fn(&str) -> Option<OsString>,
    ) -> FsDependencyCaches<'a> {
        let cache = self.directories.cache().ok();
        let paths = exposable(&self.directories, &self.repository, &self.location);
        FsDependencyCaches::new(
            cache.as_deref(),
            self.repository.common_dir(),
            self.directories.home(),
            paths,
            variable,
        )
    }

    fn digest_variables(&self, asked: &mut SandboxPolicy, exposed: &Exposed) -> Result<(), Failure> {
        if exposed.environment.is_empty() {
            return Ok(());
        }
        let key = MaskKey::load_or_create(&self.directories).map_err(|error| {
            Failure::new(FailureKind::General, "note the digests of variables for the record").because(error)
        })?;
        for input in asked.reuse_inputs.iter_mut().filter(|input| input.kind == ReuseKind::EnvVar) {
            let value = exposed.environment.iter().find(|(name, _)| *name == input.value);
            input.digest = value.map(|(_, value)| key.digest(value));
        }
        Ok(())
    }

    /// The user's own policy, a Ceiling over the project's.
    pub(crate) fn user_policy(&self) -> impl PolicySource + use<> {
        YamlUserPolicy::new(self.directories.clone())
    }

    /// Where the user's own policy lies, for people.
    pub(crate) fn user_policy_path(&self) -> String {
        let place = self.directories.config().map(|config| YamlPolicySource::of_user(config).host_path());
        place.map_or_else(|error| error.to_string(), |path| Escaped::path(&path).to_string())
    }

    /// The policies of this project that its user trusts.
    pub(crate) fn policy_pins(&self) -> impl PolicyPins + use<> {
        FsPolicyPins::new(self.directories.clone())
    }

    /// Hands the ports of a trusted policy to `act`.
    pub(crate) fn with_policy_ports<T>(&self, act: impl FnOnce(&trusted_policy::Ports<'_>) -> T) -> T {
        let (project, user, pins) = (self.written_policy(), self.user_policy(), self.policy_pins());
        act(&trusted_policy::Ports { project: &project, user: &user, pins: &pins })
    }

    /// The root of the project.
    pub(crate) fn root(&self) -> &Path {
        self.repository.root()
    }

    /// The root of the project, for people.
    pub(crate) fn shown_root(&self) -> String {
        Escaped::path(self.repository.root()).to_string()
    }

    /// The canonical common Git directory, by which policies are trusted.
    pub(crate) fn common_dir(&self) -> &Path {
        self.repository.common_dir()
    }
}

/// What `asked` exposes of this host, as far as `paths` may be, its paths resolved in place. `given` are values that were
/// typed; others are the caller's own.
pub(super) fn expose(paths: &ReadPaths, asked: &mut SandboxPolicy, given: &[Variable]) -> Result<Exposed, Failure> {
    let caller_path = std::env::var_os("PATH").unwrap_or_default().into_vec();
    let variable = |name: &str| {
        let typed = given.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        typed.or_else(|| std::env::var_os(name).map(OsString::into_vec))
    };
    let exposing = Exposing { paths, caller_path: &caller_path };
    exposing.resolve(asked, &variable).map_err(|error| {
        let hint = error.hint();
        let failure = Failure::new(FailureKind::Policy, error.to_string()).because(error);
        Failure { hint: hint.map(str::to_owned), ..failure }
    })
}

/// What `filesystem.read` may expose: no place of isobox's own, and nothing that is never exposed.
pub(super) fn exposable(directories: &Directories, repository: &GixRepository, location: &Location) -> ReadPaths {
    let own = [directories.config(), directories.state(), directories.cache()];
    let mut guarded: Vec<PathBuf> = own.into_iter().filter_map(Result::ok).collect();
    guarded.extend([repository.common_dir().to_owned(), location.records.clone()]);
    ReadPaths::new(directories.home(), &guarded)
}

/// The policies that come with isobox.
pub(crate) const fn policy_presets() -> &'static [PolicyPreset] {
    isobox_host::policy_presets()
}

/// The JSON Schema of policy files.
pub(crate) fn policy_schema() -> &'static str {
    isobox_host::policy_schema()
}
