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

#[cfg(test)]
mod tests {
    use super::read;

    /// What is there and cannot be read refuses as what is no policy does; nothing of before is used in its place.
    #[test]
    fn a_file_that_cannot_be_read_is_a_policy_that_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("good"), "version = 1\nmode = \"auto\"\n").unwrap();
        assert_eq!(read(&path("good")).trouble(), None);
        std::fs::create_dir(path("a_folder")).unwrap();
        std::fs::write(path("no_text"), b"version = 1\n# \xff\xfe\n").unwrap();
        std::fs::write(path("empty"), "").unwrap();
        std::fs::write(path("half"), "version = 1\nmode = \"au").unwrap();
        for name in ["a_folder", "no_text", "empty", "half", "not_there"] {
            let policy = read(&path(name));
            assert!(policy.trouble().is_some() && policy.file().is_none(), "{name}");
        }
        // Whoever may read everything is not kept out by rights.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let shut = path("shut");
            std::fs::write(&shut, "version = 1\n").unwrap();
            std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o000)).unwrap();
            let is_kept_out = std::fs::read(&shut).is_err();
            assert_eq!(read(&shut).trouble().is_some(), is_kept_out);
        }
    }
}
