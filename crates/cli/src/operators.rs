//! The names of the supported operators of MongoDB, for completion and for advice. The names of pipeline stages are in
//! the parser's table.

pub(crate) use alluvium_query::pipeline::stages::supported as stages;

/// Operators of filters.
pub(crate) const FILTER: &[&str] = &[
    "$all",
    "$and",
    "$bitsAllClear",
    "$bitsAllSet",
    "$bitsAnyClear",
    "$bitsAnySet",
    "$comment",
    "$elemMatch",
    "$eq",
    "$exists",
    "$expr",
    "$gt",
    "$gte",
    "$in",
    "$jsonSchema",
    "$lt",
    "$lte",
    "$mod",
    "$ne",
    "$nin",
    "$nor",
    "$not",
    "$or",
    "$rand",
    "$regex",
    "$sampleRate",
    "$size",
    "$type",
];

/// Operators of updates.
pub(crate) const UPDATE: &[&str] = &[
    "$addToSet",
    "$bit",
    "$currentDate",
    "$inc",
    "$max",
    "$min",
    "$mul",
    "$pop",
    "$pull",
    "$pullAll",
    "$push",
    "$rename",
    "$set",
    "$setOnInsert",
    "$unset",
];

/// Modifiers of `$push` and `$addToSet`.
pub(crate) const MODIFIERS: &[&str] = &["$each", "$position", "$slice", "$sort"];

/// Expressions, accumulators of groups and functions of windows, separated by blanks.
const EXPRESSIONS: &str = "$abs $acos $acosh $add $addToSet $allElementsTrue $and $anyElementTrue $arrayElemAt $arrayToObject $asin \
     $asinh $atan $atan2 $atanh $avg $binarySize $bitAnd $bitNot $bitOr $bitXor $bottom $bottomN $bsonSize $ceil \
     $cmp $concat $concatArrays $cond $convert $cos $cosh $count $covariancePop $covarianceSamp $dateAdd $dateDiff \
     $dateFromParts $dateFromString $dateSubtract $dateToParts $dateToString $dateTrunc $dayOfMonth $dayOfWeek \
     $dayOfYear $degreesToRadians $denseRank $derivative $divide $documentNumber $eq $exp $expMovingAvg $filter \
     $first $firstN $floor $getField $gt $gte $hour $ifNull $in $indexOfArray $indexOfBytes $indexOfCP $integral \
     $isArray $isNumber $isoDayOfWeek $isoWeek $isoWeekYear $last $lastN $let $linearFill $literal $ln $locf $log \
     $log10 $lt $lte $ltrim $map $max $maxN $median $mergeObjects $millisecond $min $minN $minute $mod $month \
     $multiply $ne $not $objectToArray $or $percentile $pow $push $radiansToDegrees $rand $range $rank $reduce \
     $regexFind $regexFindAll $regexMatch $replaceAll $replaceOne $reverseArray $round $rtrim $sampleRate $second \
     $setDifference $setEquals $setField $setIntersection $setIsSubset $setUnion $shift $sin $sinh $size $slice \
     $sortArray $split $sqrt $stdDevPop $stdDevSamp $strLenBytes $strLenCP $strcasecmp $substr $substrBytes \
     $substrCP $subtract $sum $switch $tan $tanh $toBool $toDate $toDecimal $toDouble $toInt $toLong $toLower \
     $toObjectId $toString $toUUID $toUpper $top $topN $trim $trunc $tsIncrement $tsSecond $type $unsetField $week \
     $year $zip";

/// Expressions, accumulators of groups and functions of windows.
pub(crate) fn expressions() -> impl Iterator<Item = &'static str> {
    EXPRESSIONS.split_whitespace()
}

/// The operator whose name is `name` with a dollar sign.
pub(crate) fn without_dollar(operators: &[&'static str], name: &str) -> Option<&'static str> {
    operators.iter().copied().find(|operator| operator.strip_prefix('$') == Some(name))
}

#[cfg(test)]
mod tests;
