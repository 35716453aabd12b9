//! Tests of performing, undoing and finishing.

mod faults;
mod fixture;
mod kills;
mod rules;
