//! Options, time, counts, how rows are written.

use std::future::Future;
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::OnceCell;

pub struct Options {
    pub workers: usize,
    pub quick: bool,
    only: Option<String>,
}

static OPTIONS: OnceCell<Options> = OnceCell::const_new();

pub fn options() -> &'static Options {
    OPTIONS.get().unwrap()
}

/// One figure.
pub struct Row {
    pub name: &'static str,
    pub unit: &'static str,
    pub value: f64,
    pub ops: usize,
    pub context_switches: i64,
    /// Microseconds and how many, where the row is a quantile.
    pub histogram: Vec<(f64, u64)>,
}

/// One piece of work, and the rows that it gives, separated by spaces.
#[derive(Clone, Copy)]
pub struct Work {
    pub names: &'static str,
    pub run: fn() -> Vec<Row>,
}

/// The work of the row's definition, or a twentieth of it with --quick.
pub fn scale(full: usize, least: usize) -> usize {
    let part = if options().quick { full / 20 } else { full };
    part.max(least)
}

fn usage() -> libc::rusage {
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}

pub fn context_switches() -> i64 {
    let usage = usage();
    usage.ru_nvcsw + usage.ru_nivcsw
}

/// CPU time of the process.
pub fn cpu_us() -> f64 {
    let usage = usage();
    (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) as f64 * 1e6
        + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) as f64
}

/// A stretch of time, and the context switches in it.
pub struct Span {
    context_switches: i64,
    begin: Instant,
}

impl Span {
    pub fn begin() -> Span {
        let context_switches = context_switches();
        Span { context_switches, begin: Instant::now() }
    }

    pub fn value(&self, name: &'static str, unit: &'static str, value: f64, ops: usize) -> Row {
        let context_switches = context_switches() - self.context_switches;
        Row { name, unit, value, ops, context_switches, histogram: vec![] }
    }

    pub fn per_op(&self, name: &'static str, ops: usize) -> Row {
        let ns = self.begin.elapsed().as_nanos() as f64;
        self.value(name, "ns/op", ns / ops as f64, ops)
    }

    pub fn ms(&self, name: &'static str, ops: usize) -> Row {
        let ns = self.begin.elapsed().as_nanos() as f64;
        self.value(name, "ms", ns / 1e6, ops)
    }
}

/// Several stretches taken together.
#[derive(Default)]
pub struct Spans {
    context_switches: i64,
    ns: f64,
}

impl Spans {
    /// Adds a stretch that ends now.
    pub fn add(&mut self, span: &Span) {
        self.ns += span.begin.elapsed().as_nanos() as f64;
        self.context_switches += context_switches() - span.context_switches;
    }

    pub fn per_op(&self, name: &'static str, ops: usize) -> Row {
        let (value, context_switches) = (self.ns / ops as f64, self.context_switches);
        Row { name, unit: "ns/op", value, ops, context_switches, histogram: vec![] }
    }
}

pub fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(options().workers).enable_time().build().unwrap()
}

/// Runs it as a task of the workers: the calling thread only waits.
pub fn inside<F>(body: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let rt = runtime();
    let handle = rt.spawn(body);
    rt.block_on(handle).unwrap()
}

/// Slots that tasks count themselves in, so that one that ran twice, or never, is found.
pub struct Slots(Vec<u32>);

/// Each task has a slot to itself until all have been waited for.
#[derive(Clone, Copy)]
pub struct Slot(*mut u32);
unsafe impl Send for Slot {}

impl Slot {
    pub fn count(self) {
        unsafe { *self.0 += 1 }
    }
}

impl Slots {
    pub fn new(n: usize) -> Slots {
        let mut slots = vec![1; n];
        slots.fill(0);
        Slots(slots)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn at(&mut self, i: usize) -> Slot {
        Slot(&mut self.0[i])
    }

    pub fn check(&self, runs: usize) {
        for (i, n) in self.0.iter().enumerate() {
            assert_eq!(*n as usize, runs, "task {i}");
        }
    }
}

pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((share * sorted.len() as f64) as usize).min(sorted.len() - 1)]
}

fn json(row: &Row) -> String {
    let v = row.value;
    let histogram = match row.histogram.len() {
        0 => String::new(),
        _ => {
            let pairs: Vec<String> =
                row.histogram.iter().map(|(us, n)| format!("[{us}, {n}]")).collect();
            format!(", \"histogram\": [{}]", pairs.join(", "))
        }
    };
    format!(
        "\n  {{\"name\": \"{}\", \"system\": \"tokio\", \"workers\": {}, \"policy\": \"none\", \"unit\": \"{}\", \
         \"median\": {v}, \"min\": {v}, \"max\": {v}, \"ops\": {}, \"context_switches\": {}, \"futex_calls\": null{histogram}}}",
        row.name, options().workers, row.unit, row.ops, row.context_switches
    )
}

pub fn main(works: &[Work]) {
    let mut o = Options { workers: 1, quick: false, only: None };
    let mut list = false;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--list" => list = true,
            "--quick" => o.quick = true,
            "--only" => o.only = args.next(),
            "--workers" => o.workers = args.next().unwrap().parse().unwrap(),
            _ => panic!("not an option: {arg}"),
        }
    }
    if list {
        for work in works {
            work.names.split(' ').for_each(|name| println!("{name}"));
        }
        return;
    }
    // A panic in a task ends the program; otherwise only the task that joins it would know.
    let say = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        say(info);
        std::process::exit(1)
    }));
    let only = o.only.clone();
    let _ = OPTIONS.set(o);
    let wanted = |work: &&Work| match &only {
        None => true,
        Some(list) => list.split(',').any(|asked| work.names.split(' ').any(|n| n == asked)),
    };
    let rows: Vec<String> =
        works.iter().filter(wanted).flat_map(|work| (work.run)()).map(|row| json(&row)).collect();
    let command: Vec<String> = std::env::args().collect();
    println!(
        "{{\"machine\": {{\"system\": \"tokio\", \"version\": \"tokio {}, {}\", \"command\": \"{}\"}},\n \"rows\": [{}\n ]}}",
        env!("PEER_TOKIO"), env!("PEER_RUSTC"), command.join(" "), rows.join(",")
    );
}
