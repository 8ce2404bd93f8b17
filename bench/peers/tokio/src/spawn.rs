//! Starting small tasks and waiting for them.

use crate::peer::{inside, runtime, scale, Row, Slots, Span, Spans, Work};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "spawn", run: spawn },
        Work { names: "spawn-joined", run: joined },
        Work { names: "spawn-burst spawn-burst-cold", run: burst },
        Work { names: "spawn-external", run: external },
        Work { names: "fanout", run: fanout },
    ]
}

/// Counts down; the last one wakes the waiter.
struct Group {
    left: AtomicUsize,
    all: Notify,
}

impl Group {
    fn new() -> Arc<Group> {
        Arc::new(Group { left: AtomicUsize::new(0), all: Notify::new() })
    }

    fn done(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.all.notify_one();
        }
    }
}

/// Spawns a task for each slot. The group has a reference count of its own, as Tokio demands.
async fn round(handle: &Handle, slots: &mut Slots, group: &Arc<Group>) {
    group.left.store(slots.len(), Ordering::Relaxed);
    for i in 0..slots.len() {
        let slot = slots.at(i);
        let group = group.clone();
        handle.spawn(async move {
            slot.count();
            group.done();
        });
    }
    group.all.notified().await;
}

fn spawn() -> Vec<Row> {
    inside(async {
        let (mut slots, rounds, group) = (Slots::new(1000), scale(1000, 20), Group::new());
        let handle = Handle::current();
        let warm = rounds / 10 + 1;
        for _ in 0..warm {
            round(&handle, &mut slots, &group).await;
        }
        let span = Span::begin();
        for _ in 0..rounds {
            round(&handle, &mut slots, &group).await;
        }
        let row = span.per_op("spawn", rounds * 1000);
        slots.check(warm + rounds);
        vec![row]
    })
}

async fn join_round(slots: &mut Slots) {
    let mut handles = Vec::with_capacity(slots.len());
    for i in 0..slots.len() {
        let slot = slots.at(i);
        handles.push(tokio::spawn(async move {
            slot.count();
            1
        }));
    }
    for handle in handles {
        assert_eq!(handle.await.unwrap(), 1);
    }
}

fn joined() -> Vec<Row> {
    inside(async {
        let (mut slots, rounds) = (Slots::new(1000), scale(1000, 20));
        let warm = rounds / 10 + 1;
        for _ in 0..warm {
            join_round(&mut slots).await;
        }
        let span = Span::begin();
        for _ in 0..rounds {
            join_round(&mut slots).await;
        }
        let row = span.per_op("spawn-joined", rounds * 1000);
        slots.check(warm + rounds);
        vec![row]
    })
}

/// The first burst finds all memory untouched; the third one is the warm figure.
fn burst() -> Vec<Row> {
    inside(async {
        let (mut slots, group) = (Slots::new(scale(1000000, 10000)), Group::new());
        let handle = Handle::current();
        let mut rows = vec![];
        for name in ["spawn-burst-cold", "", "spawn-burst"] {
            let span = Span::begin();
            round(&handle, &mut slots, &group).await;
            let row = span.per_op(name, slots.len());
            if !name.is_empty() {
                rows.push(row);
            }
        }
        slots.check(3);
        rows
    })
}

fn external() -> Vec<Row> {
    let rt = runtime();
    let (mut slots, group) = (Slots::new(scale(1000000, 10000)), Group::new());
    let mut rows = vec![];
    for _ in 0..2 {
        let span = Span::begin();
        rt.block_on(round(rt.handle(), &mut slots, &group));
        rows = vec![span.per_op("spawn-external", slots.len())];
    }
    slots.check(2);
    rows
}

/// Each fan-out finds the other workers asleep: it begins 2 ms after the last one ended.
fn fanout() -> Vec<Row> {
    inside(async {
        let (mut slots, repeats, group) = (Slots::new(10000), scale(50, 5), Group::new());
        let (handle, mut spans) = (Handle::current(), Spans::default());
        for _ in 0..repeats {
            tokio::time::sleep(Duration::from_millis(2)).await;
            let span = Span::begin();
            round(&handle, &mut slots, &group).await;
            spans.add(&span);
        }
        slots.check(repeats);
        vec![spans.per_op("fanout", repeats * slots.len())]
    })
}
