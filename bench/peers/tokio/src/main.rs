//! The rows of thrum-bench on Tokio: one program, the same options and fields. ../../README.md has the rules.

mod bodies;
mod chans;
mod hops;
mod idle;
mod loops;
mod parallel;
mod peer;
mod published;
mod sort;
mod spawn;
mod stall;
mod timers;
mod turns;

use peer::Work;

fn main() {
    let works: Vec<Work> = [
        spawn::works(),
        turns::works(),
        chans::works(),
        parallel::works(),
        sort::works(),
        loops::works(),
        hops::works(),
        idle::works(),
        stall::works(),
        timers::works(),
        published::works(),
    ]
    .concat();
    peer::main(&works);
}
