//! Objects, commits and pushes in a bare repository, without a checkout.
