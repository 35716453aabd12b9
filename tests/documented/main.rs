//! Every example of the documentation, tried: console blocks of pages, and the examples in the help of commands.

mod help;
mod page;
mod shell;

use isobox_tests::{User, checkout};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::fs;

/// Folders whose pages are tried.
const FOLDERS: [&str; 5] = ["", "docs", "docs/recipes", "docs/adr", "skills/isobox-agent-guide"];

/// Every page with its text, by its path from the root of the checkout.
fn pages() -> BTreeMap<String, String> {
    let files = FOLDERS.into_iter().flat_map(|folder| {
        let entries = fs::read_dir(checkout().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        entries.map(|entry| entry.expect("an entry").path())
    });
    let pages = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let named = pages.map(|path| {
        let name = path.strip_prefix(checkout()).expect("below the root").display().to_string();
        (name, fs::read_to_string(&path).expect("a page"))
    });
    named.collect()
}

fn report(faults: Vec<String>) -> Result<(), Failed> {
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n\n").into()) }
}

/// Every user that the examples are tried as, with a name for the test.
fn users() -> &'static [(User, &'static str)] {
    match nix::unistd::geteuid().is_root() {
        true => &[(User::Current, "root"), (User::Ordinary, "an ordinary user")],
        false => &[(User::Current, "this user")],
    }
}

fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("a page is taken apart as it is written", || {
        page::check_itself();
        Ok(())
    })];
    for (name, text) in pages() {
        if page::steps(&text).is_empty() {
            continue;
        }
        for (user, who) in users() {
            let text = text.clone();
            let try_it = move || report(shell::faults(&page::steps(&text), *user));
            trials.push(Trial::test(format!("{name} as {who}"), try_it));
        }
    }
    trials.extend(help::trials());
    trials
}

fn main() {
    libtest_mimic::run(&Arguments::from_args(), trials()).exit();
}
