//! A policy as a policy file would have it, key by key.

use super::{BackendChoice, CopyChanges, ProjectPolicy, ToolCalls, ViewLimit};
use crate::escape::Escaped;
use crate::limit::Limit;
use std::fmt;

/// The value of a key, escaped for people.
///
/// What a policy brings of its own, such as a path, is in double quotes, and has none in it: no entry reads like two, or
/// like something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One word.
    Word(String),
    /// Entries, in the order of the file.
    List(Vec<String>),
}

impl Value {
    /// The value that is shown as `text`.
    pub fn parse(text: &str) -> Self {
        let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) else {
            return Self::Word(text.to_owned());
        };
        let mut is_quoted = false;
        let is_end = |c: char| {
            is_quoted ^= c == '"';
            c == ',' && !is_quoted
        };
        let entries = inner.split(is_end).map(|entry| entry.trim_start_matches(' ').to_owned());
        Self::List(entries.filter(|entry| !entry.is_empty()).collect())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::List(entries) => write!(f, "[{}]", entries.join(", ")),
        }
    }
}

impl BackendChoice {
    /// The value of `runtime_backend`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Named(name) => name.name(),
        }
    }
}

impl ProjectPolicy {
    /// Every key that has more than one value, with the value that holds.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        let sandbox = &self.sandbox;
        let views = match self.views {
            ViewLimit::Newest(count) => count.to_string(),
            ViewLimit::All => "all".to_owned(),
        };
        let word = |word: &str| Value::Word(word.to_owned());
        let allow = sandbox.network_allow.iter().map(|rule| quoted(rule.as_bytes()));
        let read = sandbox.read.iter().chain(&sandbox.files.unsafe_shown).map(|path| quoted(path));
        let write = sandbox.files.write.iter().map(|rule| match rule.changes {
            CopyChanges::Discarded => quoted(&rule.path),
            CopyChanges::Captured => format!("capture {}", quoted(&rule.path)),
        });
        let hide = sandbox.files.hide.iter().map(|rule| quoted(rule.as_str().as_bytes()));
        let protected = sandbox.files.protected.iter().map(|path| quoted(path.as_bytes()));
        let inputs = sandbox
            .reuse_inputs
            .iter()
            .map(|input| quoted(format!("{}={}", input.kind.name(), input.value).as_bytes()));
        let caches = sandbox.caches.iter().map(|cache| cache.name().to_owned());
        let required = sandbox.require.as_slice().iter().map(|required| required.name().to_owned());
        let rules = self.preflight.iter().map(|rule| rule.name().to_owned());
        let named = |names: Vec<&str>| Value::List(names.into_iter().map(str::to_owned).collect());
        let gate = &self.promotion;
        let commands = self.verification.iter().map(|command| quoted(command.as_bytes()));
        let limits = Limit::ALL.map(|limit| (limit.key(), Value::Word(limit.shown(sandbox.limits.of(limit)))));
        let keys = [
            ("tool_call.enabled", Value::Word((self.tool_calls == ToolCalls::Enabled).to_string())),
            ("runtime_backend", word(sandbox.backend.name())),
            ("development_environment.path_mode", word(sandbox.path_mode.name())),
            ("network.default", word(sandbox.network.name())),
            ("network.allow", Value::List(allow.collect())),
            ("filesystem.expose_workspace", word(sandbox.workspace.name())),
            ("filesystem.read", Value::List(read.collect())),
            ("filesystem.write", Value::List(write.collect())),
            ("filesystem.hide", Value::List(hide.collect())),
            ("workspace.protected", Value::List(protected.collect())),
            ("reuse_inputs", Value::List(inputs.collect())),
            ("caches", Value::List(caches.collect())),
            ("require", Value::List(required.collect())),
            ("preflight.rules", Value::List(rules.collect())),
            ("promotion.require", named(gate.require().iter().map(|required| required.name()).collect())),
            ("promotion.block", named(gate.block().iter().map(|blocked| blocked.name()).collect())),
            ("verification.commands", Value::List(commands.collect())),
            ("records.views", Value::Word(views)),
            ("tasks.max", Value::Word(self.tasks.to_string())),
        ];
        keys.into_iter().chain(limits).collect()
    }
}

fn quoted(entry: &[u8]) -> String {
    format!("\"{}\"", Escaped(entry).to_string().replace('"', "\\x22"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_entry_of_a_list_reads_like_two_or_like_none() {
        let mut policy = ProjectPolicy::default();
        let entries: [&[u8]; 5] = [b"/a", b"/a\", \"/b", b"/a, /b]\nx", b" ", b"\\x22"];
        policy.sandbox.read = entries.map(<[u8]>::to_vec).to_vec();
        let values = policy.values();
        let (_, value) = values.iter().find(|(key, _)| *key == "filesystem.read").expect("the key");
        let expected = r#"["/a", "/a\x22, \x22/b", "/a, /b]\nx", " ", "\\x22"]"#;
        assert_eq!(value.to_string(), expected);
        for (key, value) in policy.values() {
            assert_eq!(Value::parse(&value.to_string()), value, "{key}");
        }
    }
}
