//! Hosts that the operator allows, and to which repository. What a host is is in `rules`.

use std::collections::BTreeMap;

use super::NetError;

/// What the operator calls what all repositories share on purpose: hosts, a folder of connections.
pub const SHARED: &str = "shared";

/// Hosts that may be asked although they are private or speak plain http.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    all: Vec<String>,
    own: BTreeMap<u64, Vec<String>>,
}

impl Hosts {
    /// These, for everybody.
    pub fn all(hosts: &[String]) -> Self {
        Self { all: hosts.to_vec(), own: BTreeMap::new() }
    }

    /// The operator's entries: `NUMBER=HOST` for one repository, `shared=HOST` for every one, and `HOST` where there
    /// is but one.
    ///
    /// # Errors
    /// An entry does not say for whom it is.
    pub fn read(entries: &[String], alone: bool) -> Result<Self, NetError> {
        let mut hosts = Self::default();
        for entry in entries.iter().filter(|entry| !entry.trim().is_empty()) {
            let wrong = |why: &str| NetError::Settings { entry: entry.clone(), why: why.to_string() };
            match entry.split_once('=') {
                None if alone => hosts.all.push(entry.clone()),
                None => {
                    return Err(wrong(
                        "several repositories are looked after; say for which one it is: `NUMBER=HOST` with the number \
                         of the repository, or `shared=HOST` for all of them",
                    ));
                }
                Some((SHARED, host)) => hosts.all.push(host.to_string()),
                Some((number, host)) => {
                    let number =
                        number.parse().map_err(|_| wrong("before `=` stands a repository's number or `shared`"))?;
                    hosts.own.entry(number).or_default().push(host.to_string());
                }
            }
        }
        Ok(hosts)
    }

    /// Repositories that have some to themselves.
    pub fn owners(&self) -> impl Iterator<Item = u64> + '_ {
        self.own.keys().copied()
    }

    /// Whether a repository has some to itself.
    pub fn has_own(&self, repository: u64) -> bool {
        self.own.contains_key(&repository)
    }

    /// Those that count for a repository.
    pub fn of(&self, repository: Option<u64>) -> Vec<String> {
        let own = repository.and_then(|repository| self.own.get(&repository));
        self.all.iter().chain(own.into_iter().flatten()).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_host_is_for_whom_the_operator_says() {
        let read = |entries: &[&str], alone| {
            Hosts::read(&entries.iter().map(|entry| (*entry).to_string()).collect::<Vec<_>>(), alone)
        };
        let hosts = read(&["shared=a:80", "7=b", "7=c", "8=[::1]:5000"], false).unwrap();
        assert_eq!(hosts.of(Some(7)), ["a:80", "b", "c"]);
        assert_eq!(hosts.of(Some(8)), ["a:80", "[::1]:5000"]);
        assert_eq!((hosts.of(Some(9)), hosts.of(None)), (vec!["a:80".to_string()], vec!["a:80".to_string()]));
        assert!(hosts.has_own(7) && !hosts.has_own(9));
        assert_eq!(read(&["a", "", "9=b"], true).unwrap().of(Some(9)), ["a", "b"]);
        for (entry, said) in [("a", "say for which one"), ("acme/fleet=a", "a repository's number"), ("=a", "number")] {
            let error = read(&[entry], false).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}
