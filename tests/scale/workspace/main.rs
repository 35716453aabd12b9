//! A whole tool call beside what people do without isobox, on repositories of three sizes, in one table a user.
//!
//! On a quiet machine it takes half an hour and 3 GB of the temporary directory, which should lie on a disk. As root it
//! measures root and then an ordinary user; the name of one test measures one of them alone. `ISOBOX_SCALE_RUNS` makes it
//! other than 11 runs of each, `ISOBOX_SCALE_SIZES` other sizes than `tiny,medium,large`:
//! `cargo build --release -p isobox && cargo test --release -p isobox-tests --test scale_workspace -- --ignored`.

mod contestants;
mod measure;
mod open;
mod repository;
mod targets;

use isobox_tests::{User, ignored};
use libtest_mimic::{Arguments, Failed, Trial};
use measure::Measured;
use repository::Size;
use targets::Target;

/// Runs of each, unless the variable says another number; odd, so that there is a median.
const RUNS: usize = 11;
const RUNS_VARIABLE: &str = "ISOBOX_SCALE_RUNS";
/// Sizes, with commas between them, if not all.
const SIZES_VARIABLE: &str = "ISOBOX_SCALE_SIZES";

fn runs() -> usize {
    std::env::var(RUNS_VARIABLE).map_or(RUNS, |runs| runs.parse().expect("a number"))
}

fn sizes() -> Vec<Size> {
    let named = std::env::var(SIZES_VARIABLE).unwrap_or_default();
    let is_named = |size: &Size| named.is_empty() || named.split(',').any(|name| name == size.name());
    let sizes: Vec<_> = Size::ALL.into_iter().filter(is_named).collect();
    assert!(named.is_empty() || named.split(',').count() == sizes.len(), "{SIZES_VARIABLE} names another size");
    sizes
}

/// Measures every size for `user`, prints a table after each and one of all, and fails where a target does not hold.
fn compare(user: User) -> Result<(), Failed> {
    let (sizes, runs) = (sizes(), runs());
    let mut measured: Vec<Measured> = Vec::new();
    for size in sizes {
        measured.push(contestants::measure(size, user, runs));
        measure::print(user, runs, &measured[measured.len() - 1..]);
    }
    measure::print(user, runs, &measured);
    let targets: Vec<Target> = measured.iter().flat_map(targets::of).collect();
    targets::print(&targets);
    let missed: Vec<_> = targets.iter().filter(|target| !target.holds()).map(Target::shown).collect();
    if missed.is_empty() { Ok(()) } else { Err(format!("{} does not hold", missed.join("; ")).into()) }
}

fn as_an_ordinary_user() -> Result<(), Failed> {
    if !nix::unistd::geteuid().is_root() {
        ignored("workspaces of an ordinary user", "the test runs as one already");
        return Ok(());
    }
    compare(User::Ordinary)
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == measure::METER) {
        return measure::meter(arguments);
    }
    let trials = vec![
        Trial::test("every_target_holds_for_this_user", || compare(User::Current)).with_ignored_flag(true),
        Trial::test("every_target_holds_for_an_ordinary_user", as_an_ordinary_user).with_ignored_flag(true),
    ];
    // One after the other: side by side each would measure the other one.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit();
}
