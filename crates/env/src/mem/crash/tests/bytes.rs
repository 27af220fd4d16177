//! Which bytes survive.

use super::*;

const S: usize = SECTOR as usize;

#[test]
fn synced_bytes_are_always_there() {
    let fs = MemFs::new();
    let bytes: Vec<u8> = (0..20_000_u32).map(|i| i as u8).collect();
    let file = durable(&fs, "f", &bytes);
    assert_eq!(outcomes(&fs, |fs| read(fs, "f")), [bytes.clone()].into());
    file.write_at(b"later", 30_000).unwrap();
    assert!(outcomes(&fs, |fs| read(fs, "f")[..20_000] == bytes).iter().all(|same| *same));
}

#[test]
fn a_sector_has_any_of_its_versions_and_never_a_mixture() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[0; S]);
    for version in 1..=3 {
        file.write_at(&[version; S], 0).unwrap();
    }
    let wanted = (0..=3).map(|version| vec![version; S]).collect();
    assert_eq!(outcomes(&fs, |fs| read(fs, "f")), wanted);
}

#[test]
fn a_small_write_keeps_its_neighbours_in_the_sector() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", b"........");
    file.write_at(b"ab", 1).unwrap();
    file.write_at(b"cd", 4).unwrap();
    let wanted = [b"........".to_vec(), b".ab.....".to_vec(), b".ab.cd..".to_vec()].into();
    assert_eq!(outcomes(&fs, |fs| read(fs, "f")), wanted, "a later write brings the earlier");
}

#[test]
fn a_write_is_torn_in_any_way_between_sectors() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[0; 3 * S]);
    file.write_at(&[1; 3 * S], 0).unwrap();
    let seen = outcomes(&fs, |fs| {
        let bytes = read(fs, "f");
        bytes.chunks(S).for_each(|sector| assert!(sector.iter().all(|byte| *byte == sector[0])));
        [bytes[0], bytes[S], bytes[2 * S]]
    });
    assert_eq!(seen.len(), 8, "{seen:?}");
}

#[test]
fn writes_are_reordered() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[0; 2 * S]);
    file.write_at(&[1; 10], 0).unwrap();
    file.write_at(&[2; 10], S as u64).unwrap();
    let seen = outcomes(&fs, |fs| (read(fs, "f")[0], read(fs, "f")[S]));
    assert_eq!(seen, [(0, 0), (0, 2), (1, 0), (1, 2)].into());
}

#[test]
fn an_append_leaves_any_length_and_zeros_where_bytes_are_lost() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[9; 10]);
    file.write_at(&[1; 1300], 10).unwrap();
    let seen = outcomes(&fs, |fs| {
        let bytes = read(fs, "f");
        assert!(bytes[..10].iter().all(|byte| *byte == 9));
        assert!(bytes[10..].iter().all(|byte| *byte <= 1));
        (bytes.len(), bytes.get(10).copied(), bytes.get(600).copied(), bytes.last().copied())
    });
    let lengths: BTreeSet<usize> = seen.iter().map(|outcome| outcome.0).collect();
    assert_eq!(lengths, [10, S, 2 * S, 1310].into());
    assert!(seen.contains(&(1310, Some(0), Some(1), Some(0))), "the long one with bytes lost");
    assert!(seen.contains(&(1310, Some(1), Some(1), Some(1))), "all of it");
}

#[test]
fn bytes_past_the_surviving_length_never_come_back() {
    let fs = MemFs::new();
    durable(&fs, "f", &[9; 10]).write_at(&[1; 90], 10).unwrap();
    for seed in 0..SEEDS {
        let clone = fs.crash_clone(seed, CrashStyle::Any);
        let file = open(&clone, "f");
        let len = file.len().unwrap() as usize;
        file.set_len(200).unwrap();
        assert!(read(&clone, "f")[len..].iter().all(|byte| *byte == 0), "seed {seed}");
    }
}

#[test]
fn a_preallocated_file_keeps_its_length() {
    let fs = MemFs::new();
    let file = create(&fs, "wal");
    file.allocate(64 * 1024).unwrap();
    file.sync().unwrap();
    sync_dir(&fs, "/");
    file.write_at(&[1; 4 * S], 0).unwrap();
    let seen = outcomes(&fs, |fs| {
        let bytes = read(fs, "wal");
        assert_eq!(fs.used_bytes(), 64 * 1024);
        (bytes.len(), bytes[0], bytes[3 * S])
    });
    let len = 64 * 1024;
    assert_eq!(seen, [(len, 0, 0), (len, 0, 1), (len, 1, 0), (len, 1, 1)].into());
}

#[test]
fn a_cut_that_reached_the_disk_cannot_be_undone_by_lost_writes() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[9; 100]);
    file.set_len(0).unwrap();
    file.write_at(&[1; 100], 0).unwrap();
    let seen = outcomes(&fs, |fs| read(fs, "f"));
    // The truncation did not reach the disk; it did; it did, and the file was extended again, with
    // the new bytes lost or written.
    let wanted = [vec![9; 100], vec![], vec![0; 100], vec![1; 100]].into();
    assert_eq!(seen, wanted);
}

#[test]
fn a_length_is_lost_apart_from_the_bytes_that_were_written_after_it() {
    let fs = MemFs::new();
    let file = durable(&fs, "f", &[]);
    file.allocate(4 * S as u64).unwrap();
    file.write_at(&[1; 100], 0).unwrap();
    let seen = outcomes(&fs, |fs| (read(fs, "f").len(), read(fs, "f").first().copied()));
    let (all, part) = (4 * S, 100);
    assert_eq!(seen, [(0, None), (part, Some(0)), (part, Some(1)), (all, Some(0)), (all, Some(1))].into());
}

/// The bytes of a file after a change, and its possible lengths if earlier changes that only
/// extended the file are lost.
struct Moment {
    bytes: Vec<u8>,
    lengths: BTreeSet<usize>,
}

/// After a crash, every sector of a file has a state that it had at some time, and the file has a
/// length that it had at some time. The exception is an extending write, which may be cut at the
/// end of a sector.
#[test]
fn random_histories_leave_only_what_was_there() {
    for seed in 0..400 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let fs = MemFs::new();
        let file = durable(&fs, "f", &vec![255; rng.usize(0..4000)]);
        let now = |lengths: BTreeSet<usize>| Moment { bytes: read(&fs, "f"), lengths };
        let mut lengths: BTreeSet<usize> = [read(&fs, "f").len()].into();
        let mut moments = vec![now(lengths.clone())];
        for step in 0..rng.u8(1..12) {
            if rng.u8(0..4) == 0 {
                let len = rng.usize(0..4000);
                file.set_len(len as u64).unwrap();
                lengths.retain(|shorter| *shorter < len);
                lengths.insert(len);
            } else if rng.u8(0..12) == 0 {
                file.sync().unwrap();
                moments.clear();
                lengths = [read(&fs, "f").len()].into();
            } else {
                let (len, offset) = (rng.usize(1..2500), rng.u64(0..3000));
                file.write_at(&vec![step + 1; len], offset).unwrap();
                lengths = lengths.iter().map(|before| (offset as usize + len).max(*before)).collect();
            }
            moments.push(now(lengths.clone()));
        }
        for crash in 0..60 {
            let bytes = read(&fs.crash_clone(crash, CrashStyle::Any), "f");
            check(&bytes, &moments).unwrap_or_else(|what| panic!("seeds {seed}, {crash}: {what}"));
        }
    }
}

fn check(bytes: &[u8], moments: &[Moment]) -> Result<(), String> {
    let within = |pair: &[Moment]| {
        let (from, to) = (pair[0].lengths.first(), pair[1].lengths.last());
        from < Some(&bytes.len()) && Some(&bytes.len()) < to
    };
    let was = moments.iter().any(|moment| moment.lengths.contains(&bytes.len()));
    if !was && (!bytes.len().is_multiple_of(S) || !moments.windows(2).any(within)) {
        return Err(format!("the length {}", bytes.len()));
    }
    for (sector, found) in bytes.chunks(S).enumerate() {
        let was = |moment: &Moment| {
            let mut then = moment.bytes.get(sector * S..).unwrap_or_default().to_vec();
            then.resize(found.len(), 0);
            then == found
        };
        if !moments.iter().any(was) {
            return Err(format!("sector {sector}: {found:?}"));
        }
    }
    Ok(())
}

#[test]
fn what_a_failed_sync_forgot_reads_well_and_is_gone_after_a_crash() {
    let fs = MemFs::new();
    durable(&fs, "f", &[0; 3 * S]);
    let file = fs.open_file(Path::new("f"), OpenMode::ReadWrite).unwrap();
    file.write_at(&[1; S], 0).unwrap();
    file.forget_unsynced();
    assert_eq!(read(&fs, "f")[0], 1, "reads see it");
    file.write_at(&[2; S], 2 * S as u64).unwrap();
    let seen = outcomes(&fs, |fs| (read(fs, "f")[0], read(fs, "f")[2 * S]));
    assert_eq!(seen, [(0, 0), (0, 2)].into());
    file.sync().unwrap();
    assert_eq!(read(&fs, "f")[0], 1, "reads still see it");
    for style in [CrashStyle::Any, CrashStyle::AllKept, CrashStyle::AllLost] {
        let clone = fs.crash_clone(1, style);
        assert_eq!((read(&clone, "f")[0], read(&clone, "f")[2 * S]), (0, 2), "{style:?}");
    }
    file.write_at(&[3; S], 0).unwrap();
    file.sync().unwrap();
    assert_eq!(read(&fs.crash_clone(1, CrashStyle::AllLost), "f")[0], 3, "written again, it counts");
}
