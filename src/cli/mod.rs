//! Arguments and environment of the commands.
