//! A file of cases for a policy: what is put in, and what must come out (S98).

use serde::Deserialize;

use super::case::Case;
use super::judge;
use super::numbers::Numbers;
use crate::policy::{Policy, Verdict, stricter};

/// A case as it stands in the file: `name`, `verdict`, `rules` where they matter, and `given`, whose keys replace those
/// of the sound case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    verdict: Verdict,
    rules: Option<Vec<String>>,
    #[serde(default)]
    given: Case,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "case")]
    cases: Vec<toml::Spanned<Written>>,
}

/// A case that came out otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line of the file that it begins at.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// What the file says.
    pub expected: String,
    /// What the policy says.
    pub got: String,
}

/// Runs a file of cases against a policy; what came out otherwise, and how many there were.
///
/// # Errors
/// What is wrong with the file, with its line: an unknown key, action or rule, or no case at all.
pub fn run(text: &str, policy: &Policy) -> Result<(usize, Vec<Difference>), String> {
    let line = |start: usize| text.get(..start).unwrap_or(text).matches('\n').count() + 1;
    let file: File = toml::from_str(text).map_err(|error| {
        error.span().map_or_else(
            || error.message().to_owned(),
            |span| format!("line {}: {}", line(span.start), error.message()),
        )
    })?;
    if file.cases.is_empty() {
        return Err("the file has no case".to_owned());
    }
    let own = || policy.file().iter().flat_map(|file| &file.rules).map(|rule| rule.id.as_str()).collect::<Vec<_>>();
    let known = |rule: &str| {
        rule == "default" || super::rules::ALL.iter().any(|built_in| built_in.id == rule) || own().contains(&rule)
    };
    let mut differences = Vec::new();
    for spanned in &file.cases {
        let (line, written) = (line(spanned.span().start), spanned.get_ref());
        if let Some(unknown) = written.rules.iter().flatten().find(|rule| !known(rule)) {
            return Err(format!("line {line}: there is no rule `{unknown}`"));
        }
        let numbers = Numbers::of(policy, &written.given.application);
        let mode = stricter(written.given.mode, numbers.mode);
        let decision = judge(&Case { mode, ..written.given.clone() }, &numbers, policy);
        let wanted = |rules: &Vec<String>| rules.iter().all(|rule| decision.rules.contains(rule));
        if decision.verdict != written.verdict || !written.rules.as_ref().is_none_or(wanted) {
            differences.push(Difference {
                line,
                name: written.name.clone(),
                expected: format!("{:?} {}", written.verdict, written.rules.clone().unwrap_or_default().join(" "))
                    .trim()
                    .to_lowercase(),
                got: format!("{:?} {}", decision.verdict, decision.rules.join(" ")).to_lowercase(),
            });
        }
    }
    Ok((file.cases.len(), differences))
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::policy::Policy;

    const POLICY: &str = "version = 1\nmode = \"auto\"\n[[rule]]\nid = \"own\"\nwhen = { severity_below = \"high\" }\nverdict = \"ask\"\n";

    fn check(text: &str) -> String {
        match run(text, &Policy::read(POLICY)) {
            Err(why) => why,
            Ok((count, differences)) => {
                let told = differences.iter().map(|one| format!("{}: {} is {}", one.line, one.expected, one.got));
                format!("{count} {}", told.collect::<Vec<_>>().join(", ")).trim().to_owned()
            }
        }
    }

    #[test]
    fn cases_come_out_as_they_should_or_are_told() {
        let good = "[[case]]\nname = \"sound\"\nverdict = \"permit\"\n\
                    [[case]]\nname = \"small\"\nverdict = \"ask\"\nrules = [\"own\"]\ngiven = { severity = \"low\" }\n\
                    [[case]]\nname = \"again\"\nverdict = \"refuse\"\nrules = [\"tried\"]\ngiven = { tried = true, attempts = 1 }\n";
        assert_eq!(check(good), "3");
        let other = "[[case]]\nname = \"a\"\nverdict = \"permit\"\n\n[[case]]\nname = \"b\"\nverdict = \"permit\"\ngiven = { attempts = 3 }\n";
        assert_eq!(check(other), "2 5: permit is refuse attempts");
        let rules =
            "[[case]]\nname = \"a\"\nverdict = \"ask\"\nrules = [\"cooldown\"]\ngiven = { severity = \"low\" }\n";
        assert_eq!(check(rules), "1 1: ask cooldown is ask own");
    }

    #[test]
    fn the_stricter_of_the_file_s_mode_and_the_case_s_holds() {
        let told = |policy: &str, given: &str| {
            let text = format!("[[case]]\nname = \"a\"\nverdict = \"permit\"\ngiven = {given}\n");
            let (_, differences) = run(&text, &Policy::read(policy)).expect("a file of cases");
            differences.first().map_or("permit".to_owned(), |one| one.got.clone())
        };
        let (auto, ask) = ("version = 1\nmode = \"auto\"\n", "version = 1\nmode = \"ask\"\n");
        assert_eq!(told(auto, "{}"), "permit");
        assert_eq!(told(ask, "{}"), "ask mode_ask");
        assert_eq!(told(auto, "{ mode = \"ask\" }"), "ask mode_ask");
        assert_eq!(told(auto, "{ mode = \"observe\" }"), "refuse mode_observe");
        let one = format!("{ask}[application.fraud]\nmode = \"auto\"\n");
        assert_eq!(told(&one, "{ application = \"fraud\" }"), "ask mode_ask", "a table does not loosen");
    }

    #[test]
    fn what_cannot_be_read_says_its_line() {
        assert_eq!(check(""), "the file has no case");
        assert!(
            check("[[case]]\nname = \"a\"\nverdict = \"permit\"\ngiven = { speed = 1 }\n").starts_with("line "),
            "an unknown key"
        );
        assert!(check("[[case]]\nname = \"a\"\nverdict = \"maybe\"\n").starts_with("line 3"), "an unknown verdict");
        assert!(
            check("[[case]]\nname = \"a\"\nverdict = \"ask\"\ngiven = { action = \"reboot\" }\n").starts_with("line "),
            "an unknown action"
        );
        assert_eq!(
            check("\n[[case]]\nname = \"a\"\nverdict = \"ask\"\nrules = [\"none_such\"]\n"),
            "line 2: there is no rule `none_such`"
        );
    }
}
