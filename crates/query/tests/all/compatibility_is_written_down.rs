//! `docs/COMPATIBILITY.md` lists for each keyword of MongoDB 8 whether it works here. The test passes each keyword to
//! the parsers, and compares the file with their results. `UPDATE=1 cargo test -p alluvium-query --test all
//! compatibility_is_written_down` rewrites the file.

use alluvium_document::{Map, Value};
use alluvium_query::ErrorCode;
use alluvium_query::collation::Collation;
use alluvium_query::expression::{Expression, Variables};
use alluvium_query::filter::{Filter, FilterError};
use alluvium_query::pipeline::{Pipeline, PipelineError, stages};
use alluvium_query::projection::Projection;
use alluvium_query::update::Update;
use std::fmt::Write;
use std::path::Path;

/// The kind of a keyword.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Filter,
    Projection,
    Update,
    Stage,
    Accumulator,
    Window,
    Expression,
    Collation,
}

/// The keywords of MongoDB 8.0, taken from its documentation.
const KEYWORDS: &[(Kind, &str, &str)] = &[
    (
        Kind::Filter,
        "Operators of filters",
        "$all $and $bitsAllClear $bitsAllSet $bitsAnyClear $bitsAnySet $comment $elemMatch $eq $exists $expr $geoIntersects \
         $geoWithin $gt $gte $in $jsonSchema $lt $lte $mod $ne $near $nearSphere $nin $nor $not $or $rand $regex $sampleRate \
         $size $text $type $where",
    ),
    (Kind::Projection, "Operators of projections", "$elemMatch $meta $slice"),
    (
        Kind::Update,
        "Operators of updates",
        "$addToSet $bit $currentDate $inc $max $min $mul $pop $pull $pullAll $push $rename $set $setOnInsert $unset",
    ),
    (
        Kind::Stage,
        "Stages of pipelines",
        "$addFields $bucket $bucketAuto $changeStream $changeStreamSplitLargeEvent $collStats $count $currentOp $densify \
         $documents $facet $fill $geoNear $graphLookup $group $indexStats $limit $listLocalSessions $listSampledQueries \
         $listSearchIndexes $listSessions $lookup $match $merge $out $planCacheStats $project $querySettings $queryStats \
         $redact $replaceRoot $replaceWith $sample $search $searchMeta $set $setWindowFields $shardedDataDistribution $skip \
         $sort $sortByCount $unionWith $unset $unwind $vectorSearch",
    ),
    (
        Kind::Accumulator,
        "Accumulators of groups",
        "$accumulator $addToSet $avg $bottom $bottomN $concatArrays $count $first $firstN $last $lastN $max $maxN $median \
         $mergeObjects $min $minN $percentile $push $setUnion $stdDevPop $stdDevSamp $sum $top $topN",
    ),
    (
        Kind::Window,
        "Functions of windows",
        "$addToSet $avg $bottom $bottomN $concatArrays $count $covariancePop $covarianceSamp $denseRank $derivative \
         $documentNumber $expMovingAvg $first $firstN $integral $last $lastN $linearFill $locf $max $maxN $median $min $minN \
         $percentile $push $rank $setUnion $shift $stdDevPop $stdDevSamp $sum $top $topN",
    ),
    (
        Kind::Expression,
        "Expressions",
        "$abs $acos $acosh $add $allElementsTrue $and $anyElementTrue $arrayElemAt $arrayToObject $asin $asinh $atan $atan2 \
         $atanh $avg $binarySize $bitAnd $bitNot $bitOr $bitXor $bsonSize $ceil $cmp $concat $concatArrays $cond $convert $cos \
         $cosh $dateAdd $dateDiff $dateFromParts $dateFromString $dateSubtract $dateToParts $dateToString $dateTrunc \
         $dayOfMonth $dayOfWeek $dayOfYear $degreesToRadians $divide $eq $exp $filter $first $firstN $floor $function $getField \
         $gt $gte $hour $ifNull $in $indexOfArray $indexOfBytes $indexOfCP $isArray $isNumber $isoDayOfWeek $isoWeek \
         $isoWeekYear $last $lastN $let $literal $ln $log $log10 $lt $lte $ltrim $map $max $maxN $median $mergeObjects $meta \
         $millisecond $min $minN $minute $mod $month $multiply $ne $not $objectToArray $or $percentile $pow $radiansToDegrees \
         $rand $range $reduce $regexFind $regexFindAll $regexMatch $replaceAll $replaceOne $reverseArray $round $rtrim \
         $sampleRate $second $setDifference $setEquals $setField $setIntersection $setIsSubset $setUnion $sin $sinh $size \
         $slice $sortArray $split $sqrt $stdDevPop $stdDevSamp $strLenBytes $strLenCP $strcasecmp $substr $substrBytes $substrCP \
         $subtract $sum $switch $tan $tanh $toBool $toDate $toDecimal $toDouble $toHashedIndexKey $toInt $toLong $toLower \
         $toObjectId $toString $toUUID $toUpper $trim $trunc $tsIncrement $tsSecond $type $unsetField $week $year $zip",
    ),
    (
        Kind::Collation,
        "Options of collations",
        "alternate backwards caseFirst caseLevel locale maxVariable normalization numericOrdering strength",
    ),
];

/// The keywords that are supported only in part, with the missing parts.
const PARTLY: &[(Kind, &str, &str)] = &[
    (Kind::Filter, "$regex", "no recursion, conditions and verbs of PCRE"),
    (Kind::Stage, "$collStats", "count and storageStats; latencyStats and queryExecStats of the server"),
    (Kind::Stage, "$out", "no time series"),
    (Kind::Accumulator, "$median", "exact, whatever the method"),
    (Kind::Accumulator, "$percentile", "exact, whatever the method"),
    (Kind::Window, "$median", "exact, whatever the method"),
    (Kind::Window, "$percentile", "exact, whatever the method"),
    (Kind::Collation, "backwards", "as the locale has it: true for `fr_CA`, false for others"),
    (Kind::Collation, "locale", "no types `search`, `searchjl`, `eor`, `phonetic`, `big5han`, `gb2312han`, `reformed`"),
    (Kind::Collation, "normalization", "always on"),
];

/// Stages of versions after 8.0, which the page does not list.
const NEWER_STAGES: &str = "$listClusterCatalog $rankFusion";

fn one(name: &str, value: impl Into<Value>) -> Map {
    Map::from([(name, value.into())])
}

fn pipeline(stage: Map) -> Value {
    Value::Array(vec![Value::Map(stage)])
}

/// The reason why a parser refuses a stage or an expression altogether; `None` if the parser knows it.
fn refused(error: Option<PipelineError>) -> Option<String> {
    let error = error?;
    let unknown = [
        ErrorCode::NotImplemented,
        ErrorCode::Location40324,
        ErrorCode::Location15952,
        ErrorCode::InvalidPipelineOperator,
        ErrorCode::Location31325,
    ];
    let is_window = error.to_string().starts_with("there is no window function");
    (unknown.contains(&error.code()) || is_window).then(|| reason(&error.to_string()))
}

/// The reason in an error message.
fn reason(message: &str) -> String {
    match message.split_once(": ") {
        Some((_, why)) if !why.starts_with("did you mean") => why.to_owned(),
        _ => "not supported yet".to_owned(),
    }
}

/// The reason why a keyword does not work; `None` if it works.
fn missing(kind: Kind, name: &str) -> Option<String> {
    match kind {
        Kind::Filter => {
            if name == "$rand" {
                return missing(Kind::Expression, name);
            }
            let (on_field, at_top) = (Filter::parse(&one("a", one(name, 1))), Filter::parse(&one(name, 1)));
            let refuses = |result: &Result<Filter, FilterError>| match result {
                Ok(_) => false,
                Err(FilterError::NotSupported(_)) => true,
                Err(error) => error.to_string().contains("unknown operator") || is_misplaced(&error.to_string()),
            };
            (refuses(&on_field) && refuses(&at_top)).then(|| why_no_filter(name).to_owned())
        }
        Kind::Projection => {
            let error = Projection::parse(&one("a", one(name, one("b", 1)))).err()?;
            (error.code() == ErrorCode::NotImplemented).then(|| reason(&error.to_string()))
        }
        Kind::Update => {
            let error = Update::parse(&one(name, one("a", 1))).err()?;
            error.to_string().contains("nknown").then(|| "not supported yet".to_owned())
        }
        Kind::Stage => refused(Pipeline::parse(&pipeline(one(name, 1)), &Variables::NONE).err()),
        Kind::Accumulator => {
            let group = Map::from([("_id", Value::Null), ("x", Value::Map(one(name, 1)))]);
            refused(Pipeline::parse(&pipeline(one("$group", group)), &Variables::NONE).err())
        }
        Kind::Window => {
            let output = Map::from([("output", one("x", one(name, 1)))]);
            refused(Pipeline::parse(&pipeline(one("$setWindowFields", output)), &Variables::NONE).err())
        }
        Kind::Collation => {
            let value = match name {
                "alternate" => Value::from("shifted"),
                "caseFirst" => Value::from("upper"),
                "maxVariable" => Value::from("space"),
                "strength" => Value::from(3),
                "locale" => Value::from("en"),
                "backwards" => Value::from(false),
                _ => Value::from(true),
            };
            let mut options = one("locale", "en");
            options.insert(name, value);
            Collation::parse(&options).err().map(|error| error.to_string())
        }
        Kind::Expression if name == "$sampleRate" => missing(Kind::Filter, name),
        Kind::Expression => refused(Expression::parse(&Value::Map(one(name, 1))).err().map(PipelineError::from)),
    }
}

/// True if a filter refuses an operator only because of its place. In that case the operator must be tested at another
/// place.
fn is_misplaced(message: &str) -> bool {
    message.contains("is an operator for a field") || message.contains("is among the operators for")
}

fn why_no_filter(name: &str) -> &'static str {
    match name {
        "$where" => "it runs JavaScript",
        "$text" => "there is no text search",
        "$geoIntersects" | "$geoWithin" | "$near" | "$nearSphere" => "there is no geography",
        _ => "not supported yet",
    }
}

/// The text of the page about values.
const VALUES: &str = "\n\
     ## Values\n\
     \n\
     Strings and names are UTF-8. MongoDB stores other bytes without a check; here a write of them is\n\
     refused with code 2. `alluvium restore` and `load` of dumps that have them stop and name the\n\
     document; `--on-bad repair` puts U+FFFD in the place of the bytes, and\n\
     `--on-bad skip --rejects FILE` leaves the document out and writes it to a file.\n\
     \n\
     The library and the command line also take numbers of more than 34 digits or beyond the exponents of\n\
     decimal128, and names and patterns with a zero character, which BSON cannot hold. `load` refuses\n\
     them by path, unless `--alluvium-types` is given; `--on-bad repair` rounds as MongoDB's arithmetic\n\
     does. A client that reads such a document gets those before it, then error 22, which names\n\
     collection, `_id` and path; a filter that leaves the document out reads the others. A write that\n\
     returns such a document is refused before it is made.\n\
     \n\
     Documents and filters nest up to 180 levels. The filter of a partial index\n\
     (`partialFilterExpression`) nests up to 90; a deeper one is refused when the index is created.\n";

fn written() -> String {
    let mut text = String::from(
        "# Compatibility\n\nThe keywords and [commands](#commands) of MongoDB 8.0 and what Alluvium does with them. This\n\
         part of the page is written by a test, which gives each keyword to the parsers\n\
         (`crates/query/tests/all/compatibility_is_written_down.rs`). A keyword that is not supported is\n\
         refused by name, with MongoDB's code 238 (`NotImplemented`).\n",
    );
    for (kind, title, names) in KEYWORDS {
        let names: Vec<&str> = names.split_whitespace().collect();
        let works = names.iter().filter(|name| missing(*kind, name).is_none()).count();
        writeln!(text, "\n## {title}\n\n{works} of {} work.\n\n| keyword | | |\n|---|---|---|", names.len()).unwrap();
        for name in names {
            let partly = PARTLY.iter().find(|(of, known, _)| of == kind && *known == name).map(|(.., note)| *note);
            match (missing(*kind, name), partly) {
                (Some(why), _) => writeln!(text, "| `{name}` | no | {why} |").unwrap(),
                (None, Some(note)) => writeln!(text, "| `{name}` | partly | {note} |").unwrap(),
                (None, None) => writeln!(text, "| `{name}` | yes | |").unwrap(),
            }
        }
    }
    text.push_str(VALUES);
    text
}

#[test]
fn compatibility_is_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/COMPATIBILITY.md");
    let (written, page) = (written(), std::fs::read_to_string(&path).unwrap_or_default());
    // The commands follow on the page. The crate that implements them writes that part.
    let (known, commands) = page.split_at(page.find("\n## Commands\n").unwrap_or(page.len()));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{written}{commands}")).unwrap();
        return;
    }
    assert_eq!(known, written, "run this test with UPDATE=1, and read the change");
}

/// The page lists the same stages as the table of the parser.
#[test]
fn stages_are_those_of_the_table() {
    let listed = KEYWORDS.iter().filter(|(kind, ..)| *kind == Kind::Stage).map(|(.., names)| *names);
    let mut listed: Vec<&str> = listed.chain([NEWER_STAGES]).flat_map(str::split_whitespace).collect();
    listed.sort_unstable();
    assert_eq!(listed, stages::all().iter().map(|row| row.name).collect::<Vec<_>>());
}

/// The results come from the parsers, so a keyword that does not exist must be reported as not working.
#[test]
fn what_does_not_exist_does_not_work() {
    for (kind, _, _) in KEYWORDS {
        if *kind != Kind::Projection {
            assert!(missing(*kind, "$nonsense").is_some());
        }
    }
    assert_eq!(missing(Kind::Stage, "$geoNear").as_deref(), Some("there is no geography"));
    assert_eq!(missing(Kind::Stage, "$match"), None);
}
