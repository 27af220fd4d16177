//! `alluvium describe`: the fields of a collection, and the types and the range of their values.

mod sample;

use super::collections;
use crate::exit::Outcome;
use crate::output::format::{DocumentFormat, FormatArg, FormatName};
use crate::output::rows::{self, Heading, Rows};
use crate::profile::{Certainty, Estimate, Field, Profile};
use crate::settings::access::Reading;
use crate::settings::database::{DatabaseArgs, Readable};
use crate::settings::ids;
use crate::signals::Stop;
use crate::text;
use alluvium::{Map, Value};
use clap::value_parser;
use sample::Extent;
use std::collections::BTreeMap;

/// Longer texts are cut to this number of characters in output for people.
const SHOWN_CHARS: usize = 40;

/// Arguments of `describe`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium describe my.db comments
  alluvium describe my.db comments --sample 100000 --format markdown
  alluvium describe my.db comments --all --json
  alluvium describe my.db comments --depth 0

For each field: the types of its values, the share of documents that have it, the number of different values (~ marks an \
estimate, + one that is only a part), the indexes that contain it, the smallest and the largest value, and examples. a.b is the field b of the \
map a, and a[] is each element of the array a. By default a sample of 10,000 documents is read, from many places of the collection; \
--all reads all of them. Fields within more than 3 maps are left out unless --depth has another number. Null, maps and arrays do not count as values.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// Describe only this collection: a name, or LOGICAL.NAME
    #[arg(value_name = "COLLECTION")]
    name: Option<String>,
    /// Read about N documents, from many places of the collection
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        allow_negative_numbers = true,
        value_parser = value_parser!(u64).range(1..)
    )]
    sample: u64,
    /// Read all documents
    #[arg(long, conflicts_with = "sample")]
    all: bool,
    /// Describe fields down to N levels of maps; 0 for all levels
    #[arg(long, value_name = "N", default_value_t = 3, allow_negative_numbers = true)]
    depth: usize,
    #[command(flatten)]
    format: FormatArg,
    /// Print the figures of all fields as a JSON array
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// A collection with its profile.
struct Described {
    name: String,
    documents: collections::DocumentCount,
    profile: Profile,
    extent: Extent,
    /// The documents keep the order of insertion.
    is_ordered: bool,
    /// The names of the indexes that contain a path.
    indexes: BTreeMap<String, Vec<String>>,
}

impl Args {
    /// Prints a row for each field.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::on_signals()?;
        if let Some(store) = self.database.read_only(None)? {
            if let Some(name) = &self.name {
                store.require(name)?;
            }
            let documents = collections::DocumentCount { documents: store.count(), is_exact: true };
            let name = store.collection();
            let described = self.describe(name, &Readable::ReadOnly(store), documents, &stop)?;
            return self.print(&[described]);
        }
        self.database.with(|database| {
            let names = match &self.name {
                Some(name) => vec![name.clone()],
                None => database.collections().iter().map(|info| info.full_name()).collect(),
            };
            let mut all = Vec::new();
            for name in names {
                let collection = database.collection(&name);
                let documents = collections::documents(&collection, collection.stats()?.keys);
                let name = collection.full_name()?;
                let indexes = collection.indexes()?;
                let mut described = self.describe(name, &Readable::Collection(collection), documents, &stop)?;
                for index in &indexes {
                    let keys = index.definition.get("key").and_then(Value::as_map);
                    for (path, _) in keys.iter().flat_map(|keys| keys.iter()) {
                        let path = path.as_str().unwrap_or_default().to_owned();
                        described.indexes.entry(path).or_default().push(index.name.clone());
                    }
                }
                all.push(described);
            }
            self.print(&all)
        })
    }

    fn describe(
        &self,
        name: String,
        collection: &Readable,
        documents: collections::DocumentCount,
        stop: &Stop,
    ) -> Outcome<Described> {
        let mut profile = Profile::new(if self.depth == 0 { usize::MAX } else { self.depth });
        let mut add = |map: &Map| profile.add(map);
        let extent = match self.all || documents.documents <= self.sample {
            true => sample::all(collection, stop, &mut add)?,
            false => sample::some(collection, self.sample, stop, &mut add)?,
        };
        let is_ordered = match collection {
            Readable::Collection(collection) => collection.natural_order()? || collection.capped()?.is_some(),
            Readable::ReadOnly(_) => false,
        };
        Ok(Described { name, documents, profile, extent, is_ordered, indexes: BTreeMap::new() })
    }

    fn print(&self, all: &[Described]) -> Outcome {
        let format = self.format.format.unwrap_or(FormatName::Table);
        if self.json || format.is_json() {
            let rows = all.iter().flat_map(Described::figures).map(Ok);
            return rows::print_figures(rows, &[], self.json, format);
        }
        let mut headings: Vec<Heading> = vec!["field".into(), "types".into(), Heading::right("present")];
        headings.extend([Heading::right("distinct"), "indexes".into(), "smallest".into(), "largest".into()]);
        headings.push("examples".into());
        if !format.is_for_people() {
            headings.insert(0, "collection".into());
        }
        let mut out = Rows::of_figures(DocumentFormat::from(format), &headings);
        for (at, described) in all.iter().enumerate() {
            if format.is_for_people() {
                let blank = if at == 0 { "" } else { "\n" };
                out.title(&format!("{blank}{}\n\n", described.title()))?;
            }
            for field in described.profile.fields() {
                out.map(&described.row(&field))?;
            }
        }
        out.finish()
    }
}

impl Described {
    /// The collection, its size, and how much of it was read.
    fn title(&self) -> String {
        let (name, documents) = (text::plain(&self.name), self.documents);
        let read = text::count(self.profile.documents());
        let read = match self.extent {
            Extent::All => String::new(),
            Extent::Spread => format!("; described by a sample of {read}"),
            Extent::First => format!("; described by the first {read}"),
        };
        let cut = match (self.profile.is_cut(), self.profile.is_deeper()) {
            (true, _) => "; it has more fields than these",
            (false, true) => "; it has fields below these: use --depth",
            (false, false) => "",
        };
        let s = if documents.documents == 1 { "" } else { "s" };
        let order = if self.is_ordered { " in the order of insertion" } else { "" };
        format!("{name}: {documents} document{s}{order}{read}{cut}")
    }

    /// The number of documents that the profile is extrapolated to.
    fn whole(&self) -> u64 {
        match self.extent {
            Extent::All => self.profile.documents(),
            _ => self.documents.documents.max(self.profile.documents()),
        }
    }

    /// The rows of all fields, as figures.
    fn figures(&self) -> Vec<Map> {
        let row = |field: &Field<'_>| {
            let mut row = Map::new();
            row.push("collection", self.name.as_str());
            row.push("field", field.path.as_str());
            row.push("types", field.types().into_iter().collect::<Map>());
            row.push("present", field.presence(&self.profile));
            let distinct = field.distinct(&self.profile, self.whole());
            row.push("distinct", distinct.map(|estimate| estimate.values));
            row.push("distinct_is", distinct.map(|estimate| certainty(estimate.certainty)));
            row.push("indexes", self.indexes_of(&field.path).into_iter().map(Value::from).collect::<Vec<Value>>());
            let (smallest, largest) = field.range().unzip();
            row.push("smallest", smallest.cloned());
            row.push("largest", largest.cloned());
            row.push("examples", field.examples().to_vec());
            row.push("sampled", self.profile.documents());
            row.push("documents", self.documents.documents);
            row
        };
        self.profile.fields().iter().map(row).collect()
    }

    /// The row of a field in output for people.
    fn row(&self, field: &Field<'_>) -> Map {
        let mut row = Map::new();
        row.push("collection", self.name.as_str());
        row.push("field", field.path.as_str());
        let types = field.types();
        let shown = |(name, share): &(&str, f64)| match types.len() {
            1 => (*name).to_owned(),
            _ => format!("{name} {}", percent(*share)),
        };
        row.push("types", types.iter().map(shown).collect::<Vec<String>>().join(", "));
        row.push("present", percent(field.presence(&self.profile)));
        if let Some(distinct) = field.distinct(&self.profile, self.whole()) {
            row.push("distinct", shown_estimate(distinct));
        }
        row.push("indexes", self.indexes_of(&field.path).join(", "));
        if let Some((smallest, largest)) = field.range() {
            row.push("smallest", shortened(smallest));
            row.push("largest", shortened(largest));
        }
        let examples = field.examples().iter().map(|value| ids::show(&shortened(value)));
        row.push("examples", examples.collect::<Vec<String>>().join(", "));
        row
    }

    /// The indexes of a path. An index names arrays without their brackets.
    fn indexes_of(&self, path: &str) -> Vec<String> {
        let is_element = path.ends_with("[]");
        let found = if is_element { None } else { self.indexes.get(&path.replace("[]", "")) };
        found.cloned().unwrap_or_default()
    }
}

/// A value in output for people: a long text is cut.
fn shortened(value: &Value) -> Value {
    match value.as_str().and_then(|text| Some((text, text.char_indices().nth(SHOWN_CHARS)?.0))) {
        Some((text, end)) => Value::from(format!("{}…", &text[..end])),
        None => value.clone(),
    }
}

fn certainty(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Exact => "exact",
        Certainty::About => "estimated",
        Certainty::AtLeast => "at least",
    }
}

fn shown_estimate(estimate: Estimate) -> String {
    let values = text::count(estimate.values);
    match estimate.certainty {
        Certainty::Exact => values,
        Certainty::About => format!("~{values}"),
        Certainty::AtLeast => format!("{values}+"),
    }
}

/// A share in percent: never rounded to 0% if it is more than 0, or to 100% if it is less than 1.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 1.0 => "<1%".to_owned(),
        percent if percent < 100.0 && percent > 99.0 => ">99%".to_owned(),
        percent => format!("{percent:.0}%"),
    }
}

#[cfg(test)]
mod tests;
