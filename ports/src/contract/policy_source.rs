//! What every implementation of [`PolicySource`] keeps.

use crate::{PolicyError, PolicySource};
use isobox_domain::policy::{ProjectPolicy, ToolCalls};
use libtest_mimic::{Failed, Trial};

/// What lies in the place of a project's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// Nothing.
    Nothing,
    /// A policy that enables tool calls and leaves out everything else.
    Policy,
    /// A file that is no policy.
    NoPolicy,
    /// An empty file.
    Empty,
    /// A symbolic link to a policy.
    Link,
    /// A symbolic link to nothing.
    DanglingLink,
    /// Something that is neither a file nor a link.
    NoFile,
}

type Case = fn(InPlace, Result<Option<ProjectPolicy>, PolicyError>) -> Result<(), Failed>;

const CASES: &[(&str, InPlace, Case)] = &[
    ("no_file_is_none", InPlace::Nothing, is_none),
    ("a_policy_is_read", InPlace::Policy, is_read),
    ("a_file_that_is_no_policy_is_an_error", InPlace::NoPolicy, is_invalid),
    ("an_empty_file_is_an_error", InPlace::Empty, is_invalid),
    ("a_link_is_an_error", InPlace::Link, is_invalid),
    ("a_dangling_link_is_an_error", InPlace::DanglingLink, is_invalid),
    ("what_is_no_file_is_an_error", InPlace::NoFile, is_invalid),
];

/// The suite, as tests of `name`. `load` puts something in place and reads it, for a project of its own.
pub fn cases(name: &str, load: fn(InPlace) -> Result<Option<ProjectPolicy>, PolicyError>) -> Vec<Trial> {
    let trial = |&(case, place, check): &(&str, InPlace, Case)| {
        Trial::test(format!("{name}::policy_source::{case}"), move || check(place, load(place)))
    };
    CASES.iter().map(trial).collect()
}

/// Reads twice, for a `load` of [`cases`]: reading changes nothing.
pub fn read(source: &dyn PolicySource) -> Result<Option<ProjectPolicy>, PolicyError> {
    let first = source.load()?;
    assert_eq!(source.load()?, first);
    Ok(first)
}

fn is_none(_: InPlace, found: Result<Option<ProjectPolicy>, PolicyError>) -> Result<(), Failed> {
    assert_eq!(found?, None);
    Ok(())
}

fn is_read(_: InPlace, found: Result<Option<ProjectPolicy>, PolicyError>) -> Result<(), Failed> {
    let expected = ProjectPolicy { tool_calls: ToolCalls::Enabled, ..ProjectPolicy::default() };
    assert_eq!(found?, Some(expected));
    Ok(())
}

fn is_invalid(place: InPlace, found: Result<Option<ProjectPolicy>, PolicyError>) -> Result<(), Failed> {
    match found {
        Err(PolicyError::Invalid { .. }) => Ok(()),
        other => Err(format!("{place:?} is {other:?}").into()),
    }
}
