//! Who signs commits, and whose a commit is: the two forms of mail addresses that the hub knows. What a commit
//! holds is in `git`.

use super::git::Signature;
use super::state::World;

/// The hub's own account, under which it commits what people do in the browser.
pub const WEB_FLOW: &str = "web-flow";

/// Who commits what people do in the browser.
pub fn hub_signature() -> Signature {
    Signature { name: "GitHub".to_owned(), email: "noreply@localhost".to_owned() }
}

impl World {
    /// The name and mail address that an account's commits carry.
    pub fn signature(&self, login: &str) -> Signature {
        let id = self.account(login).map_or(0, |account| account.id);
        Signature { name: login.to_owned(), email: format!("{id}+{login}@users.noreply.localhost") }
    }
}

/// The account behind a commit's mail address, by the hub's noreply form.
pub fn login_of(world: &World, email: &str) -> Option<String> {
    if *email == *hub_signature().email {
        return Some(WEB_FLOW.to_owned());
    }
    let (local, _) = email.split_once("@users.noreply.")?;
    let login = local.split_once('+').map_or(local, |(_, login)| login);
    world.account(login).map(|account| account.login.clone())
}
