//! The first byte of each value's key: the position of its type in the order. The numbers are taken from MongoDB's
//! source code, increased where necessary so that all are above 0.

/// Before every other value.
pub const MIN_KEY: u8 = 1;
/// The value *undefined*.
pub const UNDEFINED: u8 = 3;
/// Null.
pub const NULL: u8 = 5;
/// Numbers of all types.
pub const NUMBER: u8 = 10;
/// Strings and symbols.
pub const STRING: u8 = 15;
/// Maps.
pub const MAP: u8 = 20;
/// Arrays.
pub const ARRAY: u8 = 25;
/// Binaries.
pub const BINARY: u8 = 30;
/// Object ids.
pub const OBJECT_ID: u8 = 35;
/// Booleans.
pub const BOOL: u8 = 40;
/// Date-times.
pub const DATE_TIME: u8 = 45;
/// Timestamps.
pub const TIMESTAMP: u8 = 47;
/// Regular expressions.
pub const REGEX: u8 = 50;
/// Pointers.
pub const DB_POINTER: u8 = 55;
/// Code.
pub const CODE: u8 = 60;
/// Code with a scope.
pub const CODE_WITH_SCOPE: u8 = 65;
/// After every other value.
pub const MAX_KEY: u8 = 127;
