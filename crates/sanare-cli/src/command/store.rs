//! `sanare store migrate|erase|backup`: the store as a file.

use std::path::PathBuf;

use sanare::operations::ledger::erase;
use sanare::operations::store::{backup, migrate};
use serde_json::json;

use crate::command::ledger::not_taken_out;
use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Bring the store to the present format, as every use of it does.
    Migrate,
    /// Forget a service: what is kept of it goes, its records lose their content and keep their places and hashes.
    Erase {
        /// The service.
        service: String,
        /// Why.
        #[arg(long, default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Copy the store into a new file, and look at the copy; whoever uses the store goes on.
    Backup {
        /// The new file; nothing is written over.
        to: PathBuf,
    },
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    let path = context.store_path()?;
    match command {
        Command::Migrate => {
            let done = migrate(&path).map_err(Exit::store)?;
            let text = match done.from == done.to {
                true => format!("format {}, as it was", done.to),
                false => format!("format {}, from {}", done.to, done.from),
            };
            Ok(Printed::text(if context.json { pretty(&done) } else { text }))
        }
        Command::Erase { service, reason } => {
            let done = erase(context.store()?.as_ref(), service, reason).map_err(not_taken_out)?;
            let left = match done.left {
                0 => String::new(),
                left => format!("; {left} records of an older format stay until they are pruned"),
            };
            let text =
                format!("{service}: the content of {} records and {} rows are gone{left}", done.payloads, done.rows);
            let value = json!({ "service": service, "records": done.payloads, "rows": done.rows, "left": done.left });
            Ok(Printed::text(if context.json { pretty(&value) } else { text }))
        }
        Command::Backup { to } => {
            if to.symlink_metadata().is_ok() {
                return Err(Exit::negative(format!("`{}` is there already; nothing is written over", to.display())));
            }
            let records = backup(&path, to).map_err(Exit::store)?;
            let text = format!("{}: {records} records, and their chain holds", to.display());
            Ok(Printed::text(if context.json { pretty(&json!({ "file": to, "records": records })) } else { text }))
        }
    }
}
