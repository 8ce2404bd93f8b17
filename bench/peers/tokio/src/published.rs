//! The benchmarks that Tokio publishes, under their own names. Figures are per operation.

use crate::peer::{runtime, scale, Row, Span, Work};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{mpsc, Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "spawn_many_local", run: spawn_many_local },
        Work { names: "spawn_many_remote_idle", run: remote_idle },
        Work { names: "spawn_many_remote_busy1", run: remote_busy1 },
        Work { names: "spawn_many_remote_busy2y", run: remote_busy2 },
        Work { names: "yield_many", run: yield_many },
        Work { names: "ping_pong", run: ping_pong },
        Work { names: "chained_spawn", run: chained_spawn },
        Work { names: "remote_spawn_1", run: || from_threads("remote_spawn_1", 1) },
        Work { names: "remote_spawn_2", run: || from_threads("remote_spawn_2", 2) },
        Work { names: "remote_spawn_4", run: || from_threads("remote_spawn_4", 4) },
        Work { names: "remote_spawn", run: || from_threads("remote_spawn", 8) },
        Work { names: "remote_spawn_16", run: || from_threads("remote_spawn_16", 16) },
        Work { names: "remote_spawn_32", run: || from_threads("remote_spawn_32", 32) },
        Work { names: "remote_spawn_64", run: || from_threads("remote_spawn_64", 64) },
        Work { names: "spawn_blocking_1", run: || blockers("spawn_blocking_1", 1) },
        Work { names: "spawn_blocking_2", run: || blockers("spawn_blocking_2", 2) },
        Work { names: "spawn_blocking_4", run: || blockers("spawn_blocking_4", 4) },
        Work { names: "spawn_blocking_8", run: || blockers("spawn_blocking_8", 8) },
        Work { names: "spawn_blocking", run: || blockers("spawn_blocking", 16) },
        Work { names: "spawn_blocking_32", run: || blockers("spawn_blocking_32", 32) },
        Work { names: "spawn_blocking_64", run: || blockers("spawn_blocking_64", 64) },
        Work { names: "blocking-call", run: blocking_call },
        Work { names: "chan_contended", run: chan_contended },
    ]
}

/// Runs so many rounds, after a tenth of them before the clock runs.
fn rounds(name: &'static str, full: usize, ops: usize, mut round: impl FnMut()) -> Vec<Row> {
    let n = scale(full, full / 20 + 2);
    for _ in 0..n / 10 + 1 {
        round();
    }
    let span = Span::begin();
    for _ in 0..n {
        round();
    }
    vec![span.per_op(name, n * ops)]
}

fn spawn_many_local() -> Vec<Row> {
    const N: usize = 10000;
    let rt = runtime();
    let (tx, rx) = mpsc::sync_channel(1000);
    let left = Arc::new(AtomicUsize::new(0));
    rounds("spawn_many_local", 100, N, || {
        left.store(N, Relaxed);
        let (tx, left) = (tx.clone(), left.clone());
        // A task does it: Tokio's own program does it in block_on, which is not one of the workers.
        rt.spawn(async move {
            for _ in 0..N {
                let (tx, left) = (tx.clone(), left.clone());
                tokio::spawn(async move {
                    if left.fetch_sub(1, Relaxed) == 1 {
                        tx.send(()).unwrap();
                    }
                });
            }
        });
        rx.recv().unwrap();
    })
}

fn spawn_and_join(name: &'static str, full: usize, n: usize, rt: &tokio::runtime::Runtime) -> Vec<Row> {
    let ran = Arc::new(AtomicUsize::new(0));
    let mut handles = Vec::with_capacity(n);
    let mut all = 0;
    let rows = rounds(name, full, n, || {
        for _ in 0..n {
            let ran = ran.clone();
            handles.push(rt.spawn(async move {
                ran.fetch_add(1, Relaxed);
            }));
        }
        rt.block_on(async {
            for handle in handles.drain(..) {
                handle.await.unwrap();
            }
        });
        all += n;
        assert_eq!(ran.load(Relaxed), all);
    });
    rows
}

fn remote_idle() -> Vec<Row> {
    spawn_and_join("spawn_many_remote_idle", 100, 10000, &runtime())
}

fn stall() {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(10) {
        thread::yield_now();
    }
}

fn remote_busy1() -> Vec<Row> {
    let rt = runtime();
    let go_on = Arc::new(AtomicBool::new(true));
    for _ in 0..8 {
        let go_on = go_on.clone();
        rt.spawn(async move {
            while go_on.load(Relaxed) {
                tokio::task::yield_now().await;
                stall();
            }
        });
    }
    let rows = spawn_and_join("spawn_many_remote_busy1", 40, 10000, &rt);
    go_on.store(false, Relaxed);
    rows
}

/// It yields each time: without that a task that starts the next one keeps its worker to itself in this
/// version for ever, and nothing that an external thread starts runs.
fn respawn(handle: Handle, go_on: Arc<AtomicBool>) {
    if go_on.load(Relaxed) {
        let next = handle.clone();
        handle.spawn(async move {
            stall();
            tokio::task::yield_now().await;
            respawn(next, go_on);
        });
    }
}

fn remote_busy2() -> Vec<Row> {
    let rt = runtime();
    let go_on = Arc::new(AtomicBool::new(true));
    for _ in 0..4 {
        respawn(rt.handle().clone(), go_on.clone());
    }
    let rows = spawn_and_join("spawn_many_remote_busy2y", 40, 1000, &rt);
    go_on.store(false, Relaxed);
    rows
}

fn yield_many() -> Vec<Row> {
    const N: usize = 200;
    const STEPS: usize = 1000;
    let rt = runtime();
    let (tx, rx) = mpsc::sync_channel(N);
    rounds("yield_many", 20, N * STEPS, || {
        for _ in 0..N {
            let tx = tx.clone();
            rt.spawn(async move {
                let mut yields = 0;
                for _ in 0..STEPS {
                    tokio::task::yield_now().await;
                    yields += 1;
                }
                tx.send(yields).unwrap();
            });
        }
        for _ in 0..N {
            assert_eq!(rx.recv().unwrap(), STEPS);
        }
    })
}

fn ping_pong() -> Vec<Row> {
    const N: usize = 1000;
    let rt = runtime();
    let (done_tx, done_rx) = mpsc::sync_channel(1000);
    let left = Arc::new(AtomicUsize::new(0));
    rounds("ping_pong", 100, N, || {
        let (done_tx, left) = (done_tx.clone(), left.clone());
        left.store(N, Relaxed);
        rt.block_on(async {
            tokio::spawn(async move {
                for _ in 0..N {
                    let (done_tx, left) = (done_tx.clone(), left.clone());
                    tokio::spawn(async move {
                        let (tx1, rx1) = oneshot::channel();
                        let (tx2, rx2) = oneshot::channel();
                        tokio::spawn(async move {
                            tx2.send(rx1.await.unwrap() + 1).unwrap();
                        });
                        tx1.send(1).unwrap();
                        assert_eq!(rx2.await.unwrap(), 2);
                        if left.fetch_sub(1, Relaxed) == 1 {
                            done_tx.send(()).unwrap();
                        }
                    });
                }
            });
            done_rx.recv().unwrap();
        });
    })
}

fn link(done: mpsc::SyncSender<usize>, n: usize, links: usize) {
    if n == links {
        done.send(n).unwrap();
    } else {
        tokio::spawn(async move { link(done, n + 1, links) });
    }
}

fn chained_spawn() -> Vec<Row> {
    const LINKS: usize = 1000;
    let rt = runtime();
    let (tx, rx) = mpsc::sync_channel(1000);
    rounds("chained_spawn", 1000, LINKS, || {
        let tx = tx.clone();
        rt.block_on(async {
            tokio::spawn(async move { link(tx, 1, LINKS) });
            assert_eq!(rx.recv().unwrap(), LINKS);
        });
    })
}

/// 12,800 tasks from so many threads, which begin together; then all are joined.
fn from_threads(name: &'static str, threads: usize) -> Vec<Row> {
    const N: usize = 12800;
    let rt = runtime();
    rounds(name, 40, N, || {
        let ran = Arc::new(AtomicUsize::new(0));
        let begin = Barrier::new(threads);
        let handles: Vec<_> = thread::scope(|s| {
            let starters: Vec<_> = (0..threads)
                .map(|_| {
                    s.spawn(|| {
                        let mut handles = Vec::with_capacity(N / threads);
                        begin.wait();
                        for _ in 0..N / threads {
                            let ran = ran.clone();
                            handles.push(rt.spawn(async move {
                                ran.fetch_add(1, Relaxed);
                            }));
                        }
                        handles
                    })
                })
                .collect();
            starters.into_iter().flat_map(|starter| starter.join().unwrap()).collect()
        });
        rt.block_on(async {
            for handle in handles {
                handle.await.unwrap();
            }
        });
        assert_eq!(ran.load(Relaxed), N);
    })
}

/// So many tasks make, a hundred times each, 16 blocking calls at once that do nothing.
fn blockers(name: &'static str, tasks: usize) -> Vec<Row> {
    const BATCHES: usize = 100;
    const BATCH: usize = 16;
    let rt = runtime();
    let full = if tasks < 16 { 80 / tasks } else { 5 };
    rounds(name, full, tasks * BATCHES * BATCH, || {
        let ran = Arc::new(AtomicUsize::new(0));
        let started: Vec<_> = (0..tasks)
            .map(|_| {
                let ran = ran.clone();
                rt.spawn(async move {
                    for _ in 0..BATCHES {
                        let calls: Vec<_> = (0..BATCH)
                            .map(|_| {
                                let ran = ran.clone();
                                tokio::task::spawn_blocking(move || {
                                    ran.fetch_add(1, Relaxed);
                                })
                            })
                            .collect();
                        for call in calls {
                            call.await.unwrap();
                        }
                    }
                })
            })
            .collect();
        rt.block_on(async {
            for task in started {
                task.await.unwrap();
            }
        });
        assert_eq!(ran.load(Relaxed), tasks * BATCHES * BATCH);
    })
}

/// Awaits calls one after the other; it is marl's row, as thrum-bench has it. The second time counts. It does
/// not use block_in_place: its first call gives the worker away, the others are plain calls.
fn blocking_call() -> Vec<Row> {
    let calls = scale(10000, 1000);
    let rt = runtime();
    let ran = Arc::new(AtomicUsize::new(0));
    let mut rows = vec![];
    for _ in 0..2 {
        let span = Span::begin();
        let ran = ran.clone();
        let task = rt.spawn(async move {
            for _ in 0..calls {
                let ran = ran.clone();
                let call = tokio::task::spawn_blocking(move || ran.fetch_add(1, Relaxed));
                call.await.unwrap();
            }
        });
        rt.block_on(task).unwrap();
        rows = vec![span.per_op("blocking-call", calls)];
    }
    assert_eq!(ran.load(Relaxed), 2 * calls);
    rows
}

/// Five tasks send a thousand numbers each into one channel of 1000.
fn chan_contended() -> Vec<Row> {
    let rt = runtime();
    rounds("chan_contended", 200, 5000, || {
        let sum: usize = rt.block_on(async {
            tokio::spawn(async {
                let (tx, mut rx) = tokio::sync::mpsc::channel(1000);
                for _ in 0..5 {
                    let tx = tx.clone();
                    tokio::spawn(async move {
                        for i in 0..1000 {
                            tx.send(i).await.unwrap();
                        }
                    });
                }
                drop(tx);
                let mut sum = 0;
                while let Some(elem) = rx.recv().await {
                    sum += elem;
                }
                sum
            })
            .await
            .unwrap()
        });
        assert_eq!(sum, 5 * 999 * 1000 / 2);
    })
}
