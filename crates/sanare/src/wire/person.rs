//! The account that gives an answer: by the system's word, not by a variable that anybody may set.

/// The account's name and its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Its name; its number where the system has no name for it.
    pub name: String,
    /// The groups that it is in.
    pub groups: Vec<String>,
}

impl Person {
    /// Whether it is one of these accounts and `group:NAME`s.
    pub fn is_among(&self, named: &[String]) -> bool {
        named.iter().any(|one| match one.strip_prefix("group:") {
            Some(group) => self.groups.iter().any(|own| own == group),
            None => *one == self.name,
        })
    }
}

/// The account that runs this process.
#[cfg(unix)]
pub fn current() -> Person {
    use std::os::unix::fs::MetadataExt as _;
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    // The owner of one's own entry is the account that the process acts as.
    let (user, group) = std::fs::metadata("/proc/self").map_or((u32::MAX, u32::MAX), |own| (own.uid(), own.gid()));
    person(user, group, &read("/etc/passwd"), &read("/etc/group"))
}

/// The account that runs this process.
#[cfg(not(unix))]
pub fn current() -> Person {
    Person { name: std::env::var("USERNAME").unwrap_or_default(), groups: Vec::new() }
}

#[cfg(unix)]
fn person(user: u32, group: u32, accounts: &str, groups: &str) -> Person {
    let field = |line: &str, place: usize| line.split(':').nth(place).unwrap_or_default().to_owned();
    let (user, group) = (user.to_string(), group.to_string());
    let name = accounts.lines().find(|line| field(line, 2) == user).map(|line| field(line, 0));
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("uid {user}"));
    let member = |line: &&str| field(line, 2) == group || field(line, 3).split(',').any(|one| one == name);
    Person { groups: groups.lines().filter(member).map(|line| field(line, 0)).collect(), name }
}

#[cfg(all(test, unix))]
mod tests {
    use super::person;

    #[test]
    fn names_and_groups_come_from_the_systems_lists() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:100::/home/ann:/bin/sh\n";
        let groups = "users:x:100:\nmlops:x:200:bob,ann\nwheel:x:10:bob\n";
        let ann = person(1000, 100, accounts, groups);
        assert_eq!((ann.name.as_str(), ann.groups), ("ann", vec!["users".to_owned(), "mlops".to_owned()]));
        assert_eq!(person(4711, 4711, accounts, groups).name, "uid 4711");
    }
}
