//! The honest client: it inserts, finds and pings. Every reply has to be right and to arrive.

use crate::stage::{HONEST, Stage};
use alluvium::{Map, Value, doc};
use std::time::{Duration, Instant};

/// The results of the honest client.
#[derive(Default)]
pub struct Outcome {
    /// All documents with a lower `_id` were acknowledged.
    pub acknowledged: i32,
    /// The number of calls.
    pub calls: u64,
    /// The longest time of a call.
    pub slowest: Duration,
    /// The failed checks.
    pub failures: Vec<String>,
}

/// The client stops after this number of failures.
const FAILURES_MAX: usize = 5;

fn document(id: i32) -> Map {
    doc! {"_id": id, "text": (format!("document {id}")), "parts": [id, (id + 1), {"of": id}]}
}

/// Runs the client until the stage is finished.
pub fn run(stage: &Stage) -> Outcome {
    let mut outcome = Outcome::default();
    while !stage.is_finished() && outcome.failures.len() < FAILURES_MAX {
        let generation = stage.generation();
        let served = match stage.is_over() {
            true => None,
            false => outcome.serve(stage),
        };
        // There was no reply: the server was killed, or it does not answer.
        if served.is_none() && !stage.is_over() && stage.generation() == generation {
            outcome.failures.push(format!("the honest client had no reply after {} calls", outcome.calls));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    outcome
}

impl Outcome {
    /// Works over one connection. Returns `None` if a reply did not arrive.
    fn serve(&mut self, stage: &Stage) -> Option<()> {
        let mut client = self.timed(|| stage.log_in(HONEST))?;
        while !stage.is_finished() && self.failures.len() < FAILURES_MAX {
            let id = self.acknowledged;
            let insert = doc! {"insert": "orders", "documents": [(document(id))]};
            let reply = self.timed(|| client.try_run("shop", insert))?;
            // After a kill, the document may exist already.
            if !is_ok(&reply) && !reply.to_string().contains("11000") {
                self.failures.push(format!("insert {id}: {reply}"));
            }
            self.acknowledged += 1;
            let known = id - id % 7;
            let find = doc! {"find": "orders", "filter": {"_id": known}};
            let reply = self.timed(|| client.try_run("shop", find))?;
            if found(&reply) != Some([Value::Map(document(known))].as_slice()) {
                self.failures.push(format!("find {known}: {reply}"));
            }
            let reply = self.timed(|| client.try_run("admin", doc! {"ping": 1}))?;
            if !is_ok(&reply) {
                self.failures.push(format!("ping: {reply}"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Some(())
    }

    fn timed<T>(&mut self, call: impl FnOnce() -> Option<T>) -> Option<T> {
        let began = Instant::now();
        let done = call()?;
        self.calls += 1;
        self.slowest = self.slowest.max(began.elapsed());
        Some(done)
    }
}

fn is_ok(reply: &Map) -> bool {
    reply.get("ok").and_then(Value::as_f64) == Some(1.0) && !reply.contains("writeErrors")
}

fn found(reply: &Map) -> Option<&[Value]> {
    reply.get("cursor")?.as_map()?.get("firstBatch")?.as_array()
}

/// Compares the acknowledged documents with the stored documents.
pub fn verify(stage: &Stage, outcome: &Outcome) -> Vec<String> {
    let Some(mut client) = stage.log_in(HONEST) else { return vec!["the server does not answer".to_owned()] };
    let all = client.documents("shop", doc! {"find": "orders", "sort": {"_id": 1}});
    println!("documents: {} acknowledged, {} there", outcome.acknowledged, all.len());
    let mut failures = Vec::new();
    for id in 0..outcome.acknowledged {
        if all.get(id as usize) != Some(&document(id)) {
            failures.push(format!("the acknowledged document {id} is {:?}", all.get(id as usize)));
            break;
        }
    }
    if all.len() > outcome.acknowledged as usize + 1 {
        failures.push(format!("{} documents are there", all.len()));
    }
    failures
}
