//! The stages of pipelines that MongoDB has: a row for each, with everything that has to be known about a stage before
//! it is parsed.
//!
//! The parser, the server and the command line look stages up here, and have no lists of names of their own. Facts that
//! belong to only one of them, such as the function that parses a stage or the privileges that it needs, are in a
//! `match` over [`StageName`] there, without a catch-all: a new row does not compile until each of them has an answer.
//! Pipelines that were not parsed yet are walked by [`walk`].

mod walk;

pub use walk::{RawStage, Walk, first, parts, walk, writes};

use alluvium_document::{Map, Value};

/// The source of a pipeline in which a stage is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// A collection, or the documents of the stages before it.
    Collection,
    /// A database, `{aggregate: 1}`, because the stage has documents of its own.
    OwnDocuments,
    /// A database, `{aggregate: 1}`.
    Database,
    /// The database `admin`, `{aggregate: 1}`.
    Admin,
    /// The collection `config.system.sessions`.
    Sessions,
    /// Whatever the pipeline is over. Stages that are refused everywhere also have this value.
    Anything,
}

/// Where in its pipeline a stage may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Anywhere.
    Anywhere,
    /// At the beginning.
    First,
    /// At the end.
    Last,
}

/// Whether version 1 of the stable API has a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StableApi {
    /// It has.
    Yes,
    /// It has not.
    No,
    /// Only with this option and no other.
    Only(&'static str),
}

/// Where the operand of a stage names collections. Each is text, or a map of `db` and `coll`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collections {
    /// Nowhere.
    None,
    /// The operand is one.
    Operand,
    /// In an option.
    Option(&'static str),
    /// In an option of a map that has it; any other operand is one.
    OptionOrOperand(&'static str),
    /// In an option of a map, which may lack it; an operand that is no map is one.
    OptionOrText(&'static str),
}

/// Where the operand of a stage has pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipelines {
    /// Nowhere.
    None,
    /// Each option is one, over the documents that the stage gets.
    EachOption,
    /// In an option, over the collection that the stage names.
    Option(&'static str),
}

/// The influence of the first stage after the filters and the sort of the head on the plan of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadNeed {
    /// Nothing.
    Nothing,
    /// No field is needed.
    NoFields,
    /// The paths in its expressions are needed.
    Paths,
    /// It is a projection, which names the needed fields.
    Projection,
    /// The whole operand counts.
    Operand,
    /// These options count.
    Options(&'static [&'static str]),
}

/// The known facts about a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRow {
    /// The stage.
    pub stage: StageName,
    /// The name, with its dollar sign.
    pub name: &'static str,
    /// Why the parser refuses it; `None` if it does not.
    pub missing: Option<&'static str>,
    /// The stage as servers know it, which make its documents; `None` for all others.
    pub of_server: Option<ServerStage>,
    /// The source that the pipeline must have.
    pub over: Over,
    /// True if, in views and in pipelines of other stages, it is refused because of the pipeline's source (error 73),
    /// and not as an unsupported stage.
    pub not_over_collections: bool,
    /// Where in the pipeline it may be.
    pub position: Position,
    /// True if it writes a collection.
    pub writes: bool,
    /// True if it has no read concern but `local`.
    pub only_local: bool,
    /// Whether the stable API has it.
    pub api: StableApi,
    /// The collections that the operand names.
    pub collections: Collections,
    /// The pipelines in the operand.
    pub pipelines: Pipelines,
    /// Options whose text is the name of a collection or a field, and no value.
    pub names: &'static [&'static str],
    /// Its demand on the query before it.
    pub head_need: HeadNeed,
}

/// A stage whose documents a server makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStage {
    /// `$collStats`.
    CollStats,
    /// `$currentOp`.
    CurrentOp,
    /// `$indexStats`.
    IndexStats,
    /// `$listClusterCatalog`.
    ListClusterCatalog,
    /// `$listLocalSessions`.
    ListLocalSessions,
    /// `$listSessions`.
    ListSessions,
    /// `$planCacheStats`.
    PlanCacheStats,
    /// `$querySettings`.
    QuerySettings,
    /// `$queryStats`.
    QueryStats,
}

/// A stage of the parser's that treats the documents before it, and uses nothing else.
const PLAIN: StageRow = StageRow {
    stage: StageName::Match,
    name: "",
    missing: None,
    of_server: None,
    over: Over::Collection,
    not_over_collections: false,
    position: Position::Anywhere,
    writes: false,
    only_local: false,
    api: StableApi::Yes,
    collections: Collections::None,
    pipelines: Pipelines::None,
    names: &[],
    head_need: HeadNeed::Nothing,
};

/// A stage that only servers have.
const SERVER: StageRow = StageRow {
    missing: Some("it is for servers"),
    position: Position::First,
    only_local: true,
    api: StableApi::No,
    ..PLAIN
};

/// A stage that is refused everywhere.
const REFUSED: StageRow = StageRow { over: Over::Anything, position: Position::First, ..PLAIN };

/// The options that count for a stage that reads documents in an order.
const ORDERED: HeadNeed = HeadNeed::Options(&["partitionByFields", "partitionBy", "field", "sortBy"]);

/// Declares the stages in the order of their names, each with the row that it is like, and what differs.
macro_rules! stages {
    ($($stage:ident $name:literal like $like:ident $({ $($field:ident: $value:expr),* $(,)? })?;)*) => {
        /// A stage of MongoDB's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum StageName {
            $(#[doc = concat!("`", $name, "`.")] $stage,)*
        }

        static ROWS: [StageRow; [$($name),*].len()] =
            [$(StageRow { stage: StageName::$stage, name: $name, $($($field: $value,)*)? ..$like },)*];
    };
}

stages! {
    AddFields "$addFields" like PLAIN;
    Bucket "$bucket" like PLAIN { head_need: HeadNeed::Paths };
    BucketAuto "$bucketAuto" like PLAIN { head_need: HeadNeed::Paths };
    ChangeStream "$changeStream" like REFUSED { missing: Some("there are no change streams") };
    ChangeStreamSplitLargeEvent "$changeStreamSplitLargeEvent" like REFUSED {
        missing: Some("there are no change streams"),
        position: Position::Last,
    };
    // The parser has its figures of a collection; those of a server are added there.
    CollStats "$collStats" like PLAIN {
        of_server: Some(ServerStage::CollStats),
        position: Position::First,
        api: StableApi::Only("count"),
    };
    Count "$count" like PLAIN { head_need: HeadNeed::NoFields };
    CurrentOp "$currentOp" like SERVER {
        of_server: Some(ServerStage::CurrentOp),
        over: Over::Admin,
        not_over_collections: true,
    };
    Densify "$densify" like PLAIN { names: &["field"], head_need: ORDERED };
    Documents "$documents" like PLAIN {
        over: Over::OwnDocuments,
        not_over_collections: true,
        position: Position::First,
    };
    Facet "$facet" like PLAIN { pipelines: Pipelines::EachOption };
    Fill "$fill" like PLAIN;
    GeoNear "$geoNear" like PLAIN { missing: Some("there is no geography"), position: Position::First };
    GraphLookup "$graphLookup" like PLAIN {
        collections: Collections::Option("from"),
        names: &["as", "connectFromField", "connectToField", "depthField", "from"],
    };
    Group "$group" like PLAIN { head_need: HeadNeed::Paths };
    IndexStats "$indexStats" like PLAIN {
        of_server: Some(ServerStage::IndexStats),
        position: Position::First,
        api: StableApi::No,
    };
    Limit "$limit" like PLAIN;
    ListClusterCatalog "$listClusterCatalog" like SERVER {
        of_server: Some(ServerStage::ListClusterCatalog),
        over: Over::Database,
    };
    ListLocalSessions "$listLocalSessions" like SERVER {
        of_server: Some(ServerStage::ListLocalSessions),
        over: Over::Database,
        not_over_collections: true,
    };
    ListSampledQueries "$listSampledQueries" like REFUSED { missing: Some("it is for clusters") };
    ListSearchIndexes "$listSearchIndexes" like REFUSED {
        missing: Some("there is no text search"),
        api: StableApi::No,
    };
    ListSessions "$listSessions" like SERVER {
        of_server: Some(ServerStage::ListSessions),
        over: Over::Sessions,
        not_over_collections: true,
    };
    Lookup "$lookup" like PLAIN {
        collections: Collections::Option("from"),
        pipelines: Pipelines::Option("pipeline"),
        names: &["as", "foreignField", "from", "localField"],
        head_need: HeadNeed::Options(&["from", "localField", "foreignField", "as"]),
    };
    Match "$match" like PLAIN;
    Merge "$merge" like PLAIN {
        position: Position::Last,
        writes: true,
        collections: Collections::OptionOrOperand("into"),
        pipelines: Pipelines::Option("whenMatched"),
        names: &["into", "on"],
    };
    Out "$out" like PLAIN {
        position: Position::Last,
        writes: true,
        collections: Collections::Operand,
        names: &["coll", "db"],
    };
    PlanCacheStats "$planCacheStats" like SERVER {
        missing: Some("use explain"),
        of_server: Some(ServerStage::PlanCacheStats),
    };
    Project "$project" like PLAIN { head_need: HeadNeed::Projection };
    QuerySettings "$querySettings" like SERVER {
        of_server: Some(ServerStage::QuerySettings),
        over: Over::Database,
    };
    QueryStats "$queryStats" like SERVER { of_server: Some(ServerStage::QueryStats), over: Over::Admin };
    RankFusion "$rankFusion" like PLAIN {
        missing: Some("there is no text search"),
        position: Position::First,
        api: StableApi::No,
    };
    Redact "$redact" like PLAIN;
    ReplaceRoot "$replaceRoot" like PLAIN { head_need: HeadNeed::Paths };
    ReplaceWith "$replaceWith" like PLAIN { head_need: HeadNeed::Paths };
    Sample "$sample" like PLAIN;
    Search "$search" like REFUSED { missing: Some("there is no text search"), api: StableApi::No };
    SearchMeta "$searchMeta" like REFUSED { missing: Some("there is no text search"), api: StableApi::No };
    Set "$set" like PLAIN;
    SetWindowFields "$setWindowFields" like PLAIN { head_need: ORDERED };
    ShardedDataDistribution "$shardedDataDistribution" like REFUSED { missing: Some("it is for clusters") };
    Skip "$skip" like PLAIN;
    Sort "$sort" like PLAIN { head_need: HeadNeed::Operand };
    SortByCount "$sortByCount" like PLAIN { head_need: HeadNeed::Paths };
    UnionWith "$unionWith" like PLAIN {
        collections: Collections::OptionOrText("coll"),
        pipelines: Pipelines::Option("pipeline"),
        names: &["coll"],
    };
    Unset "$unset" like PLAIN;
    Unwind "$unwind" like PLAIN { names: &["includeArrayIndex", "path"] };
    VectorSearch "$vectorSearch" like REFUSED { missing: Some("there is no vector search"), api: StableApi::No };
}

/// All stages, in the order of their names.
pub fn all() -> &'static [StageRow] {
    &ROWS
}

/// The names of the stages that the parser knows.
pub fn supported() -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter(|row| row.missing.is_none()).map(|row| row.name)
}

/// The stage of a name, with its dollar sign.
pub fn find(name: &str) -> Option<&'static StageRow> {
    ROWS.binary_search_by(|row| row.name.cmp(name)).ok().map(|at| &ROWS[at])
}

impl StageName {
    /// The row of the stage.
    pub fn row(self) -> &'static StageRow {
        &ROWS[self as usize]
    }

    /// The name, with its dollar sign.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}

impl StageRow {
    /// True if it may be in a `$facet`.
    pub fn is_for_facets(&self) -> bool {
        self.position == Position::Anywhere && self.pipelines != Pipelines::EachOption
    }

    /// True if the stable API has it with this operand.
    pub fn is_in_api(&self, operand: &Value) -> bool {
        match self.api {
            StableApi::Yes => true,
            StableApi::No => false,
            StableApi::Only(option) => {
                operand.as_map().is_some_and(|map| map.iter().all(|(name, _)| name.as_str() == Some(option)))
            }
        }
    }

    /// True if an option of its operand is a pipeline, unless it is no array.
    pub fn has_pipeline_in(&self, option: &str) -> bool {
        match self.pipelines {
            Pipelines::None => false,
            Pipelines::EachOption => true,
            Pipelines::Option(name) => name == option,
        }
    }

    /// The values in an operand that must be names of collections, each with the other forms that it may have. If an
    /// option occurs several times, all its values: the parser chooses one.
    pub fn named_collections<'a>(&self, operand: &'a Value) -> impl Iterator<Item = &'a Value> {
        let map = operand.as_map();
        let (option, is_operand) = match self.collections {
            Collections::None => (None, false),
            Collections::Operand => (None, true),
            Collections::Option(option) => (Some(option), false),
            Collections::OptionOrOperand(option) => (Some(option), !map.is_some_and(|map| map.contains(option))),
            Collections::OptionOrText(option) => (Some(option), map.is_none()),
        };
        let in_options = option.into_iter().flat_map(move |option| options(map, option));
        in_options.chain(is_operand.then_some(operand))
    }
}

/// All values of an option.
fn options<'a>(map: Option<&'a Map>, name: &'static str) -> impl Iterator<Item = &'a Value> {
    map.into_iter()
        .flat_map(|map| &map.entries)
        .filter(move |(key, _)| key.as_str() == Some(name))
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
