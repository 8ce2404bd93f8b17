//! How late small tasks begin while others hold up their workers.

use crate::peer::{options, quantile, runtime, scale, Row, Span, Work};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const PERIOD: Duration = Duration::from_millis(2);
const LEAD: Duration = Duration::from_millis(20); // for setting the timers

macro_rules! rows {
    ($row:literal) => {
        concat!($row, "-p50 ", $row, "-p99 ", $row, "-max ", $row, "-timer-p99")
    };
}

pub fn works() -> Vec<Work> {
    vec![
        Work { names: rows!("stall-sleep-1"), run: || stall(rows!("stall-sleep-1"), 1, sleep_on) },
        Work { names: rows!("stall-sleep-2"), run: || stall(rows!("stall-sleep-2"), 2, sleep_on) },
        Work { names: rows!("stall-sleep-4"), run: || stall(rows!("stall-sleep-4"), 4, sleep_on) },
        Work { names: rows!("stall-compute-1"), run: || stall(rows!("stall-compute-1"), 1, compute_on) },
        Work { names: rows!("stall-compute-2"), run: || stall(rows!("stall-compute-2"), 2, compute_on) },
        Work { names: rows!("stall-compute-4"), run: || stall(rows!("stall-compute-4"), 4, compute_on) },
        Work { names: rows!("stall-read-2"), run: || stall(rows!("stall-read-2"), 2, read_pipe) },
        Work { names: rows!("stall-mutex-2"), run: || stall(rows!("stall-mutex-2"), 2, wait_for_mutex) },
    ]
}

/// What the tasks wait for that hold a worker. All of it ends when their second is over.
struct Held {
    time: Duration,
    pipe: [i32; 2],
    mutex: Mutex<()>,
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Held {
    fn new() -> Held {
        let mut pipe = [0; 2];
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        let time = Duration::from_millis(scale(1000, 50) as u64);
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Held { time, pipe, mutex: Mutex::new(()), begun, ended }
    }

    fn write_pipe(&self, holders: usize) {
        for _ in 0..holders {
            assert_eq!(unsafe { libc::write(self.pipe[1], [0u8].as_ptr().cast(), 1) }, 1);
        }
    }
}

fn sleep_on(held: &Held) {
    thread::sleep(held.time);
}

fn compute_on(held: &Held) {
    let begin = Instant::now();
    while begin.elapsed() < held.time {
        std::hint::spin_loop();
    }
}

fn read_pipe(held: &Held) {
    let mut byte = [0u8];
    assert_eq!(unsafe { libc::read(held.pipe[0], byte.as_mut_ptr().cast(), 1) }, 1);
}

fn wait_for_mutex(held: &Held) {
    drop(held.mutex.lock().unwrap());
}

fn sleep_until(due: Instant) {
    thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// What is due at an instant and says when it began.
type Probe = (Instant, JoinHandle<Instant>);

/// How late those were that were due before the end, in order.
async fn late_us(all: Vec<Probe>, end: Instant) -> Vec<f64> {
    let mut us = vec![];
    for (due, began) in all {
        let began = began.await.unwrap();
        if due <= end {
            us.push(began.saturating_duration_since(due).as_nanos() as f64 / 1e3);
        }
    }
    us.sort_by(|a, b| a.partial_cmp(b).unwrap());
    us
}

fn stall(names: &'static str, holders: usize, hold: fn(&Held)) -> Vec<Row> {
    let (rt, held) = (runtime(), Arc::new(Held::new()));
    let workers = options().workers;
    let turns = (holders + workers - 1) / workers;
    let most = turns * (held.time.as_millis() / PERIOD.as_millis()) as usize;
    let start = Instant::now() + LEAD;
    let timed: Vec<Probe> = (0..most)
        .map(|i| {
            let due = start + PERIOD * i as u32 + PERIOD / 2;
            let sleeps = async move {
                tokio::time::sleep_until(due.into()).await;
                Instant::now()
            };
            (due, rt.spawn(sleeps))
        })
        .collect();
    assert!(Instant::now() < start, "starting the sleepers took too long");
    sleep_until(start);
    let mut guard = Some(held.mutex.lock().unwrap());
    let span = Span::begin();
    for _ in 0..holders {
        let held = held.clone();
        rt.spawn(async move {
            held.begun.fetch_add(1, SeqCst);
            hold(&held);
            held.ended.fetch_add(1, SeqCst);
        });
    }
    while held.begun.load(SeqCst) < holders.min(workers) {
        thread::sleep(Duration::from_micros(50));
    }
    let (mut posted, mut due): (Vec<Probe>, Instant) = (vec![], start);
    while held.ended.load(SeqCst) < holders {
        due += PERIOD;
        sleep_until(due);
        if guard.is_some() && due >= start + held.time {
            guard = None;
            held.write_pipe(holders);
        }
        if posted.len() < most {
            posted.push((due, rt.spawn(async { Instant::now() })));
        }
    }
    let end = Instant::now();
    let us = rt.block_on(late_us(posted, end));
    let timers = rt.block_on(late_us(timed, end));
    let figures = [quantile(&us, 0.5), quantile(&us, 0.99), us[us.len() - 1], quantile(&timers, 0.99)];
    let value = |(name, us_late)| span.value(name, "us", us_late, us.len());
    names.split(' ').zip(figures).map(value).collect()
}
