//! A place in the config repo that holds a version, as it was read.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::Read;
use crate::{ClusterName, Version};

/// One spot of the base branch that holds the version of this plugin for one tier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Place {
    /// The file, from the repository's root.
    pub file: String,
    /// The cluster it is for; none = every cluster of the tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterName>,
    /// What stands there now, or why it cannot be read or edited.
    pub version: Read<Version>,
    /// The range that stands there instead of a version, such as `^1.14`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<String>,
    /// Whether nothing is installed there yet and the first version may be written; the version is unread.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub vacant: bool,
}
