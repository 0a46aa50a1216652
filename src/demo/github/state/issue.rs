//! An issue that is no pull request.

use jiff::Timestamp;

/// One issue.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Its id.
    pub id: u64,
    /// Its number, out of the same row as those of pull requests.
    pub number: u64,
    /// Who opened it.
    pub author: String,
    /// Its title.
    pub title: String,
    /// Its text.
    pub body: String,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
    /// Who changed its text last, and when.
    pub edited: Option<(Timestamp, String)>,
    /// Who closed it, and when.
    pub closed: Option<(Timestamp, String)>,
}
