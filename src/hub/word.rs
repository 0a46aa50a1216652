//! What people said on a pull request, wherever they said it: in a comment, or in the text of a review. What of it is a
//! command, `command` reads.

use jiff::Timestamp;

use super::pull::{Author, HubComment, HubPull, HubReview};

/// Which comment or review. The hub numbers both on their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordId {
    /// A comment of the conversation.
    Comment(u64),
    /// A review.
    Review(u64),
}

/// One thing that somebody said.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// Where.
    pub id: WordId,
    /// Who; none for a deleted account.
    pub by: Option<&'a Author>,
    /// When, by the hub's clock: when a review was submitted, not when its author began to write it.
    pub at: Timestamp,
    /// It was edited after it was said.
    pub edited: bool,
    /// By whom last; none where it was not edited, or the hub does not say.
    pub editor: Option<&'a Author>,
    /// Whether we have reacted to it. Nobody can react to a review by REST.
    pub reacted: bool,
    /// What.
    pub body: &'a str,
}

impl HubPull {
    /// What was said in comments and reviews, oldest first. What was not read is not in it.
    pub fn words(&self) -> Vec<Word<'_>> {
        let comments = self.comments.known().into_iter().flatten().map(HubComment::word);
        let reviews = self.reviews.known().into_iter().flatten().map(HubReview::word);
        let mut words: Vec<Word<'_>> = comments.chain(reviews).collect();
        words.sort_by_key(|word| word.at);
        words
    }
}

impl HubComment {
    /// It as something that was said.
    pub fn word(&self) -> Word<'_> {
        Word {
            id: WordId::Comment(self.id),
            by: self.by.as_ref(),
            at: self.at,
            edited: self.edited_at.is_some(),
            editor: self.editor.as_ref(),
            reacted: self.reacted,
            body: &self.body,
        }
    }
}

impl HubReview {
    /// Its text as something that was said.
    pub fn word(&self) -> Word<'_> {
        Word {
            id: WordId::Review(self.id),
            by: self.by.as_ref(),
            at: self.at,
            // A draft may be changed as often as its author likes: it was said when it was submitted.
            edited: self.edited_at.is_some_and(|edited| edited >= self.at),
            editor: self.editor.as_ref(),
            reacted: false,
            body: &self.body,
        }
    }
}
