//! Servers on Tokio: an echo, the same while tasks compute, and deadlines.
//!
//!     peer-server-tokio echo|deadlines PORT
//!     peer-server-tokio busy PORT WORKERS

use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

async fn echo(mut stream: TcpStream) {
    let mut text = vec![0u8; 4096];
    loop {
        match stream.read(&mut text).await {
            Ok(n) if n > 0 => {
                if stream.write_all(&text[..n]).await.is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// Computes for 5 ms at a time, and gives way in between.
async fn compute() {
    loop {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(5) {}
        tokio::task::yield_now().await;
    }
}

/// How late the last wait ended of all that had the same deadline, and how many are left.
static LATE: AtomicI64 = AtomicI64::new(0);
static WAITS: AtomicI64 = AtomicI64::new(0);
/// Closed when all have ended: until then no connection is closed.
static OVER: Semaphore = Semaphore::const_new(0);

fn wall_now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// Waits for bytes that do not come, until the instant that the other side has sent.
async fn silent(mut stream: TcpStream) {
    let mut text = [0u8; 8];
    if stream.read_exact(&mut text).await.is_err() {
        return;
    }
    let deadline = i64::from_le_bytes(text);
    WAITS.fetch_add(1, Ordering::SeqCst);
    let left = Duration::from_nanos((deadline - wall_now()).max(0) as u64);
    let ended = tokio::time::timeout(left, stream.read(&mut text)).await;
    assert!(ended.is_err(), "the wait ended otherwise");
    LATE.fetch_max(wall_now() - deadline, Ordering::SeqCst);
    if WAITS.fetch_sub(1, Ordering::SeqCst) == 1 {
        println!("{{\"last_ms\": {:.3}}}", LATE.load(Ordering::SeqCst) as f64 / 1e6);
        OVER.close();
    }
    let _ = OVER.acquire().await;
}

async fn serve(mode: &str, port: u16, workers: usize) -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    if mode == "busy" {
        for _ in 0..workers / 2 {
            tokio::spawn(compute());
        }
    }
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        if mode == "deadlines" {
            tokio::spawn(silent(stream));
        } else {
            tokio::spawn(echo(stream));
        }
    }
}

/// One thread where there is one core: faster than its pool of one.
fn runtime(workers: usize) -> io::Result<Runtime> {
    if workers == 1 {
        Builder::new_current_thread().enable_all().build()
    } else {
        Builder::new_multi_thread().worker_threads(workers).enable_all().build()
    }
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    if args.len() < 3 {
        eprintln!("usage: peer-server-tokio echo|deadlines|busy PORT [WORKERS]");
        std::process::exit(2);
    }
    let port = args[2].parse().expect("a port");
    let workers = match args.get(3) {
        Some(n) => n.parse().expect("a number of workers"),
        None => std::thread::available_parallelism()?.get(),
    };
    let runtime = runtime(workers)?;
    // The pool's own workers serve: what is given to block_on runs on a thread beside them.
    let mode = args[1].clone();
    runtime.block_on(async move { tokio::spawn(async move { serve(&mode, port, workers).await }).await.unwrap() })
}
