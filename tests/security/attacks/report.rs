//! What the record of an attempt says about a control or a limit.

use isobox_tests::Case;

/// What is said about one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reported {
    /// Nothing gets past it.
    Enforced,
    /// It holds but for this.
    Partially(String),
    /// Nothing holds it.
    NotEnforced,
}

impl Reported {
    /// What the newest record of `case` says about `control`, or about the limit of `limits.NAME`.
    pub(crate) fn of(control: &str, case: &Case) -> Self {
        let record = case.record();
        let one = match control.strip_prefix("limits.") {
            Some(limit) => &record["effective_policy"]["limits"][limit],
            None => &record["effective_policy"]["enforcement"][control],
        };
        let reason = || one["reason"].as_str().expect("a reason").to_owned();
        match one["status"].as_str().unwrap_or_else(|| panic!("no {control} in {record}")) {
            "enforced" => Self::Enforced,
            "partially_enforced" => Self::Partially(reason()),
            "not_enforced" => Self::NotEnforced,
            other => panic!("{other} is no enforcement"),
        }
    }
}
