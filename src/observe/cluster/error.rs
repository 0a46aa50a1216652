//! Why nothing was read of a cluster.

/// Why an object could not be read. None of them holds anything of a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no usable connection.
    #[error("no connection `{credential}`: {why}")]
    NoConnection {
        /// Its name in the operator's folder.
        credential: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// The cluster said no.
    #[error("{}", denied(verb, resource, *status))]
    Denied {
        /// `get` or `list`.
        verb: &'static str,
        /// What was asked for, as roles name it.
        resource: String,
        /// 401 or 403.
        status: u16,
    },
    /// No answer; the rest of a round is not asked either.
    #[error("{resource}: {why}")]
    Unreachable {
        /// What was asked for.
        resource: String,
        /// What happened.
        why: String,
    },
    /// What a list or a watch goes on from is too old; it begins anew.
    #[error("{resource}: it is to begin anew (410)")]
    Expired {
        /// What was asked for.
        resource: String,
    },
    /// The kind is not installed there.
    #[error("{resource}: {why}")]
    NotServed {
        /// What was asked for.
        resource: String,
        /// What the answer was.
        why: String,
    },
    /// An answer that is no object.
    #[error("{resource}: {why}")]
    Malformed {
        /// What was asked for.
        resource: String,
        /// What is wrong with the answer.
        why: String,
    },
}

fn denied(verb: &str, resource: &str, status: u16) -> String {
    if status == 401 {
        return format!(
            "{resource}: the credential is not accepted (401); its token has ended, or is of another cluster"
        );
    }
    format!("not allowed to {verb} {resource} ({status}); give the credential the verb `{verb}` on it")
}
