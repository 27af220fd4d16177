//! Conversions between text and binary data.

use super::hex;
use crate::code::ErrorCode;
use crate::expression::ExpressionError;
use crate::expression::error::fail;
use crate::expression::operand::is_nullish;
use alluvium_document::Value;
use alluvium_document::value::Binary;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{NO_PAD, STANDARD};
use base64::engine::{DecodePaddingMode, GeneralPurpose};

/// The subtype of UUIDs.
pub(super) const UUID: u8 = 4;

/// Base64 for addresses of the web: written without padding, and read with or without it.
const BASE64_URL: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent));

/// How binary data are written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Not named, although conversions between text and binary data need it.
    Missing,
    /// As a UUID or in base64, whichever fits the subtype.
    Auto,
    Base64,
    Base64Url,
    Utf8,
    Hex,
    Uuid,
}

impl Format {
    /// The format of this name; `None` if it is null.
    pub fn of(value: &Value) -> Result<Option<Self>, ExpressionError> {
        let Value::String(name) = value else {
            if is_nullish(Some(value)) {
                return Ok(None);
            }
            let problem = format!("the format of $convert must be text, this is of type {}", value.type_name());
            return fail(ErrorCode::Location4341114, problem);
        };
        match name.as_str() {
            "auto" => Ok(Some(Self::Auto)),
            "base64" => Ok(Some(Self::Base64)),
            "base64url" => Ok(Some(Self::Base64Url)),
            "utf8" => Ok(Some(Self::Utf8)),
            "hex" => Ok(Some(Self::Hex)),
            "uuid" => Ok(Some(Self::Uuid)),
            other => {
                let known = "auto, base64, base64url, utf8, hex, uuid";
                fail(ErrorCode::Location4341125, format!("$convert has no format \"{other}\"; there are {known}"))
            }
        }
    }
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
    let Binary { subtype, bytes } = binary;
    match format {
        Format::Missing => no_format(),
        Format::Auto if *subtype == UUID => uuid_text(binary),
        Format::Auto | Format::Base64 => Ok(STANDARD.encode(bytes)),
        Format::Base64Url => Ok(BASE64_URL.encode(bytes)),
        Format::Hex => Ok(hex(bytes).to_ascii_uppercase()),
        Format::Utf8 => match String::from_utf8(bytes.clone()) {
            Ok(text) => Ok(text),
            Err(_) => failed("the binary data are not text in UTF-8"),
        },
        Format::Uuid => uuid_text(binary),
    }
}

fn uuid_text(binary: &Binary) -> Result<String, ExpressionError> {
    if binary.subtype != UUID || binary.bytes.len() != 16 {
        return failed("the binary data are not a UUID: it has the subtype 4 and 16 bytes");
    }
    let text = hex(&binary.bytes);
    Ok(format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]))
}

/// Binary data of a subtype from text. The format of UUIDs and their subtype belong together.
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
        None => failed(format!("the text '{text}' is not valid in its format")),
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
