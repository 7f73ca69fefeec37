//! `sanare approve ID` and `sanare deny ID`: exit 1 when the answer came too late, 3 when it is not this account's to
//! give, 6 when policy refuses.

use sanare::core::service::approval::NotCounted;
use sanare::engine::answer::{Answered, NotTaken};
use sanare::engine::service::NotAnswered as Refused;
use sanare::operations::answer::{NoAnswer, approve, deny};
use sanare::operations::show::{Show, find};
use sanare::service::{Healer, NotAnswered, NotFound};

use crate::command::incident::not_found;
use crate::command::{Context, pretty, shown};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The id of the incident or of the question, or at least six characters of its beginning.
    id: String,
    /// Why, for the record.
    #[arg(long, default_value = "")]
    reason: String,
}

pub(crate) fn give(context: &Context, arguments: &Arguments, yes: bool) -> Result<Printed, Exit> {
    // Where the configuration of services cannot be read, an id that is none of code's may be one of theirs.
    let unread = match of_service(context, arguments, yes) {
        Ok(Some(printed)) => return Ok(printed),
        Ok(None) => None,
        Err(exit) if exit.code == 2 && exit.hint.is_empty() => Some(exit),
        Err(exit) => return Err(exit),
    };
    let (store, root) = (context.store()?, context.project_root()?);
    let operation = if yes { approve } else { deny };
    let taken = match (operation(store.as_ref(), &root, &arguments.id, &arguments.reason), unread) {
        (Err(NoAnswer::Show(Show::Unknown(_) | Show::OfService { .. })), Some(unread)) => {
            return Err(unread.hint("`sanare check` reads the file"));
        }
        (Err(error @ NoAnswer::Show(Show::Unknown(_) | Show::OfService { .. })), None) => {
            return Err(nothing_asked(context, &arguments.id)?.unwrap_or_else(|| exit(error)));
        }
        (taken, _) => taken.map_err(exit)?,
    };
    let report = &taken.report;
    if context.json {
        return Ok(Printed::text(pretty(report)));
    }
    let place = format!("{} in {}", report.function, report.path);
    Ok(Printed::text(match taken.answered {
        Answered::Applied => format!(
            "approved: {place} is repaired in the file\nprograms that run take it over at their next failure, new ones \
             at their start\nto take it back: sanare revert {}",
            report.id
        ),
        Answered::Denied => format!("denied: {place} stays as it is"),
        Answered::Counted { have, need } => format!("approved by {have} of {need} persons; nothing is written yet"),
    }))
}

/// A question of the service half, where there is one of this id.
fn of_service(context: &Context, arguments: &Arguments, yes: bool) -> Result<Option<Printed>, Exit> {
    // What begins an id of code, or ids of both halves, is no question of a service.
    match context.store().map(|store| find(store.as_ref(), &arguments.id)) {
        Ok(Ok(_)) => return Ok(None),
        Ok(Err(error @ Show::Ambiguous { .. })) => return Err(shown(error, "sanare incident show")),
        _ => {}
    }
    let Some(healer) = context.healer_if_any()? else { return Ok(None) };
    let operation = if yes { Healer::approve } else { Healer::deny };
    match operation(&healer, &arguments.id, &arguments.reason, None) {
        Ok(state) if context.json => Ok(Some(Printed::text(pretty(&state)))),
        Ok(state) => {
            Ok(Some(Printed::text(format!("the question is {state}; the healer that runs goes on from here"))))
        }
        Err(NotAnswered::NotFound(NotFound::Unknown(_))) => Ok(None),
        Err(NotAnswered::NotFound(error)) => Err(not_found(error)),
        Err(NotAnswered::Refused(refused)) => {
            let code = match &refused {
                Refused::NotCounted(NotCounted::NotAllowed(_)) => 3,
                Refused::Store(_) => 5,
                _ => 1,
            };
            Err(Exit { code, message: refused.to_string(), hint: String::new() })
        }
    }
}

/// An incident of a service that asks nothing, or nothing any more, is no incident that does not exist.
fn nothing_asked(context: &Context, id: &str) -> Result<Option<Exit>, Exit> {
    let Some(healer) = context.healer_if_any()? else { return Ok(None) };
    let Ok((incident, _)) = healer.incident(id) else { return Ok(None) };
    let why = format!("nothing is asked: it is {}, {}", incident.status(), incident.step);
    Ok(Some(Exit::negative(why).hint("`sanare incident show ID` has every step")))
}

fn exit(error: NoAnswer) -> Exit {
    let message = error.to_string();
    let with = |code: i32, hint: &str| Exit { code, message: message.clone(), hint: hint.to_owned() };
    match error {
        NoAnswer::Show(error) => shown(error, "sanare incident show"),
        NoAnswer::Settings(_) => with(2, "`sanare config show` names each mistake"),
        NoAnswer::Store(_) | NoAnswer::NotTaken(NotTaken::Store(_)) => with(5, ""),
        NoAnswer::NotTaken(taken) => match taken {
            NotTaken::NotAllowed(_) => with(3, "ask one of the approvers of the policy file"),
            NotTaken::Stopped => with(6, "`sanare start` lifts it"),
            NotTaken::Refused(_) => with(6, "`sanare policy explain ID` shows every rule"),
            NotTaken::Busy => with(1, "look again in a moment: `sanare show ID`"),
            NotTaken::SourceChanged | NotTaken::Expired | NotTaken::Void(_) => {
                with(1, "the next failure of the function asks again, about the file as it is then")
            }
            NotTaken::MemoryOnly => with(1, "`sanare diff ID` gives the change, to be made by hand"),
            NotTaken::NotWaiting(_) | NotTaken::NotWritten(_) => with(1, "`sanare show ID` has the whole record"),
            NotTaken::Store(_) => with(5, ""),
        },
    }
}
