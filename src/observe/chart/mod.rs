//! Where releases come from. One file per source. Which of them a policy accepts is decided in
//! `decide`.

mod catalog;
mod cosign;
mod found;
mod http;
pub mod index;
mod meta;
mod mirror;
mod oci;
mod provenance;
mod registry;
mod shared;
mod signers;
mod tags;

use super::net::Net;
use crate::policy::wiring::Chart;

pub use found::{Answer, Contents, Defined, Found, Origin, Source, SourceError, Verdict};
pub use mirror::Mirrors;
pub use signers::{Signers, Trust};

/// The list of sources: the one that a policy names. It keeps what it has read, so the caller keeps
/// it, too.
///
/// # Errors
/// Where the address is none, or may not be asked.
pub fn source(chart: &Chart, net: &Net, mirrors: &Mirrors) -> Result<Box<dyn Source>, SourceError> {
    Ok(match chart {
        Chart::Http { repository, name } => Box::new(http::Repository::new(mirrors.index(repository, net)?, name, net)),
        Chart::Oci { reference, plain } => Box::new(oci::Artifacts::new(reference, *plain, net)?),
        Chart::Catalog { repository, path } => {
            Box::new(catalog::Catalog::new(mirrors.of(repository, net)?, path.clone(), net.clone()))
        }
        Chart::Git { repository, tag, folder } => {
            Box::new(tags::Tags::new(mirrors.of(repository, net)?, tag, folder.clone()))
        }
    })
}
