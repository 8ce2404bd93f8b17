//! Tasks that give way to each other. All of a row wait at a gate before the clock runs.

use crate::peer::{inside, scale, Row, Span, Work};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, Barrier, Mutex, Notify, RwLock, Semaphore};
use tokio::task::yield_now;

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "yield", run: yields },
        Work { names: "pingpong", run: pingpong },
        Work { names: "mutex-alone", run: || mutex("mutex-alone", 1) },
        Work { names: "mutex-2", run: || mutex("mutex-2", 2) },
        Work { names: "mutex-100", run: || mutex("mutex-100", 100) },
        Work { names: "mutex-1000", run: || mutex("mutex-1000", 1000) },
        Work { names: "rwlock-read-2", run: || rwlock("rwlock-read-2", 2, 5000000, false) },
        Work { names: "rwlock-read-100", run: || rwlock("rwlock-read-100", 100, 5000000, false) },
        Work { names: "rwlock-read-1000", run: || rwlock("rwlock-read-1000", 1000, 5000000, false) },
        Work { names: "rwlock-mixed", run: || rwlock("rwlock-mixed", 100, 2000000, true) },
        Work { names: "many-to-many", run: many_to_many },
        Work { names: "event-chain", run: event_chain },
        Work { names: "event-baton", run: event_baton },
        Work { names: "tickets", run: tickets },
        Work { names: "pool-alone", run: || pool("pool-alone", 1) },
        Work { names: "pool-100", run: || pool("pool-100", 100) },
    ]
}

/// Each task returns how many steps it has made.
async fn crowd<F, T>(name: &'static str, n: usize, steps: usize, body: F) -> Row
where
    F: Fn(usize) -> T,
    T: Future<Output = usize> + Send + 'static,
{
    let gate = Arc::new(Barrier::new(n + 1));
    let mut handles = vec![];
    for i in 0..n {
        let (gate, work) = (gate.clone(), body(i));
        handles.push(tokio::spawn(async move {
            gate.wait().await;
            work.await
        }));
    }
    tokio::time::sleep(Duration::from_millis(20)).await; // by now all are there
    let span = Span::begin();
    gate.wait().await;
    let mut done = 0;
    for handle in handles {
        done += handle.await.unwrap();
    }
    let row = span.per_op(name, n * steps);
    assert_eq!(done, n * steps);
    row
}

fn yields() -> Vec<Row> {
    let steps = scale(1000, 50);
    inside(async move {
        let body = |_| async move {
            let mut count = 0;
            for _ in 0..steps {
                yield_now().await;
                count += 1;
            }
            count
        };
        vec![crowd("yield", 1000, steps, body).await]
    })
}

fn mutex(name: &'static str, n: usize) -> Vec<Row> {
    let steps = scale(5000000, 200000) / n;
    inside(async move {
        let lock = Arc::new(Mutex::new(0));
        let body = |_| {
            let lock = lock.clone();
            async move {
                for _ in 0..steps {
                    *lock.lock().await += 1;
                }
                steps
            }
        };
        let row = crowd(name, n, steps, body).await;
        assert_eq!(*lock.lock().await, n * steps);
        vec![row]
    })
}

fn rwlock(name: &'static str, n: usize, full: usize, writes: bool) -> Vec<Row> {
    let steps = scale(full, 100000) / n;
    inside(async move {
        let lock = Arc::new(RwLock::new(1));
        let body = |index: usize| {
            let lock = lock.clone();
            async move {
                let mut count = 0;
                for i in 0..steps {
                    if writes && (i + index) % 100 == 99 {
                        let mut one = lock.write().await;
                        *one = 1;
                        count += *one;
                    } else {
                        count += *lock.read().await;
                    }
                }
                count
            }
        };
        vec![crowd(name, n, steps, body).await]
    })
}

fn pingpong() -> Vec<Row> {
    let rounds = scale(1000000, 50000);
    inside(async move {
        let ping = Arc::new(Semaphore::new(0));
        let pong = Arc::new(Semaphore::new(0));
        let (there, back) = (ping.clone(), pong.clone());
        let second = tokio::spawn(async move {
            let mut returned = 0;
            for _ in 0..rounds {
                there.acquire().await.unwrap().forget();
                returned += 1;
                back.add_permits(1);
            }
            returned
        });
        let first = tokio::spawn(async move {
            let span = Span::begin();
            for _ in 0..rounds {
                ping.add_permits(1);
                pong.acquire().await.unwrap().forget();
            }
            span.per_op("pingpong", rounds)
        });
        let row = first.await.unwrap();
        assert_eq!(second.await.unwrap(), rounds);
        vec![row]
    })
}

/// In each step a task posts to one other, to each other one in turn, and waits for a post.
fn many_to_many() -> Vec<Row> {
    const MEMBERS: usize = 100;
    let steps = scale(20000, 1000);
    inside(async move {
        let mailbox: Arc<Vec<Semaphore>> =
            Arc::new((0..MEMBERS).map(|_| Semaphore::new(0)).collect());
        let mut rows = vec![];
        for n in [steps / 10, steps] {
            let span = Span::begin();
            let members: Vec<_> = (0..MEMBERS)
                .map(|me| {
                    let mailbox = mailbox.clone();
                    tokio::spawn(async move {
                        let mut taken = 0;
                        for i in 0..n {
                            mailbox[(me + 1 + i % (MEMBERS - 1)) % MEMBERS].add_permits(1);
                            mailbox[me].acquire().await.unwrap().forget();
                            taken += 1;
                        }
                        taken
                    })
                })
                .collect();
            for member in members {
                assert_eq!(member.await.unwrap(), n);
            }
            rows = vec![span.per_op("many-to-many", steps * MEMBERS)];
        }
        rows
    })
}

fn event_chain() -> Vec<Row> {
    const LINKS: usize = 512;
    let rounds = scale(1000, 50);
    inside(async move {
        let events: Vec<Arc<Notify>> = (0..=LINKS).map(|_| Arc::new(Notify::new())).collect();
        let mut handles = vec![];
        for i in 0..LINKS {
            let (mine, next) = (events[i].clone(), events[i + 1].clone());
            handles.push(tokio::spawn(async move {
                for _ in 0..rounds {
                    mine.notified().await;
                    next.notify_one();
                }
                rounds
            }));
        }
        let mut span = Span::begin();
        for round in 0..rounds {
            if round == rounds / 10 {
                span = Span::begin();
            }
            events[0].notify_one();
            events[LINKS].notified().await;
        }
        let row = span.per_op("event-chain", (rounds - rounds / 10) * LINKS);
        for handle in handles {
            assert_eq!(handle.await.unwrap(), rounds);
        }
        vec![row]
    })
}

fn event_baton() -> Vec<Row> {
    let passes = scale(262144, 20000) / 2;
    inside(async move {
        let (mine, other) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (there, back) = (other.clone(), mine.clone());
        let second = tokio::spawn(async move {
            for _ in 0..passes {
                there.notified().await;
                back.notify_one();
            }
            passes
        });
        let span = Span::begin();
        for _ in 0..passes {
            other.notify_one();
            mine.notified().await;
        }
        let row = span.per_op("event-baton", 2 * passes);
        assert_eq!(second.await.unwrap(), passes);
        vec![row]
    })
}

struct Booth {
    turns: Vec<Notify>,
    turn: AtomicUsize, // relaxed: the turns order what is done to it
}

/// Each of 512 tasks waits for the one before; the last one is started first.
fn tickets() -> Vec<Row> {
    const N: usize = 512;
    let rounds = scale(1000, 50);
    inside(async move {
        let turns = (0..=N).map(|_| Notify::new()).collect();
        let booth = Arc::new(Booth { turns, turn: AtomicUsize::new(0) });
        let mut span = Span::begin();
        for round in 0..rounds {
            if round == rounds / 10 {
                span = Span::begin();
            }
            booth.turns[0].notify_one();
            for i in (0..N).rev() {
                let booth = booth.clone();
                tokio::spawn(async move {
                    booth.turns[i].notified().await;
                    let turn = booth.turn.load(Relaxed);
                    assert_eq!(turn % N, i, "out of order");
                    booth.turn.store(turn + 1, Relaxed);
                    booth.turns[i + 1].notify_one();
                });
            }
            booth.turns[N].notified().await;
        }
        let row = span.per_op("tickets", (rounds - rounds / 10) * N);
        assert_eq!(booth.turn.load(Relaxed), rounds * N);
        vec![row]
    })
}

#[repr(align(64))]
struct Object(u64);

/// The free objects, or the tasks that wait for one.
struct Shelf {
    free: Vec<Box<Object>>,
    waiting: VecDeque<oneshot::Sender<Box<Object>>>,
}

struct Pool(parking_lot::Mutex<Shelf>);

impl Pool {
    async fn borrow(&self) -> Box<Object> {
        let receiver = {
            let mut shelf = self.0.lock();
            if let Some(object) = shelf.free.pop() {
                return object;
            }
            let (sender, receiver) = oneshot::channel();
            shelf.waiting.push_back(sender);
            receiver
        };
        receiver.await.unwrap()
    }

    fn give_back(&self, mut object: Box<Object>) {
        let mut shelf = self.0.lock();
        while let Some(sender) = shelf.waiting.pop_front() {
            match sender.send(object) {
                Ok(()) => return,
                Err(unwanted) => object = unwanted,
            }
        }
        shelf.free.push(object);
    }
}

/// A list under a mutex holds ten objects, which count, too, as in bb8, a pool for Tokio: it costs half of
/// what a semaphore and a list do.
fn pool(name: &'static str, n: usize) -> Vec<Row> {
    const OBJECTS: usize = 10;
    let steps = scale(5000000, 200000) / n;
    inside(async move {
        let free = (0..OBJECTS).map(|_| Box::new(Object(0))).collect();
        let pool = Arc::new(Pool(parking_lot::Mutex::new(Shelf { free, waiting: VecDeque::new() })));
        let body = |_| {
            let pool = pool.clone();
            async move {
                for _ in 0..steps {
                    let mut object = pool.borrow().await;
                    object.0 += 1;
                    pool.give_back(object);
                }
                steps
            }
        };
        let row = crowd(name, n, steps, body).await;
        let free = std::mem::take(&mut pool.0.lock().free);
        assert_eq!(free.len(), OBJECTS);
        assert_eq!(free.iter().map(|object| object.0).sum::<u64>() as usize, n * steps);
        vec![row]
    })
}
