//! What the keys of a policy are, and which values they take.

use super::PolicyProblem;
use super::suggestion::nearest;
use super::tree::{Key, Node, Value, shown};
use isobox_domain::policy::read::expand_home;
use isobox_domain::policy::{
    BackendChoice, BackendName, NetworkAccess, PathMode, ProjectPolicy, SandboxPolicy, ToolCalls, ViewLimit,
    WorkspaceExposure,
};
use isobox_domain::preflight::PreflightRule;

/// Every key: the sections, and the keys in them. The keys that are no section are in the section without a name.
const KEYS: [(&str, &[&str]); 10] = [
    ("", &["api_version", "kind", "runtime_backend"]),
    ("tool_call", &["enabled"]),
    ("development_environment", &["path_mode"]),
    ("workspace_source", &["kind"]),
    ("network", &["default", "allow"]),
    ("filesystem", &["expose_workspace", "read"]),
    ("credentials", &["default"]),
    ("preflight", &["rules"]),
    ("promotion", &["mode"]),
    ("records", &["views"]),
];

/// Values that are known, and why they cannot be had: key, value, reason.
const UNAVAILABLE: [(&str, &str, &str); 6] = [
    ("workspace_source.kind", "directory", "workspaces are made from repositories alone in this version"),
    ("network.default", "allow", "`inherited` is the word for the host's network"),
    (
        "filesystem.expose_workspace",
        "false",
        "a workload without its workspace has no result; `read_only` lets it read alone",
    ),
    ("credentials.default", "inherited", "no credential is passed on in this version"),
    ("promotion.mode", "automatic", "a person agrees to every promotion"),
    ("promotion.mode", "auto", "a person agrees to every promotion"),
];

type Read<T> = Result<T, PolicyProblem>;

/// The policy that a tree describes. What it leaves out has the most restrictive value.
pub(super) fn read(root: &Node) -> Read<ProjectPolicy> {
    let file = File::open(root)?;
    file.required("api_version")?.one_of(&[("isobox.dev/v1alpha1", ())])?;
    file.required("kind")?.one_of(&[("ProjectPolicy", ())])?;
    if let Some(kind) = file.field("workspace_source", "kind")? {
        kind.one_of(&[("repository", ())])?;
    }
    if let Some(credentials) = file.field("credentials", "default")? {
        credentials.one_of(&[("none", ())])?;
    }
    if let Some(mode) = file.field("promotion", "mode")? {
        mode.one_of(&[("manual", ())])?;
    }
    let default = ProjectPolicy::default();
    Ok(ProjectPolicy {
        tool_calls: file.field("tool_call", "enabled")?.map_or(Ok(default.tool_calls), tool_calls)?,
        sandbox: sandbox(&file, default.sandbox)?,
        preflight: file.field("preflight", "rules")?.map_or(Ok(default.preflight), preflight)?,
        views: file.field("records", "views")?.map_or(Ok(default.views), views)?,
    })
}

fn sandbox(file: &File<'_>, default: SandboxPolicy) -> Read<SandboxPolicy> {
    let path_mode = file.field("development_environment", "path_mode")?;
    let workspace = file.field("filesystem", "expose_workspace")?;
    let paths = PathMode::ALL.map(|mode| (mode.name(), mode));
    let access = NetworkAccess::ALL.map(|access| (access.name(), access));
    let exposures = [WorkspaceExposure::ReadWrite, WorkspaceExposure::ReadOnly].map(|mode| (mode.name(), mode));
    Ok(SandboxPolicy {
        backend: file.field("", "runtime_backend")?.map_or(Ok(default.backend), backend)?,
        network: file.field("network", "default")?.map_or(Ok(default.network), |field| field.one_of(&access))?,
        network_allow: file.field("network", "allow")?.map_or(Ok(Vec::new()), network_rules)?,
        path_mode: path_mode.map_or(Ok(default.path_mode), |field| field.one_of(&paths))?,
        workspace: workspace.map_or(Ok(default.workspace), |field| field.one_of(&exposures))?,
        read: file.field("filesystem", "read")?.map_or(Ok(Vec::new()), read_paths)?,
        reuse_inputs: default.reuse_inputs,
    })
}

fn tool_calls(field: Field<'_>) -> Read<ToolCalls> {
    field.one_of(&[("true", ToolCalls::Enabled), ("false", ToolCalls::Disabled)])
}

fn backend(field: Field<'_>) -> Read<BackendChoice> {
    let named = BackendName::ALL.map(|name| (name.name(), BackendChoice::Named(name)));
    // The last is the name that `host` had first.
    let others = [("auto", BackendChoice::Auto), ("host_process", BackendChoice::Named(BackendName::Host))];
    field.one_of(&[&others[..1], &named, &others[1..]].concat())
}

fn network_rules(field: Field<'_>) -> Read<Vec<String>> {
    field.items()?.into_iter().map(|item| item.text().map(str::to_owned)).collect()
}

fn read_paths(field: Field<'_>) -> Read<Vec<Vec<u8>>> {
    field.items()?.into_iter().map(read_path).collect()
}

// Whether the path may be exposed is found out on the machine; that it can be one at all is seen here, with its place.
fn read_path(item: Field<'_>) -> Read<Vec<u8>> {
    let path = item.text()?.as_bytes().to_vec();
    match expand_home(&path, Some(b"/")) {
        Ok(_) => Ok(path),
        Err(refusal) => Err(PolicyProblem::at(item.node.position, refusal.to_string())
            .with_hint(Some("write an absolute path, or one that begins with `~/`".to_owned()))),
    }
}

fn preflight(field: Field<'_>) -> Read<Vec<PreflightRule>> {
    let known = PreflightRule::ALL.map(|rule| (rule.name(), rule));
    let mut chosen = Vec::new();
    for item in field.items()? {
        let rule = item.one_of(&known)?;
        if chosen.contains(&rule) {
            return Err(PolicyProblem::at(item.node.position, format!("the rule `{}` is there twice", rule.name())));
        }
        chosen.push(rule);
    }
    Ok(PreflightRule::in_force(&chosen))
}

fn views(field: Field<'_>) -> Read<ViewLimit> {
    match &field.node.value {
        Value::Plain(text) if text == "all" => Ok(ViewLimit::All),
        Value::Plain(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map(ViewLimit::Newest).map_err(|_| field.expected("a number below 4294967296, or `all`"))
        }
        _ => Err(field.expected("a number, or `all`")),
    }
}

/// The whole file, its keys known to be known.
struct File<'a> {
    root: &'a Node,
    entries: &'a [(Key, Node)],
}

impl<'a> File<'a> {
    fn open(root: &'a Node) -> Read<Self> {
        let Value::Mapping(entries) = &root.value else {
            let problem = format!("expected a mapping with the keys of a policy, found {}", root.value.in_words());
            return Err(PolicyProblem::at(root.position, problem));
        };
        for (key, node) in entries {
            match KEYS.iter().find(|(section, _)| *section == key.name && !section.is_empty()) {
                Some((section, keys)) => check_section(section, keys, node)?,
                None if KEYS[0].1.contains(&key.name.as_str()) => {}
                None => return Err(unknown("", key)),
            }
        }
        Ok(Self { root, entries })
    }

    /// The field of a section, if it is there. `section` is empty for a key that is in none.
    fn field(&self, section: &str, name: &str) -> Read<Option<Field<'a>>> {
        let entries = match section {
            "" => self.entries,
            _ => find(self.entries, section).map_or(Ok(&[][..]), |node| mapping(section, node))?,
        };
        Ok(find(entries, name).map(|node| Field { name: full_name(section, name), node }))
    }

    fn required(&self, name: &str) -> Read<Field<'a>> {
        let missing = || {
            let value = if name == "kind" { "ProjectPolicy" } else { "isobox.dev/v1alpha1" };
            PolicyProblem::at(self.root.position, format!("the key `{name}` is missing"))
                .with_hint(Some(format!("add `{name}: {value}`")))
        };
        self.field("", name)?.ok_or_else(missing)
    }
}

fn check_section(section: &str, keys: &[&str], node: &Node) -> Read<()> {
    let stranger = mapping(section, node)?.iter().find(|(key, _)| !keys.contains(&key.name.as_str()));
    stranger.map_or(Ok(()), |(key, _)| Err(unknown(section, key)))
}

fn mapping<'a>(section: &str, node: &'a Node) -> Read<&'a [(Key, Node)]> {
    match &node.value {
        Value::Mapping(entries) => Ok(entries),
        other => {
            let problem = format!("`{section}` is a mapping, found {}", other.in_words());
            Err(PolicyProblem::at(node.position, problem))
        }
    }
}

fn find<'a>(entries: &'a [(Key, Node)], name: &str) -> Option<&'a Node> {
    entries.iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
}

fn full_name(section: &str, name: &str) -> String {
    if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") }
}

fn unknown(section: &str, key: &Key) -> PolicyProblem {
    let keys = KEYS.iter().find(|(known, _)| *known == section).map_or(&[][..], |(_, keys)| keys);
    let sections = KEYS.iter().map(|(section, _)| *section).filter(|name| section.is_empty() && !name.is_empty());
    let place = if section.is_empty() { String::new() } else { format!(" in `{section}`") };
    let elsewhere = KEYS.iter().find(|(_, keys)| keys.contains(&key.name.as_str()));
    let hint = match (nearest(&key.name, keys.iter().copied().chain(sections)), elsewhere) {
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, Some(("", _))) => format!("`{}` belongs at the top, outside of every section", key.name),
        (None, Some((section, _))) => format!("`{}` belongs in `{section}`", key.name),
        (None, None) => "remove it".to_owned(),
    };
    PolicyProblem::at(key.position, format!("unknown key `{}`{place}", shown(&key.name))).with_hint(Some(hint))
}

/// A value and the key that it belongs to.
struct Field<'a> {
    name: String,
    node: &'a Node,
}

impl<'a> Field<'a> {
    /// What the value means, being one of `known`.
    fn one_of<T: Copy>(&self, known: &[(&str, T)]) -> Read<T> {
        let words = known.iter().map(|(word, _)| *word);
        let found = match &self.node.value {
            Value::Plain(text) => Some(text),
            // In quotes, a word is a word, but `"true"` is text and no truth value.
            Value::Quoted(text) if !["true", "false"].contains(&text.as_str()) => Some(text),
            _ => None,
        };
        if let Some((_, value)) = known.iter().find(|(word, _)| found.is_some_and(|found| found == word)) {
            return Ok(*value);
        }
        let unavailable =
            UNAVAILABLE.iter().find(|(key, word, _)| *key == self.name && found.is_some_and(|f| f == word));
        if let (Some((_, word, reason)), Some(_)) = (unavailable, found) {
            return Err(PolicyProblem::at(
                self.node.position,
                format!("`{}: {word}` is not available: {reason}", self.name),
            ));
        }
        let meant = found.and_then(|found| nearest(found, words.clone()));
        Err(self.expected(&one_of(words)).with_hint(meant.map(|meant| format!("did you mean `{meant}`?"))))
    }

    fn items(&self) -> Read<Vec<Field<'a>>> {
        match &self.node.value {
            Value::List(items) => {
                Ok(items.iter().map(|node| Field { name: format!("an entry of {}", self.name), node }).collect())
            }
            _ => Err(self.expected("a list")),
        }
    }

    /// Text, which is not empty.
    fn text(&self) -> Read<&'a str> {
        match &self.node.value {
            Value::Plain(text) | Value::Quoted(text) if !text.is_empty() => Ok(text),
            _ => Err(self.expected("text")),
        }
    }

    fn expected(&self, expected: &str) -> PolicyProblem {
        let problem = format!("`{}` is {expected}, found {}", self.name, self.node.value.in_words());
        PolicyProblem::at(self.node.position, problem)
    }
}

/// Words to choose from, as a person lists them.
fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
