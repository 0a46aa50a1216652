//! The names of the gates, in the order in which people read them. What each of them says is in the room
//! `gate`.

use core::fmt;

use serde::{Deserialize, Serialize};

/// The gates, in the order in which people read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Gate {
    /// The ledger can be believed.
    Ledger,
    /// The release itself: accepted by the policy, not held elsewhere.
    Release,
    /// It has finished the tier below.
    TierBelow,
    /// Plugins that go before this one have finished here.
    After,
    /// Breaking steps are acknowledged.
    Breaking,
    /// Nobody closed it.
    Rejection,
    /// Nobody holds it.
    Hold,
    /// A workflow has verified what has moved.
    Verification,
    /// No freeze is in force.
    Freeze,
    /// The windows are open.
    Window,
    /// People were told long enough ago.
    Announce,
    /// The approvals are there, or waived.
    Approvals,
    /// The head is ours, merges and is green.
    Head,
    /// Shared caps.
    Limits,
    /// The grace period.
    Grace,
    /// Every member is healthy on this version.
    Health,
    /// Landed waves converge in time.
    ProgressDeadline,
    /// They stay healthy long enough.
    Soak,
}

impl Gate {
    /// Every gate, in the order in which people read them.
    pub const ALL: [Self; 18] = [
        Self::Ledger,
        Self::Release,
        Self::TierBelow,
        Self::After,
        Self::Breaking,
        Self::Rejection,
        Self::Hold,
        Self::Verification,
        Self::Freeze,
        Self::Window,
        Self::Announce,
        Self::Approvals,
        Self::Head,
        Self::Limits,
        Self::Grace,
        Self::Health,
        Self::ProgressDeadline,
        Self::Soak,
    ];
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ledger => "ledger",
            Self::Release => "release",
            Self::TierBelow => "tier below finished",
            Self::After => "plugins before it",
            Self::Breaking => "breaking change",
            Self::Rejection => "rejection",
            Self::Hold => "hold",
            Self::Verification => "verification",
            Self::Freeze => "freeze",
            Self::Window => "window",
            Self::Announce => "announcement",
            Self::Approvals => "approvals",
            Self::Head => "head and checks",
            Self::Limits => "limits",
            Self::Grace => "grace period",
            Self::Health => "health",
            Self::ProgressDeadline => "progress deadline",
            Self::Soak => "soak",
        })
    }
}
