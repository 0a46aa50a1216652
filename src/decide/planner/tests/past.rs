//! What has finished long ago: it changes no plan, and looks do not pay for it again and again.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;
use crate::ledger::{Landed, Seen, Wave};

/// So many releases have come and gone on both tiers before those of the small world.
fn after(many: usize) -> Snapshot {
    let mut world = ready();
    let past: Vec<String> = (0..many).map(|number| format!("0.{}.{}", number / 100, number % 100)).collect();
    let page = world.ledger.plugins.get_mut(&"app".into()).unwrap();
    for waves in page.tiers.values_mut() {
        let done = |text: &String| {
            let mut wave = waves[0].clone();
            wave.version = version(text);
            *wave.rewrite().landed = Some(Landed { at: ago(90_000), commit: None, by: None });
            *wave.rewrite().finished = Some(ago(80_000));
            wave
        };
        let done: Vec<Wave> = past.iter().map(done).collect();
        waves.splice(0..0, done);
    }
    let seen = |text: &String| Seen { version: version(text), digest: None, first_seen: ago(100_000) };
    page.releases.splice(0..0, past.iter().map(seen));
    let facts = world.plugins.get_mut(&"app".into()).unwrap();
    if let Read::Known(releases) = &mut facts.releases {
        releases.splice(0..0, past.iter().map(|text| release(text)));
    }
    world
}

#[test]
fn a_long_past_changes_nothing() {
    let now = plan(&ready(), noon());
    assert!(merges(&now));
    assert_eq!(plan(&after(300), noon()), now);
}

/// What this thread has spent of the processor, however busy the machine is.
#[cfg(target_os = "linux")]
fn spent() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Ten looks at thirty-two times the past take about as long as three hundred and twenty at the shorter one. A walk
/// over each pair of its releases would take thirty-two times as long.
#[cfg(target_os = "linux")]
#[test]
fn a_long_past_is_not_walked_over_and_over() {
    let looks = |count: usize, many: usize| {
        let world = after(many);
        let before = spent();
        (0..count).for_each(|_| drop(core::hint::black_box(plan(&world, noon()))));
        spent() - before
    };
    let (short, long) = (looks(320, 125), looks(10, 4_000));
    assert!(long < 6 * short, "{short} ns and {long} ns");
}
