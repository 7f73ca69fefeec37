//! `sanare demo`: three healed jobs, or a model service that is rolled back, in a temporary folder; the Python half plays
//! them.

use crate::command::Context;
use crate::output::{Exit, Printed};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The story of a service, in place of the jobs'.
    #[arg(long)]
    services: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Printed, Exit> {
    let module = if arguments.services { "sanare._demo_services" } else { "sanare._demo" };
    context.run_python(module, &[]).map(|code| Printed::with_code("", code))
}
