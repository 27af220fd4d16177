//! Sizes in bytes: `65536`, `64K`, `64M`, `1G`.

/// Parses a size; the units are powers of 1024.
///
/// # Errors
/// A sentence that explains the notation of sizes.
pub fn parse(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &lower[digits.len()..] {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err("write a size as 65536, 64K, 64M or 1G (powers of 1024)".to_owned()),
    };
    let bad = |_| "write a size as 65536, 64K, 64M or 1G (powers of 1024)".to_owned();
    let number: u64 = digits.trim_end().parse().map_err(bad)?;
    number.checked_mul(factor).ok_or_else(|| "a size has at most 64 bits".to_owned())
}

#[cfg(test)]
mod tests;
