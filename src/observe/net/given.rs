//! What the operator gives to one repository or to all of them: hosts that may be asked, files with logins. What a host
//! is is in `rules`, what stands in such a file in `logins`.

use std::collections::BTreeMap;

use super::NetError;

/// What the operator calls what all repositories share on purpose: hosts, logins, a folder of connections.
pub const SHARED: &str = "shared";

/// Entries, and for whom each is.
#[derive(Clone, Debug, Default)]
pub struct Given {
    all: Vec<String>,
    own: BTreeMap<u64, Vec<String>>,
}

impl Given {
    /// These, for everybody.
    pub fn all(entries: &[String]) -> Self {
        Self { all: entries.to_vec(), own: BTreeMap::new() }
    }

    /// The operator's entries: `NUMBER=WHAT` for one repository, `shared=WHAT` for every one, and `WHAT` where there
    /// is but one.
    ///
    /// # Errors
    /// An entry does not say for whom it is.
    pub fn read(entries: &[String], alone: bool) -> Result<Self, NetError> {
        let mut given = Self::default();
        for entry in entries.iter().filter(|entry| !entry.trim().is_empty()) {
            let wrong = |why: &str| NetError::Settings { entry: entry.clone(), why: why.to_string() };
            match entry.split_once('=') {
                None if alone => given.all.push(entry.clone()),
                None => {
                    return Err(wrong(&format!(
                        "several repositories are looked after; say for which one it is: `NUMBER={entry}` with the \
                         number of the repository, or `shared={entry}` for all of them"
                    )));
                }
                Some((SHARED, what)) => given.all.push(what.to_string()),
                Some((number, what)) => {
                    let number =
                        number.parse().map_err(|_| wrong("before `=` stands a repository's number or `shared`"))?;
                    given.own.entry(number).or_default().push(what.to_string());
                }
            }
        }
        Ok(given)
    }

    /// Repositories that have some to themselves.
    pub fn owners(&self) -> impl Iterator<Item = u64> + '_ {
        self.own.keys().copied()
    }

    /// Whether a repository has some to itself.
    pub fn has_own(&self, repository: u64) -> bool {
        self.own.contains_key(&repository)
    }

    /// Those that count for a repository, its own first.
    pub fn of(&self, repository: Option<u64>) -> Vec<String> {
        let own = repository.and_then(|repository| self.own.get(&repository));
        own.into_iter().flatten().chain(&self.all).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_given_is_for_whom_the_operator_says() {
        let read = |entries: &[&str], alone| {
            Given::read(&entries.iter().map(|entry| (*entry).to_string()).collect::<Vec<_>>(), alone)
        };
        let given = read(&["shared=a:80", "7=b", "7=c", "8=[::1]:5000"], false).unwrap();
        assert_eq!(given.of(Some(7)), ["b", "c", "a:80"]);
        assert_eq!(given.of(Some(8)), ["[::1]:5000", "a:80"]);
        assert_eq!((given.of(Some(9)), given.of(None)), (vec!["a:80".to_string()], vec!["a:80".to_string()]));
        assert!(given.has_own(7) && !given.has_own(9));
        assert_eq!(read(&["a", "", "9=b"], true).unwrap().of(Some(9)), ["b", "a"]);
        for (entry, said) in [("a", "say for which one"), ("acme/fleet=a", "a repository's number"), ("=a", "number")] {
            let error = read(&[entry], false).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
