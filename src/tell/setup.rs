//! The page on this machine that registers an App: what it may do and why, and what came of it. Who serves it is
//! `cli/setup`.

use serde::Serialize;

use super::{TellError, render};

/// What it shows.
#[derive(Clone, Copy, Debug)]
pub enum SetupPage<'a> {
    /// The App, before it is registered.
    Offer {
        /// What it is to be called.
        name: &'a str,
        /// Whose repository it is for.
        owner: &'a str,
        /// Where GitHub takes the manifest for that organization.
        organization: &'a str,
        /// The same for the account of whoever looks.
        own: &'a str,
        /// The manifest, JSON.
        manifest: &'a str,
        /// Where its webhooks go.
        hook: Option<&'a str>,
        /// Its permissions.
        needs: &'a [Permission],
    },
    /// It is registered.
    Done {
        /// The repository that it is for.
        repository: &'a str,
        /// What was done.
        done: &'a str,
        /// Where it is installed.
        install: &'a str,
    },
    /// It is not.
    Failed {
        /// Why.
        why: &'a str,
    },
}

/// A permission of the App.
#[derive(Clone, Debug, Serialize)]
pub struct Permission {
    /// GitHub's name for it.
    pub permission: &'static str,
    /// `read` or `write`.
    pub level: &'static str,
    /// What it is used for.
    pub why: &'static str,
    /// The events that come with it.
    pub events: String,
}

#[derive(Default, Serialize)]
struct Page<'a> {
    title: &'static str,
    done: Option<&'a str>,
    repository: &'a str,
    install: &'a str,
    failed: Option<&'a str>,
    manifest: Option<&'a str>,
    name: &'a str,
    owner: &'a str,
    organization: &'a str,
    own: &'a str,
    hook: Option<&'a str>,
    needs: &'a [Permission],
}

/// The page, HTML.
///
/// # Errors
/// A built-in template is broken.
pub fn setup_page(page: SetupPage<'_>) -> Result<String, TellError> {
    let page = match page {
        SetupPage::Offer { name, owner, organization, own, manifest, hook, needs } => Page {
            title: "Register the App",
            manifest: Some(manifest),
            name,
            owner,
            organization,
            own,
            hook,
            needs,
            ..Page::default()
        },
        SetupPage::Done { repository, done, install } => {
            Page { title: "The App is registered", done: Some(done), repository, install, ..Page::default() }
        }
        SetupPage::Failed { why } => Page { title: "The App was not registered", failed: Some(why), ..Page::default() },
    };
    render::html("setup", &page)
}
