//! English names of months and days, and abbreviations of time zones.

/// The months, beginning with January.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const ROMAN: [&str; 12] = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"];

/// The days of the week, beginning with Monday, with their abbreviations.
const WEEKDAYS: [&[&str]; 7] = [
    &["monday", "mon"],
    &["tuesday", "tue", "tues"],
    &["wednesday", "wed", "wednes"],
    &["thursday", "thu", "thur", "thurs"],
    &["friday", "fri"],
    &["saturday", "sat", "satur"],
    &["sunday", "sun"],
];

/// Abbreviations of time zones in alphabetical order, with the hours and minutes that they are ahead of UTC. If several
/// zones use an abbreviation, the most common of these zones is in the list.
pub(super) const ZONES: [(&str, i64, i64); 60] = [
    ("acdt", 10, 30),
    ("acst", 9, 30),
    ("adt", -3, 0),
    ("aedt", 11, 0),
    ("aest", 10, 0),
    ("akdt", -8, 0),
    ("akst", -9, 0),
    ("ast", -4, 0),
    ("awst", 8, 0),
    ("bst", 1, 0),
    ("cat", 2, 0),
    ("cdt", -5, 0),
    ("cest", 2, 0),
    ("cet", 1, 0),
    ("chst", 10, 0),
    ("cst", -6, 0),
    ("eat", 3, 0),
    ("edt", -4, 0),
    ("eest", 3, 0),
    ("eet", 2, 0),
    ("est", -5, 0),
    ("gmt", 0, 0),
    ("hdt", -9, 0),
    ("hkst", 9, 0),
    ("hkt", 8, 0),
    ("hst", -10, 0),
    ("idt", 3, 0),
    ("ist", 2, 0),
    ("jdt", 10, 0),
    ("jst", 9, 0),
    ("kst", 9, 0),
    ("mdt", -6, 0),
    ("mest", 2, 0),
    ("met", 1, 0),
    ("msd", 4, 0),
    ("msk", 3, 0),
    ("mst", -7, 0),
    ("ndt", -2, -30),
    ("nst", -3, -30),
    ("nzdt", 13, 0),
    ("nzst", 12, 0),
    ("pdt", -7, 0),
    ("pkt", 5, 0),
    ("pst", -8, 0),
    ("sast", 2, 0),
    ("sgt", 8, 0),
    ("sst", -11, 0),
    ("uct", 0, 0),
    ("ut", 0, 0),
    ("utc", 0, 0),
    ("wast", 2, 0),
    ("wat", 1, 0),
    ("west", 1, 0),
    ("wet", 0, 0),
    ("wib", 7, 0),
    ("wit", 9, 0),
    ("wita", 8, 0),
    ("yst", -9, 0),
    ("z", 0, 0),
    ("zulu", 0, 0),
];

/// The number of a month, from 1, by its name or an abbreviation of at least three letters.
pub(super) fn month(word: &str) -> Option<i64> {
    let word = word.to_ascii_lowercase();
    let is = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == word || name[..3] == word || (word == "sept" && name.starts_with("sept"))
    };
    number(MONTHS.iter().position(|name| is(name)))
}

/// The number of a month, from 1, by its Roman numeral.
pub(super) fn roman_month(word: &str) -> Option<i64> {
    let word = word.to_ascii_lowercase();
    number(ROMAN.iter().position(|name| *name == word))
}

fn number(index: Option<usize>) -> Option<i64> {
    index.map(|index| index as i64 + 1)
}

/// The day of the week by its name or abbreviation in lower case; Monday is 0.
pub(super) fn weekday(word: &str) -> Option<i64> {
    WEEKDAYS.iter().position(|names| names.contains(&word)).map(|index| index as i64)
}

/// The seconds that a zone is east of UTC, by its abbreviation or the letter of a military zone.
pub(super) fn zone_offset(abbreviation: &str) -> Option<i64> {
    let word = abbreviation.to_ascii_lowercase();
    if let Ok(at) = ZONES.binary_search_by_key(&&*word, |(name, ..)| *name) {
        let (_, hours, minutes) = ZONES[at];
        return Some(hours * 3600 + minutes * 60);
    }
    let hours = match *word.as_bytes() {
        [letter @ b'a'..=b'i'] => i64::from(letter - b'a') + 1,
        [letter @ b'k'..=b'm'] => i64::from(letter - b'k') + 10,
        [letter @ b'n'..=b'y'] => -i64::from(letter - b'n') - 1,
        _ => return None,
    };
    Some(hours * 3600)
}
