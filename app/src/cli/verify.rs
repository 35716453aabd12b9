//! `isobox verify`.

use super::Place;
use clap::Args;
use isobox_domain::verification::Sample;
use isobox_store_format::log::VerifierKey;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

/// `isobox verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The project and the store.
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Look whether everything is there, and read no content
    #[arg(long, group = "thoroughness")]
    pub(crate) quick: bool,
    /// Read one of M equal parts of the content, today/M another one each day
    #[arg(long, value_name = "N/M", group = "thoroughness")]
    pub(crate) sample: Option<SampleFlag>,
    /// Read all content, and what records and change sets mean
    #[arg(long, group = "thoroughness")]
    pub(crate) deep: bool,
    /// Look, too, whether everything is there that this older checkpoint is of
    #[arg(long, value_name = "CHECKPOINT", conflicts_with = "tasks")]
    pub(crate) since: Option<PathBuf>,
    /// The key that has to vouch for the log, as `audit init-key` prints it [default: the one of this store]
    #[arg(long, value_name = "VKEY", conflicts_with = "tasks")]
    pub(crate) key: Option<VerifierKey>,
    /// Only these, with everything that they refer to, deeply [default: the whole store]
    #[arg(value_name = "TASK", conflicts_with = "thoroughness")]
    pub(crate) tasks: Vec<OsString>,
}

/// A part of the content on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleFlag {
    /// The same one every time.
    Part(Sample),
    /// One of so many, another one each day.
    Today(NonZeroU32),
}

impl FromStr for SampleFlag {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let wrong = || "it is N/M with N from 1 to M, such as 1/7, or today/M".to_owned();
        let (part, of) = typed.split_once('/').ok_or_else(wrong)?;
        let of: NonZeroU32 = of.parse().map_err(|_| wrong())?;
        match part {
            "today" => Ok(Self::Today(of)),
            part => part.parse().ok().and_then(|part| Sample::new(part, of.get())).map(Self::Part).ok_or_else(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!("today/7".parse(), Ok(SampleFlag::Today(NonZeroU32::new(7).expect("it is not zero"))));
        assert_eq!("2/7".parse::<SampleFlag>().ok(), Sample::new(2, 7).map(SampleFlag::Part));
        for typed in ["", "7", "0/7", "8/7", "1/0", "today/0", "a/7", "1/7/7", "-1/7"] {
            assert!(typed.parse::<SampleFlag>().is_err(), "{typed}");
        }
    }
}
