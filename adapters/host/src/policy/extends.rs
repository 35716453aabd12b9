//! What a policy file says that it extends.

use super::PolicyProblem;
use super::field::{Field, Read};
use super::presets::{self, PRESETS};
use super::suggestion::nearest;
use super::tree::shown;
use isobox_ports::PolicyPreset;

/// The value for nothing.
const NOTHING: &str = "none";

/// Something that can be extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extends {
    /// A policy that comes with isobox.
    Preset(PolicyPreset),
    /// A file, by its path below the directory of the policy.
    File(String),
}

/// The value of `extends`; `None` for nothing.
pub(super) fn read(field: &Field<'_>) -> Read<Option<Extends>> {
    let text = field.text()?;
    if text == NOTHING {
        return Ok(None);
    }
    if let Some(preset) = presets::find(text) {
        return Ok(Some(Extends::Preset(preset)));
    }
    match text.strip_prefix("./") {
        Some(path) if is_below(path) => Ok(Some(Extends::File(path.to_owned()))),
        Some(_) => {
            let problem = format!("`{}` is no YAML file below the directory of the policy", shown(text));
            let hint = "write ./NAME.yaml or ./DIRECTORY/NAME.yaml, without names that begin with a dot";
            Err(PolicyProblem::at(field.node.position, problem).with_hint(Some(hint.to_owned())))
        }
        None => {
            let names = PRESETS.map(|preset| preset.name);
            let hint = nearest(text, names.into_iter().chain([NOTHING])).map_or_else(
                || {
                    "`isobox policy presets` lists those that there are; a file beside this one is ./NAME.yaml"
                        .to_owned()
                },
                |meant| format!("did you mean `{meant}`?"),
            );
            Err(PolicyProblem::at(field.node.position, format!("there is no preset `{}`", shown(text)))
                .with_hint(Some(hint)))
        }
    }
}

/// Whether it is the path of a YAML file, no part of which begins with a dot. So it leads nowhere up.
fn is_below(path: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && !name.starts_with('.') && !name.contains('\0');
    path.split('/').all(is_name) && (path.ends_with(".yaml") || path.ends_with(".yml"))
}
