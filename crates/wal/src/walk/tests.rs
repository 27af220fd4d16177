use super::*;
use crate::{Options, Wal};

type Records = Vec<(Seq, Vec<u8>)>;

fn log_of(env: &Env, first: Seq, count: u64) -> Records {
    let dir = Path::new("wal");
    env.fs.create_dir_all(dir).unwrap();
    let options = Options { segment_bytes: 9 << 10, ..Options::new(7) };
    let log = Wal::begin(env, dir, options, first).unwrap();
    let mut written = Vec::new();
    for n in 0..count {
        let payload = vec![n as u8; 100];
        log.append(&[Record::new(first + n, first + n, &payload)]).unwrap();
        written.push((first + n, payload));
    }
    log.close().unwrap();
    written
}

fn read(env: &Env, from: Seq) -> Result<(Records, Seq)> {
    let mut found = Vec::new();
    let last = read_whole(env, Path::new("wal"), 7, from, &mut |record| {
        found.push((record.first_seq, record.payload.to_vec()));
        Ok(())
    })?;
    Ok((found, last))
}

fn edit(env: &Env, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let file = env.fs.open(path, OpenMode::ReadWrite).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    change(&mut bytes);
    file.set_len(bytes.len() as u64).unwrap();
    file.write_at(&bytes, 0).unwrap();
}

#[test]
fn what_was_written_is_read_from_any_number_on() {
    let env = Env::in_memory(1);
    let written = log_of(&env, 40, 30);
    assert!(list_segments(&env, Path::new("wal")).unwrap().len() > 2);
    assert_eq!(read(&env, 0).unwrap(), (written.clone(), 69));
    assert_eq!(read(&env, 55).unwrap(), (written[15..].to_vec(), 69));
}

#[test]
fn every_flipped_byte_of_a_group_is_a_gap_or_a_tail_and_never_another_record() {
    let env = Env::in_memory(1);
    let written = log_of(&env, 1, 30);
    let (_, path) = list_segments(&env, Path::new("wal")).unwrap().remove(0);
    let len = env.fs.open(&path, OpenMode::Read).unwrap().len().unwrap();
    for at in GROUPS_AT..len {
        edit(&env, &path, |bytes| bytes[at as usize] ^= 0x10);
        let mut seen = Vec::new();
        let walk = Walk { number: 1, ..Walk::default() };
        let found = walk_segment(&env, &path, walk, &mut |group| {
            seen.extend(group.records.iter().map(|r| (r.first_seq, r.payload.to_vec())));
            Ok(())
        });
        let found = found.unwrap();
        assert!(found.gaps.len() == 1 || found.tail.is_some(), "offset {at}");
        assert!(seen.iter().all(|record| written.contains(record)), "offset {at}");
        assert!(read(&env, 0).is_err(), "offset {at}");
        edit(&env, &path, |bytes| bytes[at as usize] ^= 0x10);
    }
    assert!(read(&env, 0).is_ok());
}

#[test]
fn a_missing_segment_is_named() {
    let env = Env::in_memory(1);
    log_of(&env, 1, 30);
    let (_, path) = list_segments(&env, Path::new("wal")).unwrap().remove(1);
    env.fs.remove(&path).unwrap();
    assert!(read(&env, 0).unwrap_err().to_string().contains("does not continue"));
}

#[test]
fn the_log_is_read_back_while_it_is_written() {
    let env = Env::in_memory(1);
    let dir = Path::new("live");
    env.fs.create_dir_all(dir).unwrap();
    let options = Options { segment_bytes: 9 << 10, ..Options::new(7) };
    let log = Wal::begin(&env, dir, options, 1).unwrap();
    for n in 1..=40u64 {
        log.append(&[Record::new(n, n, &[n as u8; 90])]).unwrap();
        for from in [1, n / 2, n] {
            let mut seen = Vec::new();
            log.read_back(from, n, &mut |record| {
                seen.push(record.first_seq);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, (from.max(1)..=n).collect::<Vec<_>>());
        }
    }
    assert!(log.read_back(1, 41, &mut |_| Ok(())).is_err());
}
