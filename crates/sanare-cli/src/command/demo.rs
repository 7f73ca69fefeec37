//! `sanare demo`.

use crate::command::Context;
use crate::output::{Exit, Printed};

pub(crate) fn run(context: &Context) -> Result<Printed, Exit> {
    let code = context.run_python("sanare._demo", &[])?;
    Ok(Printed::with_code(String::new(), code))
}
