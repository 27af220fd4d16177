//! Contexts of zstd, with the parameters of this format.
//!
//! Frames are written without magic number, checksum, dictionary id and content size: the block's
//! trailer has the length and the checksum, and the file has the dictionary. Therefore a frame
//! costs five bytes (header two, block header three), which matters for a block of 500 bytes.

use zstd_safe::{CCtx, CParameter, DCtx, DParameter, DictAttachPref, FrameFormat, ParamSwitch, Strategy};

/// A context for bare frames.
pub(crate) fn new_context(level: i32, dictionary: Option<&[u8]>) -> Option<CCtx<'static>> {
    let mut context = CCtx::try_create()?;
    let bare = [
        CParameter::CompressionLevel(level),
        CParameter::Format(FrameFormat::Magicless),
        CParameter::ContentSizeFlag(false),
        CParameter::ChecksumFlag(false),
        CParameter::DictIdFlag(false),
    ];
    for parameter in bare {
        context.set_parameter(parameter).ok()?;
    }
    if let Some(dictionary) = dictionary {
        for &parameter in for_dictionary(level) {
            context.set_parameter(parameter).ok()?;
        }
        context.load_dictionary(dictionary).ok()?;
    }
    Some(context)
}

/// Parameters that a level gets in addition to zstd's own when small blocks are compressed with a
/// dictionary. Measured on rows of comments, with 4 KB blocks and 64 KB of dictionary, compression
/// alone. Figures are CPU ns per row of 430 bytes, and share of the raw bytes; the machine was
/// busy, so times are accurate to a fifth:
///
/// - levels 1 and 2 index the dictionary with a table that is too small for it. With a table of
///   2^16 slots, level 1 goes from 1950 ns, 0.394 to 1700 ns, 0.362. The larger table must not be
///   copied for each block, as zstd does for blocks of 8 KB and more. With an attached table, level
///   1 in 16 KB blocks takes 2000 ns a row, writing included, instead of 2500;
/// - level 4 is like level 3 but takes twice the time (3500 ns, 0.348). Greedy matching over rows
///   of 16 slots makes it 4000 ns, 0.333, between 3 (2000 ns, 0.349) and 6 (8200 ns, 0.326).
fn for_dictionary(level: i32) -> &'static [CParameter] {
    match level {
        1 | 2 => &[CParameter::HashLog(16), CParameter::ForceAttachDict(DictAttachPref::ForceAttach)],
        4 => &[
            CParameter::Strategy(Strategy::ZSTD_greedy),
            CParameter::SearchLog(3),
            CParameter::UseRowMatchFinder(ParamSwitch::Enable),
        ],
        _ => &[],
    }
}

/// A context that decompresses bare frames.
pub(crate) fn new_decoder() -> Option<DCtx<'static>> {
    let mut context = DCtx::try_create()?;
    context.set_parameter(DParameter::Format(FrameFormat::Magicless)).ok()?;
    Some(context)
}
