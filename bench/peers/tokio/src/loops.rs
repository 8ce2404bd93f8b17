//! Loops over ranges. Tokio has no construct for them, so a task a part, 64 parts a worker. Its tasks
//! cannot borrow, so they have a pointer to the array; the task that starts them awaits all, and then reads it.

use crate::bodies::{light_part, skewed_part};
use crate::peer::{inside, options, scale, Row, Span, Work};

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "for-light", run: light },
        Work { names: "for-skewed", run: skewed },
    ]
}

/// Tasks write to parts of the array that do not overlap, until all have been waited for.
struct Array<T>(*mut T);
unsafe impl<T> Send for Array<T> {}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Array(self.0)
    }
}
impl<T> Copy for Array<T> {}

impl<T> Array<T> {
    fn pointer(self) -> *mut T {
        self.0
    }
}

async fn in_parts<T, F>(array: Array<T>, n: usize, body: F)
where
    T: 'static,
    F: Fn(*mut T, usize, usize) + Copy + Send + 'static,
{
    let parts = 64 * options().workers;
    let mut handles = Vec::with_capacity(parts);
    for i in 0..parts {
        let (begin, end) = (n * i / parts, n * (i + 1) / parts);
        handles.push(tokio::spawn(async move { body(array.pointer(), begin, end) }));
    }
    for handle in handles {
        handle.await.unwrap();
    }
}

/// The second time counts, as in thrum-bench.
fn light() -> Vec<Row> {
    let mut numbers = vec![4.0f32; scale(10000000, 1000)];
    inside(async move {
        let (array, n) = (Array(numbers.as_mut_ptr()), numbers.len());
        let mut rows = vec![];
        for _ in 0..2 {
            let span = Span::begin();
            in_parts(array, n, |a, begin, end| unsafe { light_part(a, begin, end) }).await;
            rows = vec![span.ms("for-light", 1)];
        }
        assert!(numbers.iter().all(|x| *x == 2.5), "an element was not done twice");
        rows
    })
}

fn skewed() -> Vec<Row> {
    let mut out = vec![1u32; scale(10000000, 1000)];
    inside(async move {
        let (array, n) = (Array(out.as_mut_ptr()), out.len());
        let span = Span::begin();
        in_parts(array, n, move |a, begin, end| unsafe { skewed_part(a, n, begin, end) }).await;
        let row = span.ms("for-skewed", 1);
        let mut expected = vec![2u32; n];
        unsafe { skewed_part(expected.as_mut_ptr(), n, 0, n) };
        assert!(out == expected, "an element is wrong");
        vec![row]
    })
}
