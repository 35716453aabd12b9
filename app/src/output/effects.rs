//! What a policy would do, so short that nothing of it is out of sight when the question comes.

use isobox_domain::policy::{Effect, Value};

/// The key and value under which nothing else of a policy is enforced.
const UNCONTAINED: (&str, &str) = ("runtime_backend", "host");
/// What that means.
const NOTHING: &str = "  `host` contains nothing: what runs there can do whatever you can\n";
/// Most entries of a list that are shown.
const MOST_ENTRIES: usize = 6;
/// Columns for a value or an entry. With what stands before it, it stays on one line of a terminal.
const COLUMNS: usize = 72;
/// Columns of a list that is shown beside its key.
const BESIDE: usize = 40;

/// What a policy would do, a line a key; what weighs most comes last.
pub(crate) fn effects(effects: &[Effect]) -> String {
    if effects.is_empty() {
        return "  every key has its default\n".to_owned();
    }
    let lines: String = effects.iter().map(|effect| line(effect, "was")).collect();
    match is_uncontained(effects) {
        true => lines + NOTHING,
        false => format!("  every key that is not named here has its default\n{lines}"),
    }
}

/// Where a policy allows more than the one that is trusted now.
pub(crate) fn wider(effects: &[Effect]) -> String {
    let lines: String = effects.iter().map(|effect| line(effect, "now")).collect();
    if is_uncontained(effects) { lines + NOTHING } else { lines }
}

/// What a session may do beyond the project's policy, because a flag said that this is meant.
pub(crate) fn weakened(Effect { key, value, was }: &Effect) -> String {
    let file = was.as_ref().map(brief).unwrap_or_default();
    format!(
        "this session is less contained than the project's policy says: `{key}` is {}, and not {file}",
        brief(value)
    )
}

/// What is different from another policy, for the sentence of an error. The verbs stand before the value of either.
pub(crate) fn differences(effects: &[Effect], [own, other]: [&str; 2]) -> String {
    let changed = effects.iter().filter_map(|Effect { key, value, was }| {
        was.as_ref().map(|was| format!("`{key}` {own} {} and {other} {}", brief(value), brief(was)))
    });
    changed.collect::<Vec<_>>().join(", ")
}

fn is_uncontained(effects: &[Effect]) -> bool {
    let is_host = |value: &Value| matches!(value, Value::Word(word) if word == UNCONTAINED.1);
    effects.iter().any(|effect| effect.key == UNCONTAINED.0 && is_host(&effect.value))
}

/// A key and its value, with the other policy's after `word`.
fn line(Effect { key, value, was }: &Effect, word: &str) -> String {
    let before = was.as_ref().map(|was| format!("  ({word} {})", brief(was))).unwrap_or_default();
    let known = match was {
        Some(Value::List(known)) => known.as_slice(),
        Some(Value::Word(_)) | None => &[],
    };
    let below = match value {
        Value::List(entries) if beside(value).is_none() => below(entries, known),
        Value::List(_) | Value::Word(_) => String::new(),
    };
    format!("  {key:<35}{}{before}\n{below}", brief(value))
}

/// The value, or how long it is.
fn brief(value: &Value) -> String {
    beside(value).unwrap_or_else(|| match value {
        Value::List(entries) => format!("a list of {}", entries.len()),
        Value::Word(word) => cut(word),
    })
}

/// The value, if it is short.
fn beside(value: &Value) -> Option<String> {
    let text = value.to_string();
    (columns(&text) <= BESIDE).then_some(text)
}

/// Some entries of a long list, a line each; those that are not `known` come before those that are, and what may hold
/// most, the paths with the fewest parts, before the rest.
fn below(entries: &[String], known: &[String]) -> String {
    let mut entries: Vec<&String> = entries.iter().collect();
    entries.sort_by_cached_key(|entry| (known.contains(entry), entry.matches('/').count()));
    let mark = |entry: &String| if known.is_empty() || known.contains(entry) { "" } else { "+ " };
    let shown = entries.iter().take(MOST_ENTRIES);
    let lines: String = shown.map(|entry| format!("    {}{}\n", mark(entry), cut(entry))).collect();
    match entries.len().saturating_sub(MOST_ENTRIES) {
        0 => lines,
        more => format!("{lines}    and {more} more, which `isobox policy show` lists\n"),
    }
}

/// The text, or as much of its beginning as has room, and how long it is.
fn cut(text: &str) -> String {
    if columns(text) <= COLUMNS {
        return text.to_owned();
    }
    let note = format!("… ({} characters)", text.chars().count());
    let (mut room, mut cut) = (COLUMNS - columns(&note), String::new());
    for c in text.chars() {
        let Some(left) = room.checked_sub(width(c)) else { break };
        room = left;
        cut.push(c);
    }
    cut + &note
}

fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

// No more columns than this are taken by any terminal.
const fn width(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::content::ContentId;
    use isobox_domain::policy::{BackendChoice, BackendName, NetworkAccess, ProjectPolicy, TrustedPolicies};

    fn reading(paths: impl IntoIterator<Item = String>) -> ProjectPolicy {
        let mut policy = ProjectPolicy::default();
        policy.sandbox.read = paths.into_iter().map(String::into_bytes).collect();
        policy.sandbox.network = NetworkAccess::Inherited;
        policy
    }

    #[test]
    fn thousands_of_entries_push_nothing_out_of_sight() {
        let paths = (0..9000).map(|n| format!("/opt/{n}/{}", "\u{2003}".repeat(300)));
        let shown = effects(&TrustedPolicies::default().effects(&reading(paths)));
        assert!(shown.lines().count() <= 12, "{shown}");
        assert!(shown.lines().all(|line| columns(line) < 80), "{shown}");
        assert!(shown.contains("a list of 9000\n") && shown.contains("and 8994 more"), "{shown}");
        assert!(shown.contains("… (3"), "{shown}");
        assert_eq!(shown.lines().last(), Some("  network.default                    inherited"));
    }

    #[test]
    fn an_entry_imitates_no_line() {
        let hostile = format!("/opt\"\n  network.default                    deny{}", " ".repeat(80));
        let shown = effects(&TrustedPolicies::default().effects(&reading([hostile])));
        assert!(shown.lines().all(|line| line.trim_end() != "  network.default                    deny"), "{shown}");
        assert!(shown.contains("    \"/opt\\x22\\n  network.default "), "{shown}");
    }

    #[test]
    fn a_short_path_is_not_hidden_behind_long_ones() {
        let paths = (0..50).map(|n| format!("/opt/a/rather/long/name/{n}")).chain(["/srv".to_owned()]);
        let shown = effects(&TrustedPolicies::default().effects(&reading(paths)));
        assert!(shown.contains("a list of 51\n    \"/srv\"\n"), "{shown}");
    }

    #[test]
    fn what_was_added_to_a_long_list_is_seen() {
        let old = |count: u32| (0..count).map(|n| format!("/opt/a/rather/long/name/{n}"));
        let trusted = TrustedPolicies::default().with(ContentId::new([1; 32]), &reading(old(50)));
        let found = trusted.effects(&reading(old(50).chain(["/srv/added".to_owned()])));
        let shown = effects(&found);
        assert!(shown.contains("a list of 51  (was a list of 50)\n    + \"/srv/added\"\n    \"/opt/a"), "{shown}");
        assert_eq!(differences(&found, ["is", "was"]), "`filesystem.read` is a list of 51 and was a list of 50");
    }

    #[test]
    fn that_nothing_is_contained_is_the_last_word() {
        let mut policy = reading(["/opt".to_owned()]);
        policy.sandbox.backend = BackendChoice::Named(BackendName::Host);
        let shown = effects(&TrustedPolicies::default().effects(&policy));
        let last: Vec<&str> = shown.lines().rev().take(2).collect();
        assert!(last[0].starts_with("  `host` contains nothing"), "{shown}");
        assert!(last[1].starts_with("  runtime_backend"), "{shown}");
        assert!(shown.contains("[\"/opt\"]"), "{shown}");
    }
}
