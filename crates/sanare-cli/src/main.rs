//! The `sanare` binary, for machines where it is installed without the wheel.

fn main() {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    std::process::exit(sanare_cli::run(arguments, None));
}
