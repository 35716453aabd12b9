//! A shell in a throw-away project, in which the commands of a page are typed one after another.

use crate::page::{Example, Step, is_as_shown};
use isobox_tests::{Project, User, isobox_program, outcome};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// Stands before what a command prints and around its exit code: no command of a page prints it.
const MARK: char = '\u{1e}';

/// Where the project of a page lies, as the page tells it.
const SHOWN_REPOSITORY: &str = "/home/ana/app";
const SHOWN_HOME: &str = "/home/ana";

/// How a question ends, and how a page shows the answer behind it.
const QUESTION: &str = "Type yes to go on:";
const ANSWERED: &str = "Type yes to go on: yes";

/// How a step went.
struct Ended {
    /// Both of its streams, in the order in which it wrote to them.
    shown: String,
    code: i32,
}

/// Types what `steps` say into one shell. What is not as the page shows it, by line.
pub(crate) fn faults(steps: &[Step], user: User) -> Vec<String> {
    let project = Project::bare(user);
    let printed = run(&project, &steps.iter().map(script).collect::<String>());
    let ended = ended(&project, &printed);
    if ended.len() != steps.len() {
        return vec![format!("the shell ended after {} of {} steps: {printed}", ended.len(), steps.len())];
    }
    let nexts = steps.iter().skip(1).map(Some).chain([None]);
    let pairs = steps.iter().zip(nexts).zip(&ended);
    pairs.filter_map(|((step, next), ended)| fault_of(step, next, ended)).collect()
}

fn ended(project: &Project, printed: &str) -> Vec<Ended> {
    let mut pieces = printed.split(MARK).skip(1);
    let mut ended = Vec::new();
    while let (Some(shown), Some(code)) = (pieces.next(), pieces.next()) {
        ended.push(Ended { shown: told(project, shown), code: code.trim().parse().unwrap_or(-1) });
        // What is between a step and the next one is empty.
        pieces.next();
    }
    ended
}

fn fault_of(step: &Step, next: Option<&Step>, Ended { shown, code }: &Ended) -> Option<String> {
    match step {
        Step::Example(example) => {
            let is_code_shown = matches!(next, Some(Step::Example(next)) if next.typed == "echo $?");
            fault(example, shown, *code == 0 || is_code_shown, *code)
        }
        Step::Before(_) | Step::Policy { .. } if *code == 0 => None,
        Step::Before(hidden) => Some(format!("{hidden}\nended with {code}: {shown}")),
        Step::Policy { file, .. } => Some(format!("{file} was not written: {shown}")),
    }
}

fn fault(example: &Example, shown: &str, is_code_as_shown: bool, code: i32) -> Option<String> {
    let found: Vec<String> = shown.lines().map(str::to_owned).collect();
    // An answer that is not typed on a terminal is not shown.
    let shown_line = |line: &String| without_ids(&line.replace(ANSWERED, QUESTION));
    let expected: Vec<String> = example.printed.iter().map(shown_line).collect();
    let is_right = is_as_shown(&expected, &found);
    let told = format!("line {}: $ {}", example.line, example.typed);
    match (is_code_as_shown, is_right) {
        (true, true) => None,
        (false, _) => Some(format!("{told}\nended with {code}, and `$ echo $?` does not follow:\n{shown}")),
        (true, false) => Some(format!("{told}\nprints\n{shown}")),
    }
}

/// A step as a script: its output between two marks, its exit code behind the second.
fn script(step: &Step) -> String {
    let commands = match step {
        Step::Before(hidden) => hidden.clone(),
        Step::Example(example) if example.printed.iter().any(|line| line.ends_with(ANSWERED)) => {
            format!("{{ {}; }} <<< yes", example.typed)
        }
        Step::Example(example) => example.typed.clone(),
        Step::Policy { file, sections } => format!("put_policy \"{file}\" <<'END_OF_POLICY'\n{sections}END_OF_POLICY"),
    };
    format!("printf '{MARK}'; (exit $code)\n{commands}\ncode=$?; printf '{MARK}%s{MARK}' $code\n")
}

/// Sections of a policy take the place of those that have their names; a file that is not there is made of them.
const PUT_POLICY: &str = r#"put_policy() {
    local sections; sections=$(cat)
    mkdir -p "$(dirname "$1")"; touch "$1"
    awk -v names=" $(sed -n 's/^\([a-z_]*\):.*/\1/p' <<< "$sections" | tr '\n' ' ')" '
        /^[a-z_]+:/ { name = $0; sub(/:.*/, "", name); skipped = index(names, " " name " ") }
        !skipped' "$1" > "$1.new"
    printf '%s\n' "$sections" >> "$1.new"
    mv "$1.new" "$1"
}
code=0
"#;

fn run(project: &Project, steps: &str) -> String {
    let bin = project.scratch().join("bin");
    fs::create_dir(&bin).expect("a folder");
    symlink(isobox_program(), bin.join("isobox")).expect("a link");
    let file = project.scratch().join("typed");
    fs::write(&file, format!("exec 2>&1\n{PUT_POLICY}{steps}")).expect("a script");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("chmod");
    let gitconfig = project.scratch().join("gitconfig");
    let identity = "[user]\n\tname = Ana\n\temail = ana@example.com\n[init]\n\tdefaultBranch = main\n";
    fs::write(&gitconfig, identity).expect("an identity");
    let mut bash = project.command("bash");
    bash.env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())).env("GIT_CONFIG_GLOBAL", gitconfig);
    let ran = outcome(bash.arg(file).stdin(std::process::Stdio::null()).output().expect("run bash"));
    ran.stdout
}

/// What was printed, with the project where the page has it.
fn told(project: &Project, shown: &str) -> String {
    let mut shown = shown.to_owned();
    for (path, told) in [(project.repository(), SHOWN_REPOSITORY), (project.home(), SHOWN_HOME)] {
        for path in [path.canonicalize().unwrap_or_else(|_| path.clone()), path] {
            shown = shown.replace(&path.display().to_string(), told);
        }
    }
    without_ids(&shown)
}

/// Every task id as the same one: they are made by chance.
fn without_ids(text: &str) -> String {
    let mut pieces = text.split("task-");
    let mut told = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_hexdigit).count();
        told.push_str(if digits == 16 { "task-ID" } else { "task-" });
        told.push_str(if digits == 16 { &piece[16..] } else { piece });
    }
    told
}
