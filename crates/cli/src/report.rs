//! Reports the failure of a program on standard error, and chooses its exit code.

use crate::exit::{self, Failure};
use crate::streams;
use crate::text;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// True if the command must print JSON.
pub fn wants_json(arguments: impl IntoIterator<Item = impl PartialEq<str>>) -> bool {
    arguments.into_iter().take_while(|argument| *argument != *"--").any(|argument| argument == *"--json")
}

/// The name of a program, and the format of its errors.
#[derive(Debug, Clone, Copy)]
pub struct Program {
    /// The prefix of each error.
    name: &'static str,
    /// Errors are printed as JSON.
    json: bool,
}

impl Program {
    /// A program started with these arguments.
    pub fn new(name: &'static str, arguments: &[OsString]) -> Self {
        Self { name, json: wants_json(arguments.iter().cloned()) }
    }

    /// Reports the result, and returns the exit code of the process.
    pub fn end(self, result: exit::Outcome) -> ExitCode {
        ExitCode::from(self.code(result))
    }

    /// Reports the result, and returns the exit code.
    pub fn code(self, result: exit::Outcome) -> u8 {
        match result {
            Ok(()) => exit::OK,
            Err(failure) => {
                if self.json {
                    complain_as_json(&failure, None);
                } else {
                    complain(self.name, &failure);
                }
                failure.exit_code()
            }
        }
    }

    /// Like [`Program::end`], for arguments that the parser refused, or answered with help.
    pub fn end_unparsed(self, error: &clap::Error) -> ExitCode {
        ExitCode::from(self.code_unparsed(error))
    }

    /// Like [`Program::code`], for arguments that the parser refused, or answered with help.
    pub fn code_unparsed(self, error: &clap::Error) -> u8 {
        if self.json && error.use_stderr() {
            return self.code(Err(refused(error)));
        }
        // The parser quotes arguments without escaping them.
        let text = error.to_string();
        if error.use_stderr() && text::lines(&text) != text {
            let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned();
            return self.code(Err(Failure::Usage(text)));
        }
        // A closed pipe is not an error here either: `alluvium help | head`.
        let _closed = error.print();
        if error.use_stderr() { exit::USAGE } else { exit::OK }
    }
}

/// The parser's reason for refusing the arguments, without the usage.
fn refused(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let end = ["\n\nUsage:", "\n\nFor more information"].iter().filter_map(|help| text.find(help)).min();
    Failure::Usage(text[..end.unwrap_or(text.len())].trim_end().to_owned())
}

/// Writes the failure to standard error as one line of JSON, with MongoDB's code and the line in the script, if they
/// are known.
pub(crate) fn complain_as_json(failure: &Failure, line: Option<u64>) {
    let text = failure.to_string();
    if text.is_empty() {
        return;
    }
    let mut error = serde_json::json!({ "error": text, "exit_code": failure.exit_code() });
    if let Some((code, name)) = failure.code() {
        error["code"] = code.into();
        error["code_name"] = name.into();
    }
    if let Some(line) = line {
        error["line"] = line.into();
    }
    // If standard error is closed, there is nowhere to report it.
    let _closed = writeln!(streams::error(), "{error}");
}

/// Writes the failure to standard error, after the program's name, unless it has no message.
pub(crate) fn complain(program: &str, failure: &Failure) {
    let text = failure.to_string();
    if !text.is_empty() {
        // If standard error is closed, there is nowhere to report it.
        let _closed = writeln!(streams::error(), "{program}: {}", text::lines(&text));
    }
}
