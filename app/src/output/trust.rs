//! A person's part in trusting a project's policy: what it would do, a question, an answer.

use crate::failure::{Failure, FailureKind};
use crate::output::answer;
use crate::output::console::Console;
use crate::output::effects::{differences, effects, wider};
use crate::use_case::trusted_policy::{Novelty, Untrusted};
use isobox_domain::policy::Effect;
use isobox_domain::task_id::TaskId;

/// Asks on a terminal whether the policy at `path` is trusted; elsewhere, and for any answer but yes, it is not.
pub(crate) fn ask(console: Console, path: &str, untrusted: &Untrusted) -> Result<(), Failure> {
    if !answer::is_anybody_there() {
        return Err(refused(path, untrusted, None));
    }
    let lines = effects(&untrusted.effects);
    let question = format!("{}:\n{lines}Trust this policy? Type yes to go on: ", sentence(path, untrusted.novelty));
    require_yes(console, &question, |why| refused(path, untrusted, Some(why)))
}

/// Asks on a terminal whether an attempt of `task` may do once more what an earlier one could and the policy that is
/// trusted now does not allow, which `beyond` has; elsewhere, and for any answer but yes, it may not.
pub(crate) fn ask_once_more(console: Console, task: TaskId, beyond: &[Effect]) -> Result<(), Failure> {
    if !answer::is_anybody_there() {
        return Err(refused_once_more(task, beyond, None));
    }
    let question = format!(
        "The earlier attempt of {task} could do more than the policy that you trust here now allows:\n{}\
         Use the policy of that attempt once more? Type yes to go on: ",
        wider(beyond)
    );
    require_yes(console, &question, |why| refused_once_more(task, beyond, Some(why)))
}

fn require_yes(console: Console, question: &str, refused: impl FnOnce(&str) -> Failure) -> Result<(), Failure> {
    match answer::ask(console, question) {
        Ok(Some(answer)) if answer == b"yes" => Ok(()),
        Ok(Some(_)) => Err(refused("the answer was not `yes`")),
        Ok(None) => Err(refused("there was no answer to read")),
        Err(error) => Err(refused("the answer could not be read").because(error)),
    }
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
        Novelty::Changed => match differences(&untrusted.effects, ["is", "was"]) {
            changes if changes.is_empty() => format!("the policy {path} is not one that you trusted"),
            changes => format!("the policy {path} is not one that you trusted ({changes})"),
        },
    };
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    Failure::new(FailureKind::Policy, format!("{what}{why}; nothing was started")).with_hint(
        "look at it with `isobox policy show`, and trust it with `isobox policy trust`, or by --trust-policy here",
    )
}

fn refused_once_more(task: TaskId, beyond: &[Effect], why: Option<&str>) -> Failure {
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let what = format!(
        "the earlier attempt of {task} could do more than the policy that you trust here now allows ({}){why}; nothing was \
         started",
        differences(beyond, ["was", "is now"])
    );
    Failure::new(FailureKind::Policy, what)
        .with_hint("look at it with `isobox show`; --trust-policy takes it once more, or type the command again")
}
