//! Why something with git did not work, sorted by what a caller does about it.

/// Why a read, a commit, a fetch or a push failed. No variant ever carries a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// The server did not answer, or said that it cannot now. Trying again later may help. After a
    /// push the text says whether the outcome is unknown.
    #[error("{url} cannot be reached: {why}")]
    Unreachable {
        /// The repository's address.
        url: String,
        /// What happened.
        why: String,
    },
    /// The server does not accept our token for this.
    #[error("{url} refuses access: {why}; check the token and its permissions on this repository")]
    Denied {
        /// The repository's address.
        url: String,
        /// What it said.
        why: String,
    },
    /// A repository, branch, commit or file that should be there is not.
    #[error("{what} is not there: {why}")]
    Missing {
        /// What was asked for.
        what: String,
        /// Where it was looked for, and what that may mean.
        why: String,
    },
    /// Something is there that cannot be used: a symlink in place of a file, an answer that is not
    /// git's, a size beyond the bounds, a name that is none.
    #[error("{what}: {why}")]
    Malformed {
        /// The path, branch, commit or address.
        what: String,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// The repository on this machine's disk does not work.
    #[error("the git cache does not work while {doing}: {why}")]
    Local {
        /// What was being done.
        doing: String,
        /// What the disk or the git library said.
        why: String,
    },
}

impl GitError {
    pub(super) fn local(doing: impl Into<String>, why: impl ToString) -> Self {
        Self::Local { doing: doing.into(), why: why.to_string() }
    }

    pub(super) fn malformed(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Malformed { what: what.into(), why: why.into() }
    }

    /// Whether waiting may mend it.
    pub fn passes(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Denied { .. } | Self::Missing { .. } | Self::Malformed { .. } | Self::Local { .. } => false,
        }
    }
}

/// Text from a server as one line without control characters, at most `limit` characters.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut line = words.join(" ");
    if let Some((end, _)) = line.char_indices().nth(limit) {
        line.truncate(end);
        line.push('…');
    }
    line
}
