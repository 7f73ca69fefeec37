//! What to do next, for whoever is called at night.

use super::Report;

/// The steps, the likeliest first.
pub(super) fn steps(report: &Report) -> Vec<String> {
    let id = &report.id;
    let lines: Vec<String> = match (report.status.as_str(), report.outcome.as_str(), report.reason.as_str()) {
        ("waiting", ..) => vec![
            format!("look at the change: sanare diff {id}"),
            format!("apply exactly this change: sanare approve {id}"),
            format!("or close it: sanare deny {id} --reason \"…\""),
        ],
        ("applied", _, reason) => vec![
            match reason {
                "rerun_unsafe" => "the file is repaired; run the failed job again by hand".to_owned(),
                _ => "the file is repaired; the next call that returns confirms it".to_owned(),
            },
            format!("to take it back: sanare revert {id}"),
        ],
        (_, "healed", _) => vec![
            format!("review the change and commit it: sanare diff {id}"),
            format!("to take it back: sanare revert {id}"),
        ],
        (_, "rolled_back", _) => vec!["the file is as it was; mend the function by hand".to_owned()],
        (_, "refused", reason) => refused(report, reason),
        (_, "escalated", "dependency_missing") => vec!["install the package that the error names".to_owned()],
        (_, "escalated", "world_changed") => {
            vec![format!("the file is neither as before nor as after the repair: compare it with sanare diff {id}")]
        }
        (_, "escalated", _) => vec![format!("a person has to look: {}", report.summary)],
        _ => Vec::new(),
    };
    lines
}

fn refused(report: &Report, reason: &str) -> Vec<String> {
    let id = &report.id;
    let what = match reason {
        "transient" | "rate_limited" => "nothing in the code is wrong: run the job again later",
        "disk_full" => "make room on the disk, then run the job again",
        "permission" => "give the account access, or correct the path, then run the job again",
        "memory" => "give the job more memory, or smaller input",
        "deliberate" => "the program raised this on purpose: look at the data it complains of",
        "not_data" => "look at what arrived: it is not the expected data",
        "incomplete_data" => "ask whoever sends the data for the missing part, then run the job again",
        "missing_field" | "ambiguous" | "vetoed" | "no_identity" | "scale_or_unit" => {
            "ask whoever sends the data which field is meant, then correct the function; the candidates stand under `refusal`"
        }
        "gates_failed" => "the repairs that were tried are listed under `rejected`; correct the function by hand",
        "verify_cannot_start" => "correct the setting heal.verify: a command in it cannot be started",
        "source_changed" => "start the program anew: it runs other code than the file holds",
        "denied" => "nothing: a person closed it",
        "expired" => "nobody answered; the next failure asks again",
        "settings" => "mend the settings: sanare config show",
        "cooldown" => "it rests after an earlier attempt, which says why it failed",
        "policy" => "see which rule it was: sanare policy explain",
        "deadline" => "give it more time (heal.deadline), or mend the function by hand",
        _ => "mend the function by hand",
    };
    let mut lines = vec![match reason {
        "policy" => format!("{what} {id}"),
        _ => what.to_owned(),
    }];
    if !report.diff.is_empty() && !matches!(reason, "denied" | "verify_cannot_start") {
        lines.push(format!("a change that was not made: sanare diff {id}"));
    }
    lines
}
