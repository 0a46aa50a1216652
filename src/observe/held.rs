//! What stands at one spot of a file that was read. Which files those are is in `base`.

use decide::Version;
use decide::constraint::Constraint;
use decide::snapshot::Read;

use crate::act::edit;
use crate::act::edit::find::Wanted;
use crate::policy::wiring::{Scalar, VERSION, Write};

/// What a spot holds: a version, or a range where somebody lets a controller choose.
pub(super) struct Held {
    /// Where it stands.
    pub scalar: Option<Scalar>,
    /// What stands there.
    pub version: Read<Version>,
    /// The range that stands there instead.
    pub range: Option<String>,
}

impl Held {
    pub fn unread(why: String) -> Self {
        Self { scalar: None, version: Read::Unread(why), range: None }
    }
}

/// What a file holds of the plugin, by what the policy says of it.
pub(super) fn held(text: &Result<String, String>, (write, file): (&Write, &str), wanted: Wanted<'_>) -> Held {
    let text = match text {
        Ok(text) => text,
        Err(why) => return Held::unread(why.clone()),
    };
    let scalar = match edit::place(write, file, text, wanted) {
        Ok(scalar) => scalar,
        Err(refusal) => return Held::unread(refusal.to_string()),
    };
    let spot = match edit::read(write.format(), text, scalar.document.as_ref(), &scalar.path) {
        Ok(spot) => spot,
        Err(refusal) => return Held::unread(refusal.to_string()),
    };
    let Some(held) = scalar.version_in(&spot.value) else {
        let (line, text, form) = (spot.line, &spot.value, scalar.spell(VERSION));
        return Held::unread(format!("line {line}: `{text}` is not of the form `{form}`"));
    };
    match held.parse::<Version>() {
        Ok(version) => Held { scalar: Some(scalar), version: Read::Known(version), range: None },
        Err(error) => {
            let range = held.parse::<Constraint>().is_ok().then(|| held.to_string());
            Held { range, ..Held::unread(format!("line {}: {error}", spot.line)) }
        }
    }
}
