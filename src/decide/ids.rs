//! Names and versions. What they mean to a policy is in `model`.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// A copy shares the text: a fleet names each cluster hundreds of thousands of times.
        #[derive(Clone, Debug, Eq)]
        pub struct $name(Arc<str>);

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                // Most names that are compared are copies of one.
                self.is(other) || self.0 == other.0
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                if self.is(other) { Ordering::Equal } else { self.0.cmp(&other.0) }
            }
        }

        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        impl $name {
            /// Wraps the text as it is; who reads it from outside checks its form there.
            pub fn new(text: impl Into<String>) -> Self {
                Self(Arc::from(text.into()))
            }

            /// Whether both are copies of one, which says that they are equal at no cost.
            #[allow(dead_code)] // not every kind of name is compared that often
            pub(crate) fn is(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0)
            }

            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::new)
            }
        }
    };
}

text_id!(
    /// A plugin, as the policy file names it: `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`.
    PluginName
);
text_id!(
    /// A tier of the ladder, as the policy file names it.
    TierName
);
text_id!(
    /// A cluster, as the inventory names it; may be `organization/cluster`.
    ClusterName
);
text_id!(
    /// A login at the hub; Apps carry the suffix `[bot]`.
    Person
);
text_id!(
    /// The hexadecimal id of a git object.
    Sha
);
text_id!(
    /// The digest of an artefact, `sha256:…`.
    Digest
);

impl Sha {
    /// The first seven characters, for people.
    pub fn short(&self) -> &str {
        self.0.get(..7).unwrap_or(&self.0)
    }
}

/// The number of a pull request in its repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PullNumber(pub u64);

impl fmt::Display for PullNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A strict `SemVer` 2 version. A leading `v` is kept for writing and ignored for ordering; build
/// metadata never orders (<https://semver.org>, item 10).
///
/// A copy shares what was parsed.
#[derive(Clone, Debug)]
pub struct Version(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    text: String,
    number: semver::Version,
}

impl Version {
    /// Major, minor, patch.
    pub fn core(&self) -> (u64, u64, u64) {
        (self.0.number.major, self.0.number.minor, self.0.number.patch)
    }

    /// Whether it carries a pre-release part, such as `-rc.1`.
    pub fn is_prerelease(&self) -> bool {
        !self.0.number.pre.is_empty()
    }

    /// The release that a pre-release leads to: the same numbers, and nothing after them.
    #[must_use]
    pub fn without_prerelease(&self) -> Self {
        let (major, minor, patch) = self.core();
        let number = semver::Version::new(major, minor, patch);
        Self(Arc::new(Parsed { text: number.to_string(), number }))
    }

    /// The pre-release part, empty when there is none.
    pub fn prerelease(&self) -> &str {
        self.0.number.pre.as_str()
    }

    /// The version as it was written by whoever released it.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether something that says it runs `self` proves that `wanted` runs: equal, and where
    /// `wanted` names build metadata, that too. Controllers append build metadata of their own
    /// (Flux writes `1.2.3+<digest>`), which therefore does not count against the proof.
    pub fn proves(&self, wanted: &Version) -> bool {
        Arc::ptr_eq(&self.0, &wanted.0)
            || self == wanted && (wanted.0.number.build.is_empty() || wanted.0.number.build == self.0.number.build)
    }

    /// Whether going from `from` to `self` may break by number alone: another major, or another
    /// minor below 1.0.
    pub fn breaks_after(&self, from: &Version) -> bool {
        let (to, from) = (self.core(), from.core());
        to.0 != from.0 || (to.0 == 0 && to.1 != from.1)
    }
}

/// Why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAVersion {
    /// The text that was refused.
    pub text: String,
    /// What the parser said.
    pub why: String,
}

impl fmt::Display for NotAVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a SemVer 2 version ({})", self.text, self.why)
    }
}

impl core::error::Error for NotAVersion {}

impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let number = text.strip_prefix('v').unwrap_or(text);
        match semver::Version::parse(number) {
            Ok(number) if text.len() <= 128 => Ok(Self(Arc::new(Parsed { text: text.to_string(), number }))),
            Ok(_) => Err(NotAVersion { text: text.to_string(), why: "longer than 128 characters".to_string() }),
            Err(error) => Err(NotAVersion { text: text.to_string(), why: error.to_string() }),
        }
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        // Of two versions that are compared most differ in their last numbers.
        let (a, b) = (&self.0.number, &other.0.number);
        (a.patch, a.minor, a.major) == (b.patch, b.minor, b.major) && a.pre == b.pre
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        self.core().cmp(&other.core()).then_with(|| self.0.number.cmp_precedence(&other.0.number))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.text)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::version;

    #[test]
    fn what_proves_that_a_version_runs() {
        for (says, wanted, proves) in [
            ("1.2.3", "1.2.3", true),
            ("v1.2.3", "1.2.3", true),
            ("1.2.3+flux", "1.2.3", true),
            ("1.2.3+flux", "1.2.3+7", false),
            ("1.2.3", "1.2.3+7", false),
            ("1.2.3+7", "1.2.3+7", true),
            ("1.2.4", "1.2.3", false),
            ("1.2.3-rc.1", "1.2.3", false),
        ] {
            assert_eq!(version(says).proves(&version(wanted)), proves, "{says} for {wanted}");
        }
    }

    #[test]
    fn a27_a_version_has_its_parts_and_its_bounds() {
        assert_eq!((version("1.2.3-rc.1").prerelease(), version("1.2.3").prerelease()), ("rc.1", ""));
        let of = |length: usize| alloc::format!("1.2.3-{}", "a".repeat(length - 6)).parse::<Version>();
        assert!(of(128).is_ok());
        let why = of(129).unwrap_err().to_string();
        assert!(why.ends_with("is not a SemVer 2 version (longer than 128 characters)"), "{why}");
    }
}
