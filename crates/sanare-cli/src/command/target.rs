//! `sanare target settle`: what acts touch.

use sanare::core::service::word::ReceiptState;

use crate::command::Context;
use crate::command::incident::{by_person, said};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Say what came of an act of which nobody knows; its target is free again.
    Settle {
        /// The receipt, or at least six characters of its id.
        receipt: String,
        /// What came of it.
        #[arg(long = "as", value_parser = ["done", "failed", "undone"])]
        state: String,
        /// Why, for the record.
        #[arg(long)]
        reason: String,
    },
}

pub(crate) fn run(context: &Context, command: &Command) -> Result<Printed, Exit> {
    let Command::Settle { receipt, state, reason } = command;
    let state = ReceiptState::parse(state).map_err(Exit::usage)?;
    let done = context.healer()?.settle(receipt, state, reason);
    done.map(|receipt| said(context, format!("settled: {receipt} is {state}"))).map_err(by_person)
}
