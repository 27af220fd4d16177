//! Macros for documents and values.

/// Creates a [`Map`](crate::Map), the fields of a document, a filter or an update.
///
/// Names are literals, or expressions in parentheses. Values are nested documents in braces, arrays
/// in brackets, `null`, or expressions of any type that becomes a [`Value`](crate::Value).
///
/// ```
/// use alluvium_document::doc;
///
/// let (name, field) = ("rex", "age");
/// let rex = doc! {"_id": name, (field): 3, "tags": ["dog", null], "chip": {"number": 17 + 4}};
/// assert_eq!(rex.to_string(), r#"{"_id":"rex","age":3,"tags":["dog",null],"chip":{"number":21}}"#);
/// assert!(doc! {}.is_empty());
/// ```
#[macro_export]
macro_rules! doc {
    ($($fields:tt)*) => {{
        #[allow(unused_mut)]
        let mut map = $crate::Map::new();
        $crate::__fields!(map $($fields)*);
        map
    }};
}

/// Creates a [`Value`](crate::Value), in the notation of [`doc!`](crate::doc).
///
/// ```
/// use alluvium_document::json;
///
/// let ages = [3, 12];
/// let value = json!([{"name": "rex"}, ages[1], null, [true]]);
/// assert_eq!(value.to_string(), r#"[{"name":"rex"},12,null,[true]]"#);
/// assert_eq!(json!(null), alluvium_document::Value::Null);
/// ```
#[macro_export]
macro_rules! json {
    (null) => { $crate::Value::Null };
    ({$($fields:tt)*}) => { $crate::Value::Map($crate::doc! {$($fields)*}) };
    ([$($elements:tt)*]) => {{
        #[allow(unused_mut)]
        let mut elements = ::std::vec::Vec::<$crate::Value>::new();
        $crate::__elements!(elements $($elements)*);
        $crate::Value::Array(elements)
    }};
    ($value:expr) => { $crate::Value::from($value) };
}

/// Pushes fields to a map.
#[doc(hidden)]
#[macro_export]
macro_rules! __fields {
    ($map:ident) => {};
    ($map:ident $name:tt : null $(, $($rest:tt)*)?) => {
        $map.push($name, $crate::Value::Null);
        $crate::__fields!($map $($($rest)*)?);
    };
    ($map:ident $name:tt : {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $map.push($name, $crate::json!({$($inner)*}));
        $crate::__fields!($map $($($rest)*)?);
    };
    ($map:ident $name:tt : [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $map.push($name, $crate::json!([$($inner)*]));
        $crate::__fields!($map $($($rest)*)?);
    };
    ($map:ident $name:tt : $value:expr $(, $($rest:tt)*)?) => {
        $map.push($name, $value);
        $crate::__fields!($map $($($rest)*)?);
    };
}

/// Pushes elements to a vector.
#[doc(hidden)]
#[macro_export]
macro_rules! __elements {
    ($list:ident) => {};
    ($list:ident null $(, $($rest:tt)*)?) => {
        $list.push($crate::Value::Null);
        $crate::__elements!($list $($($rest)*)?);
    };
    ($list:ident {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $list.push($crate::json!({$($inner)*}));
        $crate::__elements!($list $($($rest)*)?);
    };
    ($list:ident [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $list.push($crate::json!([$($inner)*]));
        $crate::__elements!($list $($($rest)*)?);
    };
    ($list:ident $value:expr $(, $($rest:tt)*)?) => {
        $list.push($crate::Value::from($value));
        $crate::__elements!($list $($($rest)*)?);
    };
}
