//! The sandbox's own clock. It is not the bot's: a world may run ahead of the one who watches it.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// The present instant by this machine's clock.
#[allow(clippy::disallowed_methods)] // the sandbox's one place that asks the time
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// This machine's clock, moved by an offset that all clones share.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    offset: Arc<Mutex<SignedDuration>>,
}

impl Clock {
    /// The present instant in this world. Saturates at the ends of time.
    pub fn now(&self) -> Timestamp {
        let offset = *self.offset.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now();
        now.checked_add(offset).unwrap_or(now)
    }

    /// Moves this world's present by so much, forwards or backwards.
    pub fn shift(&self, by: SignedDuration) {
        let mut offset = self.offset.lock().unwrap_or_else(PoisonError::into_inner);
        *offset = offset.checked_add(by).unwrap_or(*offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_offset() {
        let clock = Clock::default();
        let clone = clock.clone();
        clone.shift(SignedDuration::from_hours(2));
        let ahead = clock.now().duration_since(now());
        assert!(ahead > SignedDuration::from_mins(119), "{ahead:?}");
    }
}
