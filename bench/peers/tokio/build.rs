//! Links the loops of the forked rows, ../bodies.c, compiled by the compiler that compiles thrum-bench.

fn main() {
    println!("cargo:rerun-if-env-changed=PEER_BODIES");
    let bodies = std::env::var("PEER_BODIES").expect("PEER_BODIES: bodies.o; ../build sets it");
    println!("cargo:rerun-if-changed={bodies}");
    println!("cargo:rustc-link-arg-bins={bodies}");
}
