//! The text around packets: blocks in base64, and texts that are signed and stay readable (RFC 9580, 6 and 7).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Refusal;

/// Bytes of a text that is read.
pub const MOST: usize = 256 * 1024;

const MESSAGE: &str = "-----BEGIN PGP SIGNED MESSAGE-----";
const SIGNATURE: &str = "SIGNATURE";

/// A text, and the packets of its signatures.
pub struct Cleartext {
    /// What is signed: lines without blanks at their ends, `\r\n` between them.
    pub canonical: String,
    /// The packets behind it.
    pub packets: Vec<u8>,
}

/// The packets of every block of a kind, in their order.
pub fn blocks(text: &str, kind: &'static str) -> Result<Vec<Vec<u8>>, Refusal> {
    if text.len() > MOST {
        return Err(Refusal::TooLarge(MOST));
    }
    let (begin, end) = (format!("-----BEGIN PGP {kind}-----"), format!("-----END PGP {kind}-----"));
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim_end);
    while lines.by_ref().any(|line| line == begin) {
        let mut ended = false;
        let block: Vec<&str> = lines.by_ref().take_while(|line| not(&mut ended, *line == end)).collect();
        if !ended {
            return Err(Refusal::NoBlock(kind));
        }
        found.push(body(&block)?);
    }
    if found.is_empty() { Err(Refusal::NoBlock(kind)) } else { Ok(found) }
}

fn not(ended: &mut bool, ends: bool) -> bool {
    *ended = ends;
    !ends
}

/// The bytes between the headers, which end with an empty line, and the checksum, which proves nothing (RFC 9580, 6.1).
fn body(block: &[&str]) -> Result<Vec<u8>, Refusal> {
    let empty =
        block.iter().position(|line| line.is_empty()).ok_or(Refusal::Broken("no empty line before its base64"))?;
    let lines = block.iter().skip(empty + 1).take_while(|line| !line.starts_with('='));
    let base64: String = lines.copied().collect();
    STANDARD.decode(base64).map_err(|_| Refusal::Broken("what should be base64 is not"))
}

/// The signed text of a message, which is the first thing in it.
pub fn cleartext(text: &str) -> Result<Cleartext, Refusal> {
    if text.len() > MOST {
        return Err(Refusal::TooLarge(MOST));
    }
    // Only the line break itself is cut here, so that a line with a blank more is none of ours.
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    if lines.next() != Some(MESSAGE) {
        return Err(Refusal::NoBlock("SIGNED MESSAGE"));
    }
    // Nothing but the names of hashes may stand here: it would look signed, and is not (RFC 9580, 7.2).
    for line in lines.by_ref() {
        match line.strip_prefix("Hash: ") {
            Some(_) => {}
            None if line.is_empty() => break,
            None => return Err(Refusal::Broken("something else than `Hash:` stands before its text")),
        }
    }
    let begin = format!("-----BEGIN PGP {SIGNATURE}-----");
    let mut signed: Vec<&str> = Vec::new();
    let mut ended = false;
    for line in lines.by_ref() {
        if line == begin {
            ended = true;
            break;
        }
        let line = match line.strip_prefix("- ") {
            Some(escaped) => escaped,
            None if line.starts_with('-') => {
                return Err(Refusal::Broken("a line begins with a dash that is not escaped"));
            }
            None => line,
        };
        signed.push(line.trim_end_matches([' ', '\t', '\r']));
    }
    if !ended {
        return Err(Refusal::NoBlock(SIGNATURE));
    }
    let rest: Vec<&str> = std::iter::once(begin.as_str()).chain(lines).collect();
    let packets = blocks(&rest.join("\n"), SIGNATURE)?;
    Ok(Cleartext { canonical: signed.join("\r\n"), packets: packets.concat() })
}
