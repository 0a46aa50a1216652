//! Which plugins go before which: the order in which they are decided. Whether one has to wait for
//! another is in `gate/after`.

use alloc::vec::Vec;

use crate::PluginPolicy;

/// The plugins in an order in which each comes after those that it waits for, else as in the file. In
/// a circle, which the policy file refuses, the one that stands first in the file goes first.
pub(crate) fn order(plugins: &[PluginPolicy]) -> Vec<usize> {
    let mut left: Vec<usize> = (0..plugins.len()).collect();
    if plugins.iter().all(|plugin| plugin.after.is_empty()) {
        return left;
    }
    let mut order = Vec::new();
    while !left.is_empty() {
        let goes_first = |other: &usize, at: &usize| {
            other != at && plugins[*at].after.iter().any(|after| after.plugin == plugins[*other].name)
        };
        let free = left.iter().position(|at| !left.iter().any(|other| goes_first(other, at)));
        order.push(left.remove(free.unwrap_or(0)));
    }
    order
}
