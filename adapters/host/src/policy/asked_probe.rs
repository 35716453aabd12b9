//! What a project's policy asks of a Sandbox, and whether what it exposes of the host can be.

use super::{YamlPolicySource, YamlUserPolicy};
use crate::exposing::Exposing;
use crate::read_paths::ReadPaths;
use isobox_domain::escape::Escaped;
use isobox_domain::fact::{Exposable, ExposingKey, Fact};
use isobox_domain::policy::{FileRules, ReuseKind, SandboxPolicy};
use isobox_ports::{HostProbe, PolicySource};
use nix::unistd::{AccessFlags, access};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// So much of what a policy exposes is looked at, which nobody may have trusted yet.
const MOST_LOOKED_AT: usize = 1000;

/// Looks at what a project's policy asks, as far as the user's own allows it. A project's policy that is missing or wrong
/// is another probe's to tell.
#[derive(Clone, Debug)]
pub struct PolicyAskedProbe {
    project: YamlPolicySource,
    user: YamlUserPolicy,
    read_paths: ReadPaths,
}

impl PolicyAskedProbe {
    /// For the policy in `project` below that of the user; `read_paths` are what may be exposed.
    pub const fn new(project: YamlPolicySource, user: YamlUserPolicy, read_paths: ReadPaths) -> Self {
        Self { project, user, read_paths }
    }

    /// What comes of exposing what `one` asks for and nothing else, as a Task would have it.
    fn exposable(&self, mut one: SandboxPolicy) -> Exposable {
        let caller_path = std::env::var_os("PATH").unwrap_or_default();
        let exposing = Exposing { paths: &self.read_paths, caller_path: caller_path.as_bytes() };
        let variable = |name: &str| std::env::var_os(name).map(OsString::into_vec);
        match exposing.resolve(&mut one, &variable) {
            Ok(exposed) => {
                let refused = exposed.shown.iter().find_map(|shown| readable(&shown.source).err());
                refused.map_or(Exposable::Readable, Exposable::Unreadable)
            }
            Err(error) => {
                let source = std::error::Error::source(&error);
                Exposable::Refused(source.map_or(error.to_string(), |source| format!("{error}: {source}")))
            }
        }
    }

    /// Looks at each thing that `policy` exposes by itself.
    fn exposed(&self, policy: &SandboxPolicy) -> Vec<Fact> {
        let read = policy.read.iter().map(|path| {
            let one = SandboxPolicy { read: vec![path.clone()], ..SandboxPolicy::default() };
            (ExposingKey::Read, Escaped(path).to_string(), one)
        });
        let written = policy.files.write.iter().map(|rule| {
            let files = FileRules { write: vec![rule.clone()], ..FileRules::default() };
            let one = SandboxPolicy { files, ..SandboxPolicy::default() };
            (ExposingKey::Write, Escaped(&rule.path).to_string(), one)
        });
        // Of those nothing is looked up: the policy as a whole is refused.
        let inputs = policy.reuse_inputs.iter().filter(|input| input.kind != ReuseKind::CredentialRef);
        let inputs = inputs.map(|input| {
            let named = format!("{}={}", input.kind.name(), Escaped(input.value.as_bytes()));
            let one = SandboxPolicy { reuse_inputs: vec![input.clone()], ..SandboxPolicy::default() };
            (ExposingKey::ReuseInputs, named, one)
        });
        let all = read.chain(written).chain(inputs).take(MOST_LOOKED_AT);
        all.map(|(key, written, one)| Fact::Exposes(key, written, self.exposable(one))).collect()
    }
}

// A directory whose names cannot be looked up shows nothing either.
fn readable(path: &Path) -> Result<(), String> {
    let wanted = if path.is_dir() { AccessFlags::R_OK | AccessFlags::X_OK } else { AccessFlags::R_OK };
    access(path, wanted).map_err(|error| std::io::Error::from(error).to_string())
}

impl HostProbe for PolicyAskedProbe {
    fn facts(&self) -> Vec<Fact> {
        let ceiling = match self.user.written() {
            Ok(written) => written.unwrap_or_default(),
            Err(error) => return vec![Fact::BadUserPolicy(error.mistakes())],
        };
        let Ok(Some(mut policy)) = self.project.load() else { return Vec::new() };
        ceiling.narrow(&mut policy);
        let exposed = self.exposed(&policy.sandbox);
        std::iter::once(Fact::Asked(Box::new(policy.sandbox))).chain(exposed).collect()
    }
}
