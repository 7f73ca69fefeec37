//! `sanare silence add|list|end`, `sanare storm lift`: who is not told, and when acting goes on all the same.

use std::collections::BTreeSet;

use sanare::core::service::silence::{Matcher, Test};
use sanare::core::service::{Application, Moment, Silence};
use sanare::service::{Hushed, NotFound, NotLifted, NotSilenced};
use serde_json::json;

use crate::command::{Context, incident, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Silence incidents: recorded, nothing begun, nobody told.
    Add(Add),
    /// List silences that are on or to come.
    List,
    /// End one now.
    End {
        /// Its id, or at least six characters of it.
        id: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    /// What is meant, all of it: `application=fraud`, `kind=latency_high,error_rate_high`, `label.zone~eu-.*`; also
    /// `component` and `severity`. `=` is one of these texts, `~` a pattern that covers the whole.
    #[arg(value_name = "MATCHER")]
    matchers: Vec<String>,
    /// Everything is meant.
    #[arg(long)]
    all: bool,
    /// Why, for the record.
    #[arg(long)]
    reason: String,
    /// How long, such as 30m, 2h or 1d; at most 30 days.
    #[arg(long = "for", value_name = "LENGTH")]
    length: Option<String>,
    /// From when, such as 2026-03-01T22:00:00+01:00; else from now.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until when, in place of `--for`.
    #[arg(long, value_name = "TIME", conflicts_with = "length")]
    until: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Storm {
    /// Let runs go on although many services are ill at once: of one service, or of all.
    Lift {
        /// The service.
        application: Option<String>,
    },
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    match command {
        Command::Add(add) => {
            let asked = asked(add)?;
            let silence = context.healer()?.silence(asked).map_err(refused)?;
            Ok(told(context, &silence, "silenced"))
        }
        Command::List => {
            let all = context.healer()?.silences().map_err(Exit::store)?;
            if context.json {
                return Ok(Printed::text(pretty(&all)));
            }
            Ok(Printed::text(all.iter().map(line).collect::<Vec<_>>().join("\n")))
        }
        Command::End { id } => {
            let silence = context.healer()?.end_silence(id).map_err(refused)?;
            Ok(told(context, &silence, "ended"))
        }
    }
}

pub(crate) fn storm(context: &Context, Storm::Lift { application }: &Storm) -> Result<Printed, Exit> {
    let application = application.as_deref().map(Application::parse).transpose().map_err(Exit::usage)?;
    let lifted = context.healer()?.lift_storm(application.as_ref()).map_err(|error| match error {
        NotLifted::NoStorm => Exit::negative(error),
        NotLifted::UnknownService(_) => Exit::no_service(error),
        NotLifted::Store(_) => Exit::store(error),
    })?;
    let whom = application.map_or_else(|| "all services".to_owned(), |application| application.to_string());
    let text = format!("lifted for {whom}: storm {lifted}");
    Ok(Printed::text(if context.json { pretty(&json!({ "done": text })) } else { text }))
}

fn asked(add: &Add) -> Result<Hushed, Exit> {
    let matchers = add.matchers.iter().map(|text| matcher(text)).collect::<Result<_, _>>()?;
    let time = |text: &Option<String>| text.as_deref().map(Moment::parse).transpose().map_err(Exit::usage);
    let (start, end) = (time(&add.from)?, time(&add.until)?);
    let wrong =
        |text: &String| Exit::usage(format!("`{text}` is no length of time")).hint("write it such as 30m or 2h");
    let length = add.length.as_ref().map(|text| length(text).ok_or_else(|| wrong(text))).transpose()?;
    if length.is_none() && end.is_none() {
        return Err(Exit::usage("a silence ends").hint("give --for or --until"));
    }
    Ok(Hushed { matchers, all: add.all, reason: add.reason.clone(), length, start, end })
}

fn matcher(text: &str) -> Result<Matcher, Exit> {
    let Some(place) = text.find(['=', '~']) else {
        return Err(Exit::usage(format!("`{text}` is no matcher")).hint("write it such as application=fraud"));
    };
    let (name, rest) = text.split_at(place);
    let value = rest.get(1..).unwrap_or_default();
    let test = if rest.starts_with('~') {
        Test::Matches(value.to_owned())
    } else if value.contains(',') {
        Test::OneOf(value.split(',').map(str::to_owned).collect::<BTreeSet<_>>())
    } else {
        Test::Equals(value.to_owned())
    };
    Matcher::new(name, test).map_err(Exit::usage)
}

/// Microseconds of a length such as `2h`.
fn length(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|symbol: char| !symbol.is_ascii_digit())?);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(seconds)?.checked_mul(1_000_000)
}

fn line(silence: &Silence) -> String {
    let what: Vec<String> = silence.matchers.iter().map(ToString::to_string).collect();
    let what = if silence.all { "everything".to_owned() } else { what.join(" ") };
    let when = |at: Moment| incident::when(at.millis());
    format!(
        "{}  {} to {}  {what}  by {}: {}",
        silence.id,
        when(silence.start),
        when(silence.end),
        silence.author,
        silence.reason
    )
}

fn told(context: &Context, silence: &Silence, done: &str) -> Printed {
    Printed::text(if context.json { pretty(silence) } else { format!("{done}: {}", line(silence)) })
}

fn refused(error: NotSilenced) -> Exit {
    match error {
        NotSilenced::Refused(_) => Exit::usage(error),
        NotSilenced::UnknownService(_) => Exit::no_service(error),
        NotSilenced::NotFound(NotFound::Ambiguous { .. }) => Exit::usage(error).hint("give more of the id"),
        NotSilenced::NotFound(NotFound::Unknown(_) | NotFound::OfCode { .. }) => {
            Exit::not_found(error).hint("`sanare silence list` lists what there is")
        }
        NotSilenced::NotFound(NotFound::Store(_)) | NotSilenced::Store(_) => Exit::store(error),
    }
}
