use super::*;
use alluvium_env::Fs;
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_sst::FileMeta;

const DIR: &str = "/p";
const IDENTITY: Identity = Identity { database_id: 7, partition: 3 };

fn env_over(fs: Arc<dyn Fs>) -> Env {
    Env { fs, ..Env::in_memory(1) }
}

fn new_env() -> Env {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new(DIR)).unwrap();
    env
}

fn add(number: u64, run: u64) -> VersionEdit {
    let meta =
        FileMeta { number, bytes: 100 + number, smallest: b"a".into(), largest: b"b".into(), ..FileMeta::default() };
    let added = AddedFile { run, meta, trees: vec![1], ..AddedFile::default() };
    VersionEdit { flushed_seq: Some(number * 10), added: vec![added], ..VersionEdit::default() }
}

fn recover(env: &Env) -> Result<Option<Recovered>> {
    let names = env.fs.list(Path::new(DIR)).unwrap();
    Manifest::recover(env, Path::new(DIR), IDENTITY, &names)
}

fn create(env: &Env, number: u64, snapshot: &VersionEdit) -> std::result::Result<Manifest, WriteError> {
    Manifest::create(env, Path::new(DIR), IDENTITY, number, snapshot)
}

/// A manifest with three edits; returns where each frame ends.
fn three_edits(env: &Env) -> Vec<u64> {
    let mut manifest = create(env, 1, &add(1, 1)).unwrap();
    let mut ends = vec![manifest.bytes()];
    for number in 2..5 {
        manifest.append(&add(number, number)).unwrap();
        ends.push(manifest.bytes());
    }
    ends
}

fn path() -> PathBuf {
    manifest_path(Path::new(DIR), 1)
}

fn read(env: &Env) -> Vec<u8> {
    let file = env.fs.open(&path(), OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn write(env: &Env, bytes: &[u8]) {
    let file = env.fs.open(&path(), OpenMode::ReadWrite).unwrap();
    file.set_len(0).unwrap();
    file.write_at(bytes, 0).unwrap();
}

#[test]
fn all_edits_come_back_in_order() {
    let env = new_env();
    assert!(recover(&env).unwrap().is_none());
    let mut manifest = create(&env, 1, &add(1, 1)).unwrap();
    manifest.append(&add(2, 2)).unwrap();
    let change = VersionEdit { removed: vec![1], moved: vec![(2, 0)], next_file: Some(40), ..VersionEdit::default() };
    manifest.append(&change).unwrap();
    let found = recover(&env).unwrap().unwrap();
    assert_eq!((found.number, found.flushed_seq, found.next_file), (1, 20, 40));
    assert_eq!(found.files.iter().map(|(n, f)| (*n, f.run)).collect::<Vec<_>>(), [(2, 0)]);
    assert!(found.dropped.is_none());
}

#[test]
fn the_highest_number_counts() {
    let env = new_env();
    create(&env, 9, &add(1, 1)).unwrap();
    create(&env, 10, &add(2, 1)).unwrap();
    assert_eq!(recover(&env).unwrap().unwrap().files.keys().copied().collect::<Vec<_>>(), [2]);
}

#[test]
fn a_manifest_cut_anywhere_in_its_last_frame_loses_that_edit_alone() {
    let env = new_env();
    let ends = three_edits(&env);
    let whole = read(&env);
    for cut in ends[2] + 1..ends[3] {
        for zeros in [0, 100] {
            let mut bytes = whole[..cut as usize].to_vec();
            bytes.resize(bytes.len() + zeros, 0);
            // Cutting off only zero bytes changes nothing when zeros follow.
            let torn = bytes.len() < ends[3] as usize || bytes[..ends[3] as usize] != whole[..ends[3] as usize];
            write(&env, &bytes);
            let found = recover(&env).unwrap().unwrap();
            assert_eq!(found.files.len(), if torn { 3 } else { 4 }, "cut at {cut}, {zeros} zeros");
            assert_eq!(found.dropped.map(|d| d.offset), torn.then_some(ends[2]), "cut at {cut}");
        }
    }
}

#[test]
fn a_flipped_bit_before_the_last_frame_is_damage() {
    let env = new_env();
    let ends = three_edits(&env);
    let whole = read(&env);
    for at in 0..ends[2] as usize {
        for bit in [0, 3, 7] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            write(&env, &bytes);
            let refused = recover(&env).unwrap_err();
            assert!(matches!(refused, Error::Corrupt { .. } | Error::NewerFormat { .. }), "byte {at}: {refused}");
        }
    }
}

#[test]
fn a_first_frame_that_is_cut_is_damage() {
    let env = new_env();
    create(&env, 1, &add(1, 1)).unwrap();
    let whole = read(&env);
    for cut in 0..whole.len() {
        write(&env, &whole[..cut]);
        assert!(matches!(recover(&env), Err(Error::Corrupt { .. })), "cut at {cut}");
    }
}

#[test]
fn a_newer_format_is_named() {
    let env = new_env();
    create(&env, 1, &add(1, 1)).unwrap();
    let mut bytes = read(&env);
    bytes[8] = 3;
    write(&env, &bytes);
    assert!(matches!(recover(&env), Err(Error::NewerFormat { found: 3, supported: 2, .. })));
}

#[test]
fn version_1_is_read() {
    let env = new_env();
    create(&env, 1, &add(1, 1)).unwrap();
    let bytes = read(&env);
    for version in [0, 1] {
        let mut old = header(version, IDENTITY, 1);
        let seed = seed(&old);
        let payload = frame::get(&mut &bytes[HEADER_LEN..], super::seed(&bytes[..HEADER_LEN]), HEADER_LEN as u64);
        frame::put(&mut old, payload.unwrap(), seed, HEADER_LEN as u64).unwrap();
        write(&env, &old);
        assert_eq!(recover(&env).is_ok(), version == 1);
    }
}

#[test]
fn another_partitions_manifest_is_refused() {
    let env = new_env();
    create(&env, 1, &add(1, 1)).unwrap();
    let names = env.fs.list(Path::new(DIR)).unwrap();
    for identity in [Identity { partition: 4, ..IDENTITY }, Identity { database_id: 8, ..IDENTITY }] {
        let found = Manifest::recover(&env, Path::new(DIR), identity, &names);
        assert!(matches!(found, Err(Error::Corrupt { offset: 12, .. })), "{found:?}");
    }
}

#[test]
fn an_edit_that_makes_no_sense_is_damage() {
    let env = new_env();
    let mut manifest = create(&env, 1, &add(1, 1)).unwrap();
    manifest.append(&VersionEdit { removed: vec![77], ..VersionEdit::default() }).unwrap();
    let refused = recover(&env).unwrap_err();
    assert!(refused.to_string().contains("file 77"), "{refused}");
}

#[test]
fn a_full_disk_refuses_an_edit_before_anything_is_written() {
    let mem = Arc::new(MemFs::new());
    let faults = Arc::new(FaultFs::over(mem));
    let env = env_over(faults.clone());
    env.fs.create_dir_all(Path::new(DIR)).unwrap();
    let mut manifest = create(&env, 1, &add(1, 1)).unwrap();
    faults.inject(Fault::nth(1).of(OpKind::Allocate).no_space());
    let refused = manifest.append(&add(2, 2)).unwrap_err();
    assert!(!refused.ambiguous && refused.error.is_no_space());
    manifest.append(&add(3, 3)).unwrap();
    assert_eq!(recover(&env).unwrap().unwrap().files.keys().copied().collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn a_failed_write_or_sync_leaves_the_edit_open() {
    for kind in [OpKind::Write, OpKind::Sync] {
        let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
        let env = env_over(faults.clone());
        env.fs.create_dir_all(Path::new(DIR)).unwrap();
        let mut manifest = create(&env, 1, &add(1, 1)).unwrap();
        faults.inject(Fault::nth(1).of(kind));
        assert!(manifest.append(&add(2, 2)).unwrap_err().ambiguous, "{kind:?}");
        assert_eq!(faults.fired(), 1);
    }
}

#[test]
fn a_new_manifest_is_open_only_once_it_may_have_its_name() {
    for (kind, ambiguous) in [
        (OpKind::Create, false),
        (OpKind::Write, false),
        (OpKind::Sync, false),
        (OpKind::Rename, true),
        (OpKind::SyncDir, true),
    ] {
        let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
        let env = env_over(faults.clone());
        env.fs.create_dir_all(Path::new(DIR)).unwrap();
        faults.inject(Fault::nth(1).of(kind));
        let refused = create(&env, 1, &add(1, 1)).err().unwrap();
        assert_eq!(refused.ambiguous, ambiguous, "{kind:?}");
    }
}

#[test]
fn a_full_disk_leaves_the_manifest_before() {
    for done in [false, true] {
        let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
        let env = env_over(faults.clone());
        env.fs.create_dir_all(Path::new(DIR)).unwrap();
        let mut before = create(&env, 1, &add(1, 1)).unwrap();
        let fault = Fault::nth(1).of(OpKind::Rename).no_space();
        faults.inject(if done { fault.though_done() } else { fault });
        let refused = create(&env, 2, &add(2, 2)).err().unwrap();
        assert_eq!(refused.ambiguous, done, "{refused:?}");
        if !done {
            before.append(&add(3, 3)).unwrap();
            let recovered = recover(&env).unwrap().unwrap();
            assert_eq!((recovered.number, recovered.files.len()), (1, 2));
            assert_eq!(env.fs.list(Path::new(DIR)).unwrap().len(), 1, "the temporary file is gone");
        }
    }
}

#[test]
fn long_means_much_longer_than_a_new_one() {
    let env = new_env();
    let mut manifest = create(&env, 1, &add(1, 1)).unwrap();
    assert!(!manifest.is_long(0));
    while manifest.bytes() <= 5000 {
        manifest.append(&add(manifest.bytes(), 2)).unwrap();
    }
    assert!(manifest.is_long(5000) && !manifest.is_long(50_000));
}

/// Writes a manifest with valid frames that have these payloads.
fn crafted(env: &Env, number: u64, payloads: &[Vec<u8>]) -> Vec<u64> {
    let mut bytes = header(FORMAT_VERSION, IDENTITY, number);
    let seed = seed(&bytes);
    let mut begins = Vec::new();
    for payload in payloads {
        let at = bytes.len() as u64;
        begins.push(at);
        frame::put(&mut bytes, payload, seed, at).unwrap();
    }
    write_whole(env, &manifest_path(Path::new(DIR), number), &bytes).unwrap();
    begins
}

fn encoded(edit: &VersionEdit) -> Vec<u8> {
    let mut bytes = Vec::new();
    edit.encode(&mut bytes);
    bytes
}

fn file_numbered(number: u64) -> VersionEdit {
    let mut edit = add(3, 1);
    edit.added[0].meta.number = number;
    edit
}

/// The damage that recovery reports.
fn damage(env: &Env) -> (PathBuf, u64, String) {
    match recover(env) {
        Err(Error::Corrupt { path, offset, what }) => (path, offset, what),
        other => panic!("{other:?}"),
    }
}

#[test]
fn hostile_numbers_with_right_checksums_are_damage_at_their_place() {
    let hostile = [
        VersionEdit { flushed_seq: Some(u64::MAX), ..VersionEdit::default() },
        VersionEdit { next_file: Some(u64::MAX), ..VersionEdit::default() },
        VersionEdit { next_run: Some(u64::MAX), ..VersionEdit::default() },
        file_numbered(u64::MAX),
        add(3, u64::MAX),
    ];
    for edit in hostile {
        let env = new_env();
        let begins = crafted(&env, 1, &[encoded(&add(1, 1)), encoded(&edit)]);
        let (path, offset, _) = damage(&env);
        assert_eq!((path, offset), (manifest_path(Path::new(DIR), 1), begins[1]), "{edit:?}");
        let walked = walk::walk(&env, &manifest_path(Path::new(DIR), 1), None).unwrap();
        assert_eq!(walked.damage.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [begins[1]]);
        assert_eq!(walked.edits.len(), 1);
    }
    let env = new_env();
    crafted(&env, u64::MAX, &[encoded(&add(1, 1))]);
    assert_eq!(damage(&env).1, 0, "there is no manifest behind it");
}

#[test]
fn files_that_are_larger_than_any_disk_together_are_damage() {
    let large = |number: u64| {
        let mut edit = add(number, number);
        edit.added[0].meta.entries = MAX_NUMBER / 2 + 1;
        encoded(&edit)
    };
    let env = new_env();
    let removal = VersionEdit { removed: vec![1], ..VersionEdit::default() };
    crafted(&env, 1, &[large(1), encoded(&removal), large(2)]);
    assert_eq!(recover(&env).unwrap().unwrap().files.len(), 1, "what is removed does not count");
    let begins = crafted(&env, 2, &[large(1), large(2)]);
    assert_eq!(damage(&env).1, begins[1]);
}

#[test]
fn range_tombstones_of_many_edits_that_blow_up_memory_are_damage() {
    // One range with many numbers contains many small ranges. Split by these, each part would have all of the numbers.
    let mut many = VersionEdit { flushed_seq: Some(1), ..VersionEdit::default() };
    many.ranges = (1..4000u64).fold(RangeSet::default(), |set, seq| set.join(&RangeSet::one(b"a", b"z", seq), &[]));
    let mut builder = alluvium_codec::ranges::RangeSetBuilder::default();
    for n in 0..20_000u32 {
        let key = |n: u32| [b"b", &n.to_be_bytes()[..]].concat();
        builder.add(&key(2 * n), &key(2 * n + 1), 9000).unwrap();
    }
    let small = VersionEdit { ranges: builder.finish(), ..VersionEdit::default() };
    let env = new_env();
    let begins = crafted(&env, 1, &[encoded(&many), encoded(&small)]);
    let (_, offset, what) = damage(&env);
    assert_eq!(offset, begins[1]);
    assert!(what.contains("range tombstones"), "{what}");
}

#[test]
fn when_all_numbers_are_used_up_nothing_is_written() {
    let env = new_env();
    let failed = create(&env, MAX_NUMBER + 1, &add(1, 1)).err().unwrap();
    assert!(!failed.ambiguous && env.fs.list(Path::new(DIR)).unwrap().is_empty());
    let mut manifest = create(&env, 1, &add(1, 1)).unwrap();
    let before = read(&env);
    let edit = VersionEdit { next_file: Some(MAX_NUMBER + 1), ..VersionEdit::default() };
    assert!(!manifest.append(&edit).unwrap_err().ambiguous);
    assert_eq!(read(&env), before);
}
