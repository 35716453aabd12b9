//! What a project's policy asks of a Sandbox, and whether the paths in it can be exposed.

use super::{YamlPolicySource, YamlUserPolicy};
use crate::read_paths::ReadPaths;
use isobox_domain::escape::Escaped;
use isobox_domain::fact::{Exposable, Fact};
use isobox_ports::{HostProbe, PolicySource};
use nix::unistd::{AccessFlags, access};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// So many paths of a policy are looked at, which nobody may have trusted yet.
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

    fn exposable(&self, written: &[u8]) -> Exposable {
        let resolved = match self.read_paths.resolve(&[written.to_vec()]) {
            Ok(resolved) => resolved,
            Err(error) => {
                let source = std::error::Error::source(&error);
                return Exposable::Refused(source.map_or(error.to_string(), |source| format!("{error}: {source}")));
            }
        };
        let refused = resolved.iter().find_map(|path| readable(Path::new(OsStr::from_bytes(path))).err());
        refused.map_or(Exposable::Readable, Exposable::Unreadable)
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
        let paths: Vec<Fact> = policy
            .sandbox
            .read
            .iter()
            .take(MOST_LOOKED_AT)
            .map(|path| Fact::ReadPath(Escaped(path).to_string(), self.exposable(path)))
            .collect();
        std::iter::once(Fact::Asked(Box::new(policy.sandbox))).chain(paths).collect()
    }
}
