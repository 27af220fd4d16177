//! Completions and manual pages are generated from the definitions of the commands, and therefore include all commands.

use crate::common::Place;
use std::process::Command;

/// The commands in the list that `help` prints.
fn commands(place: &Place) -> Vec<String> {
    let help = place.good(&["help"]);
    let list = help.split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("a list");
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> = names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(names.len() > 15, "{help}");
    names.into_iter().filter(|name| name != "help").collect()
}

#[test]
fn completions_name_every_command_and_bash_completes() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.good(&["completions", shell]);
        for command in commands(&place) {
            assert!(script.contains(&command), "{shell}: {command}");
        }
        assert!(script.contains("--on-duplicate") || script.contains("on-duplicate"), "{shell}");
    }
    assert!(place.bad(2, &["completions", "tcsh"]).contains("bash"));
    place.write("alluvium.bash", place.good(&["completions", "bash"]));
    let complete = "source ./alluvium.bash; COMP_WORDS=(alluvium upd); COMP_CWORD=1; \
                    _alluvium alluvium upd alluvium; echo \"${COMPREPLY[@]}\"";
    let said = Command::new("bash").args(["-c", complete]).current_dir(place.path("")).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&said.stdout), "update\n", "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn every_command_has_a_page() {
    let place = Place::new();
    let said = place.good(&["man", "pages/man1"]);
    assert!(said.starts_with("wrote ") && said.ends_with(" pages to pages/man1\n"), "{said}");
    for command in commands(&place) {
        let page = place.read(&format!("pages/man1/alluvium-{command}.1"));
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(place.read("pages/man1/alluvium-mv-get.1").contains("estimate"));
    let main = place.read("pages/man1/alluvium.1");
    assert!(main.contains("Exit codes") && main.contains("alluvium\\-load(1)"), "{main}");
    place.write("file", "");
    place.bad(1, &["man", "file"]);
}
