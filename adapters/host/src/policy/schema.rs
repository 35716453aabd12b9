//! What the keys of a policy are, and which values they take.

use super::PolicyProblem;
use super::extends::{self, Extends};
use super::field::{Field, Read};
use super::suggestion::nearest;
use super::tree::{Key, Node, Value, shown};
use isobox_domain::limit::{Limit, LimitError, Limits};
use isobox_domain::policy::hide;
use isobox_domain::policy::read::expand_home;
use isobox_domain::policy::{
    BackendChoice, BackendName, CopyChanges, DependencyCache, HideRule, NetworkAccess, PathMode, Requirement,
    Requirements, ReuseInput, ReuseKind, TaskLimit, ToolCalls, ViewLimit, WorkspaceExposure, WriteRule, WrittenPolicy,
};
use isobox_domain::preflight::PreflightRule;
use isobox_domain::promotion::{BlockedRisk, PromotionRequirement};
use isobox_domain::repo_path::RepoPath;
use isobox_ports::Position;

/// Every key: the sections, and the keys in them. The keys that are no section are in the section without a name.
const KEYS: [(&str, &[&str]); 14] = [
    ("", &["api_version", "kind", "extends", "runtime_backend", "reuse_inputs", "caches", "require"]),
    ("tool_call", &["enabled"]),
    ("development_environment", &["path_mode"]),
    ("workspace_source", &["kind"]),
    ("network", &["default", "allow"]),
    ("filesystem", &["expose_workspace", "read", "write", "hide"]),
    ("workspace", &["protected"]),
    ("credentials", &["default"]),
    ("preflight", &["rules"]),
    ("promotion", &["mode", "require", "block"]),
    ("verification", &["commands"]),
    ("records", &["views"]),
    ("tasks", &["max"]),
    ("limits", &LIMITS),
];

const LIMITS: [&str; Limit::ALL.len()] = {
    let mut names = [""; Limit::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Limit::ALL[index].name();
        index += 1;
    }
    names
};

/// Keys that a user's own policy does not have: it is whole by itself, cannot limit the others yet, and a key without effect
/// would deceive.
const NOT_A_USERS: [(&str, &str); 5] = [
    ("", "extends"),
    ("network", "allow"),
    ("filesystem", "read"),
    ("filesystem", "write"),
    ("verification", "commands"),
];

/// Which file it is: both have the same keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    /// A project's.
    Project,
    /// A user's own, which is a Ceiling over those of projects.
    User,
}

impl FileKind {
    /// The value of `kind`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Project => "ProjectPolicy",
            Self::User => "UserPolicy",
        }
    }
}

/// Most mistakes that are told, and most for which what was meant is looked for. Nobody mends more at once.
const MOST_TOLD: usize = 100;

/// What was found wrong so far, so that everything is told at once.
struct Mistakes(Vec<PolicyProblem>);

impl Mistakes {
    fn note<T>(&mut self, read: Read<T>) -> Option<T> {
        read.map_err(|problem| self.0.push(problem)).ok()
    }

    fn key<T>(&mut self, field: Read<Option<Field<'_>>>, read: impl FnOnce(Field<'_>) -> Read<T>) -> Option<T> {
        let field = self.note(field).flatten()?;
        self.note(read(field))
    }

    fn without_meaning(&mut self, file: &File<'_>, section: &str, name: &str) {
        if let Some(field) = self.note(file.field(section, name)).flatten() {
            let problem = format!("`{}` has no meaning in a user's own policy", field.name);
            let hint = Some("remove it; it belongs in a project's policy".to_owned());
            self.0.push(PolicyProblem::at(field.node.position, problem).with_hint(hint));
        }
    }

    fn unknown(&mut self, section: &str, key: &Key) {
        let hint = (self.0.len() < MOST_TOLD).then(|| meant_by(section, key));
        let place = if section.is_empty() { String::new() } else { format!(" in `{section}`") };
        let problem = format!("unknown key `{}`{place}", shown(&key.name));
        self.0.push(PolicyProblem::at(key.position, problem).with_hint(hint));
    }

    /// In the order of the file, each once: a section that is none is noticed by each of its keys. Of too many, the
    /// first, and how many more there are.
    fn in_order(mut self) -> Vec<PolicyProblem> {
        self.0.sort_by_key(|problem| problem.position.map(|position| (position.line, position.column)));
        self.0.dedup();
        let more = self.0.len().saturating_sub(MOST_TOLD);
        self.0.truncate(MOST_TOLD);
        let last = (more > 0).then(|| PolicyProblem::whole(format!("and {more} more")));
        self.0.extend(last);
        self.0
    }
}

/// What a file says, and where.
#[derive(Debug)]
pub(super) struct Parsed {
    /// What it says, key by key.
    pub(super) written: WrittenPolicy,
    /// Where each key stands, by its full name.
    pub(super) places: Vec<(String, Position)>,
    /// What it extends, and where it says so.
    pub(super) extends: Option<(Extends, Position)>,
}

/// What a tree says, or everything that is wrong with it; `known` is wrong already.
pub(super) fn read(root: &Node, known: Vec<PolicyProblem>, kind: FileKind) -> Result<Parsed, Vec<PolicyProblem>> {
    let mut found = Mistakes(known);
    let file = File::open(root, &mut found).map_err(|problem| vec![problem])?;
    found.note(file.required("api_version", "isobox.dev/v1alpha1"));
    found.note(file.required("kind", kind.name()));
    found.key(file.field("workspace_source", "kind"), |field| field.one_of(&[("repository", ())]));
    found.key(file.field("credentials", "default"), |field| field.one_of(&[("none", ())]));
    found.key(file.field("promotion", "mode"), |field| field.one_of(&[("manual", ())]));
    let written = written(&file, &mut found);
    let position = file.field("", "extends").ok().flatten().map(|field| field.node.position);
    let extends = found.key(file.field("", "extends"), |field| extends::read(&field)).flatten().zip(position);
    if kind == FileKind::User {
        NOT_A_USERS.iter().for_each(|(section, key)| found.without_meaning(&file, section, key));
    }
    match found.0.is_empty() {
        true => Ok(Parsed { written, places: file.places(), extends }),
        false => Err(found.in_order()),
    }
}

fn written(file: &File<'_>, found: &mut Mistakes) -> WrittenPolicy {
    let paths = PathMode::ALL.map(|mode| (mode.name(), mode));
    let access = NetworkAccess::ALL.map(|access| (access.name(), access));
    let exposures = [WorkspaceExposure::ReadWrite, WorkspaceExposure::ReadOnly].map(|mode| (mode.name(), mode));
    WrittenPolicy {
        tool_calls: found.key(file.field("tool_call", "enabled"), tool_calls),
        backend: found.key(file.field("", "runtime_backend"), backend),
        path_mode: found.key(file.field("development_environment", "path_mode"), |field| field.one_of(&paths)),
        network: found.key(file.field("network", "default"), |field| field.one_of(&access)),
        network_allow: found.key(file.field("network", "allow"), network_rules),
        workspace: found.key(file.field("filesystem", "expose_workspace"), |field| field.one_of(&exposures)),
        read: found.key(file.field("filesystem", "read"), read_paths),
        require: found.key(file.field("", "require"), require),
        write: found.key(file.field("filesystem", "write"), write_rules),
        hide: found.key(file.field("filesystem", "hide"), hide_rules),
        protected: found.key(file.field("workspace", "protected"), protected),
        reuse_inputs: found.key(file.field("", "reuse_inputs"), reuse_inputs),
        caches: found.key(file.field("", "caches"), caches),
        preflight: found.key(file.field("preflight", "rules"), preflight),
        views: found.key(file.field("records", "views"), views),
        tasks: found.key(file.field("tasks", "max"), task_limit),
        promotion_require: found.key(file.field("promotion", "require"), promotion_require),
        promotion_block: found.key(file.field("promotion", "block"), promotion_block),
        verification: found.key(file.field("verification", "commands"), commands),
        limits: limits(file, found),
    }
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
    let home = || Some("a home directory as a whole is never shown: name a file or directory in it".to_owned());
    if matches!(&item.node.value, Value::Plain(text) if text.is_empty()) {
        // YAML reads `~` alone as nothing.
        return Err(item.expected("text").with_hint(home()));
    }
    let path = item.text()?.as_bytes().to_vec();
    match expand_home(&path, Some(b"/")) {
        Ok(_) => Ok(path),
        Err(refusal) => Err(PolicyProblem::at(item.node.position, refusal.to_string())
            .with_hint(Some("write an absolute path, or one that begins with `~/`".to_owned()))),
    }
}

/// A path, whose copy is thrown away, or `{path: PATH, capture: true}`.
fn write_rules(field: Field<'_>) -> Read<Vec<WriteRule>> {
    field.items()?.into_iter().map(write_rule).collect()
}

fn write_rule(item: Field<'_>) -> Read<WriteRule> {
    let Value::Mapping(keys) = &item.node.value else { return Ok(WriteRule::discarding(read_path(item)?)) };
    let (mut path, mut changes) = (None, CopyChanges::Discarded);
    for (key, node) in keys {
        let field = Field { name: format!("filesystem.write.{}", key.name), node };
        match key.name.as_str() {
            "path" => path = Some(read_path(field)?),
            "capture" => {
                changes = field.one_of(&[("true", CopyChanges::Captured), ("false", CopyChanges::Discarded)])?;
            }
            other => {
                let problem = format!("`{}` is no key of an entry of `filesystem.write`", shown(other));
                return Err(PolicyProblem::at(key.position, problem)
                    .with_hint(Some("its keys are `path` and `capture`".to_owned())));
            }
        }
    }
    match path {
        Some(path) => Ok(WriteRule { path, changes }),
        None => Err(item.expected("a path, or a mapping with the key `path`")),
    }
}

fn hide_rules(field: Field<'_>) -> Read<Vec<HideRule>> {
    let rule = |item: Field<'_>| {
        HideRule::parse(item.text()?).map_err(|error| {
            PolicyProblem::at(item.node.position, error.to_string()).with_hint(Some(hide::ADVICE.to_owned()))
        })
    };
    field.items()?.into_iter().map(rule).collect()
}

fn protected(field: Field<'_>) -> Read<Vec<RepoPath>> {
    let path = |item: Field<'_>| {
        let text = item.text()?;
        RepoPath::parse(text.trim_end_matches('/')).map_err(|error| {
            PolicyProblem::at(item.node.position, format!("`{}` is no path of a workspace: {error}", shown(text)))
                .with_hint(Some("write a path below the root of the repository, such as `.github`".to_owned()))
        })
    };
    field.items()?.into_iter().map(path).collect()
}

fn reuse_inputs(field: Field<'_>) -> Read<Vec<ReuseInput>> {
    field.items()?.into_iter().map(reuse_input).collect()
}

fn reuse_input(item: Field<'_>) -> Read<ReuseInput> {
    let text = item.text()?;
    let kinds = ReuseKind::ALL.map(ReuseKind::name);
    let refuse =
        |problem: String, hint: String| Err(PolicyProblem::at(item.node.position, problem).with_hint(Some(hint)));
    let Some((kind, value)) = text.split_once('=').filter(|(_, value)| !value.is_empty()) else {
        return refuse(format!("`{}` is no KIND=VALUE", shown(text)), format!("KIND is one of {}", kinds.join(", ")));
    };
    let Some(known) = ReuseKind::ALL.into_iter().find(|known| known.name() == kind) else {
        let meant = nearest(kind, kinds)
            .map_or_else(|| format!("write one of {}", kinds.join(", ")), |meant| format!("did you mean `{meant}`?"));
        return refuse(format!("`{}` is no kind of reuse input", shown(kind)), meant);
    };
    let is_path = matches!(known, ReuseKind::Path | ReuseKind::LocalIntegration)
        || (known == ReuseKind::HostBinary && value.contains('/'));
    match known {
        // A value in a file that is committed would be no secret, and the same for everybody.
        ReuseKind::EnvVar if value.contains('=') => refuse(
            format!("`{}` has a value", shown(text)),
            "name the variable alone: its value is the caller's".to_owned(),
        ),
        _ if is_path => match expand_home(value.as_bytes(), Some(b"/")) {
            Ok(_) => Ok(ReuseInput { kind: known, value: value.to_owned(), digest: None }),
            Err(refusal) => {
                refuse(refusal.to_string(), "write an absolute path, or one that begins with `~/`".to_owned())
            }
        },
        _ => Ok(ReuseInput { kind: known, value: value.to_owned(), digest: None }),
    }
}

fn caches(field: Field<'_>) -> Read<Vec<DependencyCache>> {
    let known = DependencyCache::ALL.map(|cache| (cache.name(), cache));
    Ok(DependencyCache::in_order(&each_once(field, &known)?))
}

fn require(field: Field<'_>) -> Read<Requirements> {
    let known: Vec<(&str, Requirement)> = Requirement::all().map(|known| (known.name(), known)).collect();
    Ok(each_once(field, &known)?.into_iter().collect())
}

fn promotion_require(field: Field<'_>) -> Read<Vec<PromotionRequirement>> {
    each_once(field, &PromotionRequirement::ALL.map(|known| (known.name(), known)))
}

fn promotion_block(field: Field<'_>) -> Read<Vec<BlockedRisk>> {
    let known: Vec<(&str, BlockedRisk)> = BlockedRisk::all().map(|known| (known.name(), known)).collect();
    each_once(field, &known)
}

fn commands(field: Field<'_>) -> Read<Vec<String>> {
    let command = |item: Field<'_>| match item.text()? {
        text if text.trim().is_empty() || text.contains('\0') => Err(item.expected("a command, as `sh -c` takes it")),
        text => Ok(text.to_owned()),
    };
    field.items()?.into_iter().map(command).collect()
}

fn preflight(field: Field<'_>) -> Read<Vec<PreflightRule>> {
    let known = PreflightRule::ALL.map(|rule| (rule.name(), rule));
    Ok(PreflightRule::in_force(&each_once(field, &known)?))
}

/// The entries of a list, each being one of `known` and none there twice.
fn each_once<T: Copy + PartialEq>(field: Field<'_>, known: &[(&str, T)]) -> Read<Vec<T>> {
    let mut chosen = Vec::new();
    for item in field.items()? {
        let entry = item.one_of(known)?;
        if chosen.contains(&entry) {
            let name = known.iter().find(|(_, value)| *value == entry).map_or("", |(name, _)| name);
            return Err(PolicyProblem::at(item.node.position, format!("`{name}` is there twice")));
        }
        chosen.push(entry);
    }
    Ok(chosen)
}

fn views(field: Field<'_>) -> Read<ViewLimit> {
    match &field.node.value {
        Value::Plain(text) | Value::Quoted(text) if text == "all" => Ok(ViewLimit::All),
        Value::Plain(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().map(ViewLimit::Newest).map_err(|_| field.expected("a number below 4294967296, or `all`"))
        }
        _ => Err(field.expected("a number, or `all`")),
    }
}

fn task_limit(field: Field<'_>) -> Read<TaskLimit> {
    let limit = match &field.node.value {
        Value::Plain(text) => TaskLimit::parse(text),
        // In quotes, a word is a word, and a number is text.
        Value::Quoted(text) if text == TaskLimit::UNLIMITED => Some(TaskLimit::Unlimited),
        _ => None,
    };
    limit.ok_or_else(|| field.expected("a number from 1 to 4294967295, or `unlimited`"))
}

fn limits(file: &File<'_>, found: &mut Mistakes) -> Limits {
    Limit::ALL.into_iter().fold(Limits::NONE, |limits, limit| {
        let value = found.key(file.field("limits", limit.name()), |field| limit_value(&field, limit));
        limits.with(limit, value.flatten())
    })
}

fn limit_value(field: &Field<'_>, limit: Limit) -> Read<Option<u64>> {
    let refused = |error: LimitError| {
        let hint = error.meant.as_ref().map(|meant| format!("did you mean `{meant}`?"));
        field.expected(&error.expected()).with_hint(hint)
    };
    match &field.node.value {
        Value::Plain(text) => limit.parse_value(text).map_err(refused),
        // In quotes, a number is text; one with a unit is text anyway.
        Value::Quoted(text) if text.parse::<f64>().is_err() => limit.parse_value(text).map_err(refused),
        _ => Err(field.expected(&limit.parse_value("").map_or_else(|error| error.expected(), |_| String::new()))),
    }
}

/// The whole file, its keys known to be known.
struct File<'a> {
    root: &'a Node,
    entries: &'a [(Key, Node)],
}

impl<'a> File<'a> {
    fn open(root: &'a Node, found: &mut Mistakes) -> Read<Self> {
        let Value::Mapping(entries) = &root.value else {
            let problem = format!("expected a mapping with the keys of a policy, found {}", root.value.in_words());
            return Err(PolicyProblem::at(root.position, problem));
        };
        for (key, node) in entries {
            match KEYS.iter().find(|(section, _)| *section == key.name && !section.is_empty()) {
                Some((section, keys)) => check_section(section, keys, node, found),
                None if KEYS[0].1.contains(&key.name.as_str()) => {}
                None => found.unknown("", key),
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

    /// Where each key stands, by its full name.
    fn places(&self) -> Vec<(String, Position)> {
        let in_section = |(section, keys): &(&str, &[&str])| {
            let entries = match *section {
                "" => Some(self.entries),
                section => find(self.entries, section).and_then(|node| mapping(section, node).ok()),
            };
            let known = entries.unwrap_or_default().iter().filter(|(key, _)| keys.contains(&key.name.as_str()));
            known.map(|(key, _)| (full_name(section, &key.name), key.position)).collect::<Vec<_>>()
        };
        KEYS.iter().flat_map(in_section).collect()
    }

    fn required(&self, name: &str, value: &'static str) -> Read<()> {
        let missing = || {
            PolicyProblem::at(self.root.position, format!("the key `{name}` is missing"))
                .with_hint(Some(format!("add `{name}: {value}`")))
        };
        self.field("", name)?.ok_or_else(missing)?.one_of(&[(value, ())])
    }
}

fn check_section(section: &str, keys: &[&str], node: &Node, found: &mut Mistakes) {
    let entries = found.note(mapping(section, node)).unwrap_or_default();
    let strangers = entries.iter().filter(|(key, _)| !keys.contains(&key.name.as_str()));
    strangers.for_each(|(key, _)| found.unknown(section, key));
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

/// What to write in place of an unknown key.
fn meant_by(section: &str, key: &Key) -> String {
    let keys = KEYS.iter().find(|(known, _)| *known == section).map_or(&[][..], |(_, keys)| keys);
    let sections = KEYS.iter().map(|(section, _)| *section).filter(|name| section.is_empty() && !name.is_empty());
    let elsewhere = KEYS.iter().find(|(_, keys)| keys.contains(&key.name.as_str()));
    match (nearest(&key.name, keys.iter().copied().chain(sections)), elsewhere) {
        (Some(meant), _) => format!("did you mean `{meant}`?"),
        (None, Some(("", _))) => format!("`{}` belongs at the top, outside of every section", key.name),
        (None, Some((section, _))) => format!("`{}` belongs in `{section}`", key.name),
        (None, None) => "remove it".to_owned(),
    }
}
