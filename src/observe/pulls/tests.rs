//! Commands as they are read from comments.
use super::*;

fn comment(id: u64, by: Option<(&str, bool)>, body: &str) -> HubComment {
    HubComment {
        id,
        by: by.map(|(login, human)| Author { login: Person::from(login), human }),
        at: Timestamp::UNIX_EPOCH,
        edited_at: None,
        editor: None,
        reacted: false,
        body: body.to_owned(),
    }
}

fn said(comments: &[HubComment]) -> Vec<(String, CommandKind)> {
    newest(comments.iter().map(HubComment::word).collect())
        .into_iter()
        .map(|one| (one.by.as_str().to_owned(), one.what))
        .collect()
}

#[test]
fn a08_edited_comments_only_stop_and_neither_apps_nor_deleted_accounts_command() {
    for (word, when_edited) in [
        ("hold it", true),
        ("freeze tier an incident", true),
        ("fail it broke", true),
        ("resume", false),
        ("unfreeze", false),
        ("force an outage", false),
        ("hotfix 1.2.3 a hole", false),
        ("acknowledge 2.0.0", false),
        ("rebuild 0123abc", false),
    ] {
        let body = format!("/coldframe {word}");
        assert_eq!(said(&[comment(1, Some(("maria", true)), &body)]).len(), 1, "{word}");
        let edited = HubComment { edited_at: Some(Timestamp::UNIX_EPOCH), ..comment(1, Some(("maria", true)), &body) };
        assert_eq!(said(&[edited]).len(), usize::from(when_edited), "{word}, edited");
        for nobody in [Some(("helper[bot]", false)), None] {
            assert_eq!(said(&[comment(1, nobody, &body)]), [], "{word} by {nobody:?}");
        }
    }
}

#[test]
fn a40_of_each_person_the_newest_commands_of_a_kind_are_looked_at() {
    let (maria, eve) = (Some(("maria", true)), Some(("eve", true)));
    let mut comments = vec![comment(0, maria, "/coldframe hold one"), comment(1, eve, "/coldframe hold first")];
    comments.extend((0..500).map(|number| comment(2 + number, eve, &format!("/coldframe resume {number}"))));
    comments.extend((0..500).map(|number| comment(600 + number, maria, "/coldframe force now")));
    let said = said(&comments);
    let hold = |why: &str| CommandKind::Hold { why: why.to_owned() };
    assert_eq!(said[..2], [("maria".to_owned(), hold("one")), ("eve".to_owned(), hold("first"))]);
    assert_eq!(said.len(), 2 + 2 * NEWEST);
}
