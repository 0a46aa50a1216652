//! What many say alike is kept once, for as long as somebody says it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Things of which equal ones are shared.
#[derive(Debug)]
pub(super) struct Once<T: ?Sized>(Mutex<Kept<T>>);

#[derive(Debug)]
struct Kept<T: ?Sized> {
    all: BTreeSet<Arc<T>>,
    /// With more than these, those that nobody has any more are looked for.
    most: usize,
}

/// So few are not worth a search.
const FEW: usize = 1_000;

impl<T: ?Sized> Default for Once<T> {
    fn default() -> Self {
        Self(Mutex::new(Kept { all: BTreeSet::new(), most: FEW }))
    }
}

impl<T: Ord + ?Sized> Once<T> {
    /// The one that is equal to it, which may be this one.
    pub fn share(&self, one: impl Into<Arc<T>>) -> Arc<T> {
        let one = one.into();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.all.get(&one) {
            return Arc::clone(known);
        }
        kept.all.insert(Arc::clone(&one));
        if kept.all.len() > kept.most {
            kept.all.retain(|known| Arc::strong_count(known) > 1);
            kept.most = FEW.max(kept.all.len() * 2);
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_any_more_is_let_go() {
        let once = Once::<str>::default();
        let kept = once.share("kept");
        for place in 1..3 * FEW {
            once.share(format!("{place}"));
        }
        assert!(once.0.lock().unwrap_or_else(PoisonError::into_inner).all.len() <= FEW + 1);
        assert!(Arc::ptr_eq(&kept, &once.share("kept")));
    }
}
