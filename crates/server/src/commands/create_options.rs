//! The options of `create` that have special rules. Errors in them are reported even if the option has no effect here.

use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::read;
use alluvium::{Collation, Map, Value};
use alluvium_query::pipeline::stages;

/// The options that MongoDB's storage engine has for a collection. They have no effect here.
const ENGINE: [&str; 38] = [
    "access_pattern_hint",
    "allocation_size",
    "app_metadata",
    "assert",
    "block_allocation",
    "block_compressor",
    "cache_resident",
    "checksum",
    "colgroups",
    "collator",
    "columns",
    "dictionary",
    "encryption",
    "exclusive",
    "format",
    "huffman_key",
    "huffman_value",
    "ignore_in_memory_cache_size",
    "immutable",
    "internal_key_max",
    "internal_key_truncate",
    "internal_page_max",
    "key_format",
    "leaf_key_max",
    "leaf_page_max",
    "leaf_value_max",
    "log",
    "memory_page_image_max",
    "memory_page_max",
    "os_cache_dirty_max",
    "os_cache_max",
    "prefix_compression",
    "prefix_compression_min",
    "source",
    "split_pct",
    "type",
    "value_format",
    "verbose",
];

/// The field of `changeStreamPreAndPostImages`.
const IMAGES: &[Field] = &[required("enabled", Kind::Bool)];

/// The fields of `indexOptionDefaults`.
const DEFAULTS: &[Field] = &[optional("storageEngine", Kind::Document)];

/// The fields of `encryptedFields`.
const ENCRYPTED: &[Field] = &[
    optional("escCollection", Kind::Text),
    optional("ecocCollection", Kind::Text),
    optional("ecc", Kind::Text),
    optional("eccCollection", Kind::Text),
    required("fields", Kind::Documents),
    optional("strEncodeVersion", Kind::Integer),
];

/// The fields of an entry in `encryptedFields`.
const ENCRYPTED_FIELD: &[Field] = &[
    required("keyId", Kind::Any),
    required("path", Kind::Text),
    optional("bsonType", Kind::Text),
    optional("queries", Kind::Any),
];

/// The fields of the index of a clustered collection.
const CLUSTERED: &[Field] = &[
    optional("v", Kind::Integer),
    required("key", Kind::Document),
    optional("name", Kind::Text),
    required("unique", Kind::Flag),
];

/// The fields of the index on `_id`.
const ID_INDEX: [&str; 5] = ["key", "name", "v", "ns", "collation"];

/// The fields of a collation. Other fields and the values of texts are checked when the collation is parsed.
const COLLATION: &[Field] = &[
    required("locale", Kind::Text),
    optional("caseLevel", Kind::Bool),
    optional("strength", Kind::Number),
    optional("numericOrdering", Kind::Bool),
    optional("normalization", Kind::Bool),
    optional("backwards", Kind::Bool).not_null(),
    optional("version", Kind::Text),
];

/// Checks the options of a command, and converts the numbers of its collation to whole numbers.
///
/// # Errors
/// The error of the first invalid option.
pub(super) fn check(body: &mut Map) -> CommandResult<()> {
    if let Some(collation) = body.document("collation").map(whole_collation).transpose()? {
        body.insert("collation", collation);
    }
    check_texts(body)?;
    if let Some(engine) = body.document("storageEngine") {
        check_engine(engine)?;
    }
    if let Some(defaults) = body.document("indexOptionDefaults") {
        fields::refuse_unknown("create.indexOptionDefaults", DEFAULTS, defaults.entries.iter().map(|(name, _)| name))?;
        fields::check("create.indexOptionDefaults", DEFAULTS, defaults)?;
        if let Some(engine) = defaults.document("storageEngine") {
            check_engine(engine)?;
        }
    }
    check_encrypted(body)?;
    check_clustered(body)?;
    if let Some(index) = body.document("idIndex") {
        check_id_index(body, index)?;
    }
    let of_view = body.text("viewOn").map(|_| body.text("create").unwrap_or_default());
    images("create", body, of_view)?;
    check_expiry(body)
}

/// The stages of a view, without nulls. `None` if the command has no pipeline.
///
/// # Errors
/// Error 14 for a stage that is not a document, 73 for a stage that does not read a collection.
pub(super) fn stages(command: &str, body: &Map) -> CommandResult<Option<Vec<Value>>> {
    let Some(stages) = body.elements("pipeline") else { return Ok(None) };
    let stages: Vec<Value> = stages.iter().filter(|stage| **stage != Value::Null).cloned().collect();
    if let Some(first) = stages::first(&stages).filter(|first| first.not_over_collections) {
        let message = format!("{} is not valid for collection pipelines", first.name);
        return Err(CommandError::invalid_namespace(message));
    }
    match stages.iter().find(|stage| stage.as_map().is_none()) {
        None => Ok(Some(stages)),
        Some(other) => {
            let found = other.type_name();
            let message =
                format!("BSON field '{command}.pipeline' has an element of type '{found}', expected 'object'");
            Err(CommandError::type_mismatch(message))
        }
    }
}

/// The error for a text that is not a value of an option.
pub(super) fn wrong_value(field: &str, value: &str) -> CommandError {
    CommandError::bad_value(format!("Enumeration value '{value}' for field '{field}' is not a valid value."))
}

/// Checks options that are texts. The check includes options of views.
fn check_texts(body: &Map) -> CommandResult<()> {
    if body.text("viewOn") == Some("") {
        return Err(CommandError::bad_value("'viewOn' cannot be empty"));
    }
    let known = [
        ("validationLevel", ["off", "strict", "moderate"].as_slice()),
        ("validationAction", ["error", "warn", "errorAndLog"].as_slice()),
    ];
    for (name, texts) in known {
        if let Some(other) = body.text(name).filter(|text| !texts.contains(text)) {
            return Err(wrong_value(name, other));
        }
    }
    Ok(())
}

/// Returns the collation with a strength that is a whole number, as the collection stores it.
fn whole_collation(collation: &Map) -> CommandResult<Map> {
    fields::check("create.collation", COLLATION, collation)?;
    let mut whole = collation.clone();
    if whole.get("strength") == Some(&Value::Null) {
        whole.remove("strength");
    }
    if let Some(strength) = collation.truncated("strength") {
        let Some(strength) = i32::try_from(strength).ok().filter(|strength| (1..=5).contains(strength)) else {
            return Err(CommandError::bad_value(format!("the strength of a collation is from 1 to 5, not {strength}")));
        };
        whole.insert("strength", strength);
    }
    Ok(whole)
}

/// The value of `changeStreamPreAndPostImages`, if the command has it. `view` is the name of a view, which has no such
/// option; only `create` takes it if it is off.
///
/// # Errors
/// Error 72 for a view; those of another form.
pub(super) fn images(command: &str, body: &Map, view: Option<&str>) -> CommandResult<Option<bool>> {
    let Some(images) = body.document("changeStreamPreAndPostImages") else { return Ok(None) };
    let owner = format!("{command}.changeStreamPreAndPostImages");
    fields::refuse_unknown(&owner, IMAGES, images.entries.iter().map(|(name, _)| name))?;
    fields::check(&owner, IMAGES, images)?;
    if let Some(view) = view.filter(|_| command != "create" || images.flag("enabled")) {
        let message = format!("{view} is a view: changeStreamPreAndPostImages is an option of collections");
        return Err(CommandError::invalid_options(message));
    }
    Ok(Some(images.flag("enabled")))
}

/// Refuses documents before changes in the databases of a server itself, whose changes are not recorded.
///
/// # Errors
/// Error 72.
pub(super) fn refuse_images_of_server(db: &str, enabled: bool) -> CommandResult<()> {
    match enabled && ["admin", "config", "local"].contains(&db) {
        true => {
            let message = format!("changeStreamPreAndPostImages cannot be enabled in the {db} database");
            Err(CommandError::invalid_options(message))
        }
        false => Ok(()),
    }
}

/// Checks `encryptedFields`. A valid value is refused, too, because encryption is not supported.
fn check_encrypted(body: &Map) -> CommandResult<()> {
    let Some(config) = body.document("encryptedFields") else { return Ok(()) };
    check_document("create.encryptedFields", ENCRYPTED, config)?;
    for field in config.elements("fields").unwrap_or_default().iter().filter_map(Value::as_map) {
        check_document("create.encryptedFields.fields", ENCRYPTED_FIELD, field)?;
        if !matches!(field.get("keyId"), Some(Value::Binary(id)) if id.subtype == 4 && id.bytes.len() == 16) {
            return Err(CommandError::type_mismatch("the field 'keyId' of an encrypted field must be a UUID"));
        }
    }
    Ok(())
}

fn check_document(name: &str, known: &[Field], given: &Map) -> CommandResult<()> {
    fields::refuse_unknown(name, known, given.entries.iter().map(|(name, _)| name))?;
    fields::check(name, known, given)
}

/// Checks the index of a clustered collection. All collections are clustered by `_id`; the option is stored and has no
/// other effect.
fn check_clustered(body: &mut Map) -> CommandResult<()> {
    let Some(index) = body.get("clusteredIndex").filter(|index| **index != Value::Null) else { return Ok(()) };
    let Some(index) = index.as_map() else {
        let message = "the option 'clusteredIndex' of create is an object: {key: {_id: 1}, unique: true}";
        return Err(CommandError::type_mismatch(message));
    };
    check_document("create.clusteredIndex", CLUSTERED, index)?;
    if let Some(other) = ["viewOn", "capped", "timeseries"]
        .iter()
        .find(|name| body.get(name).is_some_and(|value| !matches!(value, Value::Null | Value::Bool(false))))
    {
        return Err(CommandError::invalid_options(format!("'{other}' is not allowed with 'clusteredIndex'")));
    }
    let is_on_id =
        index.document("key").is_some_and(|key| key.len() == 1 && key.get("_id").and_then(Value::as_f64) == Some(1.0));
    if !is_on_id || !index.flag("unique") || index.integer("v").is_some_and(|version| version != 2) {
        let message = "The clusteredIndex option is only supported for key: {_id: 1} and unique: true";
        return Err(CommandError::invalid_options(message));
    }
    let name = index.text("name").unwrap_or("_id_").to_owned();
    let kept = Map::from([
        ("v", Value::Int32(2)),
        ("key", Value::Map(Map::from([("_id", Value::Int32(1))]))),
        ("name", Value::from(name)),
        ("unique", Value::Bool(true)),
    ]);
    body.insert("clusteredIndex", kept);
    Ok(())
}

/// The options that are stored and have no other effect.
pub(super) const KEPT: [&str; 3] = ["clusteredIndex", "storageEngine", "indexOptionDefaults"];

/// Checks `expireAfterSeconds`, which MongoDB has for time series and clustered collections. In other collections,
/// documents expire by an index.
fn check_expiry(body: &Map) -> CommandResult<()> {
    let Some(seconds) = body.truncated("expireAfterSeconds") else { return Ok(()) };
    if !(0..=i64::MAX / 1000).contains(&seconds) {
        let message = format!("'expireAfterSeconds' is at least 0, and fits 64 bits in milliseconds, not {seconds}");
        return Err(CommandError::invalid_options(message));
    }
    let is_given = |name: &str| body.get(name).is_some_and(|value| *value != Value::Null);
    if is_given("timeseries") {
        // The option `timeseries` is refused elsewhere.
        return Ok(());
    }
    if is_given("clusteredIndex") {
        return Err(CommandError::not_supported("the option 'expireAfterSeconds' of create is not supported"));
    }
    let message = "'expireAfterSeconds' is only supported on time-series collections or when the \
                   'clusteredIndex' option is specified";
    Err(CommandError::invalid_options(message))
}

/// Checks the options of a storage engine.
fn check_engine(engines: &Map) -> CommandResult<()> {
    for (engine, options) in engines.iter() {
        let engine = engine.as_str().unwrap_or_default();
        if engine != "wiredTiger" {
            let message = format!("{engine} is not a registered storage engine for this server");
            return Err(CommandError::invalid_options(message));
        }
        let Some(options) = options.as_map() else {
            let message = format!("'storageEngine.{engine}' has to be an embedded document.");
            return Err(CommandError::bad_value(message));
        };
        for (name, value) in options.iter() {
            if name.as_str() != Some("configString") {
                let name = name.as_str().unwrap_or_default();
                let message = format!("'{name}' is not a supported option in 'storageEngine.{engine}'");
                return Err(CommandError::invalid_options(message));
            }
            check_settings(value)?;
        }
    }
    Ok(())
}

/// Checks the text of storage engine settings: a list of `name=value` with commas between them, in which brackets may
/// nest.
fn check_settings(settings: &Value) -> CommandResult<()> {
    let Some(text) = settings.as_str() else {
        let message = format!("'configString' must be a string, not {}", settings.type_name());
        return Err(CommandError::type_mismatch(message));
    };
    if text.contains('\0') {
        return Err(CommandError::failed_to_parse("'configString' has a null character"));
    }
    let (mut depth, mut is_quoted) = (0_i64, false);
    let parts = text.split(|letter: char| {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' | '[' | '{' if !is_quoted => depth += 1,
            ')' | ']' | '}' if !is_quoted => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0 && !is_quoted
    });
    let unknown = parts.map(str::trim).filter(|part| !part.is_empty()).find(|part| {
        let name = part.split(['=', ':', '(']).next().unwrap_or_default();
        !ENGINE.contains(&name.trim().trim_matches('"'))
    });
    match unknown {
        None => Ok(()),
        Some(part) => Err(CommandError::bad_value(format!("unknown configuration key: '{part}'"))),
    }
}

/// Checks the index on `_id`, which cannot be changed.
fn check_id_index(body: &Map, index: &Map) -> CommandResult<()> {
    let is_given = |name: &&&str| body.get(name).is_some_and(|value| *value != Value::Null);
    if let Some(other) = ["viewOn", "timeseries", "clusteredIndex"].iter().find(is_given) {
        return Err(CommandError::invalid_options(format!("'{other}' is not allowed with 'idIndex'")));
    }
    if let Some(name) = index.iter().filter_map(|(name, _)| name.as_str()).find(|name| !ID_INDEX.contains(name)) {
        let message = format!("The field '{name}' is not valid for an _id index specification");
        return Err(CommandError::new(197, "InvalidIndexSpecificationOption", message));
    }
    let missing = |name: &str| {
        let message = format!("The '{name}' field is a required property of an index specification");
        CommandError::failed_to_parse(message)
    };
    let wrong = |name: &str, value: &Value| {
        let message = format!("the field '{name}' of 'idIndex' has the wrong type {}", value.type_name());
        CommandError::type_mismatch(message)
    };
    match index.get("key").ok_or_else(|| missing("key"))? {
        Value::Map(keys) if keys.len() == 1 && keys.get("_id").and_then(Value::as_f64) == Some(1.0) => {}
        Value::Map(_) => return Err(CommandError::bad_value("The field 'key' for an _id index must be {_id: 1}")),
        value => return Err(wrong("key", value)),
    }
    match index.get("name").ok_or_else(|| missing("name"))? {
        Value::String(name) if name.is_empty() => return Err(refused("the name of an index cannot be empty")),
        Value::String(_) => {}
        value => return Err(wrong("name", value)),
    }
    match index.get("v") {
        None => {}
        Some(value) if !value.is_number() => return Err(wrong("v", value)),
        Some(value) => match value.as_f64() {
            Some(version) if version.fract() != 0.0 => {
                return Err(CommandError::bad_value("the version of an index is a number without a fraction"));
            }
            Some(1.0 | 2.0) => {}
            _ => return Err(refused("the version of an index is 1 or 2")),
        },
    }
    match index.get("collation") {
        None => Ok(()),
        Some(Value::Map(collation)) => check_collation(body, collation),
        Some(value) => Err(wrong("collation", value)),
    }
}

fn refused(message: &str) -> CommandError {
    CommandError::new(67, "CannotCreateIndex", message)
}

/// Checks that the index on `_id` has the collation of its collection.
fn check_collation(body: &Map, collation: &Map) -> CommandResult<()> {
    let parse = |options: &Map| -> CommandResult<Option<Map>> {
        let collation = Collation::parse(options).map_err(alluvium::Error::from)?;
        Ok(collation.map(|collation| collation.to_map()))
    };
    match parse(collation)? == read::collation(body).map(parse).transpose()?.flatten() {
        true => Ok(()),
        false => Err(CommandError::bad_value("the collation of 'idIndex' must be that of the collection")),
    }
}
