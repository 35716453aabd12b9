//! A whole tool call beside what people do without isobox, on repositories of three sizes, in one table a user.
//!
//! On a quiet machine it takes ten minutes and 3 GB of the temporary directory, which should lie on a disk. As root it
//! measures root and an ordinary user. `ISOBOX_SCALE_RUNS` makes it other than 11 runs of each; what takes longer than two
//! seconds is run three times:
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

fn runs() -> usize {
    std::env::var(RUNS_VARIABLE).map_or(RUNS, |runs| runs.parse().expect("a number"))
}

/// Measures every size for `user`, prints the tables, and fails where a target does not hold.
fn compare(user: User, sizes: &[Size], runs: usize) -> Result<(), Failed> {
    let measured: Vec<Measured> = sizes.iter().map(|size| contestants::measure(*size, user, runs)).collect();
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
    compare(User::Ordinary, &Size::ALL, runs())
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == measure::METER) {
        return measure::meter(arguments);
    }
    let trials = vec![
        Trial::test("every_target_holds_for_this_user", || compare(User::Current, &Size::ALL, runs()))
            .with_ignored_flag(true),
        Trial::test("every_target_holds_for_an_ordinary_user", as_an_ordinary_user).with_ignored_flag(true),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
