//! Whether the unit that new numbers show is the one that the old numbers had.

use sanare_core::outcome::Reason;

use crate::code::table_reads::Key;
use crate::engine::refused;
use crate::kind::Subject;
use crate::lexicon::Lexicon;
use crate::names;
use crate::problem::Answer;
use crate::profile::Profile;
use crate::table::View;
use crate::table::numbers::{NumberColumn, cells, scale_changed};
use crate::values::units;

/// Refuses when nothing says that the old numbers had the unit that the new ones show.
pub fn unfounded(subject: &Subject, view: &View, column: &NumberColumn) -> Option<Answer> {
    let grammar = column.grammar.as_ref().ok()?;
    let shown = grammar.units.first()?;
    if grammar.units.len() > 1 {
        return Some(refused(
            Reason::ScaleOrUnit,
            &format!("the numbers show more than one unit: {}", grammar.units.join(", ")),
        ));
    }
    let name = match &column.key {
        Key::Name(name) => name.clone(),
        Key::At(place) => view
            .remembered
            .and_then(|table| table.columns.get(usize::try_from(*place).ok()?))
            .map(|(name, _)| name.clone())
            .unwrap_or_default(),
    };
    let mut said = names::canonical(&name).units;
    said.extend(column.remembered(view).into_iter().flat_map(|profile| profile.units.iter().cloned()));
    if shown == "percent" {
        return percent(view, column, &name, &said);
    }
    if !units::is_currency(shown) {
        return if said.contains(shown) {
            None
        } else {
            Some(refused(
                Reason::ScaleOrUnit,
                &format!("the numbers of `{name}` now show {shown}; nothing says that they did before"),
            ))
        };
    }
    said.extend(view.remembered.into_iter().flat_map(|table| table.currencies.iter().cloned()));
    said.extend(in_code(subject));
    said.retain(|unit| units::is_currency(unit));
    let beside = beside(view);
    let same = |unit: &String| unit == shown || (shown == "usd_sign" && unit == "usd");
    let agreed = !said.is_empty() && said.iter().all(same) && beside.iter().all(same);
    (!agreed).then(|| {
        let before = if said.is_empty() {
            "nothing says what they were before".to_owned()
        } else {
            format!("before they were {}", said.join(", "))
        };
        refused(Reason::ScaleOrUnit, &format!("the numbers of `{name}` now show {shown}; {before}"))
    })
}

/// Percent signs may go when the numbers in front of them are of the size that they were, or the name says percent.
fn percent(view: &View, column: &NumberColumn, name: &str, said: &[String]) -> Option<Answer> {
    let grammar = column.grammar.as_ref().ok()?;
    let plain: Vec<String> = cells(view, column.place).iter().filter_map(|cell| grammar.normalize(cell)).collect();
    let now = Profile::of_texts(plain.iter().map(String::as_str));
    let old = column.remembered(view).filter(|old| old.number.as_ref().is_some_and(|number| number.powers.is_some()));
    let fits = match old {
        Some(old) => !scale_changed(old, &now) && overlaps(old, &now),
        None => said.iter().any(|unit| unit == "percent"),
    };
    (!fits).then(|| {
        refused(
            Reason::ScaleOrUnit,
            &format!("`{name}` now shows percent, and its scale before is not known to be the same"),
        )
    })
}

fn overlaps(old: &Profile, new: &Profile) -> bool {
    let powers = |profile: &Profile| profile.number.as_ref().and_then(|number| number.powers);
    match (powers(old), powers(new)) {
        (Some((_, old_middle, old_high)), Some((_, middle, high))) => {
            old_middle == middle || (old_high == high && (old_middle - middle).abs() <= 1)
        }
        _ => false,
    }
}

/// Currencies that the target's own text names.
fn in_code(subject: &Subject) -> Vec<String> {
    let text = subject.source.slice(subject.target);
    let mut found: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() == 3 && word.chars().all(char::is_uppercase))
        .filter_map(units::currency)
        .map(str::to_owned)
        .collect();
    found.extend(
        text.chars().filter(|letter| !letter.is_ascii() || *letter == '$').filter_map(units::sign).map(str::to_owned),
    );
    found
}

/// Currencies that columns of codes beside the numbers name. Where a column says that it is the currency, codes in other
/// columns are something else, such as what was bought.
pub fn beside(view: &View) -> Vec<String> {
    let named: Vec<usize> = (0..view.header.len()).filter(|place| is_currency_name(&view.header[*place])).collect();
    let found = codes(view, &named);
    if found.is_empty() { codes(view, &(0..view.header.len()).collect::<Vec<_>>()) } else { found }
}

fn is_currency_name(name: &str) -> bool {
    let lexicon = Lexicon::standard();
    let means = |token: &String| lexicon.senses(token).iter().any(|sense| lexicon.entry(sense.entry).id == "currency");
    names::canonical(name).tokens.iter().any(means)
}

fn codes(view: &View, places: &[usize]) -> Vec<String> {
    let mut found = Vec::new();
    for place in places.iter().copied() {
        let cells: Vec<&str> = view.texts(place).map(str::trim).filter(|cell| !cell.is_empty()).collect();
        if !cells.is_empty()
            && cells
                .iter()
                .all(|cell| cell.len() == 3 && cell.chars().all(char::is_uppercase) && units::currency(cell).is_some())
        {
            for cell in cells {
                let unit = units::currency(cell).unwrap_or_default().to_owned();
                if !found.contains(&unit) {
                    found.push(unit);
                }
            }
        }
    }
    found
}
