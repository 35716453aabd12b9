//! Reading the policy file of a project, without following anything out of it.

use super::chain;
use super::schema::{FileKind, Parsed};
use super::{LONGEST_POLICY_BYTES, POLICY_PATH, PolicyProblem, parse_written};
use isobox_domain::escape::Escaped;
use isobox_domain::fact::Refused;
use isobox_ports::{Cause, PolicyError, PolicyFile, PolicySource};
use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// Name of the user's own policy in isobox's directory of configuration.
const USER_POLICY: &str = "config.yaml";

/// The policy file below the root of a project's trusted checkout, or the user's own.
#[derive(Clone, Debug)]
pub struct YamlPolicySource {
    root: PathBuf,
    path: PathBuf,
    kind: FileKind,
}

impl YamlPolicySource {
    /// For the project whose working tree has its root at `root`, an absolute host path.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), path: POLICY_PATH.into(), kind: FileKind::Project }
    }

    /// For the user's own policy in `config`, isobox's directory of configuration.
    pub fn of_user(config: impl Into<PathBuf>) -> Self {
        Self { root: config.into(), path: USER_POLICY.into(), kind: FileKind::User }
    }

    /// Absolute host path of the file.
    pub fn host_path(&self) -> PathBuf {
        self.root.join(&self.path)
    }

    fn open(&self) -> io::Result<File> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY;
        let root = OpenOptions::new().read(true).custom_flags(flags.bits()).open(&self.root)?;
        // O_NONBLOCK: opening a FIFO must not wait for somebody to write into it.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let beneath =
            ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let how = OpenHow::new().flags(flags).resolve(beneath);
        Ok(openat2(root, &self.path, how)?.into())
    }

    /// The file at `path` below the directory of this one.
    pub(super) fn beside(&self, path: &str) -> Option<Self> {
        Some(Self { path: self.path.parent()?.join(path), ..self.clone() })
    }

    pub(super) fn invalid(&self, problem: PolicyProblem) -> PolicyError {
        self.all_invalid(vec![problem])
    }

    fn all_invalid(&self, problems: Vec<PolicyProblem>) -> PolicyError {
        let mut problems = problems.into_iter();
        let problem = problems.next().unwrap_or_else(|| PolicyProblem::whole("it is no policy"));
        PolicyError::Invalid {
            further: problems.map(|problem| self.in_full(&problem)).collect(),
            host_path: Escaped::path(&self.host_path()).to_string(),
            position: problem.position,
            problem: problem.problem,
            excerpt: problem.excerpt.map(Into::into),
            hint: problem.hint.map(Into::into),
        }
    }

    fn in_full(&self, problem: &PolicyProblem) -> Refused {
        let place = problem.position.map(|at| format!(":{}:{}", at.line, at.column)).unwrap_or_default();
        let first = format!("{}{place}: {problem}", Escaped::path(&self.host_path()));
        let lines: Vec<String> = [Some(first), problem.excerpt.clone()].into_iter().flatten().collect();
        Refused { reason: lines.join("\n"), hint: problem.hint.clone() }
    }

    fn io(&self, source: impl Into<Cause>) -> PolicyError {
        PolicyError::Io { host_path: Escaped::path(&self.host_path()).to_string(), source: source.into() }
    }
}

impl YamlPolicySource {
    /// What the file holds; `None` if there is none.
    pub(super) fn bytes(&self) -> Result<Option<Vec<u8>>, PolicyError> {
        let file = match self.open() {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
                let problem = "it is a symbolic link or lies below one, and links are not followed";
                return Err(self.invalid(PolicyProblem::whole(problem)));
            }
            Err(error) => return Err(self.io(error)),
        };
        let found = file.metadata().map_err(|error| self.io(error))?;
        if !found.is_file() {
            return Err(self.invalid(PolicyProblem::whole("it is not a regular file")));
        }
        // With room for all of it, one read takes it.
        let mut bytes = Vec::with_capacity((found.len() as usize).min(LONGEST_POLICY_BYTES) + 1);
        file.take(LONGEST_POLICY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| self.io(error))?;
        Ok(Some(bytes))
    }

    /// What `bytes` of the file say.
    pub(super) fn parse(&self, bytes: &[u8]) -> Result<Parsed, PolicyError> {
        parse_written(bytes, self.kind).map_err(|problems| self.all_invalid(problems))
    }
}

impl PolicySource for YamlPolicySource {
    fn read(&self) -> Result<Option<PolicyFile>, PolicyError> {
        self.bytes()?.map(|bytes| chain::follow(self, bytes)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{default_policy_text, parse_policy};
    use super::*;
    use isobox_domain::content::ContentId;
    use isobox_domain::policy::ProjectPolicy;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use tempfile::TempDir;

    fn project() -> TempDir {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(".isobox")).unwrap();
        project
    }

    fn load(project: &Path) -> Result<Option<ProjectPolicy>, PolicyError> {
        YamlPolicySource::new(project).load()
    }

    #[test]
    fn no_file_is_no_policy() {
        let project = project();
        assert_eq!(load(project.path()).unwrap(), None);
        fs::remove_dir(project.path().join(".isobox")).unwrap();
        assert_eq!(load(project.path()).unwrap(), None);
    }

    #[test]
    fn the_policy_that_init_writes_is_read() {
        let project = project();
        fs::write(project.path().join(POLICY_PATH), default_policy_text()).unwrap();
        assert_eq!(load(project.path()).unwrap(), parse_policy(default_policy_text().as_bytes()).ok());
    }

    #[test]
    fn the_digest_is_of_every_byte_that_was_read() {
        let project = project();
        for text in [default_policy_text().to_owned(), default_policy_text().to_owned() + "\n"] {
            fs::write(project.path().join(POLICY_PATH), &text).unwrap();
            let file = YamlPolicySource::new(project.path()).read().unwrap().unwrap();
            assert_eq!(file.digest, ContentId::new(*blake3::hash(text.as_bytes()).as_bytes()));
        }
    }

    #[test]
    fn a_link_is_an_error_even_when_it_leads_nowhere() {
        for (link, target) in [(POLICY_PATH, "elsewhere"), (POLICY_PATH, "/missing"), (".isobox", "elsewhere-dir")] {
            let project = project();
            fs::write(project.path().join("elsewhere"), default_policy_text()).unwrap();
            fs::create_dir(project.path().join("elsewhere-dir")).unwrap();
            if link == ".isobox" {
                fs::remove_dir(project.path().join(link)).unwrap();
            }
            symlink(target, project.path().join(link)).unwrap();
            let refused = load(project.path()).unwrap_err().to_string();
            assert!(refused.ends_with("links are not followed"), "{link} to {target}: {refused}");
        }
    }

    #[test]
    fn what_is_no_regular_file_neither_blocks_nor_counts_as_missing() {
        let project = project();
        let place = project.path().join(POLICY_PATH);
        nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(load(project.path()).unwrap_err().to_string().ends_with("it is not a regular file"));
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        assert!(load(project.path()).unwrap_err().to_string().ends_with("it is not a regular file"));
        fs::remove_dir_all(project.path().join(".isobox")).unwrap();
        fs::write(project.path().join(".isobox"), "").unwrap();
        assert!(matches!(load(project.path()), Err(PolicyError::Io { .. })));
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let project = project();
        let long = format!("{}# {}", default_policy_text(), "x".repeat(LONGEST_POLICY_BYTES));
        fs::write(project.path().join(POLICY_PATH), long).unwrap();
        let refused = load(project.path()).unwrap_err().to_string();
        assert!(refused.contains("at most 1048576 are read"), "{refused}");
    }

    #[test]
    fn a_mistake_is_shown_with_its_place() {
        let project = project();
        let text = default_policy_text().replace("default: deny", "default: dney");
        fs::write(project.path().join(POLICY_PATH), text).unwrap();
        let refused = load(project.path()).unwrap_err();
        let shown = refused.to_string();
        assert!(shown.contains("config.yaml:29:12: "), "{shown}");
        let PolicyError::Invalid { hint, excerpt, .. } = refused else { panic!("{shown}") };
        assert_eq!(hint.as_deref(), Some("did you mean `deny`?"));
        assert_eq!(excerpt.as_deref(), Some("29 |   default: dney\n   |            ^"));
    }
}
