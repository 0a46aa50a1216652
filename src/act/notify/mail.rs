//! Mail by SMTP to the operator's server, over one connection for what is sent in a row. What a mail says is in
//! `tell/notify`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lettre::Address;
use lettre::address::Envelope;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::observe::net::{Net, causes};
use crate::secret::Secret;
use crate::tell::notify::Mail;

const CONNECT: Duration = Duration::from_secs(10);
/// A goodbye that is not heard is none.
const GOODBYE: Duration = Duration::from_secs(2);
const FORM: &str = "write it as `smtps://USER:PASSWORD@HOST?from=coldframe@acme.example`";

/// A mail server and what is said to it, as the operator's secret has them.
#[derive(Debug)]
pub(super) struct Server {
    host: String,
    port: u16,
    tls: Tls,
    login: Option<(String, Secret)>,
    from: Address,
    /// Domains beside the sender's that get mail.
    domains: Vec<String>,
}

/// When the connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    FromTheStart,
    /// By STARTTLS, before anything is said; a server without it is not spoken to.
    Upgraded,
    Never,
}

impl Server {
    /// Reads the secret, which no error repeats.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn read(secret: &Secret) -> Result<Self, String> {
        let url = Url::parse(secret.reveal().trim()).map_err(|error| format!("is no address: {error}; {FORM}"))?;
        let (mut tls, port) = match url.scheme() {
            "smtps" => (Tls::FromTheStart, 465),
            "smtp" => (Tls::Upgraded, 587),
            _ => return Err(format!("is no address of a mail server; {FORM}")),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| format!("names no host; {FORM}"))?;
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
        let user = decoded(url.username()).map_err(|_| "has a user that is no text".to_string())?;
        let password = url.password().map(decoded).transpose().map_err(|_| "has a password that is no text")?;
        let (mut from, mut domains) = (user.contains('@').then(|| user.clone()), Vec::new());
        for (key, value) in url.query_pairs() {
            match (key.as_ref(), value.as_ref()) {
                ("from", value) => from = Some(value.to_string()),
                ("to", value) => domains.extend(value.split(',').map(|domain| domain.trim().to_ascii_lowercase())),
                ("tls", "none") if tls == Tls::Upgraded => tls = Tls::Never,
                ("tls", _) => {
                    return Err("has a `tls` that is not known: `smtp://…?tls=none` speaks without".to_string());
                }
                _ => return Err("has a key that is not known: there are `from`, `to` and `tls`".to_string()),
            }
        }
        let from = from.ok_or("says not who sends: add `?from=coldframe@acme.example`")?;
        let from = from.parse().map_err(|_| "has a `from` that is no address of mail")?;
        let login = (!user.is_empty()).then(|| (user, Secret::new(&password.unwrap_or_default())));
        Ok(Self { host: host.to_string(), port: url.port().unwrap_or(port), tls, login, from, domains })
    }

    /// Whether this address may get mail: whoever writes the policy chooses whom, among those that the operator means.
    ///
    /// # Errors
    /// Says what the operator can do.
    pub fn admits(&self, to: &str) -> Result<(), String> {
        let domain = to.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
        if domain.eq_ignore_ascii_case(self.from.domain()) || self.domains.contains(&domain) {
            return Ok(());
        }
        let known = std::iter::once(self.from.domain()).chain(self.domains.iter().map(String::as_str));
        let known = known.collect::<Vec<_>>().join(" and ");
        Err(format!("mail goes to {known} alone; let the operator add `to={domain}` to the secret"))
    }

    /// Which connections are the same.
    fn key(&self) -> String {
        let user = self.login.as_ref().map_or("", |(user, _)| user);
        format!("{user}@{}:{}", self.host, self.port)
    }

    /// Opens a connection to an address that was looked at, and logs in.
    async fn connect(&self, net: &Net) -> Result<AsyncSmtpConnection, String> {
        let there =
            net.reach(&self.host, self.port, self.tls != Tls::Never).await.map_err(|error| error.to_string())?;
        let failed = |error: lettre::transport::smtp::Error| format!("{}: {}", self.host, causes(&error));
        let hello = ClientId::Domain(self.from.domain().to_string());
        let tls = match self.tls {
            Tls::FromTheStart | Tls::Upgraded => {
                let name = self.host.trim_start_matches('[').trim_end_matches(']').to_string();
                Some(TlsParameters::new(name).map_err(failed)?)
            }
            Tls::Never => None,
        };
        let at_once = tls.clone().filter(|_| self.tls == Tls::FromTheStart);
        let opened = AsyncSmtpConnection::connect_tokio1(there.as_slice(), Some(CONNECT), &hello, at_once, None).await;
        let mut opened = opened.map_err(failed)?;
        if let Some(tls) = tls.filter(|_| self.tls == Tls::Upgraded) {
            opened.starttls(tls, &hello).await.map_err(failed)?;
        }
        if let Some((user, password)) = &self.login {
            let login = Credentials::new(user.clone(), password.reveal().to_string());
            opened.auth(&[Mechanism::Plain, Mechanism::Login], &login).await.map_err(failed)?;
        }
        Ok(opened)
    }
}

/// Open connections.
#[derive(Default)]
pub(super) struct Mailer {
    open: BTreeMap<String, AsyncSmtpConnection>,
    /// Servers that could not be spoken to; for the other addresses they are not tried again.
    closed: BTreeMap<String, String>,
}

impl Mailer {
    /// Sends one mail to one address. A connection on which something went wrong is not used again.
    pub async fn send(
        &mut self,
        net: &Net,
        server: &Server,
        to: &str,
        mail: &Mail,
        now: Timestamp,
    ) -> Result<(), String> {
        let to: Address = to.parse().map_err(|error| format!("{error}"))?;
        let text = written(&server.from, &to, mail, now)?;
        let envelope = Envelope::new(Some(server.from.clone()), vec![to]).map_err(|error| error.to_string())?;
        let key = server.key();
        if let Some(why) = self.closed.get(&key) {
            return Err(why.clone());
        }
        let mut connection = match self.open.remove(&key) {
            Some(open) => open,
            None => {
                // So it stays where nobody waits for it any longer.
                self.closed.insert(key.clone(), format!("{} does not answer", server.host));
                let opened = server.connect(net).await;
                match &opened {
                    Ok(_) => self.closed.remove(&key),
                    Err(why) => self.closed.insert(key.clone(), why.clone()),
                };
                opened?
            }
        };
        match connection.send(&envelope, &text).await {
            Ok(_) => {
                self.open.insert(key, connection);
                Ok(())
            }
            Err(error) => Err(format!("{}: {}", server.host, causes(&error))),
        }
    }

    /// Says goodbye.
    pub async fn close(self) {
        for mut open in self.open.into_values() {
            drop(tokio::time::timeout(GOODBYE, open.quit()).await);
        }
    }
}

/// The mail as it travels. Answers to it by programs are not asked for (RFC 3834).
fn written(from: &Address, to: &Address, mail: &Mail, now: Timestamp) -> Result<Vec<u8>, String> {
    let domain = from.domain();
    let automatic = HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_string());
    let message = Message::builder()
        .from(Mailbox::new(Some("Coldframe".to_string()), from.clone()))
        .to(Mailbox::new(None, to.clone()))
        .subject(mail.subject.clone())
        .date(SystemTime::from(now))
        .message_id(Some(format!("<{}@{domain}>", mail.id)))
        .references(format!("<{}@{domain}>", mail.thread))
        .raw_header(automatic)
        .header(ContentType::TEXT_PLAIN)
        .body(mail.text.clone());
    Ok(message.map_err(|error| error.to_string())?.formatted())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<Server, String> {
        Server::read(&Secret::new(text))
    }

    #[test]
    fn a_server_is_read_and_what_is_wrong_is_said_without_the_secret() {
        let server = read("smtps://bot%40acme.example:p%40ss%3Aword@mail.acme.example\n").unwrap();
        assert_eq!((server.host.as_str(), server.port, server.tls), ("mail.acme.example", 465, Tls::FromTheStart));
        let (user, password) = server.login.unwrap();
        assert_eq!((user.as_str(), password.reveal()), ("bot@acme.example", "p@ss:word"));
        assert_eq!(server.from.to_string(), "bot@acme.example");
        let server = read("smtp://mail.acme.example:2525?from=bot@acme.example&tls=none").unwrap();
        assert_eq!((server.port, server.tls, server.login.is_none()), (2525, Tls::Never, true));
        assert_eq!(read("smtp://u:p@h.example?from=b@a.example").unwrap().tls, Tls::Upgraded);
        for (text, said) in [
            ("hunter2", "is no address"),
            ("https://hunter2@mail.example", "is no address of a mail server"),
            ("smtps:hunter2", "names no host"),
            ("smtps://bot:hunter2@mail.example", "says not who sends"),
            ("smtps://bot:hunter2@mail.example?from=hunter2", "no address of mail"),
            ("smtps://bot:hunter2@mail.example?from=b@a.example&hunter2=1", "there are `from`, `to` and `tls`"),
            ("smtps://bot:hunter2@mail.example?from=b@a.example&tls=none", "a `tls` that is not known"),
            ("smtp://bot:hunter2@mail.example?from=b@a.example&tls=hunter2", "a `tls` that is not known"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said) && !error.contains("hunter2"), "{text}: {error}");
        }
    }

    #[test]
    fn a_policy_file_sends_mail_to_whom_the_operator_means() {
        let server = read("smtps://u:p@mail.example?from=bot@acme.example&to=partner.example,Other.example").unwrap();
        for to in ["kim@acme.example", "kim@ACME.example", "a@partner.example", "a@other.example"] {
            assert_eq!(server.admits(to), Ok(()), "{to}");
        }
        for to in ["kim@evil.example", "kim@sub.acme.example", "kim@acme.example.evil.example", "acme.example"] {
            assert_eq!(server.admits(to).is_ok(), to == "acme.example", "{to}");
        }
        let why = server.admits("kim@evil.example").unwrap_err();
        assert!(why.contains("add `to=evil.example`"), "{why}");
    }

    #[test]
    fn a_mail_is_one_mail_whatever_it_says() {
        let address = |text: &str| text.parse::<Address>().unwrap();
        let mail = Mail {
            subject: "größer\r\nBcc: eve@evil.example".to_string(),
            text: "líne\n.\nQUIT".to_string(),
            id: "aa".to_string(),
            thread: "bb".to_string(),
        };
        let now: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        let bytes = written(&address("bot@acme.example"), &address("kim@acme.example"), &mail, now).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        assert!(text.is_ascii(), "{text}");
        assert!(!head.lines().any(|line| line.starts_with("Bcc")), "{head}");
        for line in [
            "Message-ID: <aa@acme.example>",
            "References: <bb@acme.example>",
            "Date: Sun, 29 Nov 2026 12:00:00 +0000",
            "Auto-Submitted: auto-generated",
        ] {
            assert!(head.lines().any(|other| other == line), "{line}: {head}");
        }
    }
}
