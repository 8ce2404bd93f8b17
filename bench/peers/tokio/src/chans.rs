//! Channels: Tokio's have one receiver, and buffers; so there is no chan-4-4 and no rendezvous.

use crate::peer::{inside, options, scale, Row, Span, Work};
use std::future::Future;
use std::pin::Pin;
use tokio::sync::mpsc::{channel, Receiver, Sender};

const BUFFER: usize = 64;

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "chan-1-1", run: one_to_one },
        Work { names: "chan-pingpong-buffered", run: pingpong },
        Work { names: "select-8", run: select_8 },
        Work { names: "skynet-chan", run: skynet },
    ]
}

async fn send_all(c: Sender<u64>, elems: u64) {
    for i in 1..=elems {
        c.send(i).await.unwrap();
    }
}

fn one_to_one() -> Vec<Row> {
    let elems = scale(4000000, 1000) as u64;
    inside(async move {
        let (tx, mut rx) = channel(BUFFER);
        let span = Span::begin();
        let receiver = tokio::spawn(async move {
            let (mut n, mut sum) = (0, 0);
            while let Some(elem) = rx.recv().await {
                n += 1;
                sum += elem;
            }
            (n, sum)
        });
        tokio::spawn(send_all(tx, elems));
        let (n, sum) = receiver.await.unwrap();
        let row = span.per_op("chan-1-1", elems as usize);
        assert_eq!((n, sum), (elems, elems * (elems + 1) / 2));
        vec![row]
    })
}

fn pingpong() -> Vec<Row> {
    let rounds = scale(1000000, 10000);
    inside(async move {
        let (there, mut there_rx) = channel::<usize>(BUFFER);
        let (back, mut back_rx) = channel::<usize>(BUFFER);
        tokio::spawn(async move {
            while let Some(ball) = there_rx.recv().await {
                back.send(ball + 1).await.unwrap();
            }
        });
        let mut ball = 0;
        let mut span = Span::begin();
        for i in 0..rounds + rounds / 10 {
            if i == rounds / 10 {
                span = Span::begin();
            }
            there.send(ball).await.unwrap();
            ball = back_rx.recv().await.unwrap() + 1;
        }
        let row = span.per_op("chan-pingpong-buffered", rounds);
        assert_eq!(ball, 2 * (rounds + rounds / 10));
        vec![row]
    })
}

fn select_8() -> Vec<Row> {
    let elems = scale(200000, 1000) as u64;
    inside(async move {
        let (mut txs, mut rxs): (Vec<Sender<u64>>, Vec<Receiver<u64>>) =
            (0..8).map(|_| channel(BUFFER)).unzip();
        let span = Span::begin();
        let receiver = tokio::spawn(async move {
            let (mut n, mut sum) = (0, 0);
            let (a, b, c, d, e, f, g, h) = match &mut rxs[..] {
                [a, b, c, d, e, f, g, h] => (a, b, c, d, e, f, g, h),
                _ => unreachable!(),
            };
            while n < 8 * elems {
                sum += tokio::select! {
                    Some(elem) = a.recv() => elem,
                    Some(elem) = b.recv() => elem,
                    Some(elem) = c.recv() => elem,
                    Some(elem) = d.recv() => elem,
                    Some(elem) = e.recv() => elem,
                    Some(elem) = f.recv() => elem,
                    Some(elem) = g.recv() => elem,
                    Some(elem) = h.recv() => elem,
                };
                n += 1;
            }
            sum
        });
        for tx in txs.drain(..) {
            tokio::spawn(send_all(tx, elems));
        }
        let sum = receiver.await.unwrap();
        let row = span.per_op("select-8", 8 * elems as usize);
        assert_eq!(sum, 8 * (elems * (elems + 1) / 2));
        vec![row]
    })
}

fn grow(up: Sender<u64>, first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let mut sum = first;
        if leaves > 1 {
            let (tx, mut rx) = channel(10);
            for i in 0..10 {
                let part = leaves / 10;
                if part == 1 {
                    tokio::spawn(leaf(tx.clone(), first + i));
                } else {
                    tokio::spawn(grow(tx.clone(), first + i * part, part));
                }
            }
            sum = 0;
            for _ in 0..10 {
                sum += rx.recv().await.unwrap();
            }
        }
        up.send(sum).await.unwrap();
    })
}

/// Spares the leaves the box that the recursion needs.
async fn leaf(up: Sender<u64>, number: u64) {
    up.send(number).await.unwrap();
}

fn skynet() -> Vec<Row> {
    let leaves = if options().quick { 10000 } else { 1000000 };
    inside(async move {
        let (tx, mut rx) = channel(1);
        let span = Span::begin();
        tokio::spawn(grow(tx, 0, leaves));
        let sum = rx.recv().await.unwrap();
        let row = span.ms("skynet-chan", 1);
        assert_eq!(sum, leaves * (leaves - 1) / 2);
        vec![row]
    })
}
