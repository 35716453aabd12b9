//! `isobox review` on a terminal: keys in, screens out; and what becomes of what was decided there.

mod decisions;
mod held;
mod hostile;
mod screen;
mod screens;

use crate::support::tool;
use isobox_tests::{Project, User};

/// Two files in hunks, one added, and one that deserves a look.
const CHANGES: &str = "sed -i 's/^3$/three/; s/^6$/six/; s/^20$/twenty/' lines; \
    echo hello > src/greeting; printf '#!/bin/sh\\n' > install.sh; chmod +x install.sh; sed -i 's/2/two/' src/other";

/// A project of which a task changed four paths; the task.
fn project() -> (Project, String) {
    let project = Project::initialised(User::Current);
    let numbers = |last: u32| (1..=last).map(|number| format!("{number}\n")).collect::<String>();
    project.write("lines", &numbers(40));
    project.write("src/other", &numbers(3));
    project.commit_all("Count");
    let task = tool(&project, CHANGES);
    (project, task)
}
