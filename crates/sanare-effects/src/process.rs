//! Processes by name and number: telling one from every other, and collecting children.

#[cfg(unix)]
pub(crate) mod offspring;

/// Names a process for good: process ids are used again, so its start and the boot it belongs to are part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessMark {
    boot: String,
    namespace: u64,
    pid: u32,
    start: u64,
}

/// The mark of the process that asked first.
static OWN: std::sync::OnceLock<ProcessMark> = std::sync::OnceLock::new();

/// What became of a marked process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It runs.
    Alive,
    /// It is gone.
    Dead,
    /// It belongs to another boot, container or machine, or this system does not say.
    Unknown,
}

impl ProcessMark {
    /// The mark of this process. Ask anew after a fork.
    pub fn current() -> Self {
        let pid = std::process::id();
        // What a forked child inherits is its parent's.
        if let Some(known) = OWN.get().filter(|own| own.pid == pid) {
            return known.clone();
        }
        let own = Self { boot: boot(), namespace: namespace(), pid, start: start_of(pid).unwrap_or_default() };
        OWN.get_or_init(|| own.clone());
        own
    }

    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (boot, namespace, pid, start) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || boot.is_empty() || !boot.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        Some(Self {
            boot: boot.to_owned(),
            namespace: namespace.parse().ok()?,
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    }

    /// Looks whether the process still runs.
    pub fn fate(&self) -> Fate {
        let here = Self::current();
        if here.start == 0 || self.boot != here.boot || self.namespace != here.namespace {
            return Fate::Unknown;
        }
        if start_of(self.pid) == Some(self.start) { Fate::Alive } else { Fate::Dead }
    }
}

impl std::fmt::Display for ProcessMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}-{}-{}", self.boot, self.namespace, self.pid, self.start)
    }
}

#[cfg(target_os = "linux")]
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let short: String = id.chars().filter(char::is_ascii_hexdigit).take(8).collect();
    if short.is_empty() { "0".to_owned() } else { short }
}

#[cfg(target_os = "linux")]
fn namespace() -> u64 {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = link.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_default()
}

/// When a process started, in ticks since boot; `None` when there is no such process.
#[cfg(target_os = "linux")]
fn start_of(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in brackets and may hold anything, so count from the last bracket.
    let after_name = stat.rsplit_once(')')?.1;
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?.parse().ok()?;
    (state != "Z" && state != "X").then_some(start)
}

#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    "0".to_owned()
}

#[cfg(not(target_os = "linux"))]
fn namespace() -> u64 {
    0
}

#[cfg(not(target_os = "linux"))]
fn start_of(_pid: u32) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Fate, ProcessMark};

    #[test]
    fn alive_dead_and_elsewhere() {
        let here = ProcessMark::current();
        assert_eq!(ProcessMark::parse(&here.to_string()), Some(here.clone()));
        assert_eq!(here.fate(), Fate::Alive);
        assert_eq!(ProcessMark { start: here.start + 1, ..here.clone() }.fate(), Fate::Dead);
        assert_eq!(ProcessMark { boot: "beef".into(), ..here.clone() }.fate(), Fate::Unknown);
        assert_eq!(ProcessMark { namespace: 1, ..here }.fate(), Fate::Unknown);
        assert_eq!(ProcessMark::parse("a-1-2"), None);
        assert_eq!(ProcessMark::parse("a-1-2-3-4"), None);
        assert_eq!(ProcessMark::parse("../x-1-2-3"), None);
    }
}
