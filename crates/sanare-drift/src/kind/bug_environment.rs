//! Failures of the machine, the network or the service: no change of code repairs them.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::engine::refused;
use crate::kind::Subject;
use crate::problem::{Answer, Failure};

/// Classes by their last name, with the reason.
const CLASSES: &[(&str, Reason)] = &[
    ("PermissionError", Reason::Permission),
    ("MemoryError", Reason::Memory),
    ("ConnectionError", Reason::Transient),
    ("ConnectionRefusedError", Reason::Transient),
    ("ConnectionResetError", Reason::Transient),
    ("ConnectionAbortedError", Reason::Transient),
    ("BrokenPipeError", Reason::Transient),
    ("TimeoutError", Reason::Transient),
    ("gaierror", Reason::Transient),
    ("herror", Reason::Transient),
    ("SSLError", Reason::Transient),
    ("URLError", Reason::Transient),
    ("RemoteDisconnected", Reason::Transient),
    ("IncompleteRead", Reason::Transient),
    ("BlockingIOError", Reason::Transient),
    ("InterruptedError", Reason::Transient),
    ("ChildProcessError", Reason::Transient),
    ("RateLimitError", Reason::RateLimited),
    ("FileExistsError", Reason::Permission),
    ("NotADirectoryError", Reason::NotData),
    ("IsADirectoryError", Reason::NotData),
    ("FileNotFoundError", Reason::NotData),
    ("OSError", Reason::Transient),
];

/// Numbers of the operating system's errors, with the reason.
const NUMBERS: &[(i64, Reason)] = &[
    (28, Reason::DiskFull),
    (122, Reason::DiskFull),
    (12, Reason::Memory),
    (1, Reason::Permission),
    (13, Reason::Permission),
    (30, Reason::Permission),
    (2, Reason::NotData),
];

/// Answers for errors of these families.
pub(crate) fn answer(subject: &Subject) -> Option<Answer> {
    let reason = reason(&subject.problem.failure)?;
    Some(refused(reason, reason.sentence()))
}

fn reason(failure: &Failure) -> Option<Reason> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let names: Vec<String> = std::iter::once(&failure.class).chain(&failure.bases).map(|name| last(name)).collect();
    let of_system = names.iter().any(|name| name == "OSError" || name == "EnvironmentError" || name == "IOError");
    if of_system
        && let Some(Value::Int(number)) = failure.args.first()
        && let Some((_, reason)) = NUMBERS.iter().find(|(known, _)| known == number)
    {
        return Some(*reason);
    }
    names.iter().find_map(|name| CLASSES.iter().find(|(known, _)| known == name).map(|(_, reason)| *reason))
}

#[cfg(test)]
mod tests {
    use super::reason;
    use crate::problem::Failure;
    use sanare_core::outcome::Reason;
    use sanare_core::value::Value;

    #[test]
    fn the_number_says_more_than_the_class() {
        let failure = |class: &str, number: i64| Failure {
            class: class.into(),
            bases: vec!["OSError".into()],
            args: vec![Value::Int(number)],
            ..Failure::default()
        };
        assert_eq!(reason(&failure("OSError", 28)), Some(Reason::DiskFull));
        assert_eq!(reason(&failure("ConnectionRefusedError", 111)), Some(Reason::Transient));
        assert_eq!(reason(&failure("socket.gaierror", -2)), Some(Reason::Transient));
        assert_eq!(reason(&Failure { class: "KeyError".into(), ..Failure::default() }), None);
    }
}
