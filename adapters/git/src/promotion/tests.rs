//! Tests of performing, undoing and finishing.

mod faults;
mod fixture;
mod kills;
mod ownership;
mod races;
mod rules;
mod scale;
