//! Which room may use which. A new arrow is a decision: it goes into this table in the same commit.

use super::Tracked;

/// Each room and the rooms that it may use. Nouns may be used everywhere, so `sanare-core` stands in every line.
const ARROWS: &[(&str, &[&str])] = &[
    ("sanare-core", &[]),
    ("sanare-source", &["sanare-core"]),
    ("sanare-drift", &["sanare-core", "sanare-source"]),
    ("sanare-detect", &["sanare-core"]),
    ("sanare-engine", &["sanare-core"]),
    ("sanare-store", &["sanare-core"]),
    ("sanare-effects", &["sanare-core"]),
    (
        "sanare",
        &[
            "sanare-core",
            "sanare-source",
            "sanare-drift",
            "sanare-detect",
            "sanare-engine",
            "sanare-store",
            "sanare-effects",
        ],
    ),
    ("sanare-cli", &["sanare-core", "sanare"]),
    ("sanare-py", &["sanare-core", "sanare", "sanare-cli"]),
    ("xtask", &[]),
];

/// What the tests of a room may use beside that: twins of ports, and whoever reads what probes say.
const TEST_ARROWS: &[(&str, &[&str])] = &[("sanare-engine", &["sanare-store"]), ("sanare-effects", &["sanare-detect"])];

/// Crates that pure rooms never use, because they touch the world.
const WORLDLY: &[&str] =
    &["rusqlite", "libc", "landlock", "seccompiler", "tempfile", "pyo3", "clap", "tokio", "ureq", "rustls"];
/// Rooms without input and output, clock, environment and chance.
const PURE: &[&str] = &["sanare-core", "sanare-source", "sanare-drift", "sanare-detect", "sanare-engine"];

/// Compares every manifest with the table.
pub fn check(files: &[Tracked], problems: &mut Vec<String>) {
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let text = file.text.as_deref().unwrap_or_default();
        match text.parse::<toml::Table>() {
            Ok(manifest) => check_manifest(&file.path, &manifest, problems),
            Err(error) => problems.push(format!("{}: {}", file.path, error.message())),
        }
    }
}

fn check_manifest(path: &str, manifest: &toml::Table, problems: &mut Vec<String>) {
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let Some(name) = name else {
        problems.push(format!("{path}: no package name"));
        return;
    };
    let Some((_, allowed)) = ARROWS.iter().find(|(room, _)| *room == name) else {
        problems.push(format!("{path}: the room `{name}` is not in the table of arrows"));
        return;
    };
    if path != format!("crates/{name}/Cargo.toml") && path != format!("{name}/Cargo.toml") {
        problems.push(format!("{path}: the folder is not called `{name}`"));
    }
    let in_tests = TEST_ARROWS.iter().find(|(room, _)| *room == name).map_or(&[][..], |(_, rooms)| rooms);
    for used in dependencies(manifest, &["dev-dependencies"]) {
        let known = allowed.contains(&used.as_str()) || in_tests.contains(&used.as_str());
        if used.starts_with("sanare") && !known {
            problems.push(format!("{path}: the tests of `{name}` may not use `{used}`"));
        }
    }
    for used in dependencies(manifest, &["dependencies", "build-dependencies"]) {
        if used.starts_with("sanare") && !allowed.contains(&used.as_str()) {
            problems.push(format!("{path}: `{name}` may not use `{used}`"));
        }
        if PURE.contains(&name) && WORLDLY.contains(&used.as_str()) {
            problems.push(format!("{path}: `{name}` is pure and may not use `{used}`"));
        }
    }
    if manifest.get("lints").is_none() {
        problems.push(format!("{path}: the lints of the workspace are not taken over"));
    }
}

fn dependencies(manifest: &toml::Table, sections: &[&str]) -> Vec<String> {
    let mut tables: Vec<&toml::Table> = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    let listed = tables.iter().flat_map(|table| sections.iter().filter_map(|section| table.get(*section)));
    listed.filter_map(toml::Value::as_table).flat_map(|section| section.keys().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Tracked, check};

    fn found(path: &str, manifest: &str) -> String {
        let mut problems = Vec::new();
        check(&[Tracked { path: path.to_owned(), text: Some(manifest.to_owned()) }], &mut problems);
        problems.join("; ")
    }

    #[test]
    fn an_arrow_outside_the_table_is_a_problem() {
        let manifest = "lints.workspace = true\n[package]\nname = 'sanare-drift'\n[dependencies]\nsanare-store = {}\n";
        assert_eq!(
            found("crates/sanare-drift/Cargo.toml", manifest),
            "crates/sanare-drift/Cargo.toml: `sanare-drift` may not use `sanare-store`"
        );
    }

    #[test]
    fn pure_rooms_stay_pure_but_their_tests_may_touch_files() {
        let manifest = "lints.workspace = true\n[package]\nname = 'sanare-core'\n[target.'cfg(unix)'.dependencies]\n\
                        libc = '1'\n[dev-dependencies]\ntempfile = '3'\n";
        assert_eq!(
            found("crates/sanare-core/Cargo.toml", manifest),
            "crates/sanare-core/Cargo.toml: `sanare-core` is pure and may not use `libc`"
        );
    }

    #[test]
    fn a_room_that_nobody_knows_is_a_problem() {
        assert_eq!(
            found("crates/annexe/Cargo.toml", "[package]\nname = 'annexe'\n"),
            "crates/annexe/Cargo.toml: the room `annexe` is not in the table of arrows"
        );
    }
}
