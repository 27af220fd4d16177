use super::*;
use alluvium_env::OpenMode;
use std::path::Path;

#[test]
fn blocks_are_read_in_any_order_and_leave_no_file() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut blocks = Blocks::new(&env, "db/sort-1".into());
    let block = |n: usize| vec![n as u8; n * 37 % 2000];
    let mut needed = 0;
    let mut read = Vec::new();
    for n in 0..300 {
        let proceed = |bytes| {
            needed += bytes;
            Result::Ok(())
        };
        blocks.push(&block(n), proceed).unwrap();
        let other = n * 7919 % (n + 1);
        blocks.read(other, &mut read).unwrap();
        assert_eq!(read, block(other));
    }
    assert_eq!(needed, (0..300).map(|n| block(n).len() as u64).sum::<u64>());
    assert!(blocks.read(300, &mut read).is_err());
    drop(blocks);
    assert!(env.fs.list(Path::new("db")).unwrap().is_empty());
}

#[test]
fn a_block_that_was_changed_is_an_error() {
    let env = Env::in_memory(1);
    env.fs.create_dir_all(Path::new("db")).unwrap();
    let mut blocks = Blocks::new(&env, "db/sort-1".into());
    for n in 0..3 {
        blocks.push(&[n; 100], |_| Result::Ok(())).unwrap();
    }
    let file = env.fs.open(Path::new("db/sort-1/values"), OpenMode::ReadWrite).unwrap();
    file.write_at(&[9], 150).unwrap();
    let mut read = Vec::new();
    blocks.read(0, &mut read).unwrap();
    let error = blocks.read(1, &mut read).unwrap_err().to_string();
    assert!(error.contains("damaged"), "{error}");
    blocks.read(2, &mut read).unwrap();
}
