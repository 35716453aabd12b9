//! Tests of performing, undoing and finishing.

mod commits;
mod faults;
mod fixture;
mod kills;
mod merging;
mod ownership;
mod races;
mod result_commits;
mod rules;
mod scale;
