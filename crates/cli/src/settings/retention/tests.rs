use super::*;

#[test]
fn a_retention_has_a_time_or_a_size_or_both() {
    let default = ChangeRetention::default();
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    assert_eq!(parse("24h,4G"), Ok(default));
    assert_eq!(parse("4G, 24h"), Ok(default));
    assert_eq!(parse("7d"), Ok(ChangeRetention { time: hours(7 * 24), ..default }));
    assert_eq!(parse("90min"), Ok(ChangeRetention { time: Duration::from_secs(5400), ..default }));
    assert_eq!(parse("30s,512M"), Ok(ChangeRetention { time: Duration::from_secs(30), bytes: 512 << 20 }));
    assert_eq!(parse("1GiB"), Ok(ChangeRetention { bytes: 1 << 30, ..default }));
}

#[test]
fn what_is_no_retention_is_refused() {
    for text in
        ["", ",", "24h,", "soon", "24", "0", "-1h", "1.5h", "24h,24h", "4G,1G", "1h,1G,1h", "99999999999999999999h"]
    {
        assert!(parse(text).is_err(), "{text:?} was taken for a retention");
    }
    for text in ["0s", "0G", "24h,0M", "0d,4G"] {
        assert!(parse(text).unwrap_err().contains("more than 0"), "{text}");
    }
    assert_eq!(parse("5m").unwrap_err(), "5m may be minutes or megabytes: write 5min or 5M");
    assert!(parse("600000000000000000d").unwrap_err().contains("too long"));
}
