//! The figures of a replay, and what is said about a file that is no history.
