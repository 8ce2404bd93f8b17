//! Merge sort, cut as thrum-bench's: 32 numbers by insertion, 4096 merged without dividing.
//! Tokio's tasks cannot borrow halves of an array, so they have pointers to them; each call awaits
//! the half that it spawned.

use crate::bodies::{merge_serially, sort_few};
use crate::peer::{inside, scale, Row, Span, Work};
use std::future::Future;
use std::pin::Pin;
use tokio::task::JoinHandle;

pub fn works() -> Vec<Work> {
    vec![Work { names: "sort", run: sort }]
}

type Boxed = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Two ordered runs, and where they go.
#[derive(Clone, Copy)]
struct Merge {
    a: *const u32,
    an: usize,
    b: *const u32,
    bn: usize,
    out: *mut u32,
}
unsafe impl Send for Merge {} // no two tasks at a time write to the same numbers

impl Merge {
    fn is_small(&self) -> bool {
        self.an + self.bn <= 4096
    }

    fn serially(self) {
        unsafe { merge_serially(self.a, self.an, self.b, self.bn, self.out) }
    }

    /// The lower numbers of both runs, and the upper ones.
    fn cut(self) -> (Merge, Merge) {
        let Merge { a, an, b, bn, out } = if self.an < self.bn {
            Merge { a: self.b, an: self.bn, b: self.a, bn: self.an, ..self }
        } else {
            self
        };
        unsafe {
            let (a_cut, pivot) = (an / 2, *a.add(an / 2));
            let b_cut = std::slice::from_raw_parts(b, bn).partition_point(|x| *x < pivot);
            (
                Merge { a, an: a_cut, b, bn: b_cut, out },
                Merge {
                    a: a.add(a_cut),
                    an: an - a_cut,
                    b: b.add(b_cut),
                    bn: bn - b_cut,
                    out: out.add(a_cut + b_cut),
                },
            )
        }
    }

    /// Leaves are spared the box that the recursion needs.
    fn spawn(self) -> JoinHandle<()> {
        match self.is_small() {
            true => tokio::spawn(async move { self.serially() }),
            false => tokio::spawn(self.in_parallel()),
        }
    }

    fn in_parallel(self) -> Boxed {
        Box::pin(async move {
            let (lower, upper) = self.cut();
            let fork = upper.spawn();
            match lower.is_small() {
                true => lower.serially(),
                false => lower.in_parallel().await,
            }
            fork.await.unwrap();
        })
    }
}

#[derive(Clone, Copy)]
struct Part {
    numbers: *mut u32,
    spare: *mut u32,
    n: usize,
    into_spare: bool,
}
unsafe impl Send for Part {} // as above

impl Part {
    fn is_small(&self) -> bool {
        self.n <= 32
    }

    fn serially(self) {
        unsafe { sort_few(self.numbers, self.spare, self.n, self.into_spare as i32) }
    }

    fn halves(self) -> (Part, Part) {
        let (half, into_spare) = (self.n / 2, !self.into_spare);
        unsafe {
            let (numbers, spare) = (self.numbers.add(half), self.spare.add(half));
            (
                Part { n: half, into_spare, ..self },
                Part { numbers, spare, n: self.n - half, into_spare },
            )
        }
    }

    fn merge(self) -> Merge {
        let (from, out) =
            if self.into_spare { (self.numbers, self.spare) } else { (self.spare, self.numbers) };
        let half = self.n / 2;
        Merge { a: from, an: half, b: unsafe { from.add(half) }, bn: self.n - half, out }
    }

    fn spawn(self) -> JoinHandle<()> {
        match self.is_small() {
            true => tokio::spawn(async move { self.serially() }),
            false => tokio::spawn(self.in_parallel()),
        }
    }

    fn in_parallel(self) -> Boxed {
        Box::pin(async move {
            let (lower, upper) = self.halves();
            let fork = upper.spawn();
            match lower.is_small() {
                true => lower.serially(),
                false => lower.in_parallel().await,
            }
            fork.await.unwrap();
            let merge = self.merge();
            match merge.is_small() {
                true => merge.serially(),
                false => merge.in_parallel().await,
            }
        })
    }
}

fn sort() -> Vec<Row> {
    let n = scale(10000000, 1000);
    let (mut numbers, mut spare) = (Vec::with_capacity(n), vec![1u32; n]);
    let (mut state, mut before) = (88172645463325252u64, 0u64);
    for _ in 0..n {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        numbers.push(state as u32);
        before += state as u32 as u64;
    }
    inside(async move {
        let (first, room) = (numbers.as_mut_ptr(), spare.as_mut_ptr());
        let all = Part { numbers: first, spare: room, n, into_spare: false };
        let span = Span::begin();
        all.in_parallel().await;
        let row = span.ms("sort", 1);
        assert!(numbers.windows(2).all(|pair| pair[0] <= pair[1]), "not sorted");
        assert_eq!(numbers.iter().map(|x| *x as u64).sum::<u64>(), before, "numbers were lost");
        vec![row]
    })
}
