//! The owner's policy file, read with the clock of the zones that it names.

use std::path::Path;

use sanare_core::policy::Policy;
use sanare_core::settings::Settings;

use crate::wire::zone::offset_of;

/// The policy that `policy.file` names, from the project's folder; a file that cannot be read refuses everything.
pub fn policy(project_root: &Path, settings: &Settings, now: u64) -> Policy {
    let mut policy = match settings.text("policy.file") {
        "" => Policy::none(),
        named => read(&project_root.join(named)),
    };
    settings.text("environment").clone_into(&mut policy.environment);
    let zones: Vec<String> = policy.zones().into_iter().map(str::to_owned).collect();
    // A zone that is not known is left out, and a rule that needs it fires.
    policy.offsets = zones.into_iter().filter_map(|zone| Some((zone.clone(), offset_of(&zone, now)?))).collect();
    policy
}

/// Reads one policy file.
pub fn read(path: &Path) -> Policy {
    match sanare_effects::regular_file::read_to_string(path) {
        Ok(text) => Policy::read(&text),
        Err(error) => Policy::unreadable(format!("`{}`: {error}", path.display())),
    }
}
