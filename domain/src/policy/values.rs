//! A policy as a policy file would have it, key by key.

use super::{BackendChoice, ProjectPolicy, ToolCalls, ViewLimit};
use crate::escape::Escaped;

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
    /// Every key that has more than one value, with the value that holds, escaped for people.
    pub fn values(&self) -> [(&'static str, String); 9] {
        let sandbox = &self.sandbox;
        let views = match self.views {
            ViewLimit::Newest(count) => count.to_string(),
            ViewLimit::All => "all".to_owned(),
        };
        let allow = sandbox.network_allow.iter().map(|rule| Escaped(rule.as_bytes()).to_string());
        let read = sandbox.read.iter().map(|path| Escaped(path).to_string());
        [
            ("tool_call.enabled", (self.tool_calls == ToolCalls::Enabled).to_string()),
            ("runtime_backend", sandbox.backend.name().to_owned()),
            ("development_environment.path_mode", sandbox.path_mode.name().to_owned()),
            ("network.default", sandbox.network.name().to_owned()),
            ("network.allow", list(allow)),
            ("filesystem.expose_workspace", sandbox.workspace.name().to_owned()),
            ("filesystem.read", list(read)),
            ("preflight.rules", list(self.preflight.iter().map(|rule| rule.name().to_owned()))),
            ("records.views", views),
        ]
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}
