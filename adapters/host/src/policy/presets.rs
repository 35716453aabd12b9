//! Policies that come with isobox, to be extended.

use isobox_ports::PolicyPreset;

/// Every one.
pub(super) const PRESETS: [PolicyPreset; 4] = [
    PolicyPreset { name: "strict", text: include_str!("presets/strict.yaml") },
    PolicyPreset { name: "bounded", text: include_str!("presets/bounded.yaml") },
    PolicyPreset { name: "offline-build", text: include_str!("presets/offline-build.yaml") },
    PolicyPreset { name: "read-only", text: include_str!("presets/read-only.yaml") },
];

pub(super) fn find(name: &str) -> Option<PolicyPreset> {
    PRESETS.into_iter().find(|preset| preset.name == name)
}
