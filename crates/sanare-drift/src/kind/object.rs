//! Drift of nested data: the inner order of its kinds, outermost first (envelope, pages, places, names, then leaves).

use crate::code::object_view::{Scene, View};
use crate::kind::Subject;
use crate::problem::{Answer, Layer, Mapping, Tier};

use super::{
    object_date, object_digits, object_envelope, object_keyed, object_lines, object_moved, object_number,
    object_optional, object_pages, object_renamed, object_scalar, object_single, object_text, object_time,
    object_unwrapped,
};

/// One kind of drift of nested data.
pub type Inner = fn(&View) -> Option<Answer>;

/// Every kind, in order: the first answer counts.
pub const ALL: &[Inner] = &[
    object_lines::answer,
    object_pages::answer,
    object_unwrapped::answer,
    object_envelope::answer,
    object_single::answer,
    object_keyed::answer,
    object_moved::answer,
    object_renamed::answer,
    object_scalar::answer,
    object_time::answer,
    object_number::answer,
    object_digits::answer,
    object_date::answer,
    object_text::answer,
    object_optional::answer,
    object_optional::null,
];

/// Asks each of them.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let view = View::of(Scene::of(subject))?;
    ALL.iter().find_map(|inner| inner(&view))
}

/// A layer; `None` when it could not be written.
pub(crate) fn layer(
    kind: &str,
    source: Option<String>,
    tier: Tier,
    summary: String,
    evidence: Vec<String>,
    mappings: Vec<Mapping>,
) -> Option<Answer> {
    Some(Answer::Layer(Layer {
        kind: kind.to_owned(),
        source: source?,
        tier,
        mappings,
        summary,
        evidence,
        profiles: Vec::new(),
    }))
}
