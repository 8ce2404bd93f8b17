//! ../../bodies.h: what the forked rows do between forks, the same machine code for all systems but Go.

extern "C" {
    pub fn light_part(numbers: *mut f32, begin: usize, end: usize);
    pub fn skewed_part(out: *mut u32, n: usize, begin: usize, end: usize);
    pub fn merge_serially(a: *const u32, an: usize, b: *const u32, bn: usize, out: *mut u32);
    pub fn sort_few(numbers: *mut u32, spare: *mut u32, count: usize, into_spare: i32);
}
