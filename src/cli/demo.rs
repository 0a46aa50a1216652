//! `coldframe demo`: starts the sandbox and points the very same `serve` at it, over HTTP only.
