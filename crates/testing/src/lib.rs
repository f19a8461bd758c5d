//! What the tests of all crates share.
//!
//! Random tests state how often they repeat in `./check`. `FEDCOMPETITORS_LONG=1` multiplies all of
//! these counts by [`LONG`], for a night.

use proptest::test_runner::Config;

/// How many times as often tests repeat with `FEDCOMPETITORS_LONG=1`.
pub const LONG: u32 = 100;

/// The number of repetitions: `count`, or [`LONG`] times as many for a long run.
pub fn repeat(count: u32) -> u32 {
    let is_long = std::env::var_os("FEDCOMPETITORS_LONG").is_some_and(|long| long != "0");
    if is_long { count * LONG } else { count }
}

/// The configuration of a `proptest!` block with `count` cases, or [`LONG`] times as many for a
/// long run.
pub fn cases(count: u32) -> Config {
    let max_global_rejects = repeat(Config::default().max_global_rejects);
    Config { cases: repeat(count), max_global_rejects, ..Config::default() }
}
