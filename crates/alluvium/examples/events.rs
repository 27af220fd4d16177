//! Events of several threads: written concurrently, read in the order of time, and deleted when they are old.
//!
//! ```text
//! cargo run --release -p alluvium --example events [DIRECTORY]
//! ```

#![allow(clippy::disallowed_methods, reason = "a small program of its own")]

use alluvium::{Database, Result};

const SENSORS: u64 = 4;
const EVENTS: u64 = 2500;

/// Ids that sort by time: 16 digits of milliseconds, then the sensor.
fn id(millis: u64, sensor: u64) -> String {
    format!("{millis:016}-{sensor:03}")
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = std::env::args_os().nth(1).map_or_else(|| folder.path().join("events"), Into::into);
    let db = Database::open(path)?;
    let events = db.collection("events");

    // Any number of threads may write. Each write survives the end of the process; a power loss may lose the last 100
    // ms.
    let writers: Vec<_> = (0..SENSORS)
        .map(|sensor| {
            let events = events.clone();
            std::thread::spawn(move || -> Result<()> {
                for at in 0..EVENTS {
                    let celsius = 20.0 + (at % 50) as f64 / 10.0;
                    let event = format!(r#"{{"sensor": {sensor}, "at": {at}, "celsius": {celsius}}}"#);
                    events.put(id(at, sensor), event)?;
                }
                Ok(())
            })
        })
        .collect();
    for writer in writers {
        writer.join().expect("the thread")?;
    }
    println!("{} events", events.count()?);

    // Read a range of time, and decode only the requested field.
    let mut hour = events.scan().from(id(1000, 0)).to(id(1010, 0)).run()?;
    let (mut sum, mut count) = (0.0, 0);
    while let Some(fields) = hour.next_fields(&["celsius"])? {
        sum += fields.get("celsius").and_then(|value| value.as_f64()).unwrap_or_default();
        count += 1;
    }
    println!("{:.2} degrees on average from 1000 to 1010, of {count} events", sum / f64::from(count));

    // Delete the oldest half; compactions reclaim its space.
    for event in events.scan().to(id(EVENTS / 2, 0)).run()? {
        events.delete(event?.id().clone())?;
    }
    println!("{} events are left", events.count()?);
    db.close()
}
