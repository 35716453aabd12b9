//! `isobox list`.

use super::Place;
use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum};
use isobox_domain::listing::{Limit, PathPattern, PathPatternError, SortKey, TaskPrefix, When};
use isobox_domain::outcome::Outcome;
use isobox_domain::policy::BackendName;
use isobox_domain::task_state::TaskState;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::str::FromStr;

/// `isobox list`.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a JSON document a line for each task, as they are found
    #[arg(long, conflicts_with = "json")]
    pub(crate) jsonl: bool,
    /// Which tasks.
    #[command(flatten)]
    pub(crate) which: WhichTasks,
    /// Order by this, the newest or largest first
    #[arg(long, value_enum, value_name = "KEY", default_value = "time", hide_default_value = true)]
    #[arg(help_heading = ORDER)]
    pub(crate) sort: SortFlag,
    /// Begin with the oldest or smallest
    #[arg(long, help_heading = ORDER)]
    pub(crate) reverse: bool,
    /// Show so many tasks at most, or `all` [default: 50 on a terminal, else all]
    #[arg(long, short = 'n', value_name = "N", help_heading = ORDER)]
    pub(crate) limit: Option<LimitFlag>,
}

const ORDER: &str = "Order";

/// Which tasks are listed: those that everything which is asked for holds of.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct WhichTasks {
    /// Only tasks in this state; repeatable
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) state: Vec<StateFlag>,
    /// Only tasks that ended so; repeatable
    #[arg(long, value_enum, value_name = "OUTCOME")]
    pub(crate) outcome: Vec<OutcomeFlag>,
    /// Only tasks requested at that time or later: 2h, 3d, 2026-11-29, 2026-11-29T16:12Z, yesterday; times are in UTC
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub(crate) since: Option<When>,
    /// Only tasks requested at that time or earlier, all of a day included
    #[arg(long, value_name = "WHEN", allow_hyphen_values = true)]
    pub(crate) until: Option<When>,
    /// Only tasks with this text in their command; with * or ? in it, a pattern of the whole command
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) command: Option<OsString>,
    /// Only tasks that changed this path or one below it, from the root of the repository; *, ? and ** are patterns
    #[arg(long, value_name = "PATH", value_parser = OsStringValueParser::new().try_map(parse_path))]
    pub(crate) path: Option<PathPattern>,
    /// Only tasks whose ids begin so
    #[arg(long = "task", id = "task_prefix", value_name = "PREFIX")]
    pub(crate) task: Option<TaskPrefix>,
    /// Only tasks that this backend contained; repeatable
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Vec<UsedBackendFlag>,
    /// Only tasks that were promoted, whatever came after
    #[arg(long, conflicts_with = "unpromoted")]
    pub(crate) promoted: bool,
    /// Only tasks that were never promoted
    #[arg(long)]
    pub(crate) unpromoted: bool,
}

fn parse_path(typed: OsString) -> Result<PathPattern, PathPatternError> {
    PathPattern::parse(typed.as_bytes())
}

/// `--limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitFlag(pub(crate) Limit);

impl FromStr for LimitFlag {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let most = match typed {
            "all" => return Ok(Self(Limit::All)),
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
            _ => None,
        };
        let most = most.filter(|most| *most > 0).ok_or("it is a number from 1 on, or all")?;
        Ok(Self(Limit::Most(most)))
    }
}

/// Makes a value of the domain, with its names, one of the command line.
macro_rules! named_flag {
    ($(#[$doc:meta])* $flag:ident($value:ty $(, $meaning:path)?)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $flag(pub(crate) $value);

        impl ValueEnum for $flag {
            fn value_variants<'a>() -> &'a [Self] {
                const ALL: [$flag; <$value>::ALL.len()] = {
                    let mut all = [$flag(<$value>::ALL[0]); <$value>::ALL.len()];
                    let mut at = 0;
                    while at < all.len() {
                        all[at] = $flag(<$value>::ALL[at]);
                        at += 1;
                    }
                    all
                };
                &ALL
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(PossibleValue::new(self.0.name())$(.help($meaning(self.0)))?)
            }
        }
    };
}

named_flag!(
    /// A state of a Task on the command line.
    StateFlag(TaskState, meaning)
);
const fn meaning(state: TaskState) -> &'static str {
    match state {
        TaskState::Running => "A process carries it out",
        TaskState::Interrupted => "isobox was interrupted or killed",
        TaskState::Unreviewed => "It ended, and nobody has decided about its result",
        TaskState::Unchanged => "It changed nothing, or never started: there is nothing to decide about",
        TaskState::Superseded => "Nobody has decided about it, and there is a newer attempt of the task",
        TaskState::PartlyPromoted => "A part of its result was promoted, and the rest waits",
        TaskState::Promoted => "Its result was promoted",
        TaskState::Rejected => "Its result was turned down",
        TaskState::Verification => "It verified the result of another task: there is nothing to decide about",
    }
}

named_flag!(
    /// An outcome on the command line.
    OutcomeFlag(Outcome)
);
named_flag!(
    /// A backend that was used, on the command line.
    UsedBackendFlag(BackendName)
);
named_flag!(
    /// What Tasks are ordered by, on the command line.
    SortFlag(SortKey)
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_all() {
        assert_eq!("all".parse(), Ok(LimitFlag(Limit::All)));
        assert_eq!("12".parse(), Ok(LimitFlag(Limit::Most(12))));
        for typed in ["", "0", "-1", "+1", "1x", "ALL", "99999999999999999999"] {
            assert!(typed.parse::<LimitFlag>().is_err(), "{typed}");
        }
    }
}
