//! The time of a world of simulated threads. All of these threads run on one thread of the
//! operating system.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::sync as host;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

thread_local! {
    static TIMELINE: RefCell<Option<Timeline>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Timeline {
    now: Duration,
    /// The waiting threads, sorted by the time for which they wait.
    alarms: BTreeMap<(Duration, u64), Arc<Bell>>,
    next: u64,
}

/// A signal that one thread waits for.
#[derive(Default)]
pub(crate) struct Bell {
    rung: host::Mutex<bool>,
    changed: host::Condvar,
}

impl Bell {
    /// Wakes the thread that waits for this bell. If no thread waits yet, the next wait returns at
    /// once.
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        while !*rung {
            rung = self.changed.wait(rung).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn with<T>(act: impl FnOnce(&mut Timeline) -> T) -> Option<T> {
    TIMELINE.with_borrow_mut(|timeline| timeline.as_mut().map(act))
}

/// The time in the current world; zero outside of a world.
pub(crate) fn now() -> Duration {
    with(|timeline| timeline.now).unwrap_or_default()
}

/// A bell that rings after this time, and the key of its alarm; `None` if time is not simulated.
pub(crate) fn alarm(after: Duration) -> Option<(Arc<Bell>, Alarm)> {
    with(|timeline| {
        let bell = Arc::new(Bell::default());
        let key = (timeline.now.saturating_add(after), timeline.next);
        timeline.next += 1;
        timeline.alarms.insert(key, bell.clone());
        (bell, Alarm(key))
    })
}

/// The key of an alarm.
pub(crate) struct Alarm((Duration, u64));

impl Alarm {
    /// Waits for the bell of this alarm. Returns true if the bell rang because the time has passed.
    pub(crate) fn wait(self, bell: &Bell) -> bool {
        bell.wait();
        // A notification rings the bell, but does not remove the alarm.
        with(|timeline| timeline.alarms.remove(&self.0).is_none()).unwrap_or(true)
    }
}

/// See [`crate::simulated::SimulatedClock::wait_until`].
pub(crate) fn wait_until(moment: Duration) {
    if let Some((bell, alarm)) = alarm(moment.saturating_sub(now())) {
        alarm.wait(&bell);
    }
}

/// Runs `world` in its own simulated time, under a schedule that is determined by `seed`.
///
/// # Panics
/// If `world` panics, and on a deadlock.
pub fn run(seed: u64, world: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::default();
    config.stack_size = 2 << 20;
    // A world takes millions of steps; the seed is sufficient to replay them.
    config.max_steps = shuttle::MaxSteps::None;
    config.failure_persistence = shuttle::FailurePersistence::None;
    let world = Arc::new(world);
    shuttle::Runner::new(KeeperLast { random: seed | 1, done: false }, config).run(move || {
        TIMELINE.set(Some(Timeline::default()));
        let over = Arc::new(AtomicBool::new(false));
        let (world, end) = (world.clone(), over.clone());
        let thread = shuttle::thread::spawn(move || {
            world();
            end.store(true, Ordering::SeqCst);
        });
        keep_time(&over);
        let ended = thread.join();
        TIMELINE.set(None);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Moves the clock whenever this thread is scheduled, which happens only when no other thread can
/// run.
// The panic ends a test.
#[allow(clippy::panic)]
fn keep_time(over: &AtomicBool) {
    loop {
        shuttle::thread::yield_now();
        if over.load(Ordering::SeqCst) {
            return;
        }
        let due = with(|timeline| {
            let ((moment, _), bell) = timeline.alarms.pop_first()?;
            timeline.now = timeline.now.max(moment);
            Some(bell)
        });
        match due.flatten() {
            Some(bell) => bell.ring(),
            None => panic!("all threads wait for each other"),
        }
    }
}

/// Picks a thread that can run: usually the running thread, and the first thread only if no other
/// thread can run.
struct KeeperLast {
    random: u64,
    done: bool,
}

/// A thread that could continue is interrupted, on average, once in this many steps.
const STAYS: u64 = 8;

impl Scheduler for KeeperLast {
    fn new_execution(&mut self) -> Option<Schedule> {
        (!std::mem::replace(&mut self.done, true)).then(|| Schedule::new(self.random))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let keeper = TaskId::from(0);
        let others = || runnable.iter().map(|task| task.id()).filter(|id| *id != keeper);
        let count = others().count() as u64;
        if count == 0 {
            return Some(keeper);
        }
        let random = self.next_u64();
        let stays = !is_yielding && !random.is_multiple_of(STAYS);
        if let Some(current) = current.filter(|current| stays && others().any(|id| id == *current)) {
            return Some(current);
        }
        others().nth((random / STAYS % count) as usize)
    }

    fn next_u64(&mut self) -> u64 {
        // Xorshift (Marsaglia 2003), with a multiplication at the end.
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }
}
