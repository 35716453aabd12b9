//! Tests of performing, undoing and finishing.

mod commits;
mod faults;
mod fixture;
mod kills;
mod ownership;
mod races;
mod rules;
mod scale;
