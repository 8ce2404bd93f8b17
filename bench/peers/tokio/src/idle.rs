//! The costs of sleeping, waking and waiting.

use crate::peer::{cpu_us, inside, quantile, runtime, scale, Row, Slots, Span, Work};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "wake-p50 wake-p99", run: wake },
        Work { names: "lone-task-p50 lone-task-p99", run: lone },
        Work { names: "idle", run: idle },
        Work { names: "blocked-memory blocked-time", run: blocked },
        Work {
            names: "sleeps sleeps-late-p50 sleeps-late-p99 sleeps-late-max",
            run: || sleeps(&SLEEPS, scale(100000, 5000), 20, 0),
        },
        Work {
            names: "sleeps-half sleeps-half-late-p50 sleeps-half-late-p99 sleeps-half-late-max",
            run: || sleeps(&SLEEPS_HALF, 14000, scale(60, 6), 3),
        },
    ]
}

/// A plain thread spawns onto idle workers and blocks until the task has run.
fn wake() -> Vec<Row> {
    let (rt, rounds) = (runtime(), scale(1000, 200));
    let (tx, rx) = std::sync::mpsc::channel();
    let mut us = vec![];
    let span = Span::begin();
    for _ in 0..rounds {
        thread::sleep(Duration::from_micros(500));
        let sent = Instant::now();
        let tx = tx.clone();
        rt.spawn(async move { tx.send(Instant::now()).unwrap() });
        us.push((rx.recv().unwrap() - sent).as_nanos() as f64 / 1e3);
    }
    us.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let mut counts = vec![0; CLASSES];
    us.iter().for_each(|us| counts[class_of((us * 1e3) as u64)] += 1);
    let mut rows = vec![
        span.value("wake-p50", "us", quantile(&us, 0.5), rounds),
        span.value("wake-p99", "us", quantile(&us, 0.99), rounds),
    ];
    rows[0].histogram = pairs(&counts);
    rows
}

/// A task starts one other and computes on for 10 ms.
fn lone() -> Vec<Row> {
    let rounds = scale(300, 50);
    inside(async move {
        let computes = Duration::from_millis(10);
        let mut us = vec![];
        let span = Span::begin();
        for _ in 0..rounds {
            let sent = Instant::now();
            let began = tokio::spawn(async { Instant::now() });
            while sent.elapsed() < computes {
                std::hint::spin_loop();
            }
            us.push((began.await.unwrap() - sent).as_nanos() as f64 / 1e3);
        }
        us.sort_by(|a, b| a.partial_cmp(b).unwrap());
        vec![
            span.value("lone-task-p50", "us", quantile(&us, 0.5), rounds),
            span.value("lone-task-p99", "us", quantile(&us, 0.99), rounds),
        ]
    })
}

fn idle() -> Vec<Row> {
    let rt = runtime();
    for _ in 0..1000 {
        rt.block_on(async { tokio::spawn(async {}).await.unwrap() });
    }
    thread::sleep(Duration::from_millis(200));
    let (span, cpu, begin) = (Span::begin(), cpu_us(), Instant::now());
    thread::sleep(Duration::from_micros(scale(2000000, 500000) as u64));
    let used = cpu_us() - cpu;
    vec![span.value("idle", "us/s", used / begin.elapsed().as_secs_f64(), 1)]
}

/// Resident and swapped pages and page tables, and 256 bytes for each mapping, as in thrum-bench.
fn bytes_in_use() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kb: f64 = status
        .lines()
        .filter(|line| ["VmRSS:", "VmSwap:", "VmPTE:"].iter().any(|name| line.starts_with(name)))
        .map(|line| line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap())
        .sum();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    kb * 1024.0 + 256.0 * maps.lines().count() as f64
}

fn blocked() -> Vec<Row> {
    let n = scale(100000, 10000);
    let mut slots = Slots::new(n);
    let before = bytes_in_use();
    inside(async move {
        let gate = Arc::new(Semaphore::new(0));
        let waiting = Arc::new(Semaphore::new(0));
        let running = Arc::new(Semaphore::new(0));
        let span = Span::begin();
        for i in 0..n {
            let (gate, waiting, running) = (gate.clone(), waiting.clone(), running.clone());
            let slot = slots.at(i);
            tokio::spawn(async move {
                waiting.add_permits(1);
                gate.acquire().await.unwrap().forget();
                slot.count();
                running.add_permits(1);
            });
        }
        waiting.acquire_many(n as u32).await.unwrap().forget();
        let time = span.per_op("blocked-time", n);
        tokio::time::sleep(Duration::from_millis(100)).await;
        let memory = (bytes_in_use() - before) / n as f64;
        gate.add_permits(n);
        running.acquire_many(n as u32).await.unwrap().forget();
        slots.check(1);
        vec![span.value("blocked-memory", "bytes", memory, n), time]
    })
}

// How late, in classes a 32nd apart, as in thrum-bench; in 64 tables, so that tasks seldom share one.
const CLASSES: usize = 64 * 32;
const TABLES: usize = 64;

fn class_of(ns: u64) -> usize {
    if ns < 32 {
        return ns as usize;
    }
    let shift = 58 - ns.leading_zeros() as usize;
    (shift + 1) * 32 + (ns >> shift) as usize % 32
}

fn us_of(class: usize) -> f64 {
    if class < 32 {
        return class as f64 / 1e3;
    }
    ((32 + class as u64 % 32) << (class / 32 - 1)) as f64 / 1e3
}

fn late_quantile(counts: &[u64], share: f64) -> f64 {
    let all: u64 = counts.iter().sum();
    let (mut seen, mut last) = (0, 0);
    for (class, n) in counts.iter().enumerate() {
        if seen as f64 >= share * all as f64 {
            break;
        }
        seen += n;
        last = if *n > 0 { class } else { last };
    }
    us_of(last)
}

/// The classes that something fell into.
fn pairs(counts: &[u64]) -> Vec<(f64, u64)> {
    let some = counts.iter().enumerate().filter(|(_, n)| **n > 0);
    some.map(|(class, n)| (us_of(class), *n)).collect()
}

const SLEEPS: [&str; 4] = ["sleeps", "sleeps-late-p50", "sleeps-late-p99", "sleeps-late-max"];
const SLEEPS_HALF: [&str; 4] =
    ["sleeps-half", "sleeps-half-late-p50", "sleeps-half-late-p99", "sleeps-half-late-max"];

/// So many sleep so often; the first few times of each, while others start, are not noted.
fn sleeps(names: &[&'static str; 4], n: usize, rounds: usize, unnoted: usize) -> Vec<Row> {
    let tables: Arc<Vec<Vec<AtomicU32>>> =
        Arc::new((0..TABLES).map(|_| (0..CLASSES).map(|_| AtomicU32::new(0)).collect()).collect());
    let mine = tables.clone();
    let (cpu, span) = (cpu_us(), Span::begin());
    inside(async move {
        let ended = Arc::new(Semaphore::new(0));
        for i in 0..n {
            let (tables, ended) = (mine.clone(), ended.clone());
            let mut random = (i as u32).wrapping_mul(2654435761).wrapping_add(1);
            tokio::spawn(async move {
                for round in 0..rounds {
                    random ^= random << 13;
                    random ^= random >> 17;
                    random ^= random << 5;
                    let until =
                        Instant::now() + Duration::from_micros(1000 + random as u64 % 99001);
                    tokio::time::sleep_until(until.into()).await;
                    let late = Instant::now().checked_duration_since(until).expect("short");
                    if round >= unnoted {
                        tables[i % TABLES][class_of(late.as_nanos() as u64)]
                            .fetch_add(1, Ordering::Relaxed);
                    }
                }
                ended.add_permits(1);
            });
        }
        ended.acquire_many(n as u32).await.unwrap().forget();
    });
    let used = cpu_us() - cpu;
    let counts: Vec<u64> = (0..CLASSES)
        .map(|class| tables.iter().map(|t| t[class].load(Ordering::Relaxed) as u64).sum())
        .collect();
    assert_eq!(counts.iter().sum::<u64>() as usize, n * (rounds - unnoted));
    let ops = n * rounds;
    let mut rows = vec![
        span.value(names[0], "us", used / ops as f64, ops),
        span.value(names[1], "us", late_quantile(&counts, 0.5), ops),
        span.value(names[2], "us", late_quantile(&counts, 0.99), ops),
        span.value(names[3], "us", late_quantile(&counts, 1.0), ops),
    ];
    rows[1].histogram = pairs(&counts);
    rows
}
