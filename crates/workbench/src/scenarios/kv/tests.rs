use super::*;

#[test]
fn every_mix_runs_and_finds_some_of_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    for mix in [Mix::Balanced, Mix::DeleteHeavy, Mix::GetHeavy, Mix::PutHeavy] {
        let settings =
            Settings { mix, threads: 2, duration: Duration::from_secs(1), value_bytes: 100, ..Settings::default() };
        let options = Options { memory_bytes: 8 << 20, ..Options::default() };
        let outcome = kv(&dir.path().join("db"), options, &settings).unwrap();
        let sum = |f: fn(&super::super::Sample) -> u64| outcome.samples.iter().map(f).sum::<u64>();
        assert!(sum(|s| s.put) > 0 && sum(|s| s.get_found) > 0 && sum(|s| s.delete_found) > 0);
        assert!(sum(|s| s.get_found) < sum(|s| s.get), "half of the keys are unknown");
        assert!(outcome.cpu_us > 0.0 && outcome.latency.p50 > 0.0);
    }
}
