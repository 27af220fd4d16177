//! Conversions between binary data and text or numbers.

use super::hex;
use crate::code::ErrorCode;
use crate::expression::error::fail;
use crate::expression::{ExpressionError, TEXT_BYTES_MAX};
use alluvium_document::Value;
use alluvium_document::value::{Binary, Double};
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{NO_PAD, STANDARD};
use base64::engine::{DecodePaddingMode, GeneralPurpose};
use std::borrow::Cow;

/// The subtype of UUIDs.
pub(super) const UUID: u8 = 4;

/// The subtype whose data begin with a length field in BSON.
const OLD: u8 = 2;

/// Base64 for URLs: written without padding, and read with or without padding.
const BASE64_URL: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// The text format of binary data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// No format is given, although conversions between text and binary data need one.
    Missing,
    /// A UUID or base64, depending on the subtype.
    Auto,
    Base64,
    Base64Url,
    Utf8,
    Hex,
    Uuid,
}

impl Format {
    /// Parses the name of a format.
    pub fn of(value: &Value) -> Result<Self, ExpressionError> {
        let Value::String(name) = value else {
            let problem = format!("the format of $convert must be text, this is of type {}", value.type_name());
            return fail(ErrorCode::Location4341114, problem);
        };
        match name.as_str() {
            "auto" => Ok(Self::Auto),
            "base64" => Ok(Self::Base64),
            "base64url" => Ok(Self::Base64Url),
            "utf8" => Ok(Self::Utf8),
            "hex" => Ok(Self::Hex),
            "uuid" => Ok(Self::Uuid),
            other => {
                let known = "auto, base64, base64url, utf8, hex, uuid";
                fail(ErrorCode::Location4341125, format!("$convert has no format \"{other}\"; there are {known}"))
            }
        }
    }
}

/// The order of the bytes of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// Parses the name of a byte order.
    pub fn of(value: &Value) -> Result<Self, ExpressionError> {
        match value {
            Value::String(name) if name == "little" => Ok(Self::Little),
            Value::String(name) if name == "big" => Ok(Self::Big),
            Value::String(name) => {
                let problem = format!("the byteOrder of $convert must be little or big, not \"{name}\"");
                fail(ErrorCode::Location9130002, problem)
            }
            other => {
                let found = other.type_name();
                fail(
                    ErrorCode::Location9130001,
                    format!("the byteOrder of $convert must be text, this is of type {found}"),
                )
            }
        }
    }
}

/// The bytes as they are stored in BSON.
fn raw(binary: &Binary) -> Cow<'_, [u8]> {
    let Binary { subtype, bytes } = binary;
    match u32::try_from(bytes.len()) {
        Ok(len) if *subtype == OLD => Cow::Owned([&len.to_le_bytes()[..], bytes].concat()),
        _ => Cow::Borrowed(bytes),
    }
}

/// True if an integer of 32 bits (or of 64 bits if `is_long`) may have this number of bytes.
pub(super) fn fits(binary: &Binary, is_long: bool) -> bool {
    matches!((raw(binary).len(), is_long), (1 | 2 | 4, _) | (8, true))
}

/// The bytes as a signed integer; `None` if there are not 1, 2, 4 or 8 bytes.
pub(super) fn to_integer(binary: &Binary, order: ByteOrder) -> Option<i64> {
    match *in_order(binary, order) {
        [a] => Some(i64::from(i8::from_le_bytes([a]))),
        [a, b] => Some(i64::from(i16::from_le_bytes([a, b]))),
        [a, b, c, d] => Some(i64::from(i32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Some(i64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    }
}

/// The bytes as a number of IEEE 754; `None` if there are not 4 or 8 bytes.
pub(super) fn to_double(binary: &Binary, order: ByteOrder) -> Option<f64> {
    match *in_order(binary, order) {
        [a, b, c, d] => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Some(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => None,
    }
}

/// The bytes of a number in the order from the least significant.
fn in_order(binary: &Binary, order: ByteOrder) -> Cow<'_, [u8]> {
    let mut bytes = raw(binary);
    if order == ByteOrder::Big {
        bytes.to_mut().reverse();
    }
    bytes
}

/// The bytes of a number; `None` if the value is not a double or an integer.
pub(super) fn of_number(value: &Value, order: ByteOrder) -> Option<Vec<u8>> {
    let mut bytes = match value {
        Value::Int32(n) => n.to_le_bytes().to_vec(),
        Value::Int64(n) => n.to_le_bytes().to_vec(),
        Value::Double(Double(x)) => x.to_le_bytes().to_vec(),
        _ => return None,
    };
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

fn failed<T>(problem: impl Into<String>) -> Result<T, ExpressionError> {
    fail(ErrorCode::ConversionFailure, problem)
}

fn no_format<T>() -> Result<T, ExpressionError> {
    let problem = "$convert needs a format to convert between text and binary data";
    fail(ErrorCode::Location4341115, problem)
}

/// Binary data as text.
pub(super) fn to_text(binary: &Binary, format: Format) -> Result<String, ExpressionError> {
    let bytes = raw(binary);
    let text = match format {
        Format::Missing => return no_format(),
        Format::Auto if binary.subtype == UUID && bytes.len() == 16 => return uuid_text(binary),
        Format::Uuid => return uuid_text(binary),
        Format::Utf8 => {
            return String::from_utf8(bytes.into_owned()).or_else(|_| failed("the binary data are not text in UTF-8"));
        }
        Format::Auto | Format::Base64 => STANDARD.encode(bytes),
        Format::Base64Url => BASE64_URL.encode(bytes),
        Format::Hex => hex(&bytes).to_ascii_uppercase(),
    };
    if text.len() > TEXT_BYTES_MAX { failed("the text of binary data would have 16 MiB or more") } else { Ok(text) }
}

fn uuid_text(binary: &Binary) -> Result<String, ExpressionError> {
    if binary.subtype != UUID || binary.bytes.len() != 16 {
        return failed("the binary data are not a UUID: it has the subtype 4 and 16 bytes");
    }
    let text = hex(&binary.bytes);
    Ok(format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]))
}

/// Converts text to binary data of a subtype. The UUID format is valid only with the UUID subtype,
/// and the other way round.
pub(super) fn from_text(text: &str, subtype: u8, format: Format) -> Result<Binary, ExpressionError> {
    let bytes = match format {
        Format::Missing => return no_format(),
        Format::Auto => return failed("the format auto is for conversions from binary data to text"),
        _ if (format == Format::Uuid) != (subtype == UUID) => {
            return failed("the format uuid and the subtype 4 belong together");
        }
        Format::Base64 => STANDARD.decode(text).ok(),
        Format::Base64Url => BASE64_URL.decode(text).ok(),
        Format::Hex => from_hex(text),
        Format::Utf8 => Some(text.as_bytes().to_vec()),
        Format::Uuid => from_uuid(text),
    };
    match bytes {
        Some(bytes) => Ok(Binary { subtype, bytes }),
        None => failed(format!("the text '{}' is not valid in its format", super::shown(text))),
    }
}

fn from_uuid(text: &str) -> Option<Vec<u8>> {
    let lengths = text.split('-').map(str::len);
    if !lengths.eq([8, 4, 4, 4, 12]) {
        return None;
    }
    from_hex(&text.replace('-', ""))
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    (0..digits.len() / 2).map(|at| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}
