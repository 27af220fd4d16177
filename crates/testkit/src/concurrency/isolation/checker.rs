//! Checks whether a history of transactions has snapshot isolation.
//!
//! Documents hold lists, and a write appends a value that no other write appends. The longest list that anybody reads
//! is therefore the order of all writes of a document, and a shorter one is what a reader saw of it (Kingsbury
//! and Alvaro, Elle: Inferring Isolation Anomalies from Experimental Observations, 2020). From the orders follow the
//! dependencies between transactions. Under snapshot isolation, a cycle of dependencies has two consecutive
//! anti-dependencies (Fekete et al., Making Snapshot Isolation Serializable, 2005). A transaction also depends on those
//! whose commit returned before it began.

mod cycles;

use cycles::{Dependency, Graph};
use std::collections::{BTreeMap, HashMap};

/// An appended value. No two writes have the same one.
pub type Item = i64;

/// The number of keys that units share.
const UNIT_KEYS: i64 = 5;

/// The effect of an item on the unit of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: the unit stays as it is.
    Plain,
    /// The unit is the item's.
    Put,
    /// There is no unit.
    Delete,
}

/// The item with this number and kind.
pub fn item(number: i64, kind: Kind) -> Item {
    number * 4 + kind as i64
}

fn kind(item: Item) -> Kind {
    match item % 4 {
        1 => Kind::Put,
        2 => Kind::Delete,
        _ => Kind::Plain,
    }
}

/// The unique key of the unit of an item.
pub fn unit_key(item: Item) -> i64 {
    item / 4 % UNIT_KEYS
}

/// The item of the unit that a list describes.
pub fn unit(items: &[Item]) -> Option<Item> {
    items.iter().rev().copied().find(|item| kind(*item) != Kind::Plain).filter(|item| kind(*item) == Kind::Put)
}

/// A search of lists or units by an index or a pipeline. The lists were read before.
#[allow(missing_docs, reason = "the fields are what the variants say")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Search {
    /// The lists among `of` that have at least `least` items.
    Longer { of: Vec<usize>, least: usize, found: Vec<usize> },
    /// The lists among `of` that have an item.
    Holding { of: Vec<usize>, item: Item, found: Vec<usize> },
    /// The number of all items of the lists `of`.
    Total { of: Vec<usize>, items: usize },
    /// The units of the lists `of`: each by its list, with its item.
    Units { of: Vec<usize>, found: Vec<(usize, Item)> },
    /// The put of a unit of a list was refused because of a unit of the lists `of` with the same key.
    Refused { of: Vec<usize>, list: usize, item: Item },
}

/// A step of a transaction, with what it read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The content of a list.
    Read(usize, Vec<Item>),
    /// An append to a list.
    Append(usize, Item),
    /// A search by an index.
    Search(Search),
    /// A put of a register.
    Put(usize, Item),
    /// The content of a register.
    Look(usize, Option<Item>),
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its commit returned.
    Committed,
    /// It was aborted, or its commit returned an error.
    Aborted,
    /// The machine stopped before its commit returned.
    Unknown,
}

/// A transaction, or a call without one, which is a transaction of one step.
#[derive(Debug, Clone)]
pub struct Transaction {
    /// The client.
    pub client: usize,
    /// The time before its begin. The clock never returns the same number twice.
    pub begun: u64,
    /// The time after its end.
    pub ended: u64,
    /// The steps that returned, in their order.
    pub steps: Vec<Step>,
    /// Its end.
    pub outcome: Outcome,
}

/// The lists after a run.
#[derive(Debug, Clone)]
pub enum Last {
    /// After a run in which nothing was lost.
    Whole(Vec<Vec<Item>>),
    /// After a crash.
    Recovered(Vec<Vec<Item>>),
}

impl Last {
    fn lists(&self) -> &[Vec<Item>] {
        let (Self::Whole(lists) | Self::Recovered(lists)) = self;
        lists
    }
}

/// The committed writes that a transaction saw: a first part of each list, and the content of registers.
#[derive(Debug, Default)]
struct Seen {
    lists: BTreeMap<usize, Vec<Item>>,
    registers: BTreeMap<usize, Item>,
}

/// The state that a transaction sees at one of its steps.
#[derive(Default)]
struct Sight {
    seen: Seen,
    /// The lists as they are to the transaction now.
    now: BTreeMap<usize, Vec<Item>>,
    own: BTreeMap<usize, Vec<Item>>,
    registers: BTreeMap<usize, Option<Item>>,
}

impl Sight {
    fn read(&mut self, list: usize, items: &[Item]) -> Result<(), String> {
        let own = self.own.entry(list).or_default();
        if let Some(now) = self.now.get(&list) {
            if now == items {
                return Ok(());
            }
            let what =
                if items.ends_with(own) { "reads another state than before" } else { "misses a write of its own" };
            return Err(format!("{what}: list {list} is {items:?}, and was {now:?}"));
        }
        let Some(before) = items.strip_suffix(own.as_slice()) else {
            return Err(format!("misses a write of its own: list {list} is {items:?} after {own:?} were appended"));
        };
        self.seen.lists.insert(list, before.to_vec());
        self.now.insert(list, items.to_vec());
        Ok(())
    }

    fn append(&mut self, list: usize, item: Item) {
        self.own.entry(list).or_default().push(item);
        if let Some(now) = self.now.get_mut(&list) {
            now.push(item);
        }
    }

    fn look(&mut self, register: usize, found: Option<Item>) -> Result<(), String> {
        match self.registers.insert(register, found) {
            Some(before) if before != found => {
                Err(format!("reads another state than before: register {register} is {found:?}, and was {before:?}"))
            }
            Some(_) => Ok(()),
            None => {
                self.seen.registers.extend(found.map(|found| (register, found)));
                Ok(())
            }
        }
    }

    /// The lists among `of` that satisfy a condition. All of them were read before.
    fn which(&self, of: &[usize], holds: impl Fn(&[Item]) -> bool) -> Result<Vec<usize>, String> {
        let mut which = Vec::new();
        for list in of {
            let items = self.now.get(list).ok_or_else(|| format!("searches list {list} before it is read"))?;
            which.extend(holds(items).then_some(*list));
        }
        Ok(which)
    }

    fn units(&self, of: &[usize]) -> Result<Vec<(usize, Item)>, String> {
        let lists = self.which(of, |items| unit(items).is_some())?;
        Ok(lists.into_iter().filter_map(|list| Some((list, unit(&self.now[&list])?))).collect())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Read(list, items) => self.read(*list, items),
            Step::Append(list, item) => {
                self.append(*list, *item);
                Ok(())
            }
            Step::Search(search) => self.search(search),
            Step::Put(register, item) => {
                self.registers.insert(*register, Some(*item));
                Ok(())
            }
            Step::Look(register, found) => self.look(*register, *found),
        }
    }

    fn search(&self, search: &Search) -> Result<(), String> {
        let same = |found: &[usize], expected: Vec<usize>| match found == expected {
            true => Ok(()),
            false => Err(format!("{search:?} is {expected:?} by a scan")),
        };
        match search {
            Search::Longer { of, least, found } => same(found, self.which(of, |items| items.len() >= *least)?),
            Search::Holding { of, item, found } => same(found, self.which(of, |items| items.contains(item))?),
            Search::Total { of, items } => {
                let expected = self.which(of, |_| true)?.iter().map(|list| self.now[list].len()).sum();
                same(&[*items], vec![expected])
            }
            Search::Units { of, found } => {
                let expected = self.units(of)?;
                if *found != expected {
                    return Err(format!("sees a part of a write: units {found:?}, and lists that say {expected:?}"));
                }
                let mut keys: Vec<i64> = found.iter().map(|(_, item)| unit_key(*item)).collect();
                keys.sort_unstable();
                let twice = keys.windows(2).any(|two| two[0] == two[1]);
                if twice { Err(format!("sees two units with one key: {found:?}")) } else { Ok(()) }
            }
            Search::Refused { of, list, item } => {
                let has = |(other, unit): &(usize, Item)| other != list && unit_key(*unit) == unit_key(*item);
                let taken = self.units(of)?.iter().any(has);
                taken.then_some(()).ok_or_else(|| format!("{search:?}, and no other unit has its key"))
            }
        }
    }
}

fn seen_by(transaction: &Transaction) -> Result<Seen, String> {
    let mut sight = Sight::default();
    for step in &transaction.steps {
        sight.step(step)?;
    }
    Ok(sight.seen)
}

/// Checks that all steps of one transaction show one state, under its own writes.
///
/// # Errors
/// The step that shows another state.
pub fn check_alone(transaction: &Transaction) -> Result<(), String> {
    seen_by(transaction).map(drop).map_err(|what| format!("{what}\n{transaction:?}"))
}

/// Checks a history. Lists and registers are empty before it.
///
/// # Errors
/// The first anomaly or loss found.
pub fn check(history: &[Transaction], last: &Last) -> Result<(), String> {
    let about = |at: usize, what: String| format!("{what}\n{:?}", history[at]);
    let mut seen = Vec::with_capacity(history.len());
    for (at, transaction) in history.iter().enumerate() {
        seen.push(seen_by(transaction).map_err(|what| about(at, what))?);
    }
    let writes = Writes::of(history)?;
    let orders = orders(&seen, last)?;
    let checks = Checks { history, writes: &writes, orders: &orders, seen: &seen };
    checks.orders_are_whole(last)?;
    for at in 0..history.len() {
        checks.reads(at).map_err(|what| about(at, what))?;
    }
    checks.survivors(last)?;
    match checks.graph().forbidden_cycle() {
        None => Ok(()),
        Some(cycle) => Err(checks.describe(&cycle)),
    }
}

/// The order of the items of each list: the longest content. All others are first parts of it.
fn orders(seen: &[Seen], last: &Last) -> Result<Vec<Vec<Item>>, String> {
    let mut orders = last.lists().to_vec();
    for (list, items) in seen.iter().flat_map(|seen| &seen.lists) {
        let order = &mut orders[*list];
        let (short, long) = if items.len() > order.len() { (&*order, items) } else { (items, &*order) };
        if !long.starts_with(short) {
            return Err(format!("list {list} has no order: {short:?} is no first part of {long:?}"));
        }
        if items.len() > order.len() {
            order.clone_from(items);
        }
    }
    Ok(orders)
}

/// Who wrote each item.
struct Writes {
    by_item: HashMap<Item, usize>,
}

impl Writes {
    fn of(history: &[Transaction]) -> Result<Self, String> {
        let mut by_item = HashMap::new();
        for (at, transaction) in history.iter().enumerate() {
            for step in &transaction.steps {
                if let Step::Append(_, item) | Step::Put(_, item) = step
                    && by_item.insert(*item, at).is_some()
                {
                    return Err(format!("item {item} is written twice"));
                }
            }
        }
        Ok(Self { by_item })
    }

    fn writer(&self, item: Item) -> Result<usize, String> {
        self.by_item.get(&item).copied().ok_or_else(|| format!("no transaction wrote item {item}"))
    }
}

struct Checks<'a> {
    history: &'a [Transaction],
    writes: &'a Writes,
    orders: &'a [Vec<Item>],
    seen: &'a [Seen],
}

impl Checks<'_> {
    /// The appends of a transaction to each list.
    fn appends(&self, at: usize) -> BTreeMap<usize, Vec<Item>> {
        let mut appends: BTreeMap<usize, Vec<Item>> = BTreeMap::new();
        for step in &self.history[at].steps {
            if let Step::Append(list, item) = step {
                appends.entry(*list).or_default().push(*item);
            }
        }
        appends
    }

    /// Checks that each list has all items of each transaction, in one piece, or none, and those of every committed
    /// transaction.
    fn orders_are_whole(&self, last: &Last) -> Result<(), String> {
        for item in self.orders.iter().flatten() {
            let by = self.writes.writer(*item)?;
            if self.history[by].outcome == Outcome::Aborted {
                return Err(format!("item {item} of an aborted transaction is seen\n{:?}", self.history[by]));
            }
        }
        if let Last::Whole(lists) = last
            && lists != self.orders
        {
            return Err(format!("the last lists are {lists:?}, and before them were {:?}", self.orders));
        }
        for (at, transaction) in self.history.iter().enumerate() {
            let about = |what: &str| Err(format!("{what}\n{transaction:?}\nlists {:?}", self.orders));
            let mut any = false;
            let mut all = true;
            for (list, items) in &self.appends(at) {
                let order = &self.orders[*list];
                match order.iter().position(|item| *item == items[0]) {
                    Some(from) if order[from..].starts_with(items) => any = true,
                    None if !items.iter().any(|item| order.contains(item)) => all = false,
                    _ => return about("the appends to a list are not in one piece"),
                }
            }
            // What a crash has left is checked by itself.
            if matches!(last, Last::Whole(_)) && !all {
                if transaction.outcome == Outcome::Committed {
                    return about("a committed append is lost");
                }
                if any {
                    return about("a part of a transaction is there");
                }
            }
        }
        Ok(())
    }

    /// Checks what one transaction read of others.
    fn reads(&self, at: usize) -> Result<(), String> {
        let appends = self.appends(at);
        for (list, items) in &self.seen[at].lists {
            let order = &self.orders[*list];
            let next = order.get(items.len()).map(|item| self.writes.writer(*item)).transpose()?;
            let newest = items.last().map(|item| self.writes.writer(*item)).transpose()?;
            if newest == Some(at) {
                return Err(format!("list {list} shows a write of the transaction before it is made"));
            }
            if newest.is_some() && newest == next {
                return Err(format!("an intermediate state of list {list} is read"));
            }
            let committed = self.history[at].outcome == Outcome::Committed;
            if committed && appends.contains_key(list) && next != Some(at) {
                return Err(format!("an update of list {list} is lost: others wrote between the read and the append"));
            }
        }
        for (register, item) in &self.seen[at].registers {
            let by = self.writes.writer(*item)?;
            let writer = &self.history[by];
            let is_here = |step: &&Step| matches!(step, Step::Put(other, _) if other == register);
            if by != at && writer.outcome == Outcome::Aborted {
                return Err(format!("register {register} shows an aborted write"));
            }
            if writer.steps.iter().rfind(is_here) != Some(&Step::Put(*register, *item)) {
                return Err(format!("an intermediate state of register {register} is read"));
            }
        }
        Ok(())
    }

    /// Checks that a crash keeps every committed transaction, no part of another, and nothing without what it depends
    /// on.
    fn survivors(&self, last: &Last) -> Result<(), String> {
        let Last::Recovered(lists) = last else { return Ok(()) };
        // The appends that are there of each transaction that appends, in number, and all of its appends.
        let mut states = vec![None; self.history.len()];
        for (at, transaction) in self.history.iter().enumerate() {
            let appends = self.appends(at);
            let there = |(list, item): (&usize, &Item)| lists[*list].contains(item);
            let all: Vec<_> = appends.iter().flat_map(|(list, items)| items.iter().map(move |i| (list, i))).collect();
            let kept = all.iter().filter(|one| there(**one)).count();
            if kept != 0 && kept != all.len() {
                return Err(format!("the crash keeps a part of a transaction\n{transaction:?}\n{lists:?}"));
            }
            if transaction.outcome == Outcome::Committed && kept != all.len() {
                return Err(format!("the crash loses a committed transaction\n{transaction:?}\n{lists:?}"));
            }
            states[at] = (!all.is_empty()).then_some(kept != 0);
        }
        for (from, to, dependency) in self.dependencies() {
            let needs = dependency != Dependency::Overwritten;
            if needs && states[from] == Some(false) && states[to] == Some(true) {
                let (lost, kept) = (&self.history[from], &self.history[to]);
                return Err(format!("the crash loses what a kept transaction depends on\n{lost:?}\n{kept:?}"));
            }
        }
        Ok(())
    }

    /// The dependencies between transactions by what they write and read.
    fn dependencies(&self) -> Vec<(usize, usize, Dependency)> {
        let writer = |item: &Item| self.writes.by_item[item];
        let mut found = Vec::new();
        for order in self.orders {
            found.extend(order.windows(2).map(|two| (writer(&two[0]), writer(&two[1]), Dependency::Write)));
        }
        for (at, seen) in self.seen.iter().enumerate() {
            for (list, items) in &seen.lists {
                found.extend(items.last().map(|item| (writer(item), at, Dependency::Read)));
                let next = self.orders[*list].get(items.len());
                found.extend(next.map(|item| (at, writer(item), Dependency::Overwritten)));
            }
            found.extend(seen.registers.values().map(|item| (writer(item), at, Dependency::Read)));
        }
        found.retain(|(from, to, _)| from != to);
        found
    }

    fn graph(&self) -> Graph {
        let mut graph = Graph::new(self.history.len());
        for (from, to, dependency) in self.dependencies() {
            graph.add(from, to, dependency);
        }
        let ended = |one: &Transaction| (one.outcome != Outcome::Unknown).then_some(one.ended);
        graph.add_times(self.history.iter().map(|one| (one.begun, ended(one))));
        graph
    }

    fn describe(&self, cycle: &[(usize, Dependency)]) -> String {
        let steps = cycle.iter().map(|(at, dependency)| format!("{:?}\n  {dependency:?} to", self.history[*at]));
        format!("a cycle that snapshot isolation forbids:\n{}\nthe first", steps.collect::<Vec<_>>().join("\n"))
    }
}
