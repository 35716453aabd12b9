//! The command that updates isobox itself.

use clap::Args;

/// `isobox update`.
#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    /// Only look whether there is a newer release; fetch and replace nothing
    #[arg(long, conflicts_with = "rollback")]
    pub(crate) check: bool,
    /// Go back to the program that the last update replaced; a second time, forth again
    #[arg(long)]
    pub(crate) rollback: bool,
    /// Where the releases are: an https, http or file URL [default: $ISOBOX_RELEASE_URL, else as built]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The minisign key that they must be signed with [default: $ISOBOX_RELEASE_KEY, else as built]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// How long all downloads together may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}
