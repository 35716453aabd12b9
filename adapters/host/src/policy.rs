//! The project's policy file: `.isobox/config.yaml`, read strictly.

mod asked_probe;
mod chain;
mod extends;
mod field;
mod presets;
mod probe;
mod schema;
mod source;
mod suggestion;
mod tree;
mod trust_probe;
mod user;

pub use asked_probe::PolicyAskedProbe;
pub use source::YamlPolicySource;
pub use trust_probe::PolicyTrustProbe;
pub use user::YamlUserPolicy;

use schema::{FileKind, Parsed};

use isobox_domain::escape::Escaped;
use isobox_domain::policy::ProjectPolicy;
use isobox_ports::{PolicyPreset, Position};

/// Where the policy lies in a project.
pub const POLICY_PATH: &str = ".isobox/config.yaml";

/// Longest policy that is read, in bytes. The longest one in use is expected to be a hundredth of that.
pub const LONGEST_POLICY_BYTES: usize = 1 << 20;

/// Longest excerpt of a line, in characters, so that a message stays one.
const EXCERPT_CHARACTERS: usize = 120;

/// Why some bytes are no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct PolicyProblem {
    /// Where, if that is known.
    pub position: Option<Position>,
    /// What is wrong, expected and found.
    pub problem: String,
    /// The line in question with a caret below it.
    pub excerpt: Option<String>,
    /// What to write instead.
    pub hint: Option<String>,
}

impl PolicyProblem {
    fn at(position: Position, problem: impl Into<String>) -> Self {
        Self { position: Some(position), problem: problem.into(), excerpt: None, hint: None }
    }

    fn whole(problem: impl Into<String>) -> Self {
        Self { position: None, problem: problem.into(), excerpt: None, hint: None }
    }

    fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    fn in_text(mut self, text: &str) -> Self {
        self.excerpt = self.position.and_then(|position| excerpt(text, position));
        self
    }
}

/// The policy that `init` writes: the most restrictive one under which `isobox tool` works, with a comment per section.
pub fn default_policy_text() -> &'static str {
    include_str!("policy/default.yaml")
}

/// Reads a policy. Unknown and duplicate keys, wrong types and unsupported values are problems, and so are YAML's
/// anchors, aliases, tags, directives and further documents.
///
/// Of everything that is wrong, the error is the first.
pub fn parse_policy(bytes: &[u8]) -> Result<ProjectPolicy, PolicyProblem> {
    match parse_written(bytes, FileKind::Project) {
        Ok(parsed) => Ok(parsed.written.resolved()),
        Err(problems) => Err(problems.into_iter().next().unwrap_or_else(|| PolicyProblem::whole("it is no policy"))),
    }
}

/// The policies that come with isobox.
pub const fn policy_presets() -> &'static [PolicyPreset] {
    &presets::PRESETS
}

/// The JSON Schema of policy files, for editors.
pub fn policy_schema() -> &'static str {
    include_str!("policy/policy.schema.json")
}

/// Reads a policy key by key; everything that is wrong with its keys and values is told at once.
fn parse_written(bytes: &[u8], kind: FileKind) -> Result<Parsed, Vec<PolicyProblem>> {
    if bytes.len() > LONGEST_POLICY_BYTES {
        let problem = format!("it has {} bytes, and at most {LONGEST_POLICY_BYTES} are read", bytes.len());
        return Err(vec![PolicyProblem::whole(problem)]);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| vec![no_text(bytes, error.valid_up_to())])?;
    let (root, again) = tree::parse(text).map_err(|problem| vec![problem.in_text(text)])?;
    let in_text = |problems: Vec<PolicyProblem>| problems.into_iter().map(|problem| problem.in_text(text)).collect();
    schema::read(&root, again, kind).map_err(in_text)
}

/// What ends a line; see YAML 1.2.2, section 5.4.
const BREAKS: [char; 2] = ['\n', '\r'];

// The two of them together are one break.
fn with_single_breaks(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn no_text(bytes: &[u8], valid: usize) -> PolicyProblem {
    // The bytes before the first invalid one are text.
    let before = with_single_breaks(&String::from_utf8_lossy(&bytes[..valid]));
    let line = before.matches(BREAKS).count() as u64 + 1;
    let column = before.rsplit(BREAKS).next().unwrap_or_default().chars().count() as u64 + 1;
    PolicyProblem::at(Position { line, column }, "it is not UTF-8 text")
}

/// The line at `position`, cropped around it, and a caret below the character.
fn excerpt(text: &str, position: Position) -> Option<String> {
    let index = |from_one: u64| usize::try_from(from_one.checked_sub(1)?).ok();
    let text = with_single_breaks(text);
    let line = text.split(BREAKS).nth(index(position.line)?)?;
    let column = index(position.column)?;
    let first = column.saturating_sub(EXCERPT_CHARACTERS / 2);
    let shown = |skip: usize, take: usize| {
        let part: String = line.chars().skip(skip).take(take).collect();
        Escaped(part.as_bytes()).to_string()
    };
    let caret_indent = shown(first, column - first).chars().count();
    let number = position.line;
    let margin = " ".repeat(number.to_string().len());
    Some(format!("{number} | {}\n{margin} | {}^", shown(first, EXCERPT_CHARACTERS), " ".repeat(caret_indent)))
}

#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
