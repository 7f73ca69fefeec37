//! `sanare ledger verify`: exit 1 when the chain does not hold.

use sanare::operations::verify_ledger::verify_ledger;
use serde_json::json;

use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check every hash of the chain.
    Verify,
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    let Command::Verify = command;
    let store = context.store()?;
    let answer = verify_ledger(store.as_ref()).map_err(Exit::store)?;
    let (text, code) = match &answer {
        Ok(count) => (format!("the chain of {count} records holds"), 0),
        Err(broken) => (format!("the chain breaks at record {}: {}", broken.seq, broken.what), 1),
    };
    if context.json {
        let value = match answer {
            Ok(count) => json!({ "holds": true, "records": count }),
            Err(broken) => json!({ "holds": false, "seq": broken.seq, "what": broken.what }),
        };
        return Ok(Printed::with_code(pretty(&value), code));
    }
    Ok(Printed::with_code(text, code))
}
