use super::*;
use crate::exit;
use std::collections::HashMap;

fn text(text: &str) -> Outcome<Vec<Found>> {
    file::settings(Path::new("c.toml"), text)
}

fn refused(content: &str) -> String {
    let failure = text(content).expect_err("wrong");
    assert_eq!(failure.exit_code(), exit::USAGE);
    failure.to_string()
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    assert_eq!(refused("# so\nmemmory = '1G'"), "c.toml:2: there is no setting memmory: did you mean memory?");
    assert_eq!(refused("disk_reserve = 1"), "c.toml:1: there is no setting disk_reserve: did you mean disk-reserve?");
    assert!(refused("[server]\nport = 1").contains("there are color, disk-reserve, log, log-format, memory"));
    assert!(refused("\n\nmemory = '1X'").starts_with("c.toml:3: memory: \"1X\" is not valid: write a size"));
    assert!(refused("readers = 0").contains("at least 1"));
    assert!(refused("readers = 1.5").contains("in quotes, or a number"));
    assert!(refused("sync = 'never'").contains("write sync, periodic or bulk"));
    assert!(refused("color = 'red'").contains("write auto, always or never"));
    assert!(refused("log = 'loud'").starts_with("c.toml:1: log: \"loud\" is not valid"));
    assert!(refused("memory = '1G'\n\nmemory = '2G'").starts_with("c.toml:3: "));
    assert!(refused("memory = ").starts_with("c.toml:1: "));
}

#[test]
fn the_environment_goes_before_the_file_and_the_nearer_file_before_the_other() {
    let env = Env::in_memory(1);
    let write = |path: &str, text: &str| {
        let path = Path::new(path);
        env.fs.create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let file = env.fs.open(path, alluvium_env::OpenMode::CreateNew).expect("a file");
        file.write_at(text.as_bytes(), 0).expect("space");
    };
    write("/users/u/.config/alluvium/config.toml", "memory = '11M'\nreaders = 2\nlog = 'info'");
    write("/x/alluvium/config.toml", "memory = '12M'");
    write("/named/a.toml", "memory = '13M'\n");
    let read = |variables: &[(&str, &str)], explicit: Option<&str>| {
        let map: HashMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::read(&env, &|name| map.get(name).cloned(), explicit.map(Path::new))
    };
    let memory = |config: Config| config.get("memory").map(|found| (found.value.clone(), found.origin.to_string()));
    let of = |value: &str, origin: &str| Some((value.to_owned(), origin.to_owned()));
    let home = ("HOME", "/users/u");
    assert_eq!(memory(read(&[], None).expect("nothing")), None);
    assert_eq!(memory(read(&[home], None).expect("a file")), of("11M", "/users/u/.config/alluvium/config.toml:1"));
    let xdg = ("XDG_CONFIG_HOME", "/x");
    assert_eq!(memory(read(&[home, xdg], None).expect("a file")), of("12M", "/x/alluvium/config.toml:1"));
    let named = ("ALLUVIUM_CONFIG", "/named/a.toml");
    assert_eq!(memory(read(&[home, xdg, named], None).expect("a file")), of("13M", "/named/a.toml:1"));
    let explicit = Some("/x/alluvium/config.toml");
    assert_eq!(memory(read(&[named], explicit).expect("a file")), of("12M", "/x/alluvium/config.toml:1"));
    let variable = ("ALLUVIUM_MEMORY", "9M");
    let config = read(&[home, variable], None).expect("a file");
    assert_eq!(config.get("readers").map(|found| found.value.as_str()), Some("2"));
    assert_eq!(memory(config), of("9M", "ALLUVIUM_MEMORY"));
    let failure = read(&[("ALLUVIUM_MEMORY", "much")], None).expect_err("no size");
    assert!(failure.to_string().starts_with("ALLUVIUM_MEMORY: \"much\" is not valid"), "{failure}");
    assert_eq!(read(&[], Some("/nowhere.toml")).expect_err("no file").exit_code(), exit::NOT_FOUND);
    assert_eq!(read(&[("XDG_CONFIG_HOME", "relative")], None).expect("nothing").file, None);
}

#[test]
fn settings_are_in_the_order_of_the_alphabet() {
    assert!(SETTINGS.is_sorted_by_key(|setting| setting.name));
}
