//! A million timers pending within ten seconds; each is set anew. They come due a minute later than in
//! thrum-bench, so that none does while it is measured.

use crate::peer::{inside, scale, Row, Span, Work};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{sleep_until, Instant, Sleep};

pub fn works() -> Vec<Work> {
    vec![
        Work { names: "timers", run: || timers("timers", false) },
        Work { names: "timers-cold", run: || timers("timers-cold", true) },
    ]
}

fn next(dice: &mut u64) -> u64 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    *dice >> 11
}

fn timers(name: &'static str, cold: bool) -> Vec<Row> {
    let n = scale(1000000, 10000);
    inside(async move {
        let (begin, mut dice) = (Instant::now() + Duration::from_secs(60), 88172645463325252);
        let mut soon = move || begin + Duration::from_millis(next(&mut dice) % 10000);
        let mut all: Vec<Pin<Box<Sleep>>> =
            (0..n).map(|_| Box::pin(sleep_until(soon()))).collect();
        let mut order = 88172645463325252;
        let mut span = Span::begin();
        // The first reset is what sets them: a sleep that was never polled is not set yet.
        for timer in &mut all {
            timer.as_mut().reset(soon());
        }
        for i in 0..n + n / 10 {
            if i == n / 10 {
                span = Span::begin();
            }
            let at = if cold { next(&mut order) as usize % n } else { i % n };
            all[at].as_mut().reset(soon());
        }
        let row = span.per_op(name, n);
        assert!(all.iter().all(|timer| !timer.is_elapsed() && timer.deadline() >= begin));
        vec![row]
    })
}
