//! Decoding columns to packed entries: the bytes that a builder packs.

use super::form::{MAX_PARTS, Part};
use super::numbers::{POWERS, SIGN, bits_of};
use super::{MAX_CONTENT, MAX_KEY, NUMBER_BITS, integers};
use crate::block::{MAX_ENTRIES, Packer, WORD};
use alluvium_codec::entry::MAX_SEQ;
use alluvium_codec::{DecodeError, Result, key, varint};

/// The values of a part, ready to be assembled.
enum Values {
    /// The same bytes in all keys.
    Same(Vec<u8>),
    /// The low bytes of each value, big-endian. The second field is the number of these bytes.
    Fixed(Lead, usize, Vec<i64>),
    /// Bits of doubles, and a mask of the bits that are inverted in the key.
    Numbers(Lead, Vec<i64>, u128),
    /// Byte strings.
    Bytes(Texts),
}

/// Bytes before each value of a part: the highest `len` bytes of `word`.
#[derive(Clone, Copy, Default)]
struct Lead {
    word: u128,
    len: usize,
}

/// The longest lead. A number has nine bytes, and both must fit into one word.
const MAX_LEAD: usize = 6;

impl Lead {
    /// The lead that consists of these bytes; `None` if they are too many.
    fn before(bytes: &[u8]) -> Option<Self> {
        let mut word = [0; 16];
        word[..bytes.len().min(MAX_LEAD)].copy_from_slice(bytes.get(..bytes.len().min(MAX_LEAD))?);
        (bytes.len() <= MAX_LEAD).then_some(Self { word: u128::from_be_bytes(word), len: bytes.len() })
    }

    /// The lead, followed by the highest bytes of `word`.
    #[inline(always)]
    fn with(&self, word: u128) -> [u8; 16] {
        (self.word | word >> (8 * self.len)).to_be_bytes()
    }
}

/// A column of byte strings, read in order.
struct Texts {
    fresh: Vec<i64>,
    /// For each string that differs from the previous one: the length that it shares with the
    /// previous one, and the number of bytes that follow.
    lens: std::vec::IntoIter<(usize, usize)>,
    /// The offset in the text of the bytes of the next string.
    at: usize,
    /// The bytes that end each string.
    end: &'static [u8],
    /// The current string, including the end.
    current: Vec<u8>,
}

/// Turns columns into packed entries; keeps buffers between blocks.
#[derive(Default)]
pub(crate) struct ColumnDecoder {
    packer: Packer,
    key: KeyBuffer,
    last: KeyBuffer,
    heads: Vec<bool>,
    /// Buffers of earlier columns, for reuse.
    spare: Vec<Vec<i64>>,
}

/// Buffers with more numbers than the first limit, and buffers beyond the second, are released.
const KEPT_NUMBERS: usize = 4 << 10;
const KEPT_BUFFERS: usize = 32;

/// Bytes after the longest key, so that keys can be written and compared in words.
const SLACK: usize = 64;

/// A key that is being assembled, with room after it.
struct KeyBuffer {
    bytes: Box<[u8]>,
    len: usize,
}

impl Default for KeyBuffer {
    fn default() -> Self {
        Self { bytes: vec![0; MAX_KEY + SLACK].into(), len: 0 }
    }
}

impl KeyBuffer {
    /// Appends the first `len` of some bytes, which fit into [`SLACK`].
    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N], len: usize) -> Option<()> {
        self.bytes.get_mut(self.len..self.len + N)?.copy_from_slice(&bytes);
        self.len += len;
        Some(())
    }

    #[inline(always)]
    fn put_slice(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.len..self.len + bytes.len())?.copy_from_slice(bytes);
        self.len += bytes.len();
        Some(())
    }

    fn key(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The length of the common prefix; the first `known` bytes are known to be equal.
    #[inline(always)]
    fn common(&self, other: &Self, known: usize) -> usize {
        let most = self.len.min(other.len);
        let mut at = known / WORD * WORD;
        for (a, b) in self.bytes[at..].chunks_exact(WORD).zip(other.bytes[at..].chunks_exact(WORD)) {
            let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let differ = word(a) ^ word(b);
            if differ != 0 {
                at += (differ.trailing_zeros() / 8) as usize;
                break;
            }
            at += WORD;
            if at >= most {
                break;
            }
        }
        at.min(most)
    }
}

/// The parsed head of a block of columns.
struct Head {
    count: usize,
    restart_log: u8,
    parts: Vec<Values>,
    kinds: Vec<i64>,
    value_lens: Vec<i64>,
    seqs: Vec<i64>,
    /// The bytes of text that belong to the parts.
    text_len: usize,
}

/// The length of the head at the front of `body`, including the bytes that encode the length.
///
/// # Errors
/// [`DecodeError`] if the body ends within it.
pub(crate) fn head_len(body: &[u8]) -> Result<usize> {
    let mut input = body;
    let len = varint::get_bytes(&mut input)?.len();
    Ok(varint::len_u64(len as u64) + len)
}

impl ColumnDecoder {
    /// Appends the packed entries to `out`. `head` has the length that [`head_len`] returns; `text`
    /// is the decompressed rest of the body.
    ///
    /// # Errors
    /// [`DecodeError`] if these are not columns of entries in order.
    pub(crate) fn decode(&mut self, head: &[u8], text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut input = head;
        let mut inner = varint::get_bytes(&mut input)?;
        if !input.is_empty() {
            return Err(DecodeError::Invalid("the length of a head"));
        }
        let mut head = self.head(&mut inner)?;
        if !inner.is_empty() {
            return Err(DecodeError::Invalid("more bytes than columns"));
        }
        let (texts, values) = text.split_at_checked(head.text_len).ok_or(DecodeError::Truncated)?;
        self.check(&head, values)?;
        self.put_keys(&mut head, texts)?;
        let prefix = &self.last.key()[..self.packer.prefix_len()];
        self.packer.put(prefix, head.restart_log, values, out);
        self.spare.extend([head.kinds, head.value_lens, head.seqs]);
        self.spare.extend(head.parts.into_iter().filter_map(Values::into_buffer));
        self.spare.retain(|buffer| buffer.capacity() <= KEPT_NUMBERS);
        self.spare.truncate(KEPT_BUFFERS);
        self.packer.shrink();
        Ok(())
    }

    fn head(&mut self, input: &mut &[u8]) -> Result<Head> {
        let count = varint::get_u64(input)?;
        let invalid = DecodeError::Invalid("the head of columns");
        let (&[restart_log, parts], rest) = input.split_first_chunk().ok_or(DecodeError::Truncated)?;
        *input = rest;
        if !(1..=MAX_ENTRIES as u64).contains(&count) || restart_log > 10 || usize::from(parts) > MAX_PARTS {
            return Err(invalid);
        }
        let count = count as usize;
        let form = (0..parts).map(|_| Part::get(input)).collect::<Result<Vec<Part>>>()?;
        self.heads.clear();
        self.heads.resize(count, false);
        let (heads, spare) = (&mut self.heads, &mut self.spare);
        let mut columns = Columns { count, heads, earlier: Vec::new(), text_len: 0, spare };
        let mut parts: Vec<Prepared> = Vec::with_capacity(form.len());
        for part in &form {
            parts.push(columns.get(*part, input)?);
        }
        let mut alone = || -> Result<Vec<i64>> {
            let mut values = columns.spare.pop().unwrap_or_default();
            integers::get(input, count, &columns.earlier, None, &mut values)?;
            Ok(values)
        };
        let (kinds, value_lens, seqs) = (alone()?, alone()?, alone()?);
        let text_len = columns.text_len;
        let mut earlier: Vec<Option<Vec<i64>>> = columns.earlier.into_iter().map(Some).collect();
        let mut values: Vec<Values> = Vec::with_capacity(parts.len());
        for part in parts {
            let part = part.finish(&mut earlier, &mut self.spare);
            Values::push(&mut values, part);
        }
        Ok(Head { count, restart_log, parts: values, kinds, value_lens, seqs, text_len })
    }

    /// Checks the columns that do not belong to keys, and passes them to the packer.
    fn check(&mut self, head: &Head, values: &[u8]) -> Result<()> {
        let mut sum = 0u64;
        for &len in &head.value_lens {
            sum = sum.saturating_add(len as u64);
        }
        if sum != values.len() as u64 {
            return Err(DecodeError::Invalid("the lengths of values"));
        }
        if head.seqs.iter().any(|&seq| seq as u64 > MAX_SEQ) || head.kinds.iter().any(|&kind| kind as u64 > 0xff) {
            return Err(DecodeError::Invalid("a number or kind of an entry"));
        }
        self.packer.begin(&head.value_lens, &head.kinds, &head.seqs);
        Ok(())
    }

    /// Assembles all keys.
    fn put_keys(&mut self, head: &mut Head, texts: &[u8]) -> Result<()> {
        let too_long = DecodeError::Invalid("the length of a key");
        let (first, parts) = match head.parts.split_first_mut() {
            Some((Values::Same(bytes), rest)) => (std::mem::take(bytes), rest),
            _ => (Vec::new(), &mut head.parts[..]),
        };
        for buffer in [&mut self.key, &mut self.last] {
            buffer.len = 0;
            buffer.put_slice(&first).ok_or(too_long)?;
        }
        let mask = (1usize << head.restart_log) - 1;
        for index in 0..head.count {
            std::mem::swap(&mut self.key, &mut self.last);
            self.key.len = first.len();
            for part in &mut *parts {
                part.put(index, texts, &mut self.key)?;
            }
            let common = if index == 0 { 0 } else { self.last.common(&self.key, first.len()) };
            if self.key.len > MAX_KEY {
                return Err(too_long);
            }
            if index > 0 && !in_order(self.last.key(), self.key.key(), common, &head.seqs[index - 1..]) {
                return Err(DecodeError::Invalid("entries out of order"));
            }
            if self.packer.put_key(&self.key.bytes, self.key.len, common, index & mask == 0) > MAX_CONTENT {
                return Err(DecodeError::Invalid("the length of the keys"));
            }
        }
        std::mem::swap(&mut self.key, &mut self.last);
        Ok(())
    }
}

/// True if the entry with `key` is after the entry with `last`; the keys share `common` bytes.
#[inline(always)]
fn in_order(last: &[u8], key: &[u8], common: usize, seqs: &[i64]) -> bool {
    match (last.get(common), key.get(common)) {
        (None, Some(_)) => true,
        (Some(last), Some(next)) => last < next,
        (None, None) => seqs[0] > seqs[1],
        (Some(_), None) => false,
    }
}

/// The columns of the head while it is read.
struct Columns<'a> {
    count: usize,
    heads: &'a mut [bool],
    /// Columns that later ones may refer to.
    earlier: Vec<Vec<i64>>,
    text_len: usize,
    spare: &'a mut Vec<Vec<i64>>,
}

/// A column of integers. It is stored among the earlier columns, or here if all values are equal.
enum Kept {
    Earlier(usize),
    Same(i64),
}

/// A part whose integers are still needed, because other columns refer to them.
enum Prepared {
    Ready(Values),
    Fixed { len: usize, flip: u64, of: Kept },
    Numbers { flipped: bool, of: Kept, scaled: Option<(usize, Vec<i64>)> },
}

impl Columns<'_> {
    fn get(&mut self, part: Part, input: &mut &[u8]) -> Result<Prepared> {
        Ok(match part {
            Part::Literal(byte) => Prepared::Ready(Values::Same(vec![byte])),
            Part::Fixed(len) => Prepared::Fixed { len: usize::from(len), flip: 0, of: self.integers(input)? },
            Part::Signed => Prepared::Fixed { len: 8, flip: SIGN, of: self.integers(input)? },
            Part::Number { flipped } => self.numbers(flipped, input)?,
            Part::Text { flipped: false } => Prepared::Ready(Values::Bytes(self.texts(input, &[0, 1])?)),
            Part::Text { flipped: true } => Prepared::Ready(Values::Bytes(self.texts(input, &[0xff, 0xfe])?)),
            Part::Bytes(_) => Prepared::Ready(Values::Bytes(self.texts(input, &[])?)),
        })
    }

    fn integers(&mut self, input: &mut &[u8]) -> Result<Kept> {
        let mut values = self.spare.pop().unwrap_or_default();
        integers::get(input, self.count, &self.earlier, Some(self.heads), &mut values)?;
        Ok(self.keep(values))
    }

    /// Marks the entries that differ from the previous one, and stores a column unless all its
    /// values are equal, as the encoder does.
    fn keep(&mut self, values: Vec<i64>) -> Kept {
        let mut differ = false;
        for (head, pair) in self.heads[1..].iter_mut().zip(values.windows(2)) {
            let differs = pair[0] != pair[1];
            *head |= differs;
            differ |= differs;
        }
        if !differ {
            let value = values[0];
            self.spare.push(values);
            return Kept::Same(value);
        }
        self.earlier.push(values);
        Kept::Earlier(self.earlier.len() - 1)
    }

    fn numbers(&mut self, flipped: bool, input: &mut &[u8]) -> Result<Prepared> {
        let (&power, rest) = input.split_first().ok_or(DecodeError::Truncated)?;
        *input = rest;
        if power == NUMBER_BITS {
            return Ok(Prepared::Numbers { flipped, of: self.integers(input)?, scaled: None });
        }
        if usize::from(power) >= POWERS.len() {
            return Err(DecodeError::Invalid("a power of ten"));
        }
        let mut buffer = || self.spare.pop().unwrap_or_default();
        let (mut integers, mut beside) = (buffer(), buffer());
        integers::get(input, self.count, &self.earlier, Some(self.heads), &mut integers)?;
        integers::get(input, self.count, &[], None, &mut beside)?;
        for (head, pair) in self.heads[1..].iter_mut().zip(beside.windows(2)) {
            *head |= pair[0] != pair[1];
        }
        let of = self.keep(integers);
        Ok(Prepared::Numbers { flipped, of, scaled: Some((usize::from(power), beside)) })
    }

    fn texts(&mut self, input: &mut &[u8], end: &'static [u8]) -> Result<Texts> {
        let mut get = |count: usize| -> Result<Vec<i64>> {
            let mut values = self.spare.pop().unwrap_or_default();
            integers::get(input, count, &[], None, &mut values)?;
            Ok(values)
        };
        let fresh = get(self.count)?;
        if fresh[0] != 1 || fresh.iter().any(|&fresh| fresh as u64 > 1) {
            return Err(DecodeError::Invalid("a column of bytes"));
        }
        let count = fresh.iter().sum::<i64>() as usize;
        let (shared, more) = (get(count)?, get(count)?);
        let at = self.text_len;
        let (mut lens, mut before) = (Vec::with_capacity(count), 0);
        for (&shared, &more) in shared.iter().zip(&more) {
            if !(0..=before).contains(&shared)
                || !(0..=MAX_KEY as i64).contains(&more)
                || shared + more > MAX_KEY as i64
            {
                return Err(DecodeError::Invalid("the lengths of a column of bytes"));
            }
            before = shared + more;
            self.text_len += more as usize;
            lens.push((shared as usize, more as usize));
        }
        for (head, fresh) in self.heads[1..].iter_mut().zip(&fresh[1..]) {
            *head |= *fresh != 0;
        }
        self.spare.extend([shared, more]);
        Ok(Texts { fresh, lens: lens.into_iter(), at, end, current: Vec::new() })
    }
}

impl Prepared {
    /// Takes the integers out of the earlier columns, when no other column refers to them any more.
    fn finish(self, earlier: &mut [Option<Vec<i64>>], spare: &mut Vec<Vec<i64>>) -> Values {
        let mut take = |of: usize| earlier.get_mut(of).and_then(Option::take).unwrap_or_default();
        match self {
            Self::Ready(values) => values,
            Self::Fixed { len, flip, of: Kept::Same(value) } => {
                Values::Same((value as u64 ^ flip).to_be_bytes()[8 - len..].to_vec())
            }
            Self::Fixed { len, flip, of: Kept::Earlier(of) } => {
                let mut values = take(of);
                if flip != 0 {
                    values.iter_mut().for_each(|value| *value ^= flip as i64);
                }
                Values::Fixed(Lead::default(), len, values)
            }
            Self::Numbers { flipped, of, scaled } => finish_numbers(flipped, of, scaled, &mut take, spare),
        }
    }
}

fn finish_numbers(
    flipped: bool,
    of: Kept,
    scaled: Option<(usize, Vec<i64>)>,
    take: &mut dyn FnMut(usize) -> Vec<i64>,
    spare: &mut Vec<Vec<i64>>,
) -> Values {
    let mut bits = match (of, &scaled) {
        (Kept::Same(value), Some((_, beside))) => vec![value; beside.len()],
        (Kept::Same(value), None) => vec![value],
        (Kept::Earlier(of), _) => take(of),
    };
    match scaled {
        Some((power, beside)) => {
            for (value, beside) in bits.iter_mut().zip(&beside) {
                let integer = if flipped { value.wrapping_neg() } else { *value };
                *value = bits_of(integer, power, *beside) as i64;
            }
            spare.push(beside);
        }
        None if flipped => bits.iter_mut().for_each(|value| *value = (!*value as u64 ^ SIGN) as i64),
        None => bits.iter_mut().for_each(|value| *value = (*value as u64 ^ SIGN) as i64),
    }
    if bits.iter().all(|value| *value == bits[0]) {
        let mut bytes = Vec::new();
        key::put_number(&mut bytes, bits[0] as u64);
        if flipped {
            bytes.iter_mut().for_each(|byte| *byte = !*byte);
        }
        return Values::Same(bytes);
    }
    Values::Numbers(Lead::default(), bits, if flipped { u128::MAX } else { 0 })
}

impl Values {
    /// Returns the buffer, for another column.
    fn into_buffer(self) -> Option<Vec<i64>> {
        match self {
            Self::Fixed(.., values) | Self::Numbers(_, values, _) => Some(values),
            Self::Bytes(texts) => Some(texts.fresh),
            Self::Same(_) => None,
        }
    }

    /// Adds a part, and joins it to the constant parts before it.
    fn push(parts: &mut Vec<Self>, mut part: Self) {
        let is_first = parts.len() == 1;
        if let Some(Self::Same(before)) = parts.last_mut() {
            match &mut part {
                Self::Same(bytes) => return before.extend_from_slice(bytes),
                Self::Fixed(lead, ..) | Self::Numbers(lead, ..) if !is_first => {
                    if let Some(joined) = Lead::before(before) {
                        *lead = joined;
                        parts.pop();
                    }
                }
                _ => {}
            }
        }
        parts.push(part);
    }

    /// Appends the bytes of entry `index`; called for the entries in order.
    #[inline(always)]
    fn put(&mut self, index: usize, text: &[u8], key: &mut KeyBuffer) -> Result<()> {
        let put = match self {
            Self::Same(bytes) => key.put_slice(bytes),
            Self::Fixed(lead, len, values) => {
                let word = u128::from(values[index] as u64) << (128 - 8 * *len);
                key.put(lead.with(word), lead.len + *len)
            }
            Self::Numbers(lead, bits, flip) => {
                let (word, len) = key::number_bytes(bits[index] as u64);
                key.put(lead.with(word ^ *flip), lead.len + len)
            }
            Self::Bytes(texts) => {
                if texts.fresh[index] != 0 {
                    texts.next(text)?;
                }
                key.put_slice(&texts.current)
            }
        };
        put.ok_or(DecodeError::Invalid("the length of a key"))
    }
}

impl Texts {
    fn next(&mut self, text: &[u8]) -> Result<()> {
        let (shared, more) = self.lens.next().ok_or(DecodeError::Truncated)?;
        let bytes = text.get(self.at..self.at + more).ok_or(DecodeError::Truncated)?;
        self.at += more;
        self.current.truncate(shared);
        self.current.extend_from_slice(bytes);
        self.current.extend_from_slice(self.end);
        Ok(())
    }
}
