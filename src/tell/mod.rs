//! One rendering for the pull request, the check, the dashboard and the terminal.
