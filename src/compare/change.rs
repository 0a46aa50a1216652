//! One difference between two releases of a chart, and the sentence that says it.

use std::fmt;

use serde::Serialize;

use crate::package::visible;

/// One difference. Every text in it is its author's, in one line of bounded length; it is data, never markup.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What kind of difference.
    pub what: What,
    /// Where: the path of a value, the name of a resource, a file.
    pub at: String,
    /// What was there, where that says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What is there now, where that says something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The kinds of differences, those first that people have to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// A value that is required has no default.
    OptionRequired,
    /// A value that is documented no more.
    ValueRemoved,
    /// A value of another type.
    ValueRetyped,
    /// A value that the schema takes no more.
    OptionRemoved,
    /// Another type in the schema.
    OptionRetyped,
    /// The schema takes less than before.
    OptionNarrowed,
    /// The schema takes no more than what it names.
    OptionsClosed,
    /// A custom resource is gone.
    CrdRemoved,
    /// A custom resource belongs to a namespace now, or no more.
    CrdScope,
    /// A version under which objects may be stored is served no more.
    CrdStoredVersionGone,
    /// A version is served no more.
    CrdVersionGone,
    /// A field of a custom resource is gone.
    CrdFieldRemoved,
    /// A field of a custom resource is required.
    CrdFieldRequired,
    /// A field of a custom resource has another type.
    CrdFieldRetyped,
    /// A field of a custom resource takes less than before.
    CrdFieldNarrowed,
    /// Another chart goes by the same name.
    ChartRenamed,
    /// The chart comes from somewhere else.
    ChartMoved,
    /// An application has become a library, or the other way round.
    ChartType,
    /// Its author has given it up.
    Deprecated,
    /// Other versions of Kubernetes.
    KubeVersion,
    /// What could not be compared.
    Unread,
    /// Another version is stored.
    CrdStorage,
    /// The version of what a definition installs.
    ChartVersion,
    /// Another image, or another version of it.
    Image,
    /// An image more.
    ImageAdded,
    /// An image less.
    ImageRemoved,
    /// Another chart within it.
    DependencyAdded,
    /// A chart within it is gone.
    DependencyRemoved,
    /// Another version of a chart within it.
    DependencyVersion,
    /// A chart within it comes from somewhere else.
    DependencyRepository,
    /// A chart within it is installed under another condition.
    DependencyCondition,
    /// A value that is required has a default.
    OptionRequiredWithDefault,
    /// Another default.
    DefaultChanged,
    /// A value that is required no more.
    OptionOptional,
    /// The schema takes more than before.
    OptionWidened,
    /// The schema names a value more.
    OptionAdded,
    /// A value more.
    ValueAdded,
    /// A custom resource more.
    CrdAdded,
    /// A version of a custom resource more.
    CrdVersionAdded,
    /// A field of a custom resource more.
    CrdFieldAdded,
    /// A file more.
    TemplateAdded,
    /// A file less.
    TemplateRemoved,
    /// Another text.
    TemplateChanged,
}

/// What a kind of difference does to somebody who follows what the chart promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It has to be set.
    Requires,
    /// What was set has no effect any more.
    Removes,
    /// What was set is of the wrong type.
    Retypes,
    /// What was set may be refused.
    Narrows,
    /// It breaks, whatever is set.
    Breaks,
    /// Nothing by itself.
    Informs,
}

impl What {
    /// What it does to somebody who follows what the chart promised.
    pub fn effect(self) -> Effect {
        match self {
            Self::OptionRequired => Effect::Requires,
            Self::ValueRemoved | Self::OptionRemoved => Effect::Removes,
            Self::ValueRetyped | Self::OptionRetyped => Effect::Retypes,
            Self::OptionNarrowed | Self::OptionsClosed | Self::CrdFieldNarrowed => Effect::Narrows,
            Self::CrdRemoved
            | Self::CrdScope
            | Self::CrdStoredVersionGone
            | Self::CrdVersionGone
            | Self::CrdFieldRemoved
            | Self::CrdFieldRequired
            | Self::CrdFieldRetyped
            | Self::ChartRenamed
            | Self::ChartMoved
            | Self::ChartType => Effect::Breaks,
            Self::Deprecated
            | Self::KubeVersion
            | Self::Unread
            | Self::CrdStorage
            | Self::ChartVersion
            | Self::Image
            | Self::ImageAdded
            | Self::ImageRemoved
            | Self::DependencyAdded
            | Self::DependencyRemoved
            | Self::DependencyVersion
            | Self::DependencyRepository
            | Self::DependencyCondition
            | Self::OptionRequiredWithDefault
            | Self::DefaultChanged
            | Self::OptionOptional
            | Self::OptionWidened
            | Self::OptionAdded
            | Self::ValueAdded
            | Self::CrdAdded
            | Self::CrdVersionAdded
            | Self::CrdFieldAdded
            | Self::TemplateAdded
            | Self::TemplateRemoved
            | Self::TemplateChanged => Effect::Informs,
        }
    }

    /// Whether it breaks somebody who follows what the chart promised, whatever he has set.
    pub fn is_breaking(self) -> bool {
        self.effect() != Effect::Informs
    }
}

impl Change {
    pub(crate) fn new(what: What, at: impl AsRef<str>) -> Self {
        Self { what, at: visible(at.as_ref()), from: None, to: None }
    }

    pub(crate) fn from(mut self, from: impl AsRef<str>) -> Self {
        self.from = Some(visible(from.as_ref()));
        self
    }

    pub(crate) fn to(mut self, to: impl AsRef<str>) -> Self {
        self.to = Some(visible(to.as_ref()));
        self
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, at, from, to } = self;
        let (from, to) = (from.as_deref().unwrap_or("nothing"), to.as_deref().unwrap_or("nothing"));
        match what {
            What::OptionRequired => write!(f, "`{at}` is required now and has no default"),
            What::ValueRemoved => write!(f, "`{at}` is gone; it was {from}"),
            What::ValueRetyped => write!(f, "`{at}` was {from} and is {to} now"),
            What::OptionRemoved => write!(f, "the option `{at}` is gone"),
            What::OptionRetyped => write!(f, "the option `{at}` was {from} and is {to} now"),
            What::OptionNarrowed => write!(f, "`{at}` takes less than before: {to} instead of {from}"),
            What::OptionsClosed => write!(f, "`{at}` takes no other keys any more than those that the schema names"),
            What::CrdRemoved => write!(f, "the custom resource {at} is gone"),
            What::CrdScope => write!(f, "the custom resource {at} was {from} and is {to} now"),
            What::CrdStoredVersionGone => {
                write!(f, "{at} is not served any more, and objects may still be stored in it")
            }
            What::CrdVersionGone => write!(f, "{at} is not served any more"),
            What::CrdFieldRemoved => write!(f, "the field {at} is gone"),
            What::CrdFieldRequired => write!(f, "the field {at} is required now"),
            What::CrdFieldRetyped => write!(f, "the field {at} was {from} and is {to} now"),
            What::CrdFieldNarrowed => write!(f, "the field {at} takes less than before: {to} instead of {from}"),
            What::ChartRenamed => write!(f, "the chart is called {to} now; it was {from}"),
            What::ChartMoved => write!(f, "the chart comes from {to} now; it came from {from}"),
            What::ChartType => write!(f, "the chart was of the type {from} and is of the type {to} now"),
            What::Deprecated => f.write_str("its author has marked the chart as deprecated"),
            What::KubeVersion => write!(f, "it asks for Kubernetes {to}; it asked for {from}"),
            What::Unread => write!(f, "{at} could not be compared: {to}"),
            What::CrdStorage => write!(f, "objects of {at} are stored as {to} now; that was {from}"),
            What::ChartVersion => write!(f, "the {at} is {to} now; it was {from}"),
            What::Image => write!(f, "the image at `{at}` is {to} now; it was {from}"),
            What::ImageAdded => write!(f, "the image at `{at}` is new: {to}"),
            What::ImageRemoved => write!(f, "the image at `{at}` is gone; it was {from}"),
            What::DependencyAdded => write!(f, "the chart {at} {to} comes with it now"),
            What::DependencyRemoved => write!(f, "the chart {at} {from} does not come with it any more"),
            What::DependencyVersion => write!(f, "the chart {at} within it is {to} now; it was {from}"),
            What::DependencyRepository => {
                write!(f, "the chart {at} within it comes from {to} now; it came from {from}")
            }
            What::DependencyCondition => {
                write!(f, "the chart {at} within it is installed where `{to}` says so; it was where `{from}` did")
            }
            What::OptionRequiredWithDefault => write!(f, "`{at}` is required now; {to} stands there by default"),
            What::DefaultChanged => write!(f, "`{at}` is {to} by default now; it was {from}"),
            What::OptionOptional => write!(f, "`{at}` is not required any more"),
            What::OptionWidened => write!(f, "`{at}` takes more than before: {to} instead of {from}"),
            What::OptionAdded => write!(f, "the option `{at}` is new"),
            What::ValueAdded => write!(f, "`{at}` is new, {to} by default"),
            What::CrdAdded => write!(f, "the custom resource {at} is new"),
            What::CrdVersionAdded => write!(f, "{at} is new"),
            What::CrdFieldAdded => write!(f, "the field {at} is new"),
            What::TemplateAdded => write!(f, "the file {at} is new"),
            What::TemplateRemoved => write!(f, "the file {at} is gone"),
            What::TemplateChanged => write!(f, "the file {at} has changed: {to}"),
        }
    }
}
