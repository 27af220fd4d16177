//! Parses MongoDB's options of collations.

use super::VERSION;
use super::error::{CollationError, refuse};
use super::locale::locale;
use crate::code::ErrorCode;
use crate::suggest::suggestion;
use alluvium_document::{Map, Value};
use icu_collator::options::{
    AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, ResolvedCollatorOptions, Strength,
};
use icu_collator::preferences::{CollationCaseFirst, CollationNumericOrdering};
use icu_collator::{CollatorBorrowed, CollatorPreferences};

/// The names of the options.
const NAMES: [&str; 10] = [
    "locale",
    "caseLevel",
    "caseFirst",
    "strength",
    "numericOrdering",
    "alternate",
    "maxVariable",
    "normalization",
    "backwards",
    "version",
];

/// The locale that compares bytes.
const SIMPLE: &str = "simple";

/// The only locale whose accents compare from the end.
const BACKWARDS: &str = "fr_CA";

const CASE_FIRST: [(&str, CollationCaseFirst); 3] =
    [("upper", CollationCaseFirst::Upper), ("lower", CollationCaseFirst::Lower), ("off", CollationCaseFirst::False)];

const ALTERNATE: [(&str, AlternateHandling); 2] =
    [("non-ignorable", AlternateHandling::NonIgnorable), ("shifted", AlternateHandling::Shifted)];

const MAX_VARIABLE: [(&str, MaxVariable); 2] = [("punct", MaxVariable::Punctuation), ("space", MaxVariable::Space)];

type Result<T> = std::result::Result<T, CollationError>;

/// The rules for comparing strings.
pub(super) type Collator = CollatorBorrowed<'static>;

/// All options, including those that follow from the locale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    locale: String,
    case_level: bool,
    case_first: &'static str,
    strength: i32,
    numeric_ordering: bool,
    alternate: &'static str,
    max_variable: &'static str,
    normalization: bool,
    backwards: bool,
}

impl Options {
    fn of(locale: &str, normalization: bool, resolved: &ResolvedCollatorOptions) -> Self {
        Self {
            locale: locale.to_owned(),
            case_level: resolved.case_level == CaseLevel::On,
            case_first: match resolved.case_first {
                CollationCaseFirst::Upper => "upper",
                CollationCaseFirst::Lower => "lower",
                _ => "off",
            },
            strength: match resolved.strength {
                Strength::Primary => 1,
                Strength::Secondary => 2,
                Strength::Tertiary => 3,
                Strength::Quaternary => 4,
                _ => 5,
            },
            numeric_ordering: resolved.numeric == CollationNumericOrdering::True,
            alternate: match resolved.alternate_handling {
                AlternateHandling::Shifted => "shifted",
                _ => "non-ignorable",
            },
            max_variable: if resolved.max_variable == MaxVariable::Space { "space" } else { "punct" },
            normalization,
            backwards: locale == BACKWARDS,
        }
    }

    pub fn to_map(&self) -> Map {
        let mut map = Map::new();
        map.push("locale", self.locale.as_str());
        map.push("caseLevel", self.case_level);
        map.push("caseFirst", self.case_first);
        map.push("strength", self.strength);
        map.push("numericOrdering", self.numeric_ordering);
        map.push("alternate", self.alternate);
        map.push("maxVariable", self.max_variable);
        map.push("normalization", self.normalization);
        map.push("backwards", self.backwards);
        map.push("version", VERSION);
        map
    }
}

/// The options as given.
struct Given<'m>(&'m Map);

impl<'m> Given<'m> {
    fn text(&self, name: &str) -> Result<Option<&'m str>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                let found = other.type_name();
                refuse(ErrorCode::TypeMismatch, format!("the option '{name}' of a collation is a string, not {found}"))
            }
        }
    }

    /// As in MongoDB, a number other than 0 is true.
    fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(number) if number.is_number() => Ok(Some(number.as_f64() != Some(0.0))),
            Some(other) => {
                let found = other.type_name();
                refuse(ErrorCode::TypeMismatch, format!("the option '{name}' of a collation is a boolean, not {found}"))
            }
        }
    }

    fn one_of<T: Copy>(&self, name: &str, values: &[(&str, T)]) -> Result<Option<T>> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match values.iter().find(|(known, _)| *known == text) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let known: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
                let all = known.join("', '");
                refuse(
                    ErrorCode::BadValue,
                    format!("the option '{name}' of a collation is one of '{all}', not {text:?}"),
                )
            }
        }
    }

    fn strength(&self) -> Result<Option<Strength>> {
        let Some(value) = self.0.get("strength") else { return Ok(None) };
        if !value.is_number() {
            let found = value.type_name();
            return refuse(
                ErrorCode::TypeMismatch,
                format!("the option 'strength' of a collation is a number, not {found}"),
            );
        }
        match value.as_i64() {
            Some(1) => Ok(Some(Strength::Primary)),
            Some(2) => Ok(Some(Strength::Secondary)),
            Some(3) => Ok(Some(Strength::Tertiary)),
            Some(4) => Ok(Some(Strength::Quaternary)),
            Some(5) => Ok(Some(Strength::Identical)),
            _ => refuse(
                ErrorCode::Location51024,
                format!("the option 'strength' of a collation is from 1 to 5, not {value}"),
            ),
        }
    }
}

/// As [`super::Collation::check_version`].
pub(super) fn check_version(options: &Map) -> Result<()> {
    match Given(options).text("version")? {
        Some(VERSION) => Ok(()),
        other => refuse(
            ErrorCode::IncompatibleCollationVersion,
            format!(
                "the collation keys are those of the rules {:?}, and this build has {VERSION:?}",
                other.unwrap_or_default()
            ),
        ),
    }
}

/// Parses the options; `None` for the locale `simple`.
pub(super) fn collation(map: &Map) -> Result<Option<(Options, Collator)>> {
    for (name, _) in map.iter() {
        let name = name.as_str().unwrap_or_default();
        if !NAMES.contains(&name) {
            let near = suggestion(name, &NAMES);
            return refuse(ErrorCode::IDLUnknownField, format!("a collation has no option '{name}'{near}"));
        }
    }
    let given = Given(map);
    let Some(name) = given.text("locale")? else {
        return refuse(ErrorCode::IDLFailedToParse, "a collation needs a locale, such as {locale: \"en\"}");
    };
    let case_first = given.one_of("caseFirst", &CASE_FIRST)?;
    let mut options = CollatorOptions::default();
    options.alternate_handling = given.one_of("alternate", &ALTERNATE)?;
    options.max_variable = given.one_of("maxVariable", &MAX_VARIABLE)?;
    options.strength = given.strength()?;
    options.case_level = given.flag("caseLevel")?.map(|on| if on { CaseLevel::On } else { CaseLevel::Off });
    let of_flag = |flag| if flag { CollationNumericOrdering::True } else { CollationNumericOrdering::False };
    let numeric = given.flag("numericOrdering")?.map(of_flag);
    let (normalization, backwards) = (given.flag("normalization")?, given.flag("backwards")?);
    given.text("version")?;
    if name == SIMPLE {
        // As in MongoDB, the other options have no effect with the locale `simple`.
        return Ok(None);
    }
    let mut preferences = CollatorPreferences::from(&locale(name)?);
    preferences.case_first = case_first;
    preferences.numeric_ordering = numeric;
    let Ok(collator) = CollatorBorrowed::try_new(preferences, options) else {
        return refuse(ErrorCode::BadValue, format!("there are no rules for the locale {name:?} of a collation"));
    };
    let options = Options::of(name, normalization.unwrap_or(false), &collator.resolved_options());
    if let Some(backwards) = backwards.filter(|backwards| *backwards != options.backwards) {
        return refuse(
            ErrorCode::NotImplemented,
            format!(
                "backwards: {backwards} of a collation is not supported for the locale {name:?}: only fr_CA compares \
                 accents from the end"
            ),
        );
    }
    // Case is compared on the third level, or on a level of its own.
    let needs_case = case_first.is_some_and(|first| first != CollationCaseFirst::False);
    if needs_case && !options.case_level && options.strength < 3 {
        return refuse(
            ErrorCode::BadValue,
            "the option 'caseFirst' of a collation needs caseLevel: true or a strength above 2",
        );
    }
    Ok(Some((options, collator)))
}
