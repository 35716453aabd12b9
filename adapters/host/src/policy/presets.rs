//! Policies that come with isobox, to be extended.

/// A policy that comes with isobox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The value of `extends`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// Every one.
pub(super) const PRESETS: [Preset; 4] = [
    Preset { name: "strict", text: include_str!("presets/strict.yaml") },
    Preset { name: "bounded", text: include_str!("presets/bounded.yaml") },
    Preset { name: "offline-build", text: include_str!("presets/offline-build.yaml") },
    Preset { name: "read-only", text: include_str!("presets/read-only.yaml") },
];

impl Preset {
    /// What it is for, as its first line says.
    pub fn summary(self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }

    pub(super) fn find(name: &str) -> Option<Self> {
        PRESETS.into_iter().find(|preset| preset.name == name)
    }
}
