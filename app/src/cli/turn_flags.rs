//! Flags about how many tasks run at the same time.

use clap::Args;
use isobox_domain::policy::TaskLimit;

/// What to do beside other tasks of the same store.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct TurnFlags {
    /// Wait until fewer than this many tasks of the store run: a number, or unlimited (policy key `tasks.max`)
    #[arg(long, value_name = "N", value_parser = parse_limit)]
    pub(crate) max_tasks: Option<TaskLimit>,
    /// Refuse instead of waiting while as many tasks run as may
    #[arg(long)]
    pub(crate) no_wait: bool,
}

fn parse_limit(text: &str) -> Result<TaskLimit, &'static str> {
    TaskLimit::parse(text).ok_or("expected a number from 1 to 4294967295, or `unlimited`")
}
