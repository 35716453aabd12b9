//! A person's part in trusting a project's policy: what it would do, a question, an answer.

use crate::failure::{Failure, FailureKind};
use crate::output::answer;
use crate::output::console::Console;
use crate::use_case::trusted_policy::{Novelty, Untrusted};
use isobox_domain::policy::Effect;

/// Asks on a terminal whether the policy at `path` is trusted; elsewhere, and for any answer but yes, it is not.
pub(crate) fn ask(console: Console, path: &str, untrusted: &Untrusted) -> Result<(), Failure> {
    if !answer::is_anybody_there() {
        return Err(refused(path, untrusted, None));
    }
    let lines = effects(&untrusted.effects);
    let question = format!("{}:\n{lines}Trust this policy? Type yes to go on: ", sentence(path, untrusted.novelty));
    match answer::ask(console, &question) {
        Ok(Some(answer)) if answer == b"yes" || answer == b"y" => Ok(()),
        Ok(Some(_)) => Err(refused(path, untrusted, Some("the answer was not `yes`"))),
        Ok(None) => Err(refused(path, untrusted, Some("there was no answer to read"))),
        Err(error) => Err(refused(path, untrusted, Some("the answer could not be read")).because(error)),
    }
}

/// The key and value under which nothing else of a policy is enforced.
const UNCONTAINED: (&str, &str) = ("runtime_backend", "host");

/// What a policy would do, a line a key.
pub(crate) fn effects(effects: &[Effect]) -> String {
    if effects.is_empty() {
        return "  every key has its most restrictive value\n".to_owned();
    }
    let line = |Effect { key, value, was }: &Effect| {
        let was = was.as_ref().map(|was| format!("  (was {was})")).unwrap_or_default();
        format!("  {key:<35}{value}{was}\n")
    };
    let is_uncontained = effects.iter().any(|effect| (effect.key, effect.value.as_str()) == UNCONTAINED);
    let rest = match is_uncontained {
        true => "  `host` contains nothing: what runs there can do whatever you can\n",
        false => "  every other key has its most restrictive value\n",
    };
    effects.iter().map(line).collect::<String>() + rest
}

fn sentence(path: &str, novelty: Novelty) -> String {
    match novelty {
        Novelty::First => format!("You have not trusted the policy of this repository yet, {path}"),
        Novelty::Changed => format!("The policy of this repository is not one that you trusted, {path}"),
    }
}

fn refused(path: &str, untrusted: &Untrusted, why: Option<&str>) -> Failure {
    let what = match untrusted.novelty {
        Novelty::First => format!("the policy {path} is not trusted yet"),
        Novelty::Changed => format!("the policy {path} is not one that you trusted{}", changes(&untrusted.effects)),
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Failure::new(FailureKind::Policy, format!("{what}{why}; nothing was started")).with_hint(
        "look at it with `isobox policy show`, and trust it with `isobox policy trust`, or by --trust-policy here",
    )
}

fn changes(effects: &[Effect]) -> String {
    let changed = effects
        .iter()
        .filter_map(|Effect { key, value, was }| was.as_ref().map(|was| format!("`{key}` is {value} and was {was}")));
    let changed = changed.collect::<Vec<_>>().join(", ");
    if changed.is_empty() { changed } else { format!(" ({changed})") }
}
