//! Files that are replayed against what is expected of them, a module for each kind: one program, since each is linked
//! anew after every change. Nothing here starts a server.

mod cases;
mod edits;
mod examples;
mod fuzz;
mod keys;
mod signals;
mod stories;
