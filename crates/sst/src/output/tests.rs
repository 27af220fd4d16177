use super::*;

#[test]
fn what_no_reader_takes_is_not_written() {
    let env = Env::in_memory(1);
    let mut output = Output::create(&env, Path::new("/7.sst"), 7).unwrap();
    let error = output.put(&vec![0; stored::MAX_RAW + 1], Role::Index, None).unwrap_err();
    assert!(error.to_string().contains("1 GiB"), "{error}");
    assert_eq!(output.len(), 0);
}
