//! The `coldframe` command. What it does is in `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    coldframe::cli::entry::main()
}
