//! A policy that comes with isobox, to be extended.

/// A policy that comes with isobox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyPreset {
    /// The value of `extends`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

impl PolicyPreset {
    /// What it is for, as its first line says.
    pub fn summary(self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}
