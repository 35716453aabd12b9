//! A page of the documentation, as far as it can be tried: its console blocks, and what has to be there before them.

/// What a page asks for, in its order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Commands that a reader does not see, from a comment that begins with `before`.
    Before(String),
    /// Sections that take the place of those of a policy file, from a block behind a comment that names the file.
    Policy { file: &'static str, sections: String },
    /// A command that a reader types, and what it prints.
    Example(Example),
}

/// A command of a console block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Example {
    /// Its line in the page, from 1.
    pub(crate) line: usize,
    /// What is typed; further lines are those that begin with `> `.
    pub(crate) typed: String,
    /// The lines below it.
    pub(crate) printed: Vec<String>,
}

const POLICIES: [(&str, &str); 2] =
    [("<!-- policy -->", ".isobox/config.yaml"), ("<!-- user policy -->", "$HOME/.config/isobox/config.yaml")];

/// Takes a page apart. A console block behind a comment `not run: …` is left out.
pub(crate) fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines().enumerate();
    let mut comment = String::new();
    while let Some((_, line)) = lines.next() {
        if line == "<!-- before" {
            let hidden = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "-->");
            steps.push(Step::Before(hidden.collect::<Vec<_>>().join("\n")));
        } else if line.starts_with("```") && line.len() > 3 {
            let block: Vec<_> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
            let policy = POLICIES.into_iter().find(|(mark, _)| *mark == comment);
            match (line, policy) {
                ("```console", _) if !comment.starts_with("<!-- not run: ") => steps.extend(examples(&block)),
                ("```yaml", Some((_, file))) => {
                    let sections = block.iter().map(|(_, line)| format!("{line}\n")).collect();
                    steps.push(Step::Policy { file, sections });
                }
                _ => {}
            }
        }
        if !line.is_empty() {
            line.clone_into(&mut comment);
        }
    }
    steps
}

fn examples(block: &[(usize, &str)]) -> Vec<Step> {
    let mut examples: Vec<Example> = Vec::new();
    for (index, line) in block {
        match (line.strip_prefix("$ "), line.strip_prefix("> "), examples.last_mut()) {
            (Some(typed), _, _) => {
                examples.push(Example { line: index + 1, typed: typed.to_owned(), printed: Vec::new() });
            }
            (None, Some(more), Some(example)) if example.printed.is_empty() => {
                example.typed.push('\n');
                example.typed.push_str(more);
            }
            (None, _, Some(example)) => example.printed.push((*line).to_owned()),
            (None, _, None) => panic!("line {}: a console block begins with a command", index + 1),
        }
    }
    examples.into_iter().map(Step::Example).collect()
}

/// Whether `found` is what a page shows as `expected`: `…` stands for the rest of a piece of a line, and alone on a line
/// for any lines.
pub(crate) fn is_as_shown(expected: &[String], found: &[String]) -> bool {
    match (expected.split_first(), found.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((line, rest)), _) if line.trim() == "…" => {
            (0..=found.len()).any(|skipped| is_as_shown(rest, &found[skipped..]))
        }
        (Some(_), None) => false,
        (Some((line, rest)), Some((seen, others))) => is_line_as_shown(line, seen) && is_as_shown(rest, others),
    }
}

fn is_line_as_shown(expected: &str, found: &str) -> bool {
    let mut pieces = expected.trim_end().split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = found.trim_end().strip_prefix(first) else { return false };
    let mut is_open = false;
    for piece in pieces {
        is_open = piece.is_empty();
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.is_empty() || is_open
}

/// Fails where a page would be taken apart wrongly.
pub(crate) fn check_itself() {
    let page = "a\n<!-- before\nx\n-->\n```console\n$ one\n> two\nout\n$ three\n```\n<!-- not run: why -->\n```console\n$ no\n```\n\
                <!-- policy -->\n\n```yaml\nnetwork:\n```\n";
    let example = |line, typed: &str, printed: &[&str]| {
        let printed = printed.iter().map(|line| (*line).to_owned()).collect();
        Step::Example(Example { line, typed: typed.to_owned(), printed })
    };
    let policy = Step::Policy { file: ".isobox/config.yaml", sections: "network:\n".to_owned() };
    let expected = [Step::Before("x".to_owned()), example(6, "one\ntwo", &["out"]), example(9, "three", &[]), policy];
    assert_eq!(steps(page), expected);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (expected, found, is_right) in [
        ("a\nb", "a\nb", true),
        ("a", "a\nb", false),
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…", "a", true),
        ("a … c", "a b c", true),
        ("a … c", "a b d", false),
        ("a …", "a b", true),
        ("a", "ab", false),
        ("…b", "aab", true),
    ] {
        assert_eq!(is_as_shown(&lines(expected), &lines(found)), is_right, "{expected} {found}");
    }
}
