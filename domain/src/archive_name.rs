//! How a person names an Archive where a Task is named.

/// The suffix of Archives.
pub const SUFFIX: &str = ".isobox";

/// An Archive on the command line, and perhaps which Task in it: `FILE.isobox` or `FILE.isobox#TASK`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchiveName<'a> {
    /// The path of the file, any bytes.
    pub host_path: &'a [u8],
    /// The Task in it, as it was typed.
    pub task: Option<&'a [u8]>,
}

impl<'a> ArchiveName<'a> {
    /// The Archive that `typed` names; `None` if it names none.
    pub fn parse(typed: &'a [u8]) -> Option<Self> {
        let suffix = SUFFIX.as_bytes();
        if typed.len() > suffix.len() && typed.ends_with(suffix) {
            return Some(Self { host_path: typed, task: None });
        }
        let at = position(typed, &[suffix, b"#"].concat()).filter(|at| *at > 0)?;
        let (host_path, task) = typed.split_at(at + suffix.len());
        Some(Self { host_path, task: Some(&task[1..]) })
    }

    /// Splits `FILE.isobox:PATH` and `FILE.isobox#TASK:PATH` before `PATH`. The colon in `b3:DIGEST` belongs to the Task.
    pub fn split_path(typed: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let ends = [&b":"[..], b"#"].map(|end| position(typed, &[SUFFIX.as_bytes(), end].concat()));
        let end = ends.into_iter().flatten().filter(|at| *at > 0).min()? + SUFFIX.len();
        let digest = typed[end..].starts_with(b"#b3:").then_some(b"#b3:".len());
        let from = end + digest.unwrap_or(0);
        let colon = from + position(&typed[from..], b":")?;
        Some((&typed[..colon], &typed[colon + 1..]))
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_told_by_its_suffix() {
        let name = |host_path: &'static str, task: Option<&'static str>| {
            Some(ArchiveName { host_path: host_path.as_bytes(), task: task.map(str::as_bytes) })
        };
        for (typed, expected) in [
            ("all.isobox", name("all.isobox", None)),
            ("../a b/all.isobox", name("../a b/all.isobox", None)),
            ("all.isobox#task-0123", name("all.isobox", Some("task-0123"))),
            ("all.isobox#", name("all.isobox", Some(""))),
            ("/x/all.isobox#b3:00", name("/x/all.isobox", Some("b3:00"))),
            ("task-0123456789abcdef", None),
            (".isobox/tasks/task-0123456789abcdef", None),
            (".isobox", None),
            ("@latest", None),
        ] {
            assert_eq!(ArchiveName::parse(typed.as_bytes()), expected, "{typed}");
        }
    }

    #[test]
    fn a_path_in_an_archive_follows_its_suffix_or_its_task() {
        for (typed, expected) in [
            ("all.isobox:src/a:b", Some(("all.isobox", "src/a:b"))),
            ("/c:/all.isobox:a", Some(("/c:/all.isobox", "a"))),
            ("all.isobox#@latest:a", Some(("all.isobox#@latest", "a"))),
            ("all.isobox#b3:00:a", Some(("all.isobox#b3:00", "a"))),
            ("all.isobox", None),
            ("@latest:a", None),
        ] {
            let found = ArchiveName::split_path(typed.as_bytes());
            assert_eq!(found, expected.map(|(name, path)| (name.as_bytes(), path.as_bytes())), "{typed}");
        }
    }
}
