//! The picker under a long load, without data: files are key ranges with a number of bytes, spread
//! evenly. Bytes are in units of 0.1 MB, as in the cases.

use super::super::*;

#[derive(Clone, Debug)]
struct File {
    number: u64,
    low: [u8; 8],
    high: [u8; 8],
    bytes: f64,
}

impl File {
    fn describe(&self) -> FileDesc<'_> {
        FileDesc {
            number: self.number,
            smallest: &self.low,
            largest: &self.high,
            bytes: self.bytes as u64,
            entries: self.bytes as u64,
            ..FileDesc::default()
        }
    }
}

struct Tree {
    /// (number, files by key); newest first, the base last.
    runs: Vec<(u64, Vec<File>)>,
    next: u64,
    written: f64,
    flushed: f64,
    largest_job: f64,
    picks: u64,
}

/// The key at a fraction of the key space, from 0 to 1.
fn key(part: f64) -> [u8; 8] {
    ((part * (1u64 << 56) as f64) as u64).to_be_bytes()
}

fn part(key: [u8; 8]) -> f64 {
    u64::from_be_bytes(key) as f64 / (1u64 << 56) as f64
}

/// The least bytes of a file that ends at a bound of the base.
const LEAST: f64 = 16.0;

impl Tree {
    fn new() -> Self {
        Self { runs: vec![(0, Vec::new())], next: 1, written: 0.0, flushed: 0.0, largest_job: 0.0, picks: 0 }
    }

    fn bytes(&self, upper: bool) -> f64 {
        let base = self.runs.len() - 1;
        let runs = if upper { &self.runs[..base] } else { &self.runs[base..] };
        runs.iter().flat_map(|run| &run.1).map(|file| file.bytes).sum()
    }

    /// Cuts evenly spread inputs into files, as an output of a run does.
    fn write(&mut self, run: u64, inputs: &[File], target: f64) {
        let low = inputs.iter().map(|file| part(file.low)).fold(1.0, f64::min);
        let high = inputs.iter().map(|file| part(file.high)).fold(0.0, f64::max);
        let bounds: Vec<f64> = self.runs[self.runs.len() - 1].1.iter().map(|file| part(file.high)).collect();
        // Small steps, and exactly the bounds of the base files.
        let mut steps: Vec<f64> = (1..=2000).map(|step| low + (high - low) * f64::from(step) / 2000.0).collect();
        steps.extend(bounds.iter().copied().filter(|bound| low < *bound && *bound < high));
        steps.sort_by(f64::total_cmp);
        let mut files: Vec<File> = Vec::new();
        let (mut from, mut before, mut bytes) = (low, low, 0.0);
        for &step in &steps {
            for file in inputs {
                let (x, y) = (part(file.low), part(file.high));
                bytes += file.bytes * ((step.min(y) - before.max(x)).max(0.0) / (y - x).max(1e-9));
            }
            before = step;
            let at_bound = run != 0 && bytes >= LEAST && bounds.contains(&step);
            if bytes >= target || at_bound || step == steps[steps.len() - 1] {
                self.next += 1;
                files.push(File { number: self.next, low: key(from), high: key(step), bytes });
                // The next file begins just above.
                (from, bytes) = (step + 1e-12, 0.0);
            }
        }
        self.written += files.iter().map(|file| file.bytes).sum::<f64>();
        match self.runs.iter_mut().find(|(id, _)| *id == run) {
            Some((_, there)) => {
                there.extend(files);
                there.sort_by_key(|file| file.low);
            }
            None => {
                self.runs.push((run, files));
                self.runs.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
            }
        }
    }

    /// A flush of keys spread over a part of the key space.
    fn flush(&mut self, from: f64, to: f64, bytes: f64, rules: &Rules) {
        self.next += 1;
        let run = self.runs[0].0 + 1;
        let input = File { number: 0, low: key(from), high: key(to), bytes };
        self.write(run, &[input], rules.target_file_bytes as f64);
        self.flushed += bytes;
    }

    fn take(&mut self, numbers: &[u64]) -> Vec<File> {
        let mut taken = Vec::new();
        for (_, files) in &mut self.runs {
            files.retain(|file| {
                let take = numbers.contains(&file.number);
                if take {
                    taken.push(file.clone());
                }
                !take
            });
        }
        taken
    }

    fn pick(&self, rules: &Rules) -> Option<Pick> {
        let runs =
            self.runs.iter().map(|(id, files)| RunDesc { id: *id, files: files.iter().map(File::describe).collect() });
        pick(&Layout { runs: runs.collect(), ..Layout::default() }, rules)
    }

    /// Compacts until nothing is picked.
    fn settle(&mut self, rules: &Rules) {
        while let Some(pick) = self.pick(rules) {
            self.picks += 1;
            assert!(self.picks < 20_000, "the picker does not come to rest: {pick:?}");
            match pick {
                Pick::Remove(_) => panic!("nothing is dead"),
                Pick::Move(moves) => {
                    for (number, to) in moves {
                        let file = self.take(&[number]);
                        let (_, files) = self.runs.iter_mut().find(|(id, _)| *id == to).unwrap();
                        files.extend(file);
                        files.sort_by_key(|file| file.low);
                    }
                }
                Pick::Merge { files, out, .. } => {
                    let inputs = self.take(&files);
                    let bytes = inputs.iter().map(|file| file.bytes).sum::<f64>();
                    self.largest_job = self.largest_job.max(bytes);
                    self.write(out, &inputs, rules.target_file_bytes as f64);
                }
            }
            self.runs.retain(|(id, files)| *id == 0 || !files.is_empty());
            for (id, files) in &self.runs {
                let disjoint = files.windows(2).all(|pair| pair[0].high < pair[1].low);
                assert!(disjoint, "run {id} overlaps");
            }
        }
    }

    fn check(&self, rules: &Rules) {
        assert!(self.runs.len() <= rules.max_runs + 1, "{} runs", self.runs.len());
        let limit = (self.bytes(false) * f64::from(rules.upper_percent) / 100.0).max(rules.upper_floor_bytes as f64);
        // The picker gets whole units, so each file may exceed its size by a fraction of a unit.
        let rounding = self.runs.iter().map(|run| run.1.len()).sum::<usize>() as f64;
        assert!(self.bytes(true) <= limit + rounding, "{} above {}", self.bytes(true), self.bytes(false));
    }
}

fn rules() -> Rules {
    Rules {
        target_file_bytes: 160,
        upper_percent: 15,
        upper_floor_bytes: 280,
        soft_upper_runs: 4,
        max_runs: 10,
        max_job_bytes: 1920,
        max_range_bytes: 0,
        few_tombstones: 0,
        spotless_below: 0,
    }
}

#[test]
fn keys_in_random_order() {
    let mut tree = Tree::new();
    let rules = rules();
    for round in 0..250 {
        tree.flush(0.0, 1.0, 70.0, &rules);
        tree.settle(&rules);
        tree.check(&rules);
        if round == 15 {
            // Sixteen flushes lead to three base merges, which write the data of 5, 10 and 15
            // flushes.
            assert!(tree.written < tree.flushed * 3.0, "{} of {}", tree.written, tree.flushed);
        }
    }
    let amplification = tree.written / tree.flushed;
    println!("{amplification} times, largest job {} of {}", tree.largest_job, tree.bytes(false));
    // The base is rewritten once for each 15% of growth. The flush and the merges above the base
    // add to that.
    assert!(amplification < 8.5, "{amplification}");
    // A base of 17,000 does not need jobs of its size.
    assert!(tree.largest_job < 2.0 * rules.max_job_bytes as f64, "{}", tree.largest_job);
}

#[test]
fn keys_in_order() {
    let mut tree = Tree::new();
    let rules = rules();
    for round in 0..200 {
        let at = |n: i32| f64::from(n) / 200.0;
        tree.flush(at(round), at(round + 1) - 1e-6, 70.0, &rules);
        tree.settle(&rules);
        tree.check(&rules);
    }
    assert!((tree.written / tree.flushed - 1.0).abs() < 0.01, "{} of {}", tree.written, tree.flushed);
    assert_eq!(tree.runs.len(), 1);
}

#[test]
fn updates_of_a_small_part_touch_no_more_than_it() {
    let mut tree = Tree::new();
    let rules = rules();
    for round in 0..100 {
        let at = |n: i32| f64::from(n) / 100.0;
        tree.flush(at(round), at(round + 1) - 1e-6, 160.0, &rules);
        tree.settle(&rules);
    }
    (tree.written, tree.flushed) = (0.0, 0.0);
    for _ in 0..100 {
        // The simulation has no overwrites: the part grows.
        tree.flush(0.40, 0.45, 70.0, &rules);
        tree.settle(&rules);
        tree.check(&rules);
    }
    let amplification = tree.written / tree.flushed;
    assert!(amplification < 5.0, "{amplification}");
}
