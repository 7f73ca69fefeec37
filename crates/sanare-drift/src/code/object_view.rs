//! A failing call seen as nested data: what the function reads, what is there, what was there, and where they part.

use sanare_core::value::Value;
use sanare_source::ast::visitor::{Visitor, walk_stmt};
use sanare_source::ast::{Stmt, StmtFunctionDef};
use sanare_source::parse::Source;
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_path::{Step, shape, values};
use crate::code::object_reads::{Form, How, Place, Read, Reading, Root, Text, Usage, Use};
use crate::kind::Subject;
use crate::object_shape;
use crate::problem::{Argument, Failure, Problem};
use crate::shape::{ObjectShape, Shape, TableShape};

/// A problem, its module and the function that may change, to be passed on.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The module.
    pub source: &'a Source,
    /// The one function that may change.
    pub target: &'a StmtFunctionDef,
}

impl<'a> Scene<'a> {
    /// The scene of a subject.
    pub fn of(subject: &Subject<'a>) -> Self {
        Self { problem: subject.problem, source: subject.source, target: subject.target }
    }
}

/// A problem whose function reads nested data.
pub struct View<'a> {
    /// The problem and its target.
    pub subject: Scene<'a>,
    /// The failure to explain: what a guard was raised from, else what was raised.
    pub failure: &'a Failure,
    /// What the function reads.
    pub reading: Reading,
    /// The values behind [`Reading::roots`].
    pub values: Vec<Option<Value>>,
    /// The line that failed, in the module; 0 if it is not known.
    pub line: usize,
}

/// Where reading and data part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A mapping lacks a key.
    Absent {
        /// The mapping.
        container: Place,
        /// The key.
        key: String,
    },
    /// Something that is read from is null.
    Null(Place),
    /// A mapping is read from, and something else is there.
    NotMap(Place),
    /// Members are taken, and there is no list.
    NotList(Place),
    /// A leaf is used as it cannot be.
    Leaf(Place),
    /// A text is not of the form that its conversion reads.
    BadText(Place),
}

impl<'a> View<'a> {
    /// Looks at a problem; `None` when the function reads no nested data.
    pub fn of(subject: Scene<'a>) -> Option<Self> {
        let data = |root: &Root| behind(root, &subject.problem.arguments);
        let (reading, values) = Reading::of(subject.source, subject.target, &data);
        if reading.reads.is_empty() && reading.roots.iter().all(|root| root.form == Form::Parameter) {
            return None;
        }
        let failure = effective(subject);
        let line = failure.frames.iter().rev().map(|frame| frame.line).find(|line| *line > 0).unwrap_or(0);
        Some(Self { subject, failure, reading, values, line })
    }

    /// The values at a place.
    pub fn at(&self, place: &Place) -> Vec<&Value> {
        match self.values.get(place.root) {
            Some(Some(root)) => values(root, &place.steps),
            _ => Vec::new(),
        }
    }

    /// The remembered shape at a place.
    pub fn remembered(&self, place: &Place) -> Option<ObjectShape> {
        let root = self.reading.roots.get(place.root)?;
        self.subject.problem.remembered.iter().find_map(|call| {
            let (_, remembered) = call.arguments.iter().find(|(name, _)| *name == root.parameter)?;
            let whole = match remembered {
                Shape::Object(object) => object.clone(),
                Shape::Table(table) if table.container == "rows" => of_rows(table),
                _ => return None,
            };
            shape(&whole, &place.steps).cloned()
        })
    }

    /// The text of a range of the module.
    pub fn text(&self, range: TextRange) -> &str {
        self.subject.source.slice(range)
    }

    /// Whether a range lies on the failing line.
    pub fn on_line(&self, range: TextRange) -> bool {
        let line = |offset: usize| self.subject.source.line(offset);
        self.line > 0 && (line(range.start().to_usize())..=line(range.end().to_usize())).contains(&self.line)
    }

    /// The last part of the failure's class.
    pub fn class(&self) -> &str {
        let class = &self.failure.class;
        class.rsplit('.').next().unwrap_or(class)
    }

    /// The key that a `KeyError` names.
    pub fn missing_key(&self) -> Option<&str> {
        if self.class() != "KeyError" {
            return None;
        }
        self.failure.args.first().and_then(Value::as_text)
    }

    /// What the failure comes from: the trouble of a read on the failing line that its class and message fit.
    pub fn trouble(&self) -> Option<Trouble> {
        let class = self.class();
        let message = &self.failure.message;
        let mut troubles = Vec::new();
        for read in self.reading.reads.iter().filter(|read| self.on_line(read.range)) {
            troubles.extend(self.trouble_of(read));
        }
        let fits = |trouble: &Trouble| match trouble {
            Trouble::Absent { key, .. } => self.missing_key() == Some(key) || message.contains("NoneType"),
            Trouble::Null(_) => message.contains("NoneType"),
            Trouble::NotMap(_) | Trouble::NotList(_) => {
                matches!(class, "TypeError" | "KeyError" | "AttributeError" | "IndexError" | "ValueError")
            }
            Trouble::Leaf(_) | Trouble::BadText(_) => true,
        };
        troubles.retain(fits);
        troubles.sort_by_key(|trouble| trouble.place().steps.len());
        if let Some(first) = troubles.into_iter().next() {
            return Some(first);
        }
        let fails = matches!(
            class,
            "TypeError" | "ValueError" | "AttributeError" | "InvalidOperation" | "OverflowError" | "OSError"
        );
        let on_line = self.reading.uses.iter().filter(|used| fails && !used.converted && self.on_line(used.range));
        let ranked = on_line.filter_map(|used| Some((self.misfit(used)?, used)));
        ranked.min_by_key(|(rank, _)| *rank).map(|(rank, used)| match rank {
            2 => Trouble::BadText(used.place.clone()),
            _ => Trouble::Leaf(used.place.clone()),
        })
    }

    /// How badly the values at a place fit a use of them, 0 the worst; nothing when they fit.
    fn misfit(&self, used: &Use) -> Option<u8> {
        let all = self.at(&used.place);
        let any = |fits: fn(&Value) -> bool| all.iter().any(|value| fits(value));
        let nested = any(|value| matches!(value, Value::Map(_) | Value::List(_)));
        let null = any(|value| matches!(value, Value::Null));
        let text = any(|value| matches!(value, Value::Text(_)));
        let number = any(|value| matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_)));
        match &used.how {
            Usage::Arithmetic | Usage::Add | Usage::Order if nested || null => Some(0),
            Usage::Arithmetic | Usage::Add | Usage::Order => text.then_some(1),
            Usage::Convert(name) if reads_text(name) && !(nested || null || number) => {
                (text && matches!(self.class(), "ValueError")).then_some(2)
            }
            Usage::Convert(_) if nested || null => Some(0),
            Usage::Convert(name) if reads_text(name) => Some(0),
            Usage::Convert(name) if matches!(name.as_str(), "int" | "float" | "decimal.Decimal") => {
                (text && matches!(self.class(), "ValueError" | "InvalidOperation")).then_some(2)
            }
            Usage::Convert(_) => text.then_some(1),
            Usage::Concat => (nested || null || number).then_some(0),
            Usage::Length => (number || null).then_some(0),
            Usage::Method(_) => (null || number || nested).then_some(1),
            Usage::Key => nested.then_some(0),
            _ => None,
        }
    }

    /// The first step of a read that the data does not have.
    fn trouble_of(&self, read: &Read) -> Option<Trouble> {
        let mut place = Place { root: read.place.root, steps: Vec::new() };
        for (at, step) in read.place.steps.iter().enumerate() {
            let here = self.at(&place);
            let last = at + 1 == read.place.steps.len();
            match step {
                Step::Key(key) => {
                    if last && matches!(read.how, How::Contains | How::Written) {
                        return None;
                    }
                    if here.iter().any(|value| matches!(value, Value::Map(_)) && value.get(key).is_none()) {
                        return Some(Trouble::Absent { container: place, key: key.clone() });
                    }
                    if here.iter().any(|value| matches!(value, Value::Null)) {
                        return Some(Trouble::Null(place));
                    }
                    if here.iter().any(|value| {
                        !matches!(value, Value::Map(_) | Value::Opaque(_) | Value::Cut(_) | Value::Table(_))
                    }) {
                        return Some(Trouble::NotMap(place));
                    }
                }
                Step::Index(_) | Step::Member => {
                    if here.iter().any(|value| matches!(value, Value::Null)) {
                        return Some(Trouble::Null(place));
                    }
                    let keyed = self.reads_keys(&place.then(step.clone()));
                    let wrong = |value: &&Value| match value {
                        Value::Map(_) => keyed || matches!(step, Step::Index(_)),
                        Value::Int(_) | Value::Float(_) | Value::Bool(_) => true,
                        Value::Text(_) => keyed,
                        _ => false,
                    };
                    if here.iter().any(wrong) {
                        return Some(Trouble::NotList(place));
                    }
                }
                Step::Entry => {
                    if here.iter().any(|value| matches!(value, Value::Null)) {
                        return Some(Trouble::Null(place));
                    }
                    if matches!(read.how, How::Entries)
                        && here.iter().any(|value| !matches!(value, Value::Map(_) | Value::Opaque(_) | Value::Table(_)))
                    {
                        return Some(Trouble::NotMap(place));
                    }
                }
            }
            place = place.then(step.clone());
        }
        None
    }

    /// Whether keys are read from the values at a place.
    pub fn reads_keys(&self, place: &Place) -> bool {
        self.keys_read(place).next().is_some()
    }

    /// The reads of keys straight from a place.
    pub fn keys_read<'v>(&'v self, place: &'v Place) -> impl Iterator<Item = (&'v str, &'v Read)> {
        self.reading.reads.iter().filter_map(move |read| match read.place.steps.split_last() {
            Some((Step::Key(key), rest)) if read.place.root == place.root && same(rest, &place.steps) => {
                Some((key.as_str(), read))
            }
            _ => None,
        })
    }

    /// The names of the keys read straight from a place, in order, once each.
    pub fn key_names(&self, place: &Place) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (name, read) in self.keys_read(place) {
            if read.how != How::Written && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Whether members are taken one by one, or by number, from a place.
    pub fn takes_members(&self, place: &Place) -> bool {
        self.reading.reads.iter().any(|read| {
            read.place.steps.len() == place.steps.len() + 1
                && place.holds(&read.place)
                && matches!(read.place.steps.last(), Some(Step::Member | Step::Index(_)))
        })
    }

    /// Whether something is read below a place.
    pub fn reads_below(&self, place: &Place) -> bool {
        self.reading.reads.iter().any(|read| read.place.steps.len() > place.steps.len() && place.holds(&read.place))
    }

    /// Whether a key must be there: it is read without a default, or was always there.
    pub fn needed(&self, container: &Place, key: &str) -> bool {
        let place = container.then(Step::Key(key.to_owned()));
        let plain = self
            .keys_read(container)
            .any(|(name, read)| name == key && matches!(read.how, How::Subscript | How::Pop) && !read.caught);
        if plain && !self.reading.tested(&place) {
            return true;
        }
        match self.remembered(container) {
            Some(shape) => shape.key(key).is_some_and(|(_, always)| always),
            None => plain,
        }
    }
}

/// Whether a conversion takes text.
fn reads_text(name: &str) -> bool {
    name.ends_with("strptime") || name.ends_with("fromisoformat")
}

impl Trouble {
    /// The place in question.
    pub fn place(&self) -> &Place {
        match self {
            Self::Absent { container, .. } => container,
            Self::Null(place)
            | Self::NotMap(place)
            | Self::NotList(place)
            | Self::Leaf(place)
            | Self::BadText(place) => place,
        }
    }
}

fn same(left: &[Step], right: &[Step]) -> bool {
    let in_list = |step: &Step| matches!(step, Step::Member | Step::Index(_));
    left.len() == right.len()
        && left.iter().zip(right).all(|(left, right)| left == right || (in_list(left) && in_list(right)))
}

fn of_rows(table: &TableShape) -> ObjectShape {
    let keys = table
        .columns
        .iter()
        .map(|(name, profile)| (name.clone(), ObjectShape::Leaf { profile: profile.clone() }, true));
    ObjectShape::List { member: Some(Box::new(ObjectShape::Map { keys: keys.collect() })) }
}

/// The value behind a root: the argument itself, or what its text or file holds.
fn behind(root: &Root, arguments: &[Argument]) -> Option<Value> {
    let argument = arguments.iter().find(|argument| argument.name == root.parameter)?;
    if root.form == Form::Parameter {
        return argument.file.is_none().then(|| argument.value.clone());
    }
    let text = text_behind(root, argument)?;
    match root.form {
        Form::Lines => object_shape::read_lines(&text).map(Value::List),
        _ => object_shape::read_json(&text),
    }
}

/// The text that a root is parsed from.
pub fn text_behind(root: &Root, argument: &Argument) -> Option<String> {
    match (root.text, &argument.value, &argument.file) {
        (Text::Parameter, Value::Text(text), None) => Some(text.clone()),
        (Text::Parameter, Value::Bytes(bytes), None) => String::from_utf8(bytes.clone()).ok(),
        (_, _, Some(file)) if file.complete => String::from_utf8(file.bytes.clone()).ok(),
        _ => None,
    }
}

/// What a guard of the project was raised from (C27), else the failure itself.
pub fn effective(subject: Scene<'_>) -> &Failure {
    let failure = &subject.problem.failure;
    match &failure.cause {
        Some(cause) if raised_on_purpose(subject, failure) && is_drift(cause) => cause,
        _ => failure,
    }
}

/// Whether the innermost project statement of a failure is a `raise` or an `assert`.
pub fn raised_on_purpose(subject: Scene<'_>, failure: &Failure) -> bool {
    let Some(line) = failure.frames.iter().rev().map(|frame| frame.line).find(|line| *line > 0) else { return false };
    let mut finder = Statements { source: subject.source, line, found: None };
    finder.visit_body(subject.source.body());
    matches!(finder.found, Some(Stmt::Raise(_) | Stmt::Assert(_)))
}

fn is_drift(failure: &Failure) -> bool {
    let name = failure.class.rsplit('.').next().unwrap_or_default();
    matches!(
        name,
        "KeyError"
            | "IndexError"
            | "ValueError"
            | "TypeError"
            | "AttributeError"
            | "JSONDecodeError"
            | "UnicodeDecodeError"
            | "InvalidOperation"
    )
}

/// Finds the innermost statement on a line.
pub struct Statements<'a> {
    /// The module.
    pub source: &'a Source,
    /// The line.
    pub line: usize,
    /// What was found.
    pub found: Option<&'a Stmt>,
}

impl<'a> Visitor<'a> for Statements<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let range = statement.range();
        let line = |offset: usize| self.source.line(offset);
        if (line(range.start().to_usize())..=line(range.end().to_usize())).contains(&self.line) {
            self.found = Some(statement);
            walk_stmt(self, statement);
        }
    }
}
