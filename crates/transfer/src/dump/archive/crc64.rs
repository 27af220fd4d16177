//! CRC-64 with the polynomial of ECMA-182, reflected, as Go's `hash/crc64` computes it. The last block of each
//! collection holds the CRC-64 of its documents, written by mongodump.

/// The polynomial, reflected.
const POLYNOMIAL: u64 = 0xc96c_5795_d787_0f42;

/// Table `n` has the checksum of each byte followed by `n` zero bytes.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u64, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[table - 1][byte];
            tables[table][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// A checksum of bytes that are added in parts.
#[derive(Default, Clone, Copy)]
pub(super) struct Crc64(u64);

impl Crc64 {
    pub fn add(&mut self, bytes: &[u8]) {
        let mut crc = !self.0;
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            let mixed = (crc ^ u64::from_le_bytes(*word)).to_le_bytes();
            crc = TABLES.iter().rev().zip(mixed).fold(0, |crc, (table, byte)| crc ^ table[usize::from(byte)]);
        }
        for byte in rest {
            crc = crc >> 8 ^ TABLES[0][usize::from(crc as u8 ^ byte)];
        }
        self.0 = !crc;
    }

    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests;
