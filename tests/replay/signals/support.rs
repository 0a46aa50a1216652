//! The command as a process, and the files that it is given.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What the command said.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    /// What it printed, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// Runs `coldframe signal` in an environment of its own.
pub fn signal(arguments: &[String]) -> Said {
    with_input(arguments, "")
}

/// The same, with something at its standard input.
pub fn with_input(arguments: &[String], input: &str) -> Said {
    use std::io::Write as _;
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldframe"));
    command.arg("signal").args(arguments).env_clear();
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program");
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Words of a command line.
pub fn words(text: &[&str]) -> Vec<String> {
    text.iter().map(|word| (*word).to_string()).collect()
}

/// A folder for the objects of one question.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().to_path_buf()
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// The arguments for these objects: the first one is `--object`, the others `--more` as far as they are there.
    pub fn objects(&self, objects: &[Value]) -> Vec<String> {
        let mut arguments = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            if index > 0 && object.is_null() {
                continue;
            }
            let flag = if index == 0 { "--object" } else { "--more" };
            let text = serde_yaml::to_string(object).unwrap();
            arguments.extend([flag.to_string(), self.write(&format!("{index}.yaml"), &text)]);
        }
        arguments
    }
}
