//! Numbers of MongoDB's errors that have no names of their own.

/// MongoDB's number for the error of a path that is none, because it has an empty name, a zero character or too many names.
pub(crate) fn of_path(path: &str) -> i32 {
    match path {
        "" => 40352,
        path if path.contains('\0') => 16411,
        path if path.ends_with('.') => 40353,
        path if path.split('.').any(str::is_empty) => 15998,
        _ => 5_984_700,
    }
}

/// A name in a path that begins with a dollar sign.
pub(crate) const DOLLAR: i32 = 16410;

/// True if the name begins with a dollar sign and is none of the fields of MongoDB's references to documents of other
/// collections, the only ones that may.
pub(crate) fn is_dollar_name(name: &str) -> bool {
    name.starts_with('$') && !is_reference_name(name)
}

/// True for the fields of MongoDB's references to documents of other collections.
pub(crate) fn is_reference_name(name: &str) -> bool {
    ["$id", "$ref", "$db"].contains(&name)
}

macro_rules! names {
    ($($code:literal $name:literal,)*) => {
        /// MongoDB's name for an error that has only a number.
        pub(crate) fn name(code: i32) -> &'static str {
            match code {
                $($code => $name,)*
                _ => "Location5984700",
            }
        }
    };
}

names! {
    13103 "Location13103",
    15998 "Location15998",
    16410 "Location16410",
    16411 "Location16411",
    16764 "Location16764",
    28667 "Location28667",
    28724 "Location28724",
    31249 "Location31249",
    31250 "Location31250",
    31253 "Location31253",
    31254 "Location31254",
    31255 "Location31255",
    31256 "Location31256",
    31271 "Location31271",
    31274 "Location31274",
    31275 "Location31275",
    31276 "Location31276",
    31277 "Location31277",
    31303 "Location31303",
    31308 "Location31308",
    31394 "Location31394",
    31395 "Location31395",
    40352 "Location40352",
    40353 "Location40353",
    51074 "Location51074",
    51075 "Location51075",
    51246 "Location51246",
    51270 "Location51270",
}
