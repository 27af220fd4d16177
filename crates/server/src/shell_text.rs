//! Values in messages, in the form of MongoDB's servers and shell: `{ name: "rex", n: 1 }`.

use alluvium::{Map, Value};
use std::fmt::Write;

/// A map as text on one line.
pub(crate) fn of_map(map: &Map) -> String {
    let mut out = String::new();
    push_map(map, &mut out);
    out
}

fn push_map(map: &Map, out: &mut String) {
    if map.is_empty() {
        return out.push_str("{}");
    }
    let mut before = "{ ";
    for (name, value) in &map.entries {
        out.push_str(before);
        before = ", ";
        match name.as_str() {
            Some(name) => out.push_str(name),
            None => push(name, out),
        }
        out.push_str(": ");
        push(value, out);
    }
    out.push_str(" }");
}

fn push(value: &Value, out: &mut String) {
    // Writing to a string cannot fail.
    let _written = match value {
        Value::Map(map) => {
            push_map(map, out);
            Ok(())
        }
        Value::Array(values) if values.is_empty() => out.write_str("[]"),
        Value::Array(values) => {
            let mut before = "[ ";
            for value in values {
                out.push_str(before);
                before = ", ";
                push(value, out);
            }
            out.write_str(" ]")
        }
        Value::Double(double) if double.0.fract() == 0.0 && double.0.abs() < 1e15 => write!(out, "{:.1}", double.0),
        Value::ObjectId(bytes) => {
            out.push_str("ObjectId('");
            push_hex(bytes, out);
            out.write_str("')")
        }
        Value::DateTime(millis) => write!(out, "new Date({millis})"),
        Value::Timestamp(time) => write!(out, "Timestamp({}, {})", time.time, time.increment),
        Value::Binary(binary) => {
            let _written = write!(out, "BinData({}, ", binary.subtype);
            push_hex(&binary.bytes, out);
            out.write_str(")")
        }
        Value::MinKey => out.write_str("MinKey"),
        Value::MaxKey => out.write_str("MaxKey"),
        Value::Undefined => out.write_str("undefined"),
        other => write!(out, "{other}"),
    };
}

fn push_hex(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        let _written = write!(out, "{byte:02x}");
    }
}

#[cfg(test)]
mod tests;
