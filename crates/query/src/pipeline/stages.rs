//! The stages of pipelines that MongoDB has. There is a row for each stage, with all facts that are needed about a
//! stage before it is parsed.
//!
//! The parser, the server and the command line look up stages here instead of keeping lists of names. Some facts
//! concern only one of them, such as the function that parses a stage or the privileges that a stage needs. These facts
//! are in a `match` over [`StageName`] without a catch-all, so that a new row does not compile until the facts are
//! added. [`walk`] walks through pipelines that are not parsed yet.

mod walk;

pub use walk::{RawStage, Walk, first, parts, walk, writes};

use alluvium_document::{Map, Value};

/// The source that a pipeline must have for a stage to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// A collection, or the documents of the preceding stages.
    Collection,
    /// A database, `{aggregate: 1}`, because the stage itself contains the documents.
    OwnDocuments,
    /// A database, `{aggregate: 1}`.
    Database,
    /// The database `admin`, `{aggregate: 1}`.
    Admin,
    /// The collection `config.system.sessions`.
    Sessions,
    /// Any source. Stages that are refused everywhere also have this value.
    Anything,
}

/// The position in a pipeline at which a stage is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At any position.
    Anywhere,
    /// Only as the first stage.
    First,
    /// Only as the last stage.
    Last,
}

/// Whether a stage is in version 1 of the stable API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StableApi {
    /// The stage is in the API.
    Yes,
    /// The stage is not in the API.
    No,
    /// The stage is in the API if this option is the only one.
    Only(&'static str),
    /// The stage is in the API without this option.
    Without(&'static str),
}

/// The place of names of collections in the operand of a stage. Each name is text, or a map of `db` and `coll`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collections {
    /// The operand names no collection.
    None,
    /// The operand is the name.
    Operand,
    /// The name is in an option.
    Option(&'static str),
    /// The name is in an option if the operand is a map with that option. Otherwise the operand is the name.
    OptionOrOperand(&'static str),
    /// The name is in an option if the operand is a map, in which the option may be missing. An operand that is not a
    /// map is the name.
    OptionOrText(&'static str),
}

/// The place of pipelines in the operand of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipelines {
    /// The operand contains no pipeline.
    None,
    /// Each option is a pipeline over the documents that the stage gets.
    EachOption,
    /// An option is a pipeline over the collection that the stage names.
    Option(&'static str),
}

/// How a stage affects the plan of the query at the head of a pipeline. The head consists of the first filters and the
/// sort; the stage is the first one after the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadNeed {
    /// The stage has no influence.
    Nothing,
    /// The stage needs no field.
    NoFields,
    /// The stage needs the paths in its expressions.
    Paths,
    /// The stage is a projection, which names the needed fields.
    Projection,
    /// The plan depends on the whole operand.
    Operand,
    /// The plan depends on these options.
    Options(&'static [&'static str]),
}

/// The known facts about a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRow {
    /// The stage.
    pub stage: StageName,
    /// The name, with its dollar sign.
    pub name: &'static str,
    /// The reason why the parser refuses the stage; `None` if it does not.
    pub missing: Option<&'static str>,
    /// The corresponding stage of servers, if a server makes the documents of the stage; otherwise `None`.
    pub of_server: Option<ServerStage>,
    /// The source that the pipeline must have.
    pub over: Over,
    /// True if views and inner pipelines refuse the stage because of their source (error 73) rather than as an
    /// unsupported stage.
    pub not_over_collections: bool,
    /// The position in the pipeline at which the stage is allowed.
    pub position: Position,
    /// True if the stage writes to a collection.
    pub writes: bool,
    /// True if `local` is the only read concern that the stage supports.
    pub only_local: bool,
    /// Whether the stage is in the stable API.
    pub api: StableApi,
    /// The collections that the operand names.
    pub collections: Collections,
    /// The pipelines in the operand.
    pub pipelines: Pipelines,
    /// Options whose text is the name of a collection or a field rather than a value.
    pub names: &'static [&'static str],
    /// How the stage affects the plan of the query before it.
    pub head_need: HeadNeed,
    /// True if events of change streams may pass the stage.
    pub in_change_streams: bool,
}

/// A stage whose documents a server makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStage {
    /// `$changeStream`.
    ChangeStream,
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

/// A stage that the parser supports, and that only processes the documents of the preceding stages.
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
    in_change_streams: false,
};

/// As [`PLAIN`], for a stage that changes or leaves out single documents, which change streams allow.
const SINGLE: StageRow = StageRow { in_change_streams: true, ..PLAIN };

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

/// The options that affect the plan, for stages that read documents in an order.
const ORDERED: HeadNeed = HeadNeed::Options(&["partitionByFields", "partitionBy", "field", "sortBy"]);

/// Declares the stages in alphabetical order. Each is given by the row on which it is based and the fields that differ.
macro_rules! stages {
    ($($stage:ident $name:literal like $like:ident $({ $($field:ident: $value:expr),* $(,)? })?;)*) => {
        /// A stage that MongoDB has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum StageName {
            $(#[doc = concat!("`", $name, "`.")] $stage,)*
        }

        static ROWS: [StageRow; [$($name),*].len()] =
            [$(StageRow { stage: StageName::$stage, name: $name, $($($field: $value,)*)? ..$like },)*];
    };
}

stages! {
    AddFields "$addFields" like SINGLE;
    Bucket "$bucket" like PLAIN { head_need: HeadNeed::Paths };
    BucketAuto "$bucketAuto" like PLAIN { head_need: HeadNeed::Paths };
    ChangeStream "$changeStream" like REFUSED {
        missing: Some("it is for servers; in a program, use watch"),
        of_server: Some(ServerStage::ChangeStream),
        api: StableApi::Without("showExpandedEvents"),
    };
    ChangeStreamSplitLargeEvent "$changeStreamSplitLargeEvent" like REFUSED {
        missing: Some("it is for change streams"),
        position: Position::Last,
        in_change_streams: true,
    };
    // The parser supports the statistics of a collection. A server adds its own statistics to them.
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
    Match "$match" like SINGLE;
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
    Project "$project" like SINGLE { head_need: HeadNeed::Projection };
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
    Redact "$redact" like SINGLE;
    ReplaceRoot "$replaceRoot" like SINGLE { head_need: HeadNeed::Paths };
    ReplaceWith "$replaceWith" like SINGLE { head_need: HeadNeed::Paths };
    Sample "$sample" like PLAIN;
    Search "$search" like REFUSED { missing: Some("there is no text search"), api: StableApi::No };
    SearchMeta "$searchMeta" like REFUSED { missing: Some("there is no text search"), api: StableApi::No };
    Set "$set" like SINGLE;
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
    Unset "$unset" like SINGLE;
    Unwind "$unwind" like PLAIN { names: &["includeArrayIndex", "path"] };
    VectorSearch "$vectorSearch" like REFUSED { missing: Some("there is no vector search"), api: StableApi::No };
}

/// All stages in alphabetical order.
pub fn all() -> &'static [StageRow] {
    &ROWS
}

/// The names of the stages that the parser supports.
pub fn supported() -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter(|row| row.missing.is_none()).map(|row| row.name)
}

/// The row of a stage by its name, which includes the dollar sign.
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
    /// True if the stage is allowed in a `$facet`.
    pub fn is_for_facets(&self) -> bool {
        self.position == Position::Anywhere && self.pipelines != Pipelines::EachOption
    }

    /// True if the stage with this operand is in the stable API.
    pub fn is_in_api(&self, operand: &Value) -> bool {
        match self.api {
            StableApi::Yes => true,
            StableApi::No => false,
            StableApi::Only(option) => {
                operand.as_map().is_some_and(|map| map.iter().all(|(name, _)| name.as_str() == Some(option)))
            }
            StableApi::Without(option) => operand.as_map().is_none_or(|map| !map.contains(option)),
        }
    }

    /// True if an option of the operand is a pipeline when it is an array.
    pub fn has_pipeline_in(&self, option: &str) -> bool {
        match self.pipelines {
            Pipelines::None => false,
            Pipelines::EachOption => true,
            Pipelines::Option(name) => name == option,
        }
    }

    /// The values in an operand that must be names of collections, including maps of `db` and `coll`. If an option
    /// occurs several times, all of its values are returned, because the parser uses one of them.
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
