//! `sanare ledger verify|head|rotate|prune|export`: exit 1 when a chain does not hold.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use sanare::core::ledger::{ChainBreak, Heads, Record};
use sanare::core::policy::file::milliseconds;
use sanare::core::port::{NotErased, Store};
use sanare::core::service::Moment;
use sanare::operations::heads::{NotSigned, compare, rotate, sign};
use sanare::operations::ledger::{NotExported, NotTakenOut, Wanted, export, prune};
use sanare::operations::verify_ledger::verify_ledger;
use sanare::wire::clock::SystemClock;
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check every hash of every chain.
    Verify {
        /// A file with heads that were kept elsewhere, as `ledger head` prints them: the chains must still have them.
        #[arg(long, value_name = "FILE")]
        head: Option<PathBuf>,
        /// The public key that they must be signed with, where you have it from elsewhere.
        #[arg(long, value_name = "HEX", requires = "head")]
        key: Option<String>,
    },
    /// Print the signed heads of all chains, to be kept elsewhere: a chain alone cannot show that its newest rows were cut.
    Head,
    /// Sign with another key from now on; that it changed, and why, is a record.
    Rotate {
        /// Why.
        #[arg(long, default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Take the oldest records of a chain out; the hash of the last of them stays, and nothing that is needed goes.
    Prune {
        /// A service, or `@system`.
        chain: String,
        /// Before this time, or so long ago, such as 400d.
        #[arg(long, value_name = "TIME")]
        before: String,
        /// Why.
        #[arg(long, default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Print records as they are, one line of JSON each.
    Export(Export),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// Only of this service or project.
    #[arg(long)]
    application: Option<String>,
    /// Only from this time, or of the time since, such as 2026-11-30T12:00:00Z or 30d.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Into a new file; without it to standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    match command {
        Command::Verify { head, key } => verify(context, head.as_deref(), key.as_deref()),
        Command::Head => {
            let (store, path) = (context.store()?, context.store_path()?);
            holds(store.as_ref())?;
            let heads = sign(store.as_ref(), &path, &SystemClock::new()).map_err(not_signed)?;
            let line = serde_json::to_string(&heads).map_err(Exit::store)?;
            Ok(Printed::text(if context.json { pretty(&heads) } else { line }))
        }
        Command::Rotate { reason } => {
            let (store, path) = (context.store()?, context.store_path()?);
            let key = rotate(store.as_ref(), &path, &SystemClock::new(), reason).map_err(not_signed)?;
            let text = format!("heads are signed with {key} from now on");
            Ok(Printed::text(if context.json { pretty(&json!({ "key": key })) } else { text }))
        }
        Command::Prune { chain, before, reason } => {
            let store = context.store()?;
            let seal = prune(store.as_ref(), chain, time(before)?, reason).map_err(not_taken_out)?;
            let text = match &seal {
                Some(seal) => format!("{chain}: up to record {}, its hash {} stays", seal.head.place, seal.head.hash),
                None => format!("{chain}: nothing is that old and not needed any more"),
            };
            Ok(Printed::text(if context.json { pretty(&seal) } else { text }))
        }
        Command::Export(arguments) => export_to(context, arguments),
    }
}

fn holds(store: &dyn Store) -> Result<u64, Exit> {
    verify_ledger(store).map_err(Exit::store)?.map_err(|broken| Exit::negative(breaks(&broken)))
}

fn not_signed(error: NotSigned) -> Exit {
    match error {
        NotSigned::NoReason => Exit::usage(error).hint("say why with --reason"),
        _ => Exit::store(error),
    }
}

/// Why nothing was pruned or erased.
pub(crate) fn not_taken_out(error: NotTakenOut) -> Exit {
    match error {
        NotTakenOut::NoReason => Exit::usage(error).hint("say why with --reason"),
        NotTakenOut::NotErased(NotErased::Needed(_)) => Exit::negative(error),
        NotTakenOut::NotErased(NotErased::Unknown(_)) => Exit::not_found(error),
        NotTakenOut::Broken(..) => Exit::negative(error).hint("`sanare ledger verify` says more"),
        _ => Exit::store(error),
    }
}

fn breaks(broken: &ChainBreak) -> String {
    format!("the chain breaks at record {}: {}", broken.seq, broken.what)
}

fn verify(context: &Context, head: Option<&Path>, key: Option<&str>) -> Result<Printed, Exit> {
    let noted = head.map(read).transpose()?;
    let store = context.store()?;
    let answer = verify_ledger(store.as_ref()).map_err(Exit::store)?;
    let compared = match (&answer, &noted) {
        (Ok(_), Some(noted)) => Some(compare(store.as_ref(), noted, key).map_err(Exit::store)?),
        _ => None,
    };
    let (text, value) = match (answer, compared) {
        (Err(broken), _) => (Err(breaks(&broken)), json!({ "holds": false, "seq": broken.seq, "what": broken.what })),
        (Ok(count), None) => {
            (Ok(format!("the chain of {count} records holds")), json!({ "holds": true, "records": count }))
        }
        (Ok(_), Some(Err(differs))) => {
            (Err(differs.to_string()), json!({ "holds": false, "what": differs.to_string() }))
        }
        (Ok(count), Some(Ok(of))) => {
            let said = format!(
                "the chain of {count} records holds, and has the head of {}; {} records are newer, which it says nothing about",
                Moment::from_millis(of.at),
                of.newer
            );
            (Ok(said), json!({ "holds": true, "records": count, "head": of }))
        }
    };
    let code = i32::from(text.is_err());
    let text = text.unwrap_or_else(|text| text);
    Ok(Printed::with_code(if context.json { pretty(&value) } else { text }, code))
}

/// Heads from a file.
fn read(path: &Path) -> Result<Heads, Exit> {
    let none = |why: &dyn std::fmt::Display| {
        Exit::usage(format!("`{}` holds no heads: {why}", path.display()))
            .hint("keep what `sanare ledger head` prints, and name the file")
    };
    let text = std::fs::read_to_string(path).map_err(|error| none(&error))?;
    let heads: Heads = serde_json::from_str(text.trim()).map_err(|error| none(&error))?;
    if heads.format == 1 { Ok(heads) } else { Err(none(&"they are of a later version")) }
}

fn export_to(context: &Context, arguments: &Export) -> Result<Printed, Exit> {
    let wanted = Wanted {
        since: arguments.since.as_deref().map(time).transpose()?,
        until: arguments.until.as_deref().map(time).transpose()?,
        application: arguments.application.clone(),
    };
    let store = context.store()?;
    let exit = |error: NotExported| match error {
        NotExported::Unknown { .. } => Exit::not_found(error),
        NotExported::Output(ref why) if why.kind() == std::io::ErrorKind::BrokenPipe => {
            Exit { code: 0, ..Exit::usage("") }
        }
        NotExported::Output(_) | NotExported::Store(_) => Exit::store(error),
    };
    let Some(path) = &arguments.out else {
        let mut out = std::io::stdout().lock();
        return match export(store.as_ref(), &wanted, |record| line(&mut out, record)).map_err(exit) {
            // A reader that went away (`| head`) has what it wanted.
            Err(left) if left.code == 0 => Ok(Printed::default()),
            other => other.map(|_| Printed::default()),
        };
    };
    let mut out = std::io::BufWriter::new(new_file(path)?);
    let done = export(store.as_ref(), &wanted, |record| line(&mut out, record));
    let done = done.and_then(|count| Ok(out.flush().map(|()| count)?)).map_err(exit);
    if done.is_err() {
        // Half an export is none.
        let _ = std::fs::remove_file(path);
    }
    let count = done?;
    let text = format!("{}: {count} records", path.display());
    Ok(Printed::text(if context.json { pretty(&json!({ "file": path, "records": count })) } else { text }))
}

/// A new file that only its owner reads.
pub(crate) fn new_file(path: &Path) -> Result<std::fs::File, Exit> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Exit::negative(format!("`{}` is there already; nothing is written over", path.display()))
        }
        _ => Exit::usage(format!("`{}` cannot be written: {error}", path.display())),
    })
}

fn line(out: &mut impl std::io::Write, record: &Record) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, record).map_err(std::io::Error::from)?;
    out.write_all(b"\n")
}

/// A time as it is written, or so long ago; in milliseconds since 1970.
pub(crate) fn time(text: &str) -> Result<u64, Exit> {
    if let Some(ago) = milliseconds(text) {
        let now = sanare::core::port::Clock::now(&sanare::wire::clock::SystemClock::new());
        return Ok(now.saturating_sub(ago));
    }
    let none = |_| Exit::usage(format!("`{text}` is no time")).hint("write such as 30d, 12h or 2026-11-30T12:00:00Z");
    Moment::parse(text).map(Moment::millis).map_err(none)
}
