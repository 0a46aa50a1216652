//! What a reader asks to see of a page: it stands in the page's address, so that the address can be handed on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::{View, inert, words};

/// The most plugins that are listed to choose from; others are found by their name.
const CHOICES: usize = 500;

/// What to show; all of it where nothing is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// Words that stand somewhere in it.
    pub q: String,
    /// One plugin.
    pub plugin: String,
    /// One tier.
    pub tier: String,
    /// One state, by its word.
    pub state: String,
    /// `person` for what stands still until a person does something.
    pub needs: String,
    /// Which page of a long list, from 1.
    pub page: Option<usize>,
}

impl Filter {
    /// Whether anything is asked for, beside which page.
    pub(crate) fn is_set(&self) -> bool {
        !self.asked().is_empty()
    }

    /// Whether a plugin, a tier and a state are asked for, or none in particular.
    pub(crate) fn takes(&self, plugin: &str, tier: &str, state: &str) -> bool {
        [(&self.plugin, plugin), (&self.tier, tier), (&self.state, state)]
            .iter()
            .all(|(asked, there)| asked.is_empty() || asked == there)
    }

    /// Whether only what needs a person is asked for.
    pub(crate) fn needs_a_person(&self) -> bool {
        !self.needs.is_empty()
    }

    /// Whether every word stands in one of the texts.
    pub(crate) fn finds(&self, texts: &[&str]) -> bool {
        if self.q.trim().is_empty() {
            return true;
        }
        let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        self.q.to_lowercase().split_whitespace().all(|word| texts.iter().any(|text| text.contains(word)))
    }

    /// What follows the address of another page of the same list.
    pub(crate) fn to_page(&self, page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::for_suffix(String::from("?"), 1);
        query.extend_pairs(self.asked());
        query.append_pair("page", &page.to_string());
        query.finish()
    }

    fn asked(&self) -> Vec<(&'static str, &str)> {
        let all = [
            ("q", self.q.trim()),
            ("plugin", &self.plugin),
            ("tier", &self.tier),
            ("state", &self.state),
            ("needs", &self.needs),
        ];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// The fields of a filter as they stand, and what there is to choose from.
#[derive(Serialize)]
pub(crate) struct Form {
    q: String,
    selects: Vec<Select>,
    /// Whether what needs a person can be asked for, and is.
    asks: bool,
    person: bool,
    /// Whether something is asked for, and can be taken back.
    set: bool,
}

#[derive(Serialize)]
struct Select {
    label: &'static str,
    name: &'static str,
    any: bool,
    options: Vec<Choice>,
}

#[derive(Serialize)]
struct Choice {
    text: String,
    chosen: bool,
}

impl Form {
    /// Of the ladders of some repositories.
    pub(crate) fn of_ladders(filter: &Filter, views: &[&View], tiers: Vec<String>) -> Self {
        let waves = || views.iter().flat_map(|view| &view.plan.waves);
        let mut states = BTreeMap::new();
        for look in waves().map(words::wave) {
            states.insert((look.tone, look.word), ());
        }
        let mut plugins: Vec<String> = waves().map(|wave| wave.plugin.to_string()).collect();
        plugins.sort();
        plugins.dedup();
        plugins.truncate(CHOICES);
        let states = states.into_keys().map(|(_, word)| word.to_string()).collect();
        let selects = vec![
            select("Plugin", "plugin", plugins, &filter.plugin),
            select("Tier", "tier", tiers, &filter.tier),
            select("State", "state", states, &filter.state),
        ];
        Self { q: inert::line(&filter.q), selects, asks: true, person: filter.needs_a_person(), set: filter.is_set() }
    }

    /// Of the clusters of a tier, which are in these states.
    pub(crate) fn of_clusters(filter: &Filter, states: Vec<String>) -> Self {
        let selects = vec![select("State", "state", states, &filter.state)];
        Self { q: inert::line(&filter.q), selects, asks: false, person: false, set: filter.is_set() }
    }
}

/// What there is to choose from; what was chosen is among it, whether or not it is there now.
fn select(label: &'static str, name: &'static str, mut there: Vec<String>, chosen: &str) -> Select {
    if !chosen.is_empty() && !there.iter().any(|one| one == chosen) {
        there.push(chosen.to_string());
    }
    let choice = |text: String| Choice { chosen: text == chosen, text };
    Select { label, name, any: chosen.is_empty(), options: there.into_iter().map(choice).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_what_was_asked_for_and_nothing_else() {
        let filter = Filter { q: " a&b ".into(), tier: "gold".into(), page: Some(3), ..Filter::default() };
        assert_eq!(filter.to_page(2), "?q=a%26b&tier=gold&page=2");
        assert!(filter.is_set() && !Filter { page: Some(3), q: " ".into(), ..Filter::default() }.is_set());
    }

    #[test]
    fn words_may_stand_in_any_of_the_texts() {
        let finds = |q: &str| Filter { q: q.into(), ..Filter::default() }.finds(&["cert-manager", "Waits for @acme"]);
        assert!(finds("") && finds("CERT") && finds("acme cert") && !finds("cert loki"));
        let takes = |plugin: &str, state: &str| {
            Filter { plugin: plugin.into(), state: state.into(), ..Filter::default() }.takes("loki", "gold", "open")
        };
        assert!(takes("", "") && takes("loki", "open") && !takes("lok", "") && !takes("loki", "idle"));
    }

    #[test]
    fn what_was_chosen_stays_chosen_when_it_is_gone() {
        let found = select("State", "state", vec!["open".into()], "soaking");
        let options: Vec<(&str, bool)> =
            found.options.iter().map(|choice| (choice.text.as_str(), choice.chosen)).collect();
        assert_eq!((found.any, options), (false, vec![("open", false), ("soaking", true)]));
    }
}
