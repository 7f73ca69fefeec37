//! `sanare target list|settle`: what acts touch.

use sanare::core::service::word::ReceiptState;
use sanare::service::Target;

use crate::command::incident::{by_person, said};
use crate::command::{Context, pretty};
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List every target: what is declared of it, and which act has it.
    List {
        /// Ask each how it is now; nothing is changed.
        #[arg(long)]
        online: bool,
    },
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
    match command {
        Command::List { online } => {
            let all = context.healer()?.targets(*online).map_err(Exit::store)?;
            let lines: Vec<String> = all.iter().flat_map(lines).collect();
            Ok(Printed::text(if context.json { pretty(&all) } else { lines.join("\n") }))
        }
        Command::Settle { receipt, state, reason } => {
            let state = ReceiptState::parse(state).map_err(Exit::usage)?;
            let done = context.healer()?.settle(receipt, state, reason);
            done.map(|receipt| said(context, format!("settled: {receipt} is {state}"))).map_err(by_person)
        }
    }
}

fn lines(one: &Target) -> Vec<String> {
    let key = one.target.as_ref().map_or("-", |key| key.as_str());
    let declared = if one.declared.is_empty() { "nothing declared".to_owned() } else { one.declared.join(", ") };
    let mut lines = vec![format!(
        "{}/{}  {:<22} {key} by {} ({declared})",
        one.application,
        one.component,
        one.action.word(),
        one.adapter
    )];
    lines.extend(one.now.as_ref().map(|now| format!("    {now}")));
    lines.extend(one.identity.iter().map(|identity| {
        let marks: Vec<String> = identity.marks().map(|(mark, value)| format!("{mark} {value}")).collect();
        format!("    it is {}", marks.join(", "))
    }));
    lines.extend(one.held_by.as_ref().map(|(receipt, state)| {
        let how = if state == "unknown" { "; `sanare target settle` frees it" } else { "" };
        format!("    receipt {receipt} is {state}{how}")
    }));
    lines
}
