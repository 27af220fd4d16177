//! Cases as text: `input | input => output`, one in each line. Lines that begin with `#` and empty lines are kept.
//!
//! With `UPDATE=1` in the environment the outputs are rewritten. Review the differences before you keep them.

use std::path::Path;

/// Checks or rewrites the outputs of a file in `cases/`.
pub fn check(file: &str, output_of: impl Fn(&[&str]) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (mut written, mut wrong, mut cases) = (String::new(), Vec::new(), 0);
    for (index, line) in text.lines().enumerate() {
        let (inputs, expected) = line.split_once(" => ").unwrap_or((line.trim_end_matches(" =>"), ""));
        if line.is_empty() || line.starts_with('#') {
            written += line;
        } else {
            let output = output_of(&inputs.split(" | ").collect::<Vec<_>>());
            assert!(!output.contains('\n'), "{file}:{}: {output}", index + 1);
            cases += 1;
            if output != expected {
                wrong.push(format!("{file}:{}: {inputs}\n  is       {output}\n  expected {expected}", index + 1));
            }
            written += &format!("{inputs} => {output}");
        }
        written.push('\n');
    }
    assert!(cases > 0, "{file} has no cases");
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, written).unwrap_or_else(|error| panic!("{file}: {error}"));
    } else {
        assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
    }
}
