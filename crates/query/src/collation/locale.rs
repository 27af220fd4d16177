//! The locales of collations in MongoDB's notation.

use super::error::{CollationError, refuse};
use crate::code::ErrorCode;
use crate::suggest::suggestion;
use icu_locale_core::Locale;

/// The languages of MongoDB's list of locales, and languages that CLDR has added since.
const LANGUAGES: [&str; 103] = [
    "af", "am", "ar", "as", "az", "be", "bg", "bn", "bo", "br", "bs", "ca", "ceb", "chr", "cs", "cy", "da", "de",
    "dsb", "dz", "ee", "el", "en", "eo", "es", "et", "fa", "ff", "fi", "fil", "fo", "fr", "fy", "ga", "gl", "gu", "ha",
    "haw", "he", "hi", "hr", "hsb", "hu", "hy", "id", "ig", "is", "it", "ja", "ka", "kk", "kl", "km", "kn", "ko",
    "kok", "ky", "lb", "lkt", "ln", "lo", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "mt", "my", "nb", "ne", "nl", "nn",
    "no", "om", "or", "pa", "pl", "ps", "pt", "ro", "ru", "se", "si", "sk", "sl", "smn", "sq", "sr", "sv", "sw", "ta",
    "te", "th", "to", "tr", "ug", "uk", "ur", "uz", "vi", "wae",
];

/// The rest of the list.
const MORE_LANGUAGES: [&str; 6] = ["xh", "yi", "yo", "zh", "zu", "su"];

/// The types of collations: MongoDB's name, the name in BCP 47, and the languages that have the type.
const TYPES: [(&str, &str, &[&str]); 9] = [
    ("compat", "compat", &["ar"]),
    ("dictionary", "dict", &["si"]),
    ("phonebook", "phonebk", &["de"]),
    ("pinyin", "pinyin", &["zh"]),
    ("standard", "standard", &[]),
    ("stroke", "stroke", &["zh"]),
    ("traditional", "trad", &["bn", "es", "fi", "kn", "sv"]),
    ("unihan", "unihan", &["ja", "ko", "zh"]),
    ("zhuyin", "zhuyin", &["zh"]),
];

/// Types of collations that ICU has and its successor ICU4X does not support.
const NOT_SUPPORTED: [&str; 9] =
    ["search", "searchjl", "eor", "phonetic", "big5han", "gb2312han", "reformed", "emoji", "ducet"];

fn invalid<T>(what: impl Into<String>) -> Result<T, CollationError> {
    refuse(ErrorCode::BadValue, what)
}

/// Parses a locale such as `de_AT@collation=phonebook`.
pub(super) fn locale(text: &str) -> Result<Locale, CollationError> {
    let (base, keywords) = text.split_once('@').map_or((text, None), |(base, keywords)| (base, Some(keywords)));
    let language = base.split('_').next().unwrap_or_default();
    let languages = || LANGUAGES.into_iter().chain(MORE_LANGUAGES);
    if !languages().any(|known| known == language) {
        let near = suggestion(language, &languages().collect::<Vec<_>>());
        return invalid(format!("the locale {text:?} of a collation has no known language{near}"));
    }
    let subtags = base.replace('_', "-");
    let Ok(locale) = Locale::try_from_str(&subtags) else {
        return invalid(format!("the locale {text:?} of a collation is malformed: write it as in \"en_US\""));
    };
    let usual = locale.to_string();
    // The variant is in capital letters in ICU's notation.
    if !locale.extensions.is_empty() || base.contains('-') || !usual.eq_ignore_ascii_case(&subtags) {
        return invalid(format!("the locale {text:?} of a collation is malformed: write it as in \"en_US\""));
    }
    let expected = usual.replace("-posix", "-POSIX").replace('-', "_");
    if expected != base {
        return invalid(format!("the locale {text:?} of a collation is written {expected:?}"));
    }
    let Some(keywords) = keywords else { return Ok(locale) };
    let Some(name) = keywords.strip_prefix("collation=").filter(|name| !name.contains([';', '='])) else {
        return invalid(format!("the locale {text:?} has other keywords than 'collation': use the options for them"));
    };
    if NOT_SUPPORTED.contains(&name) {
        return refuse(ErrorCode::NotImplemented, format!("collations of the type '{name}' are not supported"));
    }
    let known = TYPES.iter().find(|(known, ..)| *known == name);
    let Some((_, tag, languages)) = known else {
        let near = suggestion(name, &TYPES.map(|(name, ..)| name));
        return invalid(format!("the locale {text:?} has a collation type that is not known{near}"));
    };
    if name != "standard" && !languages.contains(&language) {
        return invalid(format!("the language '{language}' has no collation of the type '{name}'"));
    }
    match Locale::try_from_str(&format!("{subtags}-u-co-{tag}")) {
        Ok(locale) => Ok(locale),
        Err(_) => invalid(format!("the locale {text:?} of a collation is malformed")),
    }
}
