//! What a task alone pays for a hop, an await and a task that it awaits: the peer of ../../../cpp/cpp.cc.

use crate::peer::{inside, scale, Row, Span, Work};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use tokio::task::yield_now;

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "cxx-hop", run: hop },
        Work { names: "cxx-await", run: boxed },
        Work { names: "cxx-spawn-await", run: spawned },
    ]
}

async fn same(i: usize) -> usize {
    black_box(i)
}

fn hop() -> Vec<Row> {
    let n = scale(1000000, 1000);
    vec![inside(async move {
        let span = Span::begin();
        for _ in 0..n {
            yield_now().await;
        }
        span.per_op("cxx-hop", n)
    })]
}

/// In memory of its own, as a coroutine of C++ is: one that lies in its caller's is a call.
fn boxed() -> Vec<Row> {
    let n = scale(5000000, 1000);
    vec![inside(async move {
        let mut sum = 0;
        let span = Span::begin();
        for i in 0..n {
            let future: Pin<Box<dyn Future<Output = usize> + Send>> = Box::pin(same(i));
            sum += black_box(future).await;
        }
        let row = span.per_op("cxx-await", n);
        assert_eq!(sum, n * (n - 1) / 2);
        row
    })]
}

fn spawned() -> Vec<Row> {
    let n = scale(1000000, 1000);
    vec![inside(async move {
        let mut sum = 0;
        let span = Span::begin();
        for i in 0..n {
            sum += tokio::spawn(same(i)).await.unwrap();
        }
        let row = span.per_op("cxx-spawn-await", n);
        assert_eq!(sum, n * (n - 1) / 2);
        row
    })]
}
