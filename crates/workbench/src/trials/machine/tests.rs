use super::*;

const DISKSTATS: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 253       0 vda 100 5 2000 30 400 6 8000 50 0 70 80 0 0 0 0 9 1
 253       1 vda1 9 0 10 0 11 0 12 0 0 0 0 0 0 0 0 0 0
";

#[test]
fn counters_are_those_of_the_device() {
    let used = Device { major: 253, minor: 0 }.counters(DISKSTATS).expect("a line");
    assert_eq!(used, DeviceUse { read_bytes: 2000 * 512, written_bytes: 8000 * 512, reads: 100, writes: 400 });
    assert_eq!(Device { major: 253, minor: 1 }.name(DISKSTATS).as_deref(), Some("vda1"));
    assert_eq!(Device { major: 0, minor: 25 }.counters(DISKSTATS), None, "a file system in memory");
}

#[test]
fn the_file_system_is_that_of_the_device() {
    let mountinfo = "24 1 253:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n25 24 0:21 / /tmp rw - tmpfs tmpfs rw\n";
    assert_eq!(Device { major: 253, minor: 0 }.mount(mountinfo), Some(("ext4", "/dev/root")));
    assert_eq!(Device { major: 0, minor: 21 }.mount(mountinfo), Some(("tmpfs", "tmpfs")));
    assert_eq!(Device { major: 1, minor: 21 }.mount(mountinfo), None);
}

#[test]
fn a_line_of_proc_is_found_by_its_name() {
    assert_eq!(colon("cpu: 1\nmodel name\t: A: 2 GHz\n", "model name").as_deref(), Some("A: 2 GHz"));
}
