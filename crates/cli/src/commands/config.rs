//! `alluvium config`: the settings and their sources.

use crate::config::{Config, SETTINGS, variable_of};
use crate::exit::Outcome;
use crate::output::Output;
use crate::text;

/// Subcommands of `config`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print each setting, its value, and where the value comes from
    Show(ShowArgs),
}

/// Arguments of `config show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each setting is an option of the commands that use it (--memory 1G), a variable of the environment (ALLUVIUM_MEMORY=1G), \
and a line of the configuration file (memory = \"1G\"). An option overrides the variable, which overrides the file, which \
overrides the default. The file is that of --config, or of ALLUVIUM_CONFIG, or $XDG_CONFIG_HOME/alluvium/config.toml, \
usually ~/.config/alluvium/config.toml.

Example: alluvium config show --json")]
pub(crate) struct ShowArgs {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Command {
    /// Prints the settings.
    pub(crate) fn run(&self, config: &Config) -> Outcome {
        let Self::Show(args) = self;
        let mut out = Output::new();
        if args.json {
            out.json(&to_json(config))?;
        } else {
            let file = config.file.as_ref().map_or("none".to_owned(), |path| path.display().to_string());
            out.text(&format!("configuration file: {file}\n\n"))?;
            let row = |setting: &crate::config::Setting| match config.get(setting.name) {
                Some(found) => (setting.name.to_owned(), format!("{}  (from {})", found.value, found.origin)),
                None => {
                    (setting.name.to_owned(), format!("{}  (default; {})", setting.default, variable_of(setting.name)))
                }
            };
            out.text(&text::columns(&SETTINGS.iter().map(row).collect::<Vec<_>>()))?;
        }
        out.finish()
    }
}

fn to_json(config: &Config) -> serde_json::Value {
    let mut settings = serde_json::Map::new();
    for setting in SETTINGS {
        let value = match config.get(setting.name) {
            Some(found) => serde_json::json!({ "value": found.value, "from": found.origin.to_string() }),
            None => serde_json::json!({ "value": null, "from": "default" }),
        };
        settings.insert(setting.name.to_owned(), value);
    }
    serde_json::json!({ "file": config.file, "settings": settings })
}
