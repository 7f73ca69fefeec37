//! What keeps an incident quiet: a silence, another incident that explains it, a group that was told already (S49, S50).

use sanare_core::id::Id;
use sanare_core::ledger::Entry;
use sanare_core::redact::Redactor;
use sanare_core::service::NotMade;
use sanare_core::service::run::{Change, Run};
use sanare_core::service::word::{IncidentFlag, StepName};
use serde_json::json;

use super::Loop;

/// How an incident stands beside others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether it is silenced now.
    pub silenced: bool,
    /// The incident that explains it now.
    pub inhibited_by: Option<Id>,
    /// The group that it is in from now on; one that it has it keeps.
    pub group: Option<Id>,
}

impl Loop<'_> {
    /// Marks an incident, with a record of each mark that changed; what is released by it goes on now. Whether anything
    /// changed.
    ///
    /// # Errors
    /// [`NotMade::Store`].
    pub fn mark(&self, incident: &Id, marks: &Marks) -> Result<bool, NotMade> {
        loop {
            match self.marked(incident, marks) {
                // A report or a step came between: it is read again.
                Err(NotMade::Moved(_)) => {}
                other => return other,
            }
        }
    }

    fn marked(&self, id: &Id, marks: &Marks) -> Result<bool, NotMade> {
        let store = self.world.store;
        let (Some(run), Some(mut incident)) = (store.run(id)?, store.incident(id)?) else { return Ok(false) };
        let mut change = Change { now: self.world.clock.now(), ..Change::default() };
        let mut record = |step: &str, payload: &serde_json::Value| {
            let payload = Redactor::standard().json(payload);
            change.entries.push(Entry { incident: id.clone(), step: step.to_owned(), at: change.now, payload });
        };
        if incident.is(IncidentFlag::Silenced) != marks.silenced {
            match marks.silenced {
                true => drop(incident.flags.insert(IncidentFlag::Silenced)),
                false => drop(incident.flags.remove(&IncidentFlag::Silenced)),
            }
            record("silenced", &json!({ "silenced": marks.silenced }));
        }
        // What has ended is explained by nothing any more, and explains nothing.
        if incident.inhibited_by != marks.inhibited_by && incident.step != StepName::Closed {
            incident.inhibited_by.clone_from(&marks.inhibited_by);
            record("inhibited", &json!({ "by": marks.inhibited_by }));
        }
        if let (None, Some(group)) = (&incident.group, &marks.group) {
            incident.group = Some(group.clone());
            record("grouped", &json!({ "group": group }));
        }
        if change.entries.is_empty() {
            return Ok(false);
        }
        incident.updated = self.world.now();
        let due = run.due.map(|due| due.min(self.world.now()));
        let made_from = run.revision;
        change.runs.push((Run { revision: made_from + 1, due, ..run }, Some(made_from)));
        change.incidents.push(incident);
        store.commit(&change)?;
        Ok(true)
    }
}
