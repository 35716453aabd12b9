//! How a failure is written: `error:`, `caused by:` and `hint:` lines, or one JSON document.

use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::output::record_json::enforcement;
use isobox_domain::policy::Unmet;
use serde_json::{Value, json};

/// For people. `error` and `hint` are pairs of escape sequences around the labels.
pub(crate) fn text(failure: &Failure, error: (String, String), hint: (String, String)) -> String {
    let chain = failure.chain();
    let mut labels = std::iter::once(format!("{}error:{}", error.0, error.1))
        .chain(std::iter::repeat_with(|| "caused by:".to_owned()));
    let mut lines: Vec<String> = Vec::new();
    for message in &chain {
        let label = labels.next().unwrap_or_default();
        lines.push(format!("{label} {}", indented(message)));
    }
    lines.extend(failure.hint.iter().map(|advice| format!("{}hint:{} {}", hint.0, hint.1, indented(advice))));
    lines.join("\n")
}

/// Further lines of a message, set below its label.
pub(crate) fn indented(message: &str) -> String {
    message.replace('\n', "\n  ").replace("\n  \n", "\n\n")
}

/// For programs: a document of schema `isobox.error/v1` on one line.
pub(crate) fn json(failure: &Failure, code: ExitCode) -> String {
    let chain = failure.chain();
    let (message, causes) = chain.split_first().map_or((String::new(), &[][..]), |(first, rest)| (first.clone(), rest));
    let mut document = json!({
        "schema": "isobox.error/v1",
        "kind": failure.kind.name(),
        "exit_code": code.0,
        "message": message,
        "causes": causes,
        "hint": failure.hint,
    });
    if !failure.unmet.is_empty() {
        document["not_enforced"] = failure.unmet.iter().map(unmet).collect();
    }
    document.to_string()
}

/// What is required of a backend and not enforced by it.
fn unmet(unmet: &Unmet) -> Value {
    let mut document = enforcement(&unmet.enforcement);
    document["required"] = unmet.requirement.name().into();
    document["backend"] = unmet.backend.name().into();
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    fn failure() -> Failure {
        Failure::new(FailureKind::Store, "open the store").because("a\nb").with_hint("try again")
    }

    #[test]
    fn each_link_of_the_chain_has_its_own_line() {
        let plain = || (String::new(), String::new());
        assert_eq!(text(&failure(), plain(), plain()), "error: open the store\ncaused by: a\n  b\nhint: try again");
    }

    #[test]
    fn programs_get_the_same_facts() {
        let expected = r#"{"schema":"isobox.error/v1","kind":"store","exit_code":125,"message":"open the store","causes":["a\nb"],"hint":"try again"}"#;
        assert_eq!(json(&failure(), ExitCode::ISOBOX_FAILED), expected);
    }
}
