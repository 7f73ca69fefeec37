//! What a function reads from nested data: each read with the place it goes to, followed through assignments, loops,
//! comprehensions and the project functions that it calls.

use sanare_core::value::Value;
use sanare_source::ast::StmtFunctionDef;
use sanare_source::parse::Source;
use sanare_source::size::TextRange;

use crate::code::object_path::Step;
use crate::code::object_walk::{Data, Walker};

/// Everything that one function reads from nested data.
#[derive(Debug, Default)]
pub struct Reading {
    /// Where nested data comes from.
    pub roots: Vec<Root>,
    /// Each read, in the order of evaluation.
    pub reads: Vec<Read>,
    /// What becomes of the values.
    pub uses: Vec<Use>,
    /// Calls of project functions that stand in the target and get data.
    pub calls: Vec<Call>,
    /// Expressions of the target whose value is a piece of data that another function made: parse results, returns.
    pub entries: Vec<Entry>,
    /// Names that the target binds to a piece of data by a plain assignment.
    pub bindings: Vec<Binding>,
}

/// Where nested data comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// How it is read.
    pub form: Form,
    /// The target's parameter behind it.
    pub parameter: String,
    /// The parsing call, if there is one.
    pub call: Option<TextRange>,
    /// Whether that call stands in the target.
    pub in_target: bool,
    /// For [`Form::Json`]: what is parsed.
    pub text: Text,
}

/// How a root is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The parameter itself.
    Parameter,
    /// One JSON document.
    Json,
    /// One JSON value a line.
    Lines,
}

/// What a JSON document is parsed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Nothing: the value is there already.
    None,
    /// The parameter is the text.
    Parameter,
    /// The parameter names a file; `json.load` reads the open handle.
    Handle,
    /// The parameter names a file; its text is passed to `json.loads`.
    FileText,
}

/// A place in the data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Index into [`Reading::roots`].
    pub root: usize,
    /// Steps from there.
    pub steps: Vec<Step>,
}

impl Place {
    /// One step further.
    pub fn then(&self, step: Step) -> Self {
        let mut steps = self.steps.clone();
        steps.push(step);
        Self { root: self.root, steps }
    }

    /// The place that holds this one, and the step from it.
    pub fn parent(&self) -> Option<(Place, &Step)> {
        let (last, rest) = self.steps.split_last()?;
        Some((Place { root: self.root, steps: rest.to_vec() }, last))
    }

    /// Whether the other place is this one or lies within it.
    pub fn holds(&self, other: &Place) -> bool {
        self.root == other.root
            && other.steps.len() >= self.steps.len()
            && self.steps.iter().zip(&other.steps).all(same_step)
    }

    /// The steps from here to a place within.
    pub fn steps_to<'a>(&self, other: &'a Place) -> &'a [Step] {
        other.steps.get(self.steps.len()..).unwrap_or_default()
    }
}

fn same_step((left, right): (&Step, &Step)) -> bool {
    let in_list = |step: &Step| matches!(step, Step::Member | Step::Index(_));
    left == right || (in_list(left) && in_list(right))
}

/// One read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The place that is read.
    pub place: Place,
    /// The reading expression.
    pub range: TextRange,
    /// The expression of what is read from.
    pub base: TextRange,
    /// How.
    pub how: How,
    /// Whether the key stands as a literal in the expression.
    pub literal: bool,
    /// 0: in the target; else in a project function.
    pub owner: usize,
    /// The call in the target through which that function was entered.
    pub via: Option<usize>,
    /// Whether an error of this read is caught where it stands.
    pub caught: bool,
}

/// How something is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// `x["key"]` or `x[0]`.
    Subscript,
    /// `x.get("key")`; the default's range if there is one.
    Get(Option<TextRange>),
    /// `x.pop("key")`.
    Pop,
    /// `"key" in x`.
    Contains,
    /// A loop or anything else that takes members one by one.
    Iterate,
    /// `x.items()`, `x.values()`, `x.keys()`.
    Entries,
    /// `x["key"] = …`, `del x["key"]`.
    Written,
}

/// What becomes of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The value's place.
    pub place: Place,
    /// The expression that uses it.
    pub range: TextRange,
    /// How.
    pub how: Usage,
    /// 0: in the target; else in a project function.
    pub owner: usize,
    /// Whether this is a use of what a conversion made of the value.
    pub converted: bool,
}

/// How a value is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usage {
    /// Passed to a conversion, by its dotted name (`int`, `datetime.datetime.fromtimestamp`).
    Convert(String),
    /// A number is needed.
    Arithmetic,
    /// Added to something that may be a number or text.
    Add,
    /// Text is needed.
    Concat,
    /// Compared for equality or membership.
    Compare,
    /// Compared for order.
    Order,
    /// Written into text.
    Format,
    /// A method is called on it.
    Method(String),
    /// Its length is taken.
    Length,
    /// It decides a branch.
    Truth,
    /// It is compared with `None`.
    NoneTest,
    /// It becomes a part of what is returned or collected, as it is.
    Stored,
    /// It becomes a key or a member of a set.
    Key,
    /// Its type is asked for.
    TypeTest,
    /// It goes to a function that is not known here, by its dotted name.
    Passed(String),
    /// An attribute is read.
    Attribute(String),
    /// It is unpacked as keyword arguments.
    Splat,
}

/// A call of a project function that stands in the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name of the function.
    pub function: String,
    /// The whole call.
    pub range: TextRange,
    /// Its arguments that are data.
    pub arguments: Vec<(TextRange, Place)>,
}

/// An expression of the target that brings data in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it brings.
    pub place: Place,
    /// The expression.
    pub range: TextRange,
}

/// `name = expression`, the whole value one piece of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The name.
    pub name: String,
    /// What it holds.
    pub place: Place,
    /// The statement.
    pub statement: TextRange,
}

impl Reading {
    /// Follows the target and what it calls. Where the data at hand decides a branch, only that branch is followed;
    /// the values behind the roots come back as well.
    pub fn of<'a>(source: &'a Source, target: &'a StmtFunctionDef, data: Data<'a>) -> (Self, Vec<Option<Value>>) {
        Walker::follow(source, target, data)
    }

    /// The uses of the value at a place, as it is.
    pub fn uses_of<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = &'a Use> {
        self.uses.iter().filter(move |used| used.place == *place && !used.converted)
    }

    /// The uses of what conversions make of the value at a place.
    pub fn uses_of_made<'a>(&'a self, place: &'a Place) -> impl Iterator<Item = &'a Use> {
        self.uses.iter().filter(move |used| used.place == *place && used.converted)
    }

    /// Whether the code itself reckons with the absence of what is at this place.
    pub fn tested(&self, place: &Place) -> bool {
        self.reads.iter().any(|read| read.place == *place && matches!(read.how, How::Contains | How::Get(_)))
            || self.uses_of(place).any(|used| matches!(used.how, Usage::NoneTest | Usage::TypeTest))
    }
}
