//! Whom the hub tells of a new comment: those whom it mentions and who may read the repository, and those who take
//! part in the conversation. An edit tells nobody, whatever it says.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::state::{Kind, Pull, Role, Told, World};

/// The most mentions of one comment that the hub tells anybody of.
const MOST_MENTIONS: usize = 50;

impl World {
    /// Tells people of a comment that was just written.
    pub fn tell(&mut self, id: u64, comment: u64) {
        let Some(repo) = self.repositories.get(&id) else { return };
        let Some(found) = repo.comments.get(&comment) else { return };
        let mut why: BTreeMap<String, &'static str> = BTreeMap::new();
        let said = repo.comments.values().filter(|other| other.number == found.number).map(|other| &other.author);
        let issue = repo.issues.get(&found.number).map(|issue| &issue.author);
        let pull = repo.pulls.get(&found.number);
        let of_pull = |pull: &'_ Pull| {
            let reviewers = pull.reviews.iter().map(|review| &review.author);
            reviewers.chain(&pull.requested).chain([&pull.author]).cloned().collect::<Vec<_>>()
        };
        why.extend(
            said.chain(issue).cloned().chain(pull.into_iter().flat_map(of_pull)).map(|login| (login, "comment")),
        );
        for name in mentions(&found.body).into_iter().take(MOST_MENTIONS) {
            match name.split_once('/') {
                Some((org, slug)) => {
                    let team = |((owner, team), _): &(&(String, String), _)| {
                        owner.eq_ignore_ascii_case(org) && team.eq_ignore_ascii_case(slug)
                    };
                    let members = self.teams.iter().find(team).map(|(_, members)| members);
                    why.extend(members.into_iter().flatten().map(|login| (login.clone(), "team_mention")));
                }
                None => why.extend(self.account(&name).map(|account| (account.login.clone(), "mention"))),
            }
        }
        let person = |login: &str| self.account(login).is_some_and(|account| account.kind == Kind::User);
        why.retain(|login, _| *login != found.author && person(login) && self.role(repo, login) >= Role::Read);
        let number = found.number;
        self.told.extend(why.into_iter().map(|(who, why)| Told { who, number, comment, why }));
    }
}

/// `login` and `organization/team` behind each `@` of a text, without those in code and in HTML.
fn mentions(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut code, mut plain) = (0_usize, String::new());
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code += 1,
            Event::End(TagEnd::CodeBlock) => code -= 1,
            // One text may come in pieces.
            Event::Text(piece) if code == 0 => plain.push_str(&piece),
            Event::Start(_)
            | Event::End(_)
            | Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => plain.push(' '),
        }
    }
    let in_name = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    for (at, _) in plain.match_indices('@') {
        let before = plain.get(..at).and_then(|before| before.chars().next_back());
        let rest = plain.get(at + 1..).unwrap_or_default();
        let name = rest.split(|c| !in_name(c)).next().unwrap_or_default().trim_end_matches(['.', '/']);
        if !name.is_empty() && !before.is_some_and(|c| c.is_alphanumeric() || "_`/".contains(c)) {
            found.insert(name.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_addresses_mention_nobody() {
        for (text, names) in [
            ("@alice, look", vec!["alice"]),
            ("(@acme/platform and **@bob**).", vec!["acme/platform", "bob"]),
            ("`@alice` a@b.example <!-- @bob -->", vec![]),
            ("```text\n@alice\n```", vec![]),
            ("ask @alice.", vec!["alice"]),
        ] {
            assert_eq!(mentions(text).into_iter().collect::<Vec<_>>(), names, "{text}");
        }
    }
}
