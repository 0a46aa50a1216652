//! The tags of a server: what they lead to, and bringing some of them here. Branches are in `remote`.

use std::collections::BTreeMap;

use decide::Sha;
use git2::{AutotagOption, Direction, FetchOptions, RemoteHead};

use super::error::{GitError, one_line};
use super::read::has_commit;
use super::remote::Access;
use super::store::{Store, oid, sha};
use super::transport::ADDRESS;

const TAGS: &str = "refs/tags/";
const BRANCHES: &str = "refs/heads/";
/// What stands behind the name of an annotated tag where the list says what it leads to.
const PEELED: &str = "^{}";

/// What a server has, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// The branch that is looked at where none is named, and its commit; none in an empty repository.
    pub branch: Option<(String, Sha)>,
    /// Every tag by its name, with what it leads to.
    pub tags: BTreeMap<String, Sha>,
}

impl Store {
    /// What the server has. Fetches nothing.
    ///
    /// # Errors
    /// `Unreachable`, `Denied`, `Missing` (the whole repository) or `Malformed`.
    pub fn refs(&self, access: &Access) -> Result<Refs, GitError> {
        let session = self.session(access)?;
        let found = session.during(|| {
            let mut remote = self.repo.remote_anonymous(ADDRESS)?;
            let connection = remote.connect_auth(Direction::Fetch, None, None)?;
            // An empty repository has none.
            let name = connection.default_branch().ok().and_then(|name| name.as_str().ok().map(str::to_string));
            Ok(listed(connection.list()?, name.as_deref()))
        });
        found.map_err(|error: git2::Error| session.explain(&error))
    }

    /// Brings the commits of these tags here, without their histories, in one conversation. Which of them are here now
    /// says `has`.
    ///
    /// # Errors
    /// As `refs`; a name that git does not take.
    pub fn fetch_tags(&self, access: &Access, wanted: &BTreeMap<String, Sha>) -> Result<(), GitError> {
        let mut names = Vec::new();
        for (name, commit) in wanted {
            let full = format!("{TAGS}{name}");
            if name.len() > 200 || name.starts_with('-') || !git2::Reference::is_valid_name(&full) {
                return Err(GitError::malformed(format!("tag `{}`", one_line(name, 200)), "git takes no such name"));
            }
            if !has_commit(self, oid(commit)?) {
                names.push(format!("+{full}:{full}"));
            }
        }
        if names.is_empty() {
            return Ok(());
        }
        let session = self.session(access)?;
        let done = session.during(|| {
            let mut remote = self.repo.remote_anonymous(ADDRESS)?;
            let mut connection = remote.connect_auth(Direction::Fetch, None, None)?;
            let mut options = FetchOptions::new();
            options.download_tags(AutotagOption::None).update_fetchhead(false).depth(1);
            connection.remote().download(&names, Some(&mut options))
        });
        done.map_err(|error| session.explain(&error))?;
        for (name, commit) in wanted {
            let id = oid(commit)?;
            if has_commit(self, id) {
                let kept = self.remember(&format!("{TAGS}{name}"), Some(id));
                kept.map_err(|error| GitError::local(format!("keeping the tag {name}"), error.message()))?;
            }
        }
        Ok(())
    }
}

fn listed(heads: &[RemoteHead<'_>], default: Option<&str>) -> Refs {
    let mut refs = Refs::default();
    let mut peeled = BTreeMap::new();
    for head in heads {
        if Some(head.name()) == default
            && let Some(branch) = head.name().strip_prefix(BRANCHES)
        {
            refs.branch = Some((branch.to_string(), sha(head.oid())));
        }
        let Some(name) = head.name().strip_prefix(TAGS) else { continue };
        match name.strip_suffix(PEELED) {
            Some(name) => peeled.insert(name.to_string(), sha(head.oid())),
            None => refs.tags.insert(name.to_string(), sha(head.oid())),
        };
    }
    refs.tags.extend(peeled);
    refs
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::git::testing::{Server, store};

    #[test]
    fn tags_come_without_their_history_and_are_asked_for_once() {
        let server = Server::start();
        let first = server.commit("main", &[("perses/plugindefinition.yaml", "1")]);
        server.git(&["tag", "perses/0.1.0", "main"]);
        let second = server.commit("main", &[("perses/plugindefinition.yaml", "2")]);
        server.git(&[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "tag",
            "-a",
            "-m",
            "notes",
            "perses/0.2.0",
            "main",
        ]);
        let third = server.commit("main", &[("perses/plugindefinition.yaml", "3")]);
        let (_folder, store) = store();
        let refs = store.refs(&server.access()).unwrap();
        assert_eq!(refs.branch, Some(("main".to_string(), Sha::new(third))));
        let wanted = [("perses/0.1.0", &first), ("perses/0.2.0", &second)];
        let wanted: BTreeMap<String, Sha> = wanted.map(|(tag, commit)| (tag.into(), Sha::new(commit.as_str()))).into();
        assert_eq!(refs.tags, wanted, "an annotated tag leads to its commit");
        assert!(!store.has(&Sha::new(first.as_str())));
        server.seen();
        store.fetch_tags(&server.access(), &wanted).unwrap();
        let asked = server.seen().len();
        for (commit, text) in [(&first, b"1"), (&second, b"2")] {
            assert_eq!(store.read(&Sha::new(commit.as_str()), "perses/plugindefinition.yaml").unwrap().unwrap(), text);
        }
        assert!(asked <= 3, "both in one conversation: {asked}");
        store.fetch_tags(&server.access(), &wanted).unwrap();
        assert_eq!(server.seen().len(), 0, "what is here is not asked for");
        let wrong = [("-x".to_string(), Sha::new(first))].into();
        assert!(store.fetch_tags(&server.access(), &wrong).unwrap_err().to_string().contains("takes no such name"));
    }

    #[test]
    fn an_empty_repository_has_nothing() {
        let (_folder, store) = store();
        assert_eq!(store.refs(&Server::start().access()).unwrap(), Refs::default());
    }
}
