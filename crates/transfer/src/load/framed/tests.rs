use super::*;
use proptest::prelude::*;
use std::io;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A source that returns a few bytes at a time.
struct Dribble {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
}

impl Read for Dribble {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let len = rest.len().min(buffer.len()).min(self.piece);
        buffer[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

impl Source for Dribble {}

/// The result of an input: its records (whole slices, for a format that is not cut into records), their positions, and
/// the format error.
#[derive(Debug, Default, PartialEq)]
struct Found {
    records: Vec<String>,
    places: Vec<(u64, u64)>,
    broken: Option<BrokenPlace>,
}

const COMMAS: super::super::rows::Dialect = super::super::rows::Dialect { separator: b',', has_quotes: true };

/// The maximum size of a record in these tests, in bytes.
const RECORD_MAX: usize = 1 << 20;

fn slices(bytes: &[u8], framing: Box<dyn Framing>, slice_bytes: usize) -> Vec<Slice> {
    let source = Box::new(Dribble { bytes: bytes.to_vec(), at: 0, piece: 7 });
    let start = Start { offset: 0, column: 0 };
    let limits = SliceLimits { slice_bytes, record_max: RECORD_MAX };
    let mut slicer = FramedSlicer::new(source, framing, Vec::new(), start, limits);
    let mut found = Vec::new();
    while let Some(slice) = slicer.next(&mut |_| true) {
        found.push(slice);
    }
    found
}

fn json(text: &str, outer: Outer, slice_bytes: usize) -> Found {
    let mut found = Found::default();
    let mut line = 0;
    for slice in slices(text.as_bytes(), Box::new(JsonFraming::new(outer, true)), slice_bytes) {
        for cut in &slice.cuts {
            let (lines, column) = place_after(&slice.bytes[..cut.start], slice.column);
            found.places.push((line + lines + 1, column + 1));
            found.records.push(String::from_utf8(slice.bytes[cut.start..cut.end].to_vec()).unwrap());
        }
        if let Some(broken) = slice.broken {
            found.broken = Some(BrokenPlace { line: line + broken.line + 1, ..broken });
        }
        line += place_after(&slice.bytes, 0).0;
    }
    found
}

fn whole(text: &str, outer: Outer) -> Vec<String> {
    let found = json(text, outer, 1000);
    assert_eq!(found.broken, None, "{text}");
    found.records
}

#[test]
fn elements_of_an_array() {
    assert_eq!(whole("[]", Outer::Array), [""; 0]);
    assert_eq!(
        whole(" [ {\"a\":\"]\\\"\"} , [1,[2]],\n3,\"x,]\", true ] \n", Outer::Array),
        ["{\"a\":\"]\\\"\"}", "[1,[2]]", "3", "\"x,]\"", "true"]
    );
    assert_eq!(whole("\u{feff}[1]", Outer::Array), ["1"]);
}

#[test]
fn fields_of_an_object() {
    assert_eq!(whole("{}", Outer::Object), [""; 0]);
    assert_eq!(
        whole("{\"a\" : {\"b\":1} ,\"c\\\"\":2,\"\":\"x\"}", Outer::Object),
        ["\"a\" : {\"b\":1}", "\"c\\\"\":2", "\"\":\"x\""]
    );
}

#[test]
fn objects_one_after_the_other() {
    assert_eq!(whole("", Outer::Nothing), [""; 0]);
    assert_eq!(whole("{\n\"a\": 1\n}\n{}{}  12", Outer::Nothing), ["{\n\"a\": 1\n}", "{}", "{}", "12"]);
}

#[test]
fn what_is_not_well_formed_is_named_by_line_and_column() {
    let cases = [
        ("{}", Outer::Array, 1, 1, "expected ["),
        ("\n [1 2]", Outer::Array, 2, 5, "expected a comma or the end of the array"),
        ("[1,]", Outer::Array, 1, 4, "expected a value"),
        ("[,1]", Outer::Array, 1, 2, "expected a value"),
        ("[1}", Outer::Array, 1, 3, "expected a comma"),
        ("[1]\n]", Outer::Array, 2, 1, "there is more"),
        ("[\"é\", {\"a\":", Outer::Array, 1, 12, "too early"),
        ("[", Outer::Array, 1, 2, "too early"),
        ("", Outer::Array, 1, 1, "too early"),
        ("[]", Outer::Object, 1, 1, "expected {"),
        ("{a:1}", Outer::Object, 1, 2, "field name"),
        ("{\"a\" 1}", Outer::Object, 1, 6, "a colon"),
        ("{\"a\":}", Outer::Object, 1, 6, "expected a value"),
        ("{} ,", Outer::Nothing, 1, 4, "expected a value"),
        ("{", Outer::Nothing, 1, 2, "too early"),
    ];
    for (text, outer, line, column, reason) in cases {
        for slice_bytes in [1, 2, 1000] {
            let found = json(text, outer, slice_bytes).broken.unwrap_or_else(|| panic!("{text} is not refused"));
            assert_eq!((found.line, found.column), (line, column), "{text}: {found:?}");
            assert!(found.reason.contains(reason), "{text}: {found:?}");
        }
    }
}

#[test]
fn a_load_goes_on_behind_before_or_at_an_element() {
    for rest in [",2]", " 2 ]", "2]", "\n,\n2]"] {
        let framing = Box::new(JsonFraming::new(Outer::Array, false));
        let slices = slices(rest.as_bytes(), framing, 100);
        let cut = slices[0].cuts[0];
        assert_eq!(&slices[0].bytes[cut.start..cut.end], b"2", "{rest}");
        assert_eq!(slices.last().and_then(|slice| slice.broken.clone()), None);
    }
}

proptest! {
    #[test]
    fn slices_of_any_size_give_the_same(
        elements in prop::collection::vec("(\\{\"[a\"\\\\\\\\\\]\\[é]{0,3}\":[0-9]\\}|[0-9]{1,3}|\"[a-c,é]{0,4}\"|\\[\n?\\])[\n ]{0,2}", 0..12),
        slice_bytes in 1usize..20,
        cut in 0usize..200,
    ) {
        let mut text = format!("[{}]", elements.join(","));
        if let Some((at, _)) = text.char_indices().nth(cut) {
            text.truncate(at);
        }
        for outer in [Outer::Array, Outer::Nothing] {
            prop_assert_eq!(json(&text, outer, slice_bytes), json(&text, outer, 10_000));
        }
    }

    #[test]
    fn rows_end_where_the_reader_of_rows_says(
        text in "([a\",\r\n\t]|\"\"|,\"){0,40}",
        slice_bytes in 1usize..20,
    ) {
        let rows = |bytes: &[u8]| -> Vec<::csv::ByteRecord> {
            let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
            reader.byte_records().map(|row| row.unwrap()).collect()
        };
        let slices = slices(text.as_bytes(), Box::new(CsvFraming::new(COMMAS)), slice_bytes);
        let broken = slices.last().and_then(|slice| slice.broken.clone());
        let mut all: Vec<u8> = slices.iter().flat_map(|slice| slice.bytes.clone()).collect();
        let found: Vec<_> = slices.iter().flat_map(|slice| rows(&slice.bytes)).collect();
        if broken.is_none() {
            prop_assert_eq!(&all, text.as_bytes());
        } else {
            // In the reader, a field with an open quote ends at the end of the text.
            let at = text.len() - all.len();
            prop_assert!(text[text.len() - at..].contains('"'));
            all.extend_from_slice(b"");
        }
        prop_assert_eq!(found, rows(&all));
    }

    #[test]
    fn any_bytes_are_cut_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), slice_bytes in 1usize..40) {
        // Each framing with the brackets around all records, which need not be part of any slice.
        type Make = fn() -> Box<dyn Framing>;
        let framings: [(Make, &str); 5] = [
            (|| Box::new(JsonFraming::new(Outer::Array, true)), "[]"),
            (|| Box::new(JsonFraming::new(Outer::Object, false)), "}"),
            (|| Box::new(JsonFraming::new(Outer::Nothing, true)), ""),
            (|| Box::new(CsvFraming::new(COMMAS)), ""),
            (|| Box::new(BsonFraming::default()), ""),
        ];
        for (framing, marks) in framings {
            let slices = slices(&bytes, framing(), slice_bytes);
            let mut offset = 0;
            for slice in &slices {
                prop_assert_eq!(slice.offset, offset);
                offset += slice.bytes.len() as u64;
            }
            let broken = slices.last().is_some_and(|slice| slice.broken.is_some());
            // White space after the last record need not be part of any slice either.
            let rest = &bytes[(offset as usize).min(bytes.len())..];
            let empty = |byte: &u8| byte.is_ascii_whitespace() || marks.as_bytes().contains(byte);
            prop_assert!(broken || rest.iter().all(empty), "{:?}", rest);
        }
    }
}

#[test]
fn the_place_of_an_open_quote_is_told_whatever_the_slices() {
    for slice_bytes in [1, 3, 10, 1000] {
        let slices = slices(b"a\n\"b\"\nc,\"d\ne\n", Box::new(CsvFraming::new(COMMAS)), slice_bytes);
        let before = &slices[..slices.len() - 1];
        let lines: u64 = before.iter().map(|slice| place_after(&slice.bytes, 0).0).sum();
        let broken = slices.last().and_then(|slice| slice.broken.clone()).unwrap();
        assert_eq!((lines + broken.line, broken.column), (2, 3), "{slice_bytes}");
    }
}

#[test]
fn bson_documents_are_counted() {
    let mut bytes = Vec::new();
    for n in 0..3 {
        alluvium_document::bson::encode_document(&[("n", n)].into_iter().collect(), &mut bytes).unwrap();
    }
    let len = bytes.len();
    bytes.extend_from_slice(&[4, 0, 0, 0, 0]);
    let cut = &bytes[..len - 1];
    for (bytes, reason, documents) in [(&bytes[..], "length would be 4", 3), (cut, "ends within", 2)] {
        for slice_bytes in [1, 30, 1000] {
            let slices = slices(bytes, Box::new(BsonFraming::default()), slice_bytes);
            let broken = slices.last().and_then(|slice| slice.broken.clone()).unwrap();
            let whole: u64 = slices.iter().map(|slice| documents_in(&slice.bytes)).sum();
            assert_eq!(whole, documents);
            assert!(broken.reason.contains(reason), "{broken:?}");
        }
    }
}

#[test]
fn a_load_that_ends_behind_the_last_element_finds_the_end_again() {
    for (text, outer) in [("[{\"a\":1}, {\"a\":2} ]\n", Outer::Array), ("{\"x\":{}, \"y\":{} }\n", Outer::Object)] {
        for slice_bytes in [1, 9, 100] {
            let cut = slices(text.as_bytes(), Box::new(JsonFraming::new(outer, true)), slice_bytes);
            assert!(cut.iter().all(|slice| slice.broken.is_none()));
            let end = cut.iter().map(|slice| slice.bytes.len()).sum::<usize>();
            let rest = slices(&text.as_bytes()[end..], Box::new(JsonFraming::new(outer, false)), slice_bytes);
            assert!(rest.is_empty(), "{slice_bytes}: {:?}", rest[0].broken);
            // A truncated input is refused.
            let open = slices(&text.as_bytes()[end..end], Box::new(JsonFraming::new(outer, false)), slice_bytes);
            assert!(open[0].broken.is_some());
        }
    }
}

/// An endless source of `x`, which counts the bytes that were read.
struct Endless(Arc<AtomicUsize>);

impl Read for Endless {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        buf.fill(b'x');
        self.0.fetch_add(buf.len(), Ordering::Relaxed);
        Ok(buf.len())
    }
}

impl Source for Endless {}

#[test]
fn a_record_without_an_end_is_refused_at_its_limit() {
    let limits = SliceLimits { slice_bytes: 1000, record_max: 100_000 };
    let read = Arc::new(AtomicUsize::new(0));
    let mut lines = Slicer::new(Box::new(Endless(read.clone())), 0, limits).unwrap();
    let refused = lines.next(&mut |_| true).unwrap();
    assert!(refused.unread.unwrap().contains("a line of over 100000 bytes begins at byte 0"));
    assert_eq!((read.swap(0, Ordering::Relaxed), refused.bytes.capacity()), (100_001, 0));
    assert!(lines.next(&mut |_| true).is_none());

    let start = Start { offset: 0, column: 0 };
    let framing = Box::new(CsvFraming::new(COMMAS));
    let mut records = FramedSlicer::new(Box::new(Endless(read.clone())), framing, Vec::new(), start, limits);
    let refused = records.next(&mut |_| true).unwrap();
    assert!(refused.broken.unwrap().reason.contains("the next document has over 100000 bytes"));
    assert_eq!(read.load(Ordering::Relaxed), 100_001);

    let small = SliceLimits::of_memory(8 << 20);
    assert_eq!((small.record_max, SliceLimits::of_memory(8 << 30).record_max), (32 << 20, 128 << 20));
}
