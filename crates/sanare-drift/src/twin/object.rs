//! Synthetic nested data of the remembered or implied shape.

use sanare_core::evidence::TwinValue;
use sanare_core::value::Value;
use sanare_source::parse::Source;

use crate::code::object_path::Step;
use crate::code::object_reads::{Form, How, Place, Reading, Usage};
use crate::lexicon::{Lexicon, Role};
use crate::names;
use crate::problem::{Argument, Problem};
use crate::profile::Profile;
use crate::shape::{ObjectShape, Shape, TableShape};

/// How deep data is made.
const DEPTH: usize = 12;

/// One synthetic argument: nested data, or a file or text of JSON; lists hold so many members.
pub(super) fn value(problem: &Problem, argument: &Argument, rows: usize) -> Option<TwinValue> {
    if is_foreign(&argument.value, DEPTH) {
        return None;
    }
    let source = Source::parse(&problem.source).ok()?;
    let target = source.function_at(&problem.function, problem.first_line)?;
    let (reading, _) = Reading::of(&source, target, &|_| None);
    let root = reading.roots.iter().position(|root| {
        let nested = (argument.file.is_some() || argument.value.as_text().is_some()) == (root.form != Form::Parameter);
        root.parameter == argument.name && nested
    })?;
    let form = reading.roots.get(root)?.form;
    let place = Place { root, steps: Vec::new() };
    let maker = Maker { reading: &reading, rows };
    let made = match remembered(problem, &argument.name) {
        Some(shape) => maker.of_shape(&shape, &place, 0, DEPTH),
        None => maker.of_reads(&place, 0, DEPTH)?,
    };
    if form == Form::Parameter {
        return matches!(made, Value::Map(_) | Value::List(_)).then_some(TwinValue::Value(made));
    }
    let text = match (form, &made) {
        (Form::Lines, Value::List(members)) => members.iter().map(|member| json(member).to_string() + "\n").collect(),
        (Form::Lines, _) => return None,
        _ => json(&made).to_string(),
    };
    Some(match &argument.file {
        Some(file) => {
            let ending = file.name.rsplit_once('.').map_or(String::new(), |(_, ending)| format!(".{ending}"));
            TwinValue::File { name: format!("twin{ending}"), bytes: text.into_bytes() }
        }
        None => TwinValue::Value(Value::Text(text)),
    })
}

/// Whether a value holds something that cannot be made here.
fn is_foreign(value: &Value, depth: usize) -> bool {
    match value {
        Value::Opaque(_) | Value::Table(_) => true,
        Value::List(items) => depth > 0 && items.iter().any(|item| is_foreign(item, depth - 1)),
        Value::Map(entries) => depth > 0 && entries.iter().any(|(_, item)| is_foreign(item, depth - 1)),
        _ => false,
    }
}

fn remembered(problem: &Problem, name: &str) -> Option<ObjectShape> {
    problem.remembered.iter().find_map(|call| match call.arguments.iter().find(|(known, _)| known == name)? {
        (_, Shape::Object(shape)) => Some(shape.clone()),
        (_, Shape::Table(table)) if table.container == "rows" => Some(of_rows(table)),
        _ => None,
    })
}

fn of_rows(table: &TableShape) -> ObjectShape {
    let leaf = |profile: &Profile| ObjectShape::Leaf { profile: profile.clone() };
    let keys = table.columns.iter().map(|(name, profile)| (name.clone(), leaf(profile), true)).collect();
    ObjectShape::List { member: Some(Box::new(ObjectShape::Map { keys })) }
}

struct Maker<'r> {
    reading: &'r Reading,
    rows: usize,
}

impl Maker<'_> {
    /// Data of a remembered shape. A key that was not always there is left out of every other record.
    fn of_shape(&self, shape: &ObjectShape, place: &Place, number: usize, depth: usize) -> Value {
        if depth == 0 {
            return Value::Null;
        }
        match shape {
            ObjectShape::Map { keys } => {
                let entries = keys.iter().enumerate().filter(|(_, (_, _, always))| *always || number.is_multiple_of(2));
                let made = entries.map(|(at, (key, inner, _))| {
                    let place = place.then(Step::Key(key.clone()));
                    (key.clone(), self.of_shape(inner, &place, number + at, depth - 1))
                });
                Value::Map(made.collect())
            }
            ObjectShape::List { member: None } => Value::List(Vec::new()),
            ObjectShape::List { member: Some(member) } => {
                let place = place.then(Step::Member);
                let numbers = (0..self.rows).map(|row| self.of_shape(member, &place, number + row, depth - 1));
                Value::List(numbers.collect())
            }
            ObjectShape::Leaf { profile } => leaf(profile, number, self.reading, place),
        }
    }

    /// Data of the shape that the reads imply; nothing when they imply none.
    fn of_reads(&self, place: &Place, number: usize, depth: usize) -> Option<Value> {
        if depth == 0 {
            return None;
        }
        let mut keys: Vec<&str> = Vec::new();
        let (mut members, mut entries) = (false, false);
        for read in &self.reading.reads {
            let Some((parent, step)) = read.place.parent() else { continue };
            if parent != *place || read.how == How::Written {
                continue;
            }
            match step {
                Step::Key(key) if !keys.contains(&key.as_str()) => keys.push(key),
                Step::Key(_) => {}
                Step::Member | Step::Index(_) => members = true,
                Step::Entry => entries = true,
            }
        }
        if !keys.is_empty() {
            let made = keys.iter().enumerate().map(|(at, key)| {
                let inner = self.of_reads(&place.then(Step::Key((*key).to_owned())), number + at, depth - 1)?;
                Some(((*key).to_owned(), inner))
            });
            return made.collect::<Option<Vec<_>>>().map(Value::Map);
        }
        if members {
            let inner = place.then(Step::Member);
            let made = 0..self.rows;
            return made
                .map(|row| self.of_reads(&inner, number + row, depth - 1))
                .collect::<Option<Vec<_>>>()
                .map(Value::List);
        }
        if entries {
            let inner = place.then(Step::Entry);
            let made =
                (0..self.rows).map(|row| Some((format!("k{row}"), self.of_reads(&inner, number + row, depth - 1)?)));
            return made.collect::<Option<Vec<_>>>().map(Value::Map);
        }
        Some(implied_leaf(self.reading, place, number))
    }
}

/// A leaf of the remembered form.
fn leaf(profile: &Profile, number: usize, reading: &Reading, place: &Place) -> Value {
    let number = i64::try_from(number).unwrap_or(0);
    match profile.type_name.as_str() {
        "int" | "float" => {
            let power = profile.number.as_ref().and_then(|numbers| numbers.powers).map_or(0, |(_, middle, _)| middle);
            let counted = match profile.counted_time.as_deref() {
                Some("s") => Some(1_700_000_000),
                Some("ms") => Some(1_700_000_000_000),
                _ => None,
            };
            if profile.type_name == "int" {
                let base = counted
                    .unwrap_or_else(|| 10_i64.checked_pow(u32::try_from(power.max(0)).unwrap_or(0)).unwrap_or(1));
                return Value::Int(base + number * 7 % 100.max(base / 2));
            }
            Value::Float((1.25 + number as f64 * 0.5) * 10_f64.powi(i32::from(power)))
        }
        "bool" => Value::Bool(number % 2 == 0),
        "None" | "" => Value::Null,
        "str" => Value::Text(text(profile, number).unwrap_or_else(|| {
            match implied_leaf(reading, place, usize::try_from(number).unwrap_or(0)) {
                Value::Text(text) => text,
                other => plain(&other),
            }
        })),
        _ => Value::Text(format!("text {number}")),
    }
}

/// Text of a remembered form: a date, a number, a truth word, an address.
fn text(profile: &Profile, number: i64) -> Option<String> {
    if let Some(format) = profile.dates.first() {
        return Some(dated(format, number));
    }
    if let Some((truthy, falsy)) = &profile.flag {
        return Some(if number % 2 == 0 { truthy.clone() } else { falsy.clone() });
    }
    if profile.number.is_some() {
        let whole = profile.number.as_ref().is_some_and(|numbers| numbers.integer_only);
        return Some(if whole { (100 + number).to_string() } else { format!("{}.5", 100 + number) });
    }
    match profile.validator.as_deref() {
        Some("email") => Some(format!("name{number}@example.org")),
        Some("url") => Some(format!("https://example.org/{number}")),
        Some("currency") => Some("EUR".into()),
        Some("country") => Some("AT".into()),
        _ => None,
    }
}

/// A date in a `strptime` format; codes that are not known stay as they are.
fn dated(format: &str, number: i64) -> String {
    let day = 1 + number.rem_euclid(27);
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('Y') => out.push_str("2024"),
            Some('y') => out.push_str("24"),
            Some('m') => out.push_str("03"),
            Some('d') => out.push_str(&format!("{day:02}")),
            Some('H') => out.push_str("08"),
            Some('I') => out.push_str("08"),
            Some('M') => out.push_str("15"),
            Some('S') => out.push_str("30"),
            Some('f') => out.push_str("000000"),
            Some('z') => out.push_str("+0000"),
            Some('p') => out.push_str("AM"),
            Some('b') => out.push_str("Mar"),
            Some('B') => out.push_str("March"),
            Some(other) => {
                out.push('%');
                out.push(other);
            }
            None => out.push('%'),
        }
    }
    out
}

/// A leaf as the code's own use of it implies.
fn implied_leaf(reading: &Reading, place: &Place, number: usize) -> Value {
    let count = i64::try_from(number).unwrap_or(0);
    for used in reading.uses_of(place) {
        match &used.how {
            Usage::Arithmetic | Usage::Add | Usage::Order => return Value::Int(10 + count),
            Usage::Convert(name)
                if name.ends_with("fromtimestamp") || name.starts_with("time.") && name.ends_with("time") =>
            {
                return Value::Int(1_700_000_000 + count * 3600);
            }
            Usage::Convert(name) if name.ends_with("fromisoformat") => {
                return Value::Text(format!("2024-03-{:02}", 1 + number % 27));
            }
            Usage::Convert(name) if matches!(name.as_str(), "int" | "float" | "decimal.Decimal" | "round" | "abs") => {
                return if name == "round" || name == "abs" {
                    Value::Int(10 + count)
                } else {
                    Value::Text((10 + count).to_string())
                };
            }
            _ => {}
        }
    }
    if is_number_by_name(place) {
        // A price that code passes on as it came is a number all the same: a repair may well read it as one.
        return Value::Text(format!("{}.5", 10 + count));
    }
    Value::Text(format!("text {number}"))
}

/// Whether the name of a leaf says that it is a number, and says nothing else.
fn is_number_by_name(place: &Place) -> bool {
    let Some(Step::Key(name)) = place.steps.last() else { return false };
    let lexicon = Lexicon::standard();
    let roles: Vec<Role> = names::canonical(name)
        .tokens
        .iter()
        .flat_map(|token| lexicon.senses(token))
        .filter_map(|sense| lexicon.entry(sense.entry).role)
        .collect();
    let numbers = [Role::Money, Role::Quantity, Role::Rate, Role::Measure];
    !roles.is_empty() && roles.iter().all(|role| numbers.contains(role))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        _ => "text".into(),
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Text(text) => text.clone().into(),
        Value::List(items) => items.iter().map(json).collect::<Vec<_>>().into(),
        Value::Map(entries) => {
            serde_json::Value::Object(entries.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
        _ => serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::value;
    use crate::problem::{Argument, Problem};
    use sanare_core::evidence::TwinValue;
    use sanare_core::value::Value;

    #[test]
    fn reads_imply_data_on_which_the_body_works() {
        let problem = Problem {
            source: "def load(reply):\n    return sum(int(x['price']) for x in reply['data']['items'])\n".into(),
            function: "load".into(),
            ..Problem::default()
        };
        let argument = Argument { name: "reply".into(), value: Value::Map(Vec::new()), file: None };
        let Some(TwinValue::Value(made)) = value(&problem, &argument, 2) else { unreachable!() };
        let text = super::json(&made).to_string();
        assert_eq!(text, r#"{"data":{"items":[{"price":"10"},{"price":"11"}]}}"#);
    }
}
