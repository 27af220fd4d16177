//! Dependencies between transactions, and the cycles that snapshot isolation forbids.

/// Why a transaction comes after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependency {
    /// It wrote over what the other wrote.
    Write,
    /// It read what the other wrote.
    Read,
    /// It wrote over what the other read.
    Overwritten,
    /// It began after the other had ended.
    Time,
}

/// Transactions, and points in time between them, which keep the number of edges small.
pub struct Graph {
    transactions: usize,
    edges: Vec<Vec<(usize, Dependency)>>,
}

impl Graph {
    pub fn new(transactions: usize) -> Self {
        Self { transactions, edges: vec![Vec::new(); transactions] }
    }

    pub fn add(&mut self, from: usize, to: usize, dependency: Dependency) {
        self.edges[from].push((to, dependency));
    }

    /// Adds that each transaction comes after all that had ended before its begin. Of each transaction in turn the
    /// begin, and the end, if it is known.
    pub fn add_times(&mut self, times: impl Iterator<Item = (u64, Option<u64>)>) {
        let mut moments = Vec::new();
        for (at, (begun, ended)) in times.enumerate() {
            moments.push((begun, at, true));
            moments.extend(ended.map(|ended| (ended, at, false)));
        }
        moments.sort_unstable();
        let mut point = None;
        for (_, at, begins) in moments {
            if begins {
                if let Some(point) = point {
                    self.add(point, at, Dependency::Time);
                }
                continue;
            }
            self.edges.push(Vec::new());
            let next = self.edges.len() - 1;
            self.add(at, next, Dependency::Time);
            if let Some(before) = point.replace(next) {
                self.add(before, next, Dependency::Time);
            }
        }
    }

    /// The transactions of a cycle without two consecutive anti-dependencies, each with the kind of the next edge.
    ///
    /// Searches depth first. A state is a node, and whether an anti-dependency led to it, after which no other follows.
    pub fn forbidden_cycle(&self) -> Option<Vec<(usize, Dependency)>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Colour {
            New,
            Open,
            Done,
        }
        let mut colours = vec![Colour::New; self.edges.len() * 2];
        for start in 0..colours.len() {
            if colours[start] != Colour::New {
                continue;
            }
            colours[start] = Colour::Open;
            // The path: each state, and the number of its edges that were followed.
            let mut path = vec![(start, 0)];
            while let Some((state, followed)) = path.last_mut() {
                let Some((to, dependency)) = self.edges[*state / 2].get(*followed).copied() else {
                    colours[*state] = Colour::Done;
                    path.pop();
                    continue;
                };
                *followed += 1;
                let anti = dependency == Dependency::Overwritten;
                if anti && *state % 2 == 1 {
                    continue;
                }
                let next = to * 2 + usize::from(anti);
                match colours[next] {
                    Colour::Done => {}
                    Colour::New => {
                        colours[next] = Colour::Open;
                        path.push((next, 0));
                    }
                    Colour::Open => {
                        let from = path.iter().position(|(state, _)| *state == next).unwrap_or_default();
                        return Some(self.transactions_of(&path[from..]));
                    }
                }
            }
        }
        None
    }

    fn transactions_of(&self, path: &[(usize, usize)]) -> Vec<(usize, Dependency)> {
        let taken = path.iter().map(|(state, followed)| (state / 2, self.edges[state / 2][followed - 1].1));
        taken.filter(|(node, _)| *node < self.transactions).collect()
    }
}
