//! Pull requests that are not the bot's: as much of them as a check on them rests on, and the files that they
//! change. What the check says is in `tell/policy_check`.

use decide::snapshot::Read;
use decide::{Person, PullNumber, Sha};
use serde::Deserialize;
use url::Url;

use super::client::segment;
use super::pulls::malformed;
use super::wire_file::WireFile;
use super::{HubCheck, HubError, HubPull, InQueue, RepoHub};

/// So many of them are kept of a base branch; those of this repository before those of forks, the newest first.
const MOST: usize = 300;
/// Pages of the list of files, a hundred each: so many files the hub lists of a pull request at most.
const MOST_PAGES: usize = 30;
/// With so many files the list may have been cut.
const MOST_FILES: usize = 3_000;
/// What the trailers of each commit of the bot begin with.
const TRAILER: &str = "\nColdframe-";

/// The open pull requests against a base branch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PullPage {
    /// Those whose branch is named like one of the bot's, and such as were closed lately.
    pub ours: Vec<HubPull>,
    /// The others.
    pub others: Vec<OtherPull>,
}

/// An open pull request whose branch is not named like one of the bot's.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherPull {
    /// Its number.
    pub number: PullNumber,
    /// Who opened it; none for a deleted account.
    pub author: Option<Person>,
    /// The head commit.
    pub head: Sha,
    /// The branch that it goes to.
    pub base: String,
    /// Its branch is in another repository.
    pub foreign: bool,
    /// Its place in the merge queue of its base branch.
    pub queued: Option<InQueue>,
    /// Whether its head claims to be a commit of the bot; so it does while the hub does not show that commit.
    pub claims: bool,
    /// The check of our name on its head that is ours.
    pub check: Read<Option<HubCheck>>,
}

/// A file that a pull request changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path; before the change, where it is taken away.
    pub path: String,
    /// The path that it had before it was moved.
    pub before: Option<String>,
    /// Its content afterwards; none where it is taken away.
    pub blob: Option<Sha>,
}

impl OtherPull {
    /// What is kept of one.
    pub(super) fn of(pull: HubPull, hub: &RepoHub) -> Self {
        let check = match pull.checks {
            Read::Known(checks) => Read::Known(checks.into_iter().find(|check| hub.wrote(check))),
            Read::Unread(why) => Read::Unread(why),
        };
        Self {
            number: pull.number,
            author: pull.author.map(|author| author.login),
            head: pull.head,
            base: pull.base,
            foreign: pull.foreign,
            queued: pull.queued,
            claims: pull.message.known().is_none_or(|message| message.contains(TRAILER)),
            check,
        }
    }
}

/// Those that are kept, by number.
pub(super) fn kept(mut others: Vec<OtherPull>) -> Vec<OtherPull> {
    others.sort_by_key(|pull| (pull.foreign, std::cmp::Reverse(pull.number)));
    others.truncate(MOST);
    others.sort_by_key(|pull| pull.number);
    others
}

impl RepoHub {
    /// The files that a pull request changes at a head.
    ///
    /// # Errors
    /// The list could not be read, may have been cut, is empty, or is about another head: it moved meanwhile.
    pub async fn changed_files(&self, number: PullNumber, head: &Sha) -> Result<Vec<ChangedFile>, HubError> {
        #[derive(Deserialize)]
        struct Wire {
            filename: String,
            previous_filename: Option<String>,
            status: String,
            sha: Option<String>,
            contents_url: String,
        }
        let path = self.path(&format!("/pulls/{number}/files?per_page=100", number = number.0));
        let what = format!("files of {number}");
        let list: Vec<Wire> = self.main().pages_within(&path, None, MOST_PAGES).await?;
        if list.len() >= MOST_FILES {
            return Err(HubError::TooMuch { what, why: format!("{MOST_FILES} files or more") });
        }
        if list.is_empty() {
            return Err(malformed(&what, "no file is listed"));
        }
        let at = |file: &Wire| {
            let url = Url::parse(&file.contents_url).ok()?;
            url.query_pairs().find(|(key, _)| key == "ref").map(|(_, at)| Sha::new(at))
        };
        let removed = |file: &Wire| file.status == "removed";
        // What is taken away stands at no head.
        if list.iter().filter(|file| !removed(file)).any(|file| at(file).as_ref() != Some(head)) {
            return Err(malformed(&what, "the list is about another head"));
        }
        let files = list.into_iter().map(|file| {
            let blob = if removed(&file) { None } else { Some(file.sha.map(Sha::new)) };
            let blob = blob.map(|blob| blob.ok_or_else(|| malformed(&what, "a file without its content's id")));
            Ok(ChangedFile { path: file.filename, before: file.previous_filename, blob: blob.transpose()? })
        });
        files.collect()
    }

    /// The text of a file by its id; what is not UTF-8 is replaced.
    ///
    /// # Errors
    /// It could not be read, or is larger than a mebibyte.
    pub async fn text_of(&self, blob: &Sha) -> Result<String, HubError> {
        let found: WireFile = self.main().get(&self.path(&format!("/git/blobs/{}", segment(blob.as_str())))).await?;
        found.text(&format!("file {}", blob.short()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::pull::tests::pull;

    #[test]
    fn the_newest_are_kept_and_forks_push_nobody_out() {
        let other = |number: u64, foreign: bool| OtherPull {
            number: PullNumber(number),
            author: None,
            head: pull().head,
            base: pull().base,
            foreign,
            queued: None,
            claims: false,
            check: Read::Known(None),
        };
        let all = (1..=200).map(|number| other(number, false)).chain((201..=900).map(|number| other(number, true)));
        let numbers: Vec<u64> = kept(all.collect()).iter().map(|pull| pull.number.0).collect();
        let expected: Vec<u64> = (1..=200).chain(801..=900).collect();
        assert_eq!(numbers, expected);
    }
}
