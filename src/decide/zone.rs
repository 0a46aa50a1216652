//! Time zones by the release of the IANA database that comes with the program. What a host has may be another one, or
//! missing, and then the same file would open its windows at other times.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize as _, Deserializer, de};

pub(crate) use jiff::fmt::serde::tz::required::serialize;

/// The zone of this name; none where there is none.
pub fn zone(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok().filter(|zone| !zone.is_unknown())
}

/// The names of all of them.
pub fn names() -> Vec<String> {
    TimeZoneDatabase::bundled().available().map(|name| name.as_str().to_string()).collect()
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TimeZone, D::Error> {
    let text = String::deserialize(deserializer)?;
    DateTimeParser::new().parse_time_zone_with(&TimeZoneDatabase::bundled(), &text).map_err(de::Error::custom)
}
