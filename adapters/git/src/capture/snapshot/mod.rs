//! A Dirty Source Snapshot: the uncommitted state of the trusted repository's working tree, put into a Workspace that was
//! made from the commit, and kept beside it as what capture compares with.
//!
//! The working tree is read as a Workspace is: beneath its root, through no link, and what changes meanwhile is refused.

mod compare;
mod give;
mod kept;
mod put;
mod stat;
mod take;
mod tell;
mod uncommitted;

pub(crate) use compare::compare;
pub(crate) use give::give;
pub(crate) use take::take;
pub(crate) use tell::tell;

pub(super) use kept::open as open_kept;
