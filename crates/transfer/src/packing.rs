//! Compression of files of loads, exports and dumps.

use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Compressed bytes are read and written in pieces of this size.
const PIECE_BYTES: usize = 256 << 10;
/// Dumps are often compressed with `zstd --long=31`, which needs a window of 2 GiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;
/// Zstandard's own default.
const ZSTD_LEVEL: i32 = 3;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not compressed.
    Plain,
    /// gzip, with one member or several.
    Gzip,
    /// Zstandard, with one frame or several.
    Zstd,
}

impl Packing {
    /// [`Packing::of`] examines this many bytes at the beginning of a file.
    pub const HEAD_BYTES: usize = 4;

    /// Determines the compression by the suffix of the file name: `.gz`, `.zst`, `.zstd`.
    ///
    /// ```
    /// use alluvium::Packing;
    ///
    /// assert_eq!(Packing::of_name("pets.jsonl.gz".as_ref()), Packing::Gzip);
    /// assert_eq!(Packing::of_name("pets.jsonl".as_ref()), Packing::Plain);
    /// ```
    pub fn of_name(name: &Path) -> Self {
        let extension = name.extension().unwrap_or_default().to_ascii_lowercase();
        match extension.to_str() {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Determines the compression by the first bytes of the file, or by its name if they match no
    /// compression. Therefore a damaged compressed file is reported as a decompression error and
    /// not as an error of its content.
    ///
    /// ```
    /// use alluvium::Packing;
    ///
    /// let zstd = [0x28, 0xb5, 0x2f, 0xfd]; // whatever the name says
    /// assert_eq!(Packing::of("pets.jsonl".as_ref(), &zstd), Packing::Zstd);
    /// ```
    pub fn of(name: &Path, head: &[u8]) -> Self {
        if head.starts_with(ZSTD_MAGIC) {
            return Self::Zstd;
        }
        if head.starts_with(GZIP_MAGIC) {
            return Self::Gzip;
        }
        Self::of_name(name)
    }

    /// Returns a reader that decompresses a stream.
    ///
    /// ```
    /// use alluvium::Packing;
    /// use std::io::{Read, Write};
    ///
    /// let mut packer = Packing::Gzip.writer(Vec::new())?;
    /// packer.write_all(b"text")?;
    /// let packed = std::io::Cursor::new(packer.finish()?);
    /// let mut text = String::new();
    /// Packing::Gzip.reader(packed)?.read_to_string(&mut text)?;
    /// assert_eq!(text, "text");
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// If the decompressor cannot be set up.
    pub fn reader(self, packed: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        let packed = BufReader::with_capacity(PIECE_BYTES, packed);
        Ok(match self {
            Self::Plain => Box::new(packed),
            Self::Gzip => Box::new(Unpacked { inner: GzipMembers::new(packed), form: "gzip", bytes: 0 }),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
                Box::new(Unpacked { inner: decoder, form: "zstd", bytes: 0 })
            }
        })
    }

    /// Returns a writer that compresses into a stream.
    ///
    /// ```
    /// use alluvium::Packing;
    /// use std::io::Write;
    ///
    /// let mut packer = Packing::Zstd.writer(Vec::new())?;
    /// packer.write_all(b"text")?;
    /// let packed = packer.finish()?;
    /// assert_eq!(Packing::of("".as_ref(), &packed), Packing::Zstd);
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// If the compressor cannot be set up.
    pub fn writer<W: Write>(self, out: W) -> io::Result<Packer<W>> {
        let out = BufWriter::with_capacity(PIECE_BYTES, out);
        Ok(Packer(match self {
            Self::Plain => Form::Plain(out),
            Self::Gzip => Form::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Self::Zstd => Form::Zstd(zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?),
        }))
    }
}

/// Reads the members of a gzip file, one after the other. Other bytes after the last member give an
/// error of their own, which differs from the error for a truncated stream.
struct GzipMembers<R: BufRead> {
    /// `None` at the end.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(packed: R) -> Self {
        Self { member: Some(GzDecoder::new(packed)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { break };
            match rest.fill_buf()? {
                [] => break,
                [0x1f] | [0x1f, 0x8b, ..] => self.member = Some(GzDecoder::new(rest)),
                _ => {
                    let what =
                        "bytes that are not gzip follow the end of its gzip stream: the data before them is complete";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
        Ok(0)
    }
}

/// A decompressing reader that reports a truncated stream.
struct Unpacked<R> {
    inner: R,
    form: &'static str,
    /// Decompressed bytes returned so far.
    bytes: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let what = format!("it ends early: its {} stream is truncated after", self.form);
                io::Error::new(io::ErrorKind::UnexpectedEof, format!("{what} {} decompressed bytes", self.bytes))
            }
            _ => error,
        })?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// A compressing writer. Its output is complete only after [`finish`](Packer::finish).
pub struct Packer<W: Write>(Form<W>);

enum Form<W: Write> {
    Plain(BufWriter<W>),
    Gzip(GzEncoder<BufWriter<W>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<W>>),
}

impl<W: Write> Packer<W> {
    /// Writes the rest and returns the underlying stream.
    ///
    /// ```
    /// let packer = alluvium::Packing::Plain.writer(Vec::new())?;
    /// assert!(packer.finish()?.is_empty());
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for writes to the underlying stream.
    pub fn finish(self) -> io::Result<W> {
        let buffered = match self.0 {
            Form::Plain(out) => out,
            Form::Gzip(out) => out.finish()?,
            Form::Zstd(out) => out.finish()?,
        };
        buffered.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl<W: Write> Write for Packer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Form::Plain(out) => out.write(bytes),
            Form::Gzip(out) => out.write(bytes),
            Form::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Form::Plain(out) => out.flush(),
            Form::Gzip(out) => out.flush(),
            Form::Zstd(out) => out.flush(),
        }
    }
}

#[cfg(test)]
mod tests;
