//! A filter matches the same documents as a second implementation that shares no code with the first. This holds for
//! rows, self-describing documents and decoded maps. The text of a filter parses to an equal filter.

use crate::common::{arbitrary, filters, focused, naive, nested, stored_document};
use alluvium_document::{Document, Map, Value};
use alluvium_query::filter::{ElementFilter, Filter};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn both_evaluators_agree(map in filters::filter(), document in arbitrary::document()) {
        let filter = Filter::parse(&map).unwrap();
        let expected = naive::matches(&map, &Value::Map(document.clone()));
        prop_assert_eq!(filter.matches_map(&document).unwrap(), expected);
        prop_assert_eq!(filter.matches_value(&Value::Map(document.clone())).unwrap(), expected);
        prop_assert_eq!(filter.matches(&Document::from_map(&document).unwrap()).unwrap(), expected);
        prop_assert_eq!(filter.matches(&stored_document(&document)).unwrap(), expected);
    }

    #[test]
    fn both_evaluators_agree_on_what_nearly_matches(map in focused::filter(), document in focused::document()) {
        let filter = Filter::parse(&map).unwrap();
        let expected = naive::matches(&map, &Value::Map(document.clone()));
        prop_assert_eq!(filter.matches_map(&document).unwrap(), expected);
        prop_assert_eq!(filter.matches(&Document::from_map(&document).unwrap()).unwrap(), expected);
    }

    #[test]
    fn both_evaluators_agree_on_arrays_in_arrays((map, document) in nested::document().prop_flat_map(|document| {
        (nested::filter(&nested::pool([&document])), Just(document))
    })) {
        let filter = Filter::parse(&map).unwrap();
        let expected = naive::matches(&map, &Value::Map(document.clone()));
        prop_assert_eq!(filter.matches_map(&document).unwrap(), expected);
        prop_assert_eq!(filter.matches(&Document::from_map(&document).unwrap()).unwrap(), expected);
    }

    #[test]
    fn both_evaluators_agree_on_single_operators((map, document) in nested::meeting()) {
        let filter = Filter::parse(&map).unwrap();
        let expected = naive::matches(&map, &Value::Map(document.clone()));
        prop_assert_eq!(filter.matches_map(&document).unwrap(), expected);
        prop_assert_eq!(filter.matches(&Document::from_map(&document).unwrap()).unwrap(), expected);
    }

    #[test]
    fn the_one_form_is_an_equal_filter(map in filters::filter()) {
        let filter = Filter::parse(&map).unwrap();
        let again = Filter::parse(&filter.to_map()).unwrap();
        prop_assert_eq!(&again, &filter, "{}", filter);
        prop_assert_eq!(again.to_string(), filter.to_string());
    }

    /// A filter on the only field x of a document has the same result whether or not the document is really built.
    #[test]
    fn elements_under_a_name_match_as_fields_do(map in filters::filter(), element in arbitrary::value()) {
        let filter = Filter::parse(&map).unwrap();
        let document = alluvium_document::Map::from([("a", element.clone())]);
        prop_assert_eq!(filter.matches_named("a", &element).unwrap(), filter.matches_map(&document).unwrap());
    }

    /// `$pull` removes an element if `$elemMatch` finds it.
    #[test]
    fn elements_match_as_in_elem_match(map in filters::filter(), element in arbitrary::value()) {
        let elements = ElementFilter::parse(&Value::Map(map.clone())).unwrap();
        let field = Value::Array(vec![element.clone()]);
        let operand = Value::Map(alluvium_document::Map::from([("$elemMatch", map.clone())]));
        let filter = Filter::parse(&alluvium_document::Map::from([("a", operand)])).unwrap();
        prop_assert_eq!(elements.matches(&element).unwrap(), filter.matches_map(&alluvium_document::Map::from([("a", field)])).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn many_branches_mean_what_few_do(
        branches in proptest::collection::vec(focused::filter(), 65..90),
        document in focused::document(),
    ) {
        let map = Map::from([("$or", Value::Array(branches.into_iter().map(Value::Map).collect()))]);
        let expected = naive::matches(&map, &Value::Map(document.clone()));
        let filter = Filter::parse(&map).unwrap();
        prop_assert_eq!(filter.matches_map(&document).unwrap(), expected);
        prop_assert_eq!(filter.matches(&Document::from_map(&document).unwrap()).unwrap(), expected);
    }
}
