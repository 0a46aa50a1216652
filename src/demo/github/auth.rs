//! Who asks, and whether they may: JWTs of Apps, installation tokens, tokens of people.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::SignedDuration;
use serde_json::Value;

use super::answer::Answer;
use super::state::{Access, Actor, Role, Token, World};

/// The longest life of an App's JWT that GitHub takes.
const JWT_LIFE: i64 = 600;

impl World {
    /// Who an `Authorization` header stands for.
    pub fn actor(&self, header: Option<&str>) -> Result<Actor, Answer> {
        let Some(header) = header else { return Ok(Actor::Anonymous) };
        let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
        let token = match scheme.to_ascii_lowercase().as_str() {
            "bearer" | "token" => rest.trim().to_owned(),
            "basic" => {
                let text = STANDARD.decode(rest.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                let pair = text.as_deref().and_then(|text| text.split_once(':'));
                match pair {
                    // git sends the token as the password; some tools as the user.
                    Some((user, "" | "x-oauth-basic")) => user.to_owned(),
                    Some((_, password)) => password.to_owned(),
                    None => return Err(bad_credentials()),
                }
            }
            _ => return Err(bad_credentials()),
        };
        if token.matches('.').count() == 2 {
            return self.app_of(&token).map(Actor::App);
        }
        let Some(found) = self.tokens.get(&token) else { return Err(bad_credentials()) };
        if found.expires_at.is_some_and(|until| until <= self.now()) {
            return Err(bad_credentials());
        }
        Ok(found.actor.clone())
    }

    /// The App that signed a JWT, by GitHub's rules: RS256, `iat` not in the future, `exp` at most
    /// ten minutes ahead, `iss` its id.
    fn app_of(&self, token: &str) -> Result<u64, Answer> {
        let undecodable = || Answer::error(401, "A JSON web token could not be decoded");
        let mut parts = token.split('.');
        let (Some(head), Some(claims), Some(signature)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(undecodable());
        };
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| undecodable());
        let json = |bytes: Vec<u8>| serde_json::from_slice::<Value>(&bytes).map_err(|_| undecodable());
        if json(decode(head)?)?.get("alg").and_then(Value::as_str) != Some("RS256") {
            return Err(undecodable());
        }
        let fields = json(decode(claims)?)?;
        let issuer = match fields.get("iss") {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        let now = self.now().as_second();
        let time = |key: &str| fields.get(key).and_then(Value::as_i64);
        match time("exp") {
            Some(exp) if exp > now && exp <= now + JWT_LIFE => {}
            Some(exp) if exp > now => {
                return Err(Answer::error(401, "'Expiration time' claim ('exp') is too far in the future"));
            }
            _ => {
                return Err(Answer::error(
                    401,
                    "'Expiration time' claim ('exp') must be a numeric value representing the future time at which \
                     the assertion expires",
                ));
            }
        }
        if time("iat").is_none_or(|iat| iat > now + 5) {
            return Err(Answer::error(
                401,
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            ));
        }
        let Some(app) = issuer.and_then(|id| self.apps.get(&id)) else {
            return Err(Answer::error(404, "Integration not found"));
        };
        let signed = format!("{head}.{claims}");
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &app.public_key)
            .verify(signed.as_bytes(), &decode(signature)?)
            .map_err(|_| undecodable())?;
        Ok(app.id)
    }

    /// Gives out a token of an installation for an hour.
    pub fn mint(
        &mut self,
        (app, installation): (u64, u64),
        repositories: BTreeSet<u64>,
        permissions: BTreeMap<String, Access>,
    ) -> (String, jiff::Timestamp) {
        let now = self.now();
        let until = now.checked_add(SignedDuration::from_hours(1)).unwrap_or(now);
        let text = format!("ghs_{}", random_text(36));
        let actor = Actor::Installation { app, installation, repositories, permissions };
        self.tokens.insert(text.clone(), Token { actor, expires_at: Some(until), by: None });
        (text, until)
    }

    /// Refuses unless the actor may do this in a repository: an App by its permission, a person by
    /// their role. What may not be seen is 404, what may only not be done is 403.
    pub fn need(
        &self,
        actor: &Actor,
        repository: u64,
        permission: &str,
        access: Access,
        role: Role,
    ) -> Result<(), Answer> {
        let Some(repo) = self.repositories.get(&repository) else { return Err(Answer::not_found()) };
        match actor {
            Actor::Anonymous if repo.private => Err(Answer::not_found()),
            Actor::Anonymous if access == Access::Read && role <= Role::Read => Ok(()),
            Actor::Anonymous => Err(Answer::error(401, "Requires authentication")),
            Actor::App(_) => Err(Answer::error(403, "Resource not accessible by integration")),
            Actor::User(login) => {
                let has = self.role(repo, login);
                if has >= role && has > Role::None {
                    Ok(())
                } else if has == Role::None {
                    Err(Answer::not_found())
                } else {
                    Err(Answer::error(403, "Must have admin rights to Repository."))
                }
            }
            Actor::Installation { repositories, permissions, .. } => {
                if !repositories.contains(&repository) && repo.private {
                    return Err(Answer::not_found());
                }
                // Anybody may read the public parts of a public repository.
                let public = !repo.private && access == Access::Read && role <= Role::Read;
                let granted = repositories.contains(&repository)
                    && (permission == "metadata" || permissions.get(permission).is_some_and(|has| *has >= access));
                if granted || public {
                    return Ok(());
                }
                let mut refusal = Answer::error(403, "Resource not accessible by integration");
                let takes = format!("{permission}={}", access.name());
                refusal.headers.push(("x-accepted-github-permissions", takes));
                Err(refusal)
            }
        }
    }

    /// Whether the actor has this permission, or as a person this role.
    pub fn may(&self, actor: &Actor, repository: u64, permission: &str, access: Access, role: Role) -> bool {
        self.need(actor, repository, permission, access, role).is_ok()
    }
}

fn bad_credentials() -> Answer {
    Answer::error(401, "Bad credentials")
}

/// Letters and digits that nobody can guess.
pub fn random_text(length: usize) -> String {
    const LETTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut bytes = vec![0; length];
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        // A machine without randomness must not give out tokens that can be guessed.
        std::process::abort();
    }
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
