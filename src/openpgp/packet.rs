//! Packets and the numbers in them (RFC 9580, 3.2 and 4.2).

use super::Refusal;

/// So many packets are read at most.
const MOST: usize = 2_000;

/// What a packet is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A signature.
    Signature,
    /// The key that everything else hangs on.
    PrimaryKey,
    /// A key beside it.
    Subkey,
    /// Whose the key is.
    UserId,
    /// The same as a picture.
    UserAttribute,
    /// The private part of a key.
    Secret,
    /// Anything else.
    Other,
}

/// Splits packets.
pub fn packets(mut bytes: &[u8]) -> Result<Vec<(Tag, &[u8])>, Refusal> {
    let mut found = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        if first & 0x80 == 0 {
            return Err(Refusal::Broken("a packet does not begin as one"));
        }
        let (tag, (length, rest)) = match first & 0x40 {
            0 => ((first >> 2) & 0x0f, old_length(first & 0x03, rest)?),
            _ => (first & 0x3f, new_length(rest)?),
        };
        let (body, rest) = split(rest, length)?;
        found.push((kind(tag), body));
        if found.len() > MOST {
            return Err(Refusal::Broken("more packets than are read"));
        }
        bytes = rest;
    }
    Ok(found)
}

fn kind(tag: u8) -> Tag {
    match tag {
        2 => Tag::Signature,
        5 | 7 => Tag::Secret,
        6 => Tag::PrimaryKey,
        13 => Tag::UserId,
        14 => Tag::Subkey,
        17 => Tag::UserAttribute,
        _ => Tag::Other,
    }
}

fn old_length(kind: u8, bytes: &[u8]) -> Result<(usize, &[u8]), Refusal> {
    match kind {
        0 => number(bytes, 1),
        1 => number(bytes, 2),
        2 => number(bytes, 4),
        _ => Err(Refusal::Broken("a packet without a length")),
    }
}

fn new_length(bytes: &[u8]) -> Result<(usize, &[u8]), Refusal> {
    let (length, rest) = number(bytes, 1)?;
    match length {
        0..=191 => Ok((length, rest)),
        192..=223 => {
            let (second, rest) = number(rest, 1)?;
            Ok((((length - 192) << 8) + second + 192, rest))
        }
        255 => number(rest, 4),
        _ => Err(Refusal::Broken("a packet in parts")),
    }
}

/// The length of a subpacket, which knows no parts (RFC 9580, 5.2.3.7).
pub fn subpacket_length(bytes: &[u8]) -> Result<(usize, &[u8]), Refusal> {
    let (length, rest) = number(bytes, 1)?;
    match length {
        0..=191 => Ok((length, rest)),
        255 => number(rest, 4),
        _ => {
            let (second, rest) = number(rest, 1)?;
            Ok((((length - 192) << 8) + second + 192, rest))
        }
    }
}

/// A number of so many bytes, four at most, and what comes behind it.
pub fn number(bytes: &[u8], size: usize) -> Result<(usize, &[u8]), Refusal> {
    let (digits, rest) = split(bytes, size)?;
    Ok((digits.iter().fold(0, |number, digit| (number << 8) | usize::from(*digit)), rest))
}

/// So many bytes, and what comes behind them.
pub fn split(bytes: &[u8], length: usize) -> Result<(&[u8], &[u8]), Refusal> {
    bytes.split_at_checked(length).ok_or(Refusal::Broken("it ends too early"))
}

/// A big number: its bits in two bytes, then the digits (RFC 9580, 3.2). Without leading zeros, whatever it says.
pub fn big(bytes: &[u8]) -> Result<(&[u8], &[u8]), Refusal> {
    let (bits, rest) = number(bytes, 2)?;
    let (digits, rest) = split(rest, bits.div_ceil(8))?;
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    Ok((digits.get(zeros..).unwrap_or_default(), rest))
}
