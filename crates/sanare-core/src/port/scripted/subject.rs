//! A failing program that follows a script.

use std::collections::VecDeque;

use crate::evidence::{Failure, TwinValue};
use crate::gate::Check;
use crate::port::{Ran, RanState, Subject, SubjectFault};

/// Answers by what the module text contains: a text with `good` returns, others raise; special words ask for more.
#[derive(Debug, Default)]
pub struct ScriptedSubject {
    /// What was asked, in order.
    pub calls: Vec<String>,
    /// Answers for [`Subject::rerun`], first to last; afterwards it returns.
    pub reruns: VecDeque<Result<(), Failure>>,
    /// Why the call may not run again.
    pub rerun_unsafe: Option<String>,
    /// Checks that a replay gives.
    pub replay: Vec<Check>,
    /// The call whose number (from 0) breaks the host.
    pub break_at: Option<usize>,
    /// The text behind the running function; `None` is the original.
    pub running: Option<String>,
    /// Whether a sandbox is missing.
    pub no_isolation: bool,
    /// The moment at which the caller goes away.
    pub abandoned_at: Option<String>,
    /// Whether it has gone.
    pub gone: bool,
}

impl ScriptedSubject {
    fn note(&mut self, call: &str) -> Result<(), SubjectFault> {
        let number = self.calls.len();
        self.calls.push(call.to_owned());
        match self.break_at == Some(number) {
            true => Err(SubjectFault("scripted fault".to_owned())),
            false => Ok(()),
        }
    }
}

impl Subject for ScriptedSubject {
    fn moment(&mut self, moment: &str) {
        self.gone |= self.abandoned_at.as_deref() == Some(moment);
    }

    fn abandoned(&mut self) -> bool {
        self.gone
    }

    fn compiles(&mut self, module: &str) -> Result<Option<String>, SubjectFault> {
        self.note("compiles")?;
        Ok(module.contains("uncompilable").then(|| "invalid syntax".to_owned()))
    }

    fn trial(&mut self, module: &str, arguments: Option<&[(String, TwinValue)]>) -> Result<Ran, SubjectFault> {
        self.note(if arguments.is_some() { "trial twin" } else { "trial" })?;
        if self.no_isolation {
            return Ok(Ran::ended(RanState::NoIsolation, "no isolation: landlock"));
        }
        let mut ran = match (module, arguments) {
            (text, _) if text.contains("loops") => Ran::ended(RanState::TimedOut, "no end after 20 s"),
            (text, _) if text.contains("socket") => Ran::ended(RanState::Denied, "socket"),
            (text, None) if !text.contains("good") => Ran::ended(RanState::Raised, "KeyError"),
            (text, Some(_)) if text.contains("new-only") => Ran::ended(RanState::Raised, "KeyError"),
            _ => Ran::ended(RanState::Returned, ""),
        };
        if ran.state == RanState::Returned {
            ran.digest = if module.contains("other value") { "b".to_owned() } else { "a".to_owned() };
            ran.result_type = "dict".to_owned();
        } else if ran.state == RanState::Raised {
            ran.failure = Some(Failure { class: "KeyError".to_owned(), ..Failure::default() });
        }
        Ok(ran)
    }

    fn replay(&mut self, _module: &str) -> Result<Vec<Check>, SubjectFault> {
        self.note("replay")?;
        Ok(self.replay.clone())
    }

    fn swap(&mut self, module: &str) -> Result<Option<String>, SubjectFault> {
        self.note("swap")?;
        if module.contains("unswappable") {
            return Ok(Some("the parameters differ".to_owned()));
        }
        self.running = Some(module.to_owned());
        Ok(None)
    }

    fn unswap(&mut self) -> Result<(), SubjectFault> {
        self.running = None;
        self.note("unswap")
    }

    fn rerun_unsafe(&mut self) -> Result<Option<String>, SubjectFault> {
        self.note("rerun_unsafe")?;
        Ok(self.rerun_unsafe.clone())
    }

    fn rerun(&mut self) -> Result<Result<(), Failure>, SubjectFault> {
        self.note("rerun")?;
        Ok(self.reruns.pop_front().unwrap_or(Ok(())))
    }

    fn members(&mut self, dotted: &[String]) -> Result<Vec<(String, bool)>, SubjectFault> {
        self.note("members")?;
        Ok(dotted.iter().map(|name| (name.clone(), true)).collect())
    }

    fn versions(&mut self, _distributions: &[String]) -> Result<Vec<(String, String)>, SubjectFault> {
        self.note("versions")?;
        Ok(Vec::new())
    }
}
