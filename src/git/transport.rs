//! The smart HTTP protocol: the git library speaks git, this carries its bytes. Who is asked, with
//! which token and within which bounds is in `session`.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use git2::transport::{Service, SmartSubtransport, SmartSubtransportStream, Transport};
use git2::{ErrorClass, ErrorCode, Remote};
use reqwest::Response;

use super::error::GitError;
use super::session::{Session, next_piece};

/// The scheme under which the git library knows this transport. The real address is the session's.
pub(super) const SCHEME: &str = "coldframe";

/// An address of that scheme.
pub(super) const ADDRESS: &str = "coldframe://session";

/// Called by the library when a remote of our scheme connects.
pub(super) fn open_transport(remote: &Remote<'_>) -> Result<Transport, git2::Error> {
    let session = Session::current().ok_or_else(|| failed("no session is set on this thread"))?;
    Transport::smart(remote, true, Subtransport { session })
}

/// One kind of request of the smart protocol.
pub(super) struct Call {
    pub service: Service,
    pub path: &'static str,
    pub question: Option<&'static str>,
    pub answer: &'static str,
}

impl Call {
    fn new(service: Service) -> Self {
        let (path, question, answer) = match service {
            Service::UploadPackLs => {
                ("/info/refs?service=git-upload-pack", None, "application/x-git-upload-pack-advertisement")
            }
            Service::UploadPack => (
                "/git-upload-pack",
                Some("application/x-git-upload-pack-request"),
                "application/x-git-upload-pack-result",
            ),
            Service::ReceivePackLs => {
                ("/info/refs?service=git-receive-pack", None, "application/x-git-receive-pack-advertisement")
            }
            Service::ReceivePack => (
                "/git-receive-pack",
                Some("application/x-git-receive-pack-request"),
                "application/x-git-receive-pack-result",
            ),
        };
        Self { service, path, question, answer }
    }

    pub(super) fn advertises(&self) -> bool {
        self.question.is_none()
    }
}

struct Subtransport {
    session: Arc<Session>,
}

impl SmartSubtransport for Subtransport {
    fn action(&self, _: &str, service: Service) -> Result<Box<dyn SmartSubtransportStream>, git2::Error> {
        let limits = self.session.limits();
        let room = if Call::new(service).advertises() { limits.advertised } else { limits.received };
        let session = Arc::clone(&self.session);
        Ok(Box::new(Exchange { session, service, question: Vec::new(), answer: None, piece: Bytes::new(), room }))
    }

    fn close(&self) -> Result<(), git2::Error> {
        Ok(())
    }
}

/// One request and its answer: written first, sent by the first read.
struct Exchange {
    session: Arc<Session>,
    service: Service,
    question: Vec<u8>,
    answer: Option<Response>,
    piece: Bytes,
    room: usize,
}

impl Exchange {
    fn more(&mut self) -> Result<Bytes, GitError> {
        if self.answer.is_none() {
            let question = std::mem::take(&mut self.question);
            self.answer = Some(self.session.send(&Call::new(self.service), question)?);
        }
        let Some(answer) = &mut self.answer else { return Ok(Bytes::new()) };
        let piece = next_piece(&self.session, answer)?;
        self.room = self.room.checked_sub(piece.len()).ok_or_else(|| {
            GitError::malformed(self.session.url(), "its answer is larger than we take; fetch less history")
        })?;
        Ok(piece)
    }
}

impl Read for Exchange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            self.piece = self.more().map_err(|error| io::Error::other(self.session.keep(error)))?;
            if self.piece.is_empty() {
                return Ok(0);
            }
        }
        let count = buffer.len().min(self.piece.len());
        buffer[..count].copy_from_slice(&self.piece.split_to(count));
        Ok(count)
    }
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.question.len() + bytes.len() > self.session.limits().sent {
            let why = format!("a push of more than {} MiB is not sent", self.session.limits().sent >> 20);
            return Err(io::Error::other(self.session.keep(GitError::malformed(self.session.url(), why))));
        }
        self.question.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn failed(why: &str) -> git2::Error {
    git2::Error::new(ErrorCode::GenericError, ErrorClass::Net, why)
}
