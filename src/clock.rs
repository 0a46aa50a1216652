//! The only place that asks the time. Everything else gets it as a parameter.

use jiff::Timestamp;

/// The present instant by this machine's clock.
#[allow(clippy::disallowed_methods)] // this is the one place
pub fn now() -> Timestamp {
    Timestamp::now()
}
