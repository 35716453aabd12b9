//! Names and salt from the kernel's randomness.

use isobox_domain::task_id::TaskId;
use isobox_ports::TaskIds;

/// Names and salt from the kernel's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomTaskIds;

impl TaskIds for RandomTaskIds {
    fn task_id(&self) -> TaskId {
        TaskId::new(random())
    }

    fn salt(&self) -> [u8; 16] {
        random()
    }
}

/// Unpredictable bytes.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("getrandom(2) does not fail for up to 256 bytes: Linux has had it since 3.17");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_names_are_the_same() {
        let names: HashSet<TaskId> = (0..1000).map(|_| RandomTaskIds.task_id()).collect();
        assert_eq!(names.len(), 1000);
        assert_ne!(RandomTaskIds.salt(), RandomTaskIds.salt());
    }
}
