//! Calls that spawn half of their work and await it.

use crate::peer::{inside, options, Row, Span, Work};
use std::future::Future;
use std::pin::Pin;

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "fib", run: fib },
        Work { names: "skynet-join", run: skynet },
        Work { names: "nqueens", run: nqueens },
    ]
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn fib_value(n: u32) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

fn fib_call(n: u32) -> Boxed<u64> {
    Box::pin(async move {
        if n < 2 {
            return n as u64;
        }
        let first = tokio::spawn(fib_call(n - 1));
        let second = fib_call(n - 2).await;
        first.await.unwrap() + second
    })
}

/// fib(29) instead of fib(35): the figure is per call.
fn fib() -> Vec<Row> {
    inside(async {
        const N: u32 = 29;
        fib_call(N - 5).await;
        let span = Span::begin();
        let value = fib_call(N).await;
        let row = span.per_op("fib", 2 * fib_value(N + 1) as usize - 1);
        assert_eq!(value, fib_value(N));
        vec![row]
    })
}

fn sky_call(number: u64, leaves: u64) -> Boxed<u64> {
    Box::pin(async move {
        if leaves == 1 {
            return number;
        }
        let part = leaves / 10;
        let forks: Vec<_> =
            (0..9).map(|i| tokio::spawn(sky_call(number + i * part, part))).collect();
        let mut sum = sky_call(number + 9 * part, part).await;
        for fork in forks {
            sum += fork.await.unwrap();
        }
        sum
    })
}

fn skynet() -> Vec<Row> {
    let leaves = if options().quick { 100000 } else { 1000000 };
    inside(async move {
        let mut rows = vec![];
        for _ in 0..3 {
            let span = Span::begin();
            let sum = sky_call(0, leaves).await;
            rows = vec![span.ms("skynet-join", leaves as usize)];
            assert_eq!(sum, leaves * (leaves - 1) / 2);
        }
        rows
    })
}

fn place(queens: u32, row: u32, columns: u32, left: u32, right: u32) -> Boxed<u32> {
    Box::pin(async move {
        if row == queens {
            return 1;
        }
        let mut forks = vec![];
        let mut free = !(columns | left | right) & ((1 << queens) - 1);
        while free != 0 {
            let bit = free & free.wrapping_neg();
            free &= free - 1;
            forks.push(tokio::spawn(place(
                queens, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1,
            )));
        }
        let mut sum = 0;
        for fork in forks {
            sum += fork.await.unwrap();
        }
        sum
    })
}

fn nqueens() -> Vec<Row> {
    let (queens, solutions) = if options().quick { (10, 724) } else { (12, 14200) };
    inside(async move {
        place(queens, 0, 0, 0, 0).await;
        let span = Span::begin();
        let found = place(queens, 0, 0, 0, 0).await;
        let row = span.ms("nqueens", 1);
        assert_eq!(found, solutions);
        vec![row]
    })
}
