//! Prompts are data: `data/prompts/<purpose>/vN.md`, each with id, version and the form of its reply (C80).

use crate::hash::Digest;

const REPAIR: &str = include_str!("../../data/prompts/repair_function/v1.md");
const DIAGNOSE: &str = include_str!("../../data/prompts/diagnose_incident/v1.md");
const CHECK: &str = include_str!("../../data/prompts/check_connection/v1.md");

/// What is wanted of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A new body for the one function.
    RepairFunction,
    /// What is wrong with a service, and which of the offered actions might help.
    DiagnoseIncident,
    /// Any reply of the right form, to see whether the connection works.
    CheckConnection,
}

/// The form of a reply: nine keys, of which one differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyForm {
    /// With `candidate`.
    Repair,
    /// With `action`.
    Diagnosis,
}

/// A prompt file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Its id, which is the purpose's name.
    pub id: String,
    /// Its version; a change is a new version.
    pub version: u32,
    /// Hash of the whole file.
    pub hash: Digest,
    /// What the ninth key of the reply is: the new function, or an action.
    pub reply: ReplyForm,
    text: String,
}

impl Prompt {
    /// The newest prompt of a purpose.
    pub fn newest(purpose: Purpose) -> Self {
        let file = match purpose {
            Purpose::RepairFunction => REPAIR,
            Purpose::DiagnoseIncident => DIAGNOSE,
            Purpose::CheckConnection => CHECK,
        };
        let (head, text) = file.split_once("---\n").unwrap_or(("", file));
        let field = |name: &str| {
            head.lines().find_map(|line| line.strip_prefix(name)).map(|rest| rest.trim_start_matches(':').trim())
        };
        Self {
            id: field("id").unwrap_or_default().to_owned(),
            version: field("version").and_then(|text| text.parse().ok()).unwrap_or(0),
            hash: Digest::of(file.as_bytes()),
            reply: if field("reply") == Some("diagnosis") { ReplyForm::Diagnosis } else { ReplyForm::Repair },
            text: text.to_owned(),
        }
    }

    /// The system text: with the marker of this call and the owner's own rules.
    pub fn system(&self, nonce: &str, house_rules: &str) -> String {
        let rules = match house_rules.trim() {
            "" => String::new(),
            rules => format!("\nRules of this house, which add to those above:\n{rules}\n"),
        };
        self.text.replace("{{nonce}}", nonce).replace("{{house_rules}}\n", &rules).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Prompt, Purpose, ReplyForm};

    #[test]
    fn every_prompt_has_a_head_and_fills_its_places() {
        for purpose in [Purpose::RepairFunction, Purpose::DiagnoseIncident, Purpose::CheckConnection] {
            let prompt = Prompt::newest(purpose);
            assert!(!prompt.id.is_empty() && prompt.version > 0, "{prompt:?}");
            let system = prompt.system("00ff", "Keep it short.");
            assert!(system.contains("00ff") && system.contains("Keep it short."), "{system}");
            assert!(!system.contains("{{") && !prompt.system("00ff", "").contains("Rules of this house"), "{system}");
        }
    }

    #[test]
    fn the_system_text_stays_small() {
        for purpose in [Purpose::RepairFunction, Purpose::DiagnoseIncident] {
            assert!(Prompt::newest(purpose).system("00ff", "").len() < 4_000, "{purpose:?}");
        }
    }

    /// A prompt is known by its version: whoever changes the text makes a new file and a new line here.
    #[test]
    fn a_changed_text_is_a_new_version() {
        let diagnose = Prompt::newest(Purpose::DiagnoseIncident);
        assert_eq!((diagnose.version, diagnose.hash.short()), (1, "27fab0576ae2"));
        assert_eq!(diagnose.reply, ReplyForm::Diagnosis);
        assert_eq!(Prompt::newest(Purpose::RepairFunction).reply, ReplyForm::Repair);
    }
}
