//! Text in, text out: replaces exactly one scalar of a file. One file per format.
