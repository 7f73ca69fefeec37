//! Writing a conversion of a leaf where it is read, in the target or before the call of the function that reads it.

use sanare_core::outcome::Reason;
use sanare_core::value::Value;

use crate::code::object_fit::remembered_profile;
use crate::code::object_path::{Step, dotted};
use crate::code::object_reads::{How, Place, Read};
use crate::code::object_view::View;
use crate::code::object_write::{Draft, literal};
use crate::problem::{Answer, Refusal};
use crate::profile::Profile;

/// The module in which the leaf at a place goes through a helper wherever it is read; `None` where a read cannot be
/// rewritten.
pub fn converted(
    view: &View,
    place: &Place,
    names: &[&str],
    comment: &str,
    helper: &dyn Fn(&str) -> Vec<String>,
) -> Option<String> {
    let reads: Vec<&Read> = view
        .reading
        .reads
        .iter()
        .filter(|read| read.place == *place && !matches!(read.how, How::Contains | How::Written))
        .collect();
    if reads.is_empty() {
        return None;
    }
    let mut draft = Draft::new(view.subject);
    let name = draft.helper(names, comment, helper);
    for read in reads.iter().filter(|read| read.owner == 0) {
        let text = draft.text(read.range);
        let text = match read.how {
            How::Iterate if read.range == read.base => format!("[{name}(value) for value in {text}]"),
            How::Entries => return None,
            How::Iterate => return None,
            _ => format!("{name}({text})"),
        };
        draft.replace(read.range, text);
    }
    let mut vias: Vec<Option<usize>> = reads.iter().filter(|read| read.owner > 0).map(|read| read.via).collect();
    vias.sort_unstable();
    vias.dedup();
    for via in vias {
        let call = view.reading.calls.get(via?)?;
        let (range, from) =
            call.arguments.iter().filter(|(_, from)| from.holds(place)).max_by_key(|(_, from)| from.steps.len())?;
        let text = around(draft.text(*range), from.steps_to(place), &name, 0);
        let text = draft.quoted(&text);
        draft.replace(*range, text);
    }
    draft.finish()
}

fn around(text: &str, steps: &[Step], function: &str, depth: usize) -> String {
    let Some((first, rest)) = steps.split_first() else { return format!("{function}({text})") };
    match first {
        Step::Key(key) => {
            let key = literal(key);
            format!("{{**{text}, {key}: {}}}", around(&format!("{text}[{key}]"), rest, function, depth))
        }
        Step::Member | Step::Index(_) => {
            let name = ["record", "part", "piece", "member"].get(depth).copied().unwrap_or("value");
            format!("[{} for {name} in {text}]", around(name, rest, function, depth + 1))
        }
        Step::Entry => {
            let name = ["entry", "inner_entry", "part_entry"].get(depth).copied().unwrap_or("value");
            format!("{{key: {} for key, {name} in {text}.items()}}", around(name, rest, function, depth + 1))
        }
    }
}

/// A refusal when numbers left the range that is remembered for their place (V6).
pub fn off_scale(view: &View, place: &Place, numbers: &[Value]) -> Option<Answer> {
    let old = remembered_profile(view, place)?;
    let new = Profile::of_values(numbers.iter());
    let why = scale_veto(&old, &new)?;
    Some(Answer::Refused(Refusal {
        reason: Reason::ScaleOrUnit,
        summary: format!("the values of `{}` changed their scale: {why}", dotted(&place.steps)),
        fields: Vec::new(),
        hint: "if the unit is the same, name the field in a contract".into(),
    }))
}

/// V6: powers of ten no longer overlap, or values are newly negative.
pub fn scale_veto(old: &Profile, new: &Profile) -> Option<String> {
    let (old, new) = (old.number.as_ref()?, new.number.as_ref()?);
    crate::code::object_scale::differs(old, new)
}
