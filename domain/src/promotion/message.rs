//! The message of a commit that a Promotion makes.

use super::PromotionPlan;
use crate::content::ContentId;
use crate::task_id::TaskId;

impl PromotionPlan {
    /// `message`, or one that names the Task, and trailers that say where the commit comes from. See git-interpret-trailers(1).
    pub fn commit_message(&self, message: Option<&[u8]>) -> Vec<u8> {
        let default = format!("Promote the result of {}", self.task).into_bytes();
        with_trailers(message.unwrap_or(&default), self.task, self.record)
    }
}

/// `message` with trailers that say of which Task and record the commit is.
pub(crate) fn with_trailers(message: &[u8], task: TaskId, record: ContentId) -> Vec<u8> {
    let message = message.trim_ascii_end();
    let end: &[u8] = if ends_with_trailers(message) { b"\n" } else { b"\n\n" };
    let trailers = format!("Isobox-Task: {task}\nIsobox-Record: {record}\n");
    [message, end, trailers.as_bytes()].concat()
}

/// Whether the last paragraph, which is not the only one, has trailers alone.
fn ends_with_trailers(message: &[u8]) -> bool {
    let lines: Vec<&[u8]> = message.split(|byte| *byte == b'\n').collect();
    let last = lines.iter().rposition(|line| line.is_empty());
    last.is_some_and(|blank| lines[blank + 1..].iter().all(|line| is_trailer(line)))
}

fn is_trailer(line: &[u8]) -> bool {
    let colon = line.iter().position(|byte| *byte == b':').filter(|at| *at > 0);
    let is_word = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    colon.is_some_and(|at| is_word(&line[..at]) && line[at + 1..].starts_with(b" "))
}
