//! Tables: what each check must find and must let pass.
