//! What an expression of the target stands for: an argument, a handle, lines, the rows of a reader, one of them.

use sanare_source::ast::{Expr, ExprCall};

use super::table_reader::{Form, Reader};
use super::{Binding, Code, argument, called, dotted, generators, int_of, keyword, text_of};

/// What an expression stands for. Numbers are places in the list of readers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A parameter as it was passed.
    Argument,
    /// An open file, a text, or a list of lines.
    Lines,
    /// One line.
    Line,
    /// A workbook.
    Book,
    /// A sheet of it.
    Sheet,
    /// All rows of a reader.
    Rows(usize),
    /// Rows of a reader made into mappings.
    Records(usize),
    /// A row as a list of cells.
    Row(usize),
    /// The row of names.
    Header(usize),
    /// A row as a mapping from names to cells.
    Record(usize),
    /// A data frame.
    Frame(usize),
    /// A row of a data frame with names as attributes.
    Tuple(usize),
    /// Anything else.
    Other,
}

/// Methods of a data frame that give a data frame with the same columns.
const SAME_FRAME: &[&str] = &[
    "copy",
    "dropna",
    "drop_duplicates",
    "sort_values",
    "sort_index",
    "reset_index",
    "set_index",
    "fillna",
    "head",
    "tail",
    "query",
    "astype",
    "loc",
    "iloc",
    "assign",
    "replace",
    "convert_dtypes",
    "pipe",
    "merge",
    "filter",
];

impl<'a> Code<'a> {
    /// What an expression stands for.
    pub fn origin(&self, readers: &[Reader<'a>], expr: &'a Expr) -> What {
        self.origin_within(readers, expr, 0)
    }

    fn origin_within(&self, readers: &[Reader<'a>], expr: &'a Expr, depth: usize) -> What {
        if depth > 12 {
            return What::Other;
        }
        if let Some(at) = readers.iter().position(|reader| std::ptr::eq(reader.whole, expr)) {
            return match readers[at].form {
                Form::Frame | Form::Excel => What::Frame(at),
                Form::Cells => What::Sheet,
                _ => What::Rows(at),
            };
        }
        let go = |inner: &'a Expr| self.origin_within(readers, inner, depth + 1);
        match expr {
            Expr::Name(_) => match self.binding(expr) {
                Some(Binding::Parameter) => What::Argument,
                Some(Binding::Assigned(value) | Binding::Entered(value)) => go(value),
                Some(Binding::Item(iterable)) => item_of(readers, go(iterable)),
                Some(Binding::ItemPart(iterable, 1)) if is_call(iterable, "enumerate") => {
                    first_argument(iterable).map_or(What::Other, |inner| item_of(readers, go(inner)))
                }
                Some(Binding::ItemPart(iterable, 1)) if is_call(iterable, "groupby") => {
                    match first_argument(iterable).map(go) {
                        Some(found @ (What::Rows(_) | What::Records(_))) => found,
                        _ => What::Other,
                    }
                }
                Some(Binding::ItemPart(iterable, place)) if is_call(iterable, "zip") => {
                    let part = iterable.as_call_expr().and_then(|call| call.arguments.find_positional(place));
                    part.map_or(What::Other, |part| item_of(readers, go(part)))
                }
                Some(Binding::ItemPart(iterable, 1)) if is_call(iterable, "iterrows") => {
                    match receiver(iterable).map(go) {
                        Some(What::Frame(at)) => What::Record(at),
                        _ => What::Other,
                    }
                }
                Some(Binding::Unpacked(value, 0)) => match go(value) {
                    What::Rows(at) if readers[at].form != Form::Dict => What::Header(at),
                    _ => What::Other,
                },
                Some(Binding::Rest(value)) => go(value),
                _ => What::Other,
            },
            Expr::Call(call) => self.origin_of_call(readers, call, depth),
            Expr::Subscript(subscript) => match (go(&subscript.value), &*subscript.slice) {
                (What::Rows(at), Expr::Slice(_)) => What::Rows(at),
                (What::Records(at), Expr::Slice(_)) => What::Records(at),
                (What::Records(at), _) => What::Record(at),
                (What::Rows(at), index) if int_of(index) == Some(0) && readers[at].form != Form::Dict => {
                    What::Header(at)
                }
                (What::Rows(at), _) => row_of(readers, at),
                (What::Lines, Expr::Slice(_)) => What::Lines,
                (What::Lines, _) => What::Line,
                (What::Header(at), Expr::Slice(_)) => What::Header(at),
                (What::Row(at), Expr::Slice(_)) => What::Row(at),
                (What::Book, _) => What::Sheet,
                (What::Frame(at), index) if self.constant_text(index).is_none() => What::Frame(at),
                _ => What::Other,
            },
            Expr::Attribute(attribute) => match (go(&attribute.value), attribute.attr.as_str()) {
                (What::Book, "active") => What::Sheet,
                (What::Book, "worksheets" | "sheetnames") => What::Book,
                (What::Frame(at), name) if SAME_FRAME.contains(&name) => What::Frame(at),
                _ => What::Other,
            },
            Expr::ListComp(_) | Expr::Generator(_) => {
                let [clause] = generators(expr) else { return What::Other };
                let element = match expr {
                    Expr::ListComp(comp) => &*comp.elt,
                    Expr::Generator(comp) => &*comp.elt,
                    _ => return What::Other,
                };
                let source = go(&clause.iter);
                match (source, go(element)) {
                    (What::Rows(at), What::Record(_)) if readers[at].form != Form::Dict => What::Records(at),
                    (What::Rows(at), What::Row(_) | What::Record(_)) => What::Rows(at),
                    (What::Records(at), What::Record(_)) => What::Records(at),
                    (What::Lines | What::Argument, What::Line) => What::Lines,
                    _ => What::Other,
                }
            }
            Expr::BoolOp(either) => either.values.first().map_or(What::Other, go),
            _ => What::Other,
        }
    }

    fn origin_of_call(&self, readers: &[Reader<'a>], call: &'a ExprCall, depth: usize) -> What {
        let go = |inner: &'a Expr| self.origin_within(readers, inner, depth + 1);
        let first = call.arguments.find_positional(0);
        let (name, receiver) = called(call);
        match (name, receiver) {
            ("open" | "StringIO" | "TextIOWrapper" | "BytesIO", _) => What::Lines,
            ("read_text" | "read" | "readlines" | "splitlines" | "read_bytes" | "decode" | "getvalue", Some(_)) => {
                What::Lines
            }
            ("readline", Some(_)) => What::Line,
            ("load_workbook", _) => What::Book,
            ("get_sheet_by_name", Some(_)) => What::Sheet,
            ("dict", None) if first.is_some_and(|pairs| is_call(pairs, "zip")) => {
                match first.and_then(second_argument).map(go) {
                    Some(What::Row(at) | What::Header(at)) => What::Record(at),
                    _ => What::Other,
                }
            }
            ("list" | "tuple" | "iter" | "sorted" | "reversed" | "islice" | "skip" | "deepcopy", _) => {
                first.map_or(What::Other, go)
            }
            ("filter", None) => second_of(call).map_or(What::Other, go),
            ("next", None) => match first.map(go) {
                Some(What::Rows(at)) if readers[at].form != Form::Dict => What::Header(at),
                Some(What::Rows(at)) => row_of(readers, at),
                Some(What::Records(at)) => What::Record(at),
                Some(What::Lines) => What::Line,
                _ => What::Other,
            },
            ("max" | "min" | "choice", _) if call.arguments.args.len() == 1 => {
                first.map_or(What::Other, |rows| item_of(readers, go(rows)))
            }
            ("itertuples", Some(frame)) => match go(frame) {
                What::Frame(at) => What::Tuple(at),
                _ => What::Other,
            },
            ("to_dict", Some(frame)) => match go(frame) {
                What::Frame(at) => What::Records(at),
                _ => What::Other,
            },
            ("strip" | "rstrip" | "lstrip" | "removeprefix" | "replace", Some(text)) => match go(text) {
                What::Line => What::Line,
                What::Lines | What::Argument => What::Lines,
                other @ What::Frame(_) => other,
                _ => What::Other,
            },
            ("sheet_of", None) if self.has("sheet_of") => What::Sheet,
            (_, None) if self.helpers.contains(&name) => match first.map(go) {
                Some(What::Record(_)) | None => What::Other,
                Some(other) => other,
            },
            (method, Some(frame)) => match go(frame) {
                What::Frame(at) if SAME_FRAME.contains(&method) => What::Frame(at),
                _ => What::Other,
            },
            _ => What::Other,
        }
    }

    /// Whether this call is one of pandas' (`pd.to_datetime`) of the given name.
    pub fn is_pandas(&self, call: &ExprCall, name: &str) -> bool {
        let Some(path) = dotted(&call.func) else { return false };
        path == name || path == format!("pd.{name}") || path == format!("pandas.{name}")
    }

    /// A constant keyword or positional text of a call.
    pub fn text_argument(&self, call: &'a ExprCall, name: &str, position: usize) -> Option<&'a str> {
        argument(call, name, position).and_then(|expr| self.constant_text(expr))
    }

    /// A constant keyword text of a call.
    pub fn text_keyword(&self, call: &'a ExprCall, name: &str) -> Option<&'a str> {
        keyword(call, name).and_then(|expr| self.constant_text(expr))
    }
}

fn row_of(readers: &[Reader], at: usize) -> What {
    match readers[at].form {
        Form::Dict | Form::Frame | Form::Excel => What::Record(at),
        Form::Rows | Form::Sheet | Form::Cells => What::Row(at),
    }
}

fn item_of(readers: &[Reader], iterable: What) -> What {
    match iterable {
        What::Rows(at) => row_of(readers, at),
        What::Records(at) => What::Record(at),
        What::Lines => What::Line,
        What::Tuple(at) => What::Tuple(at),
        _ => What::Other,
    }
}

/// Whether an expression calls something of this last name.
pub fn is_call(expr: &Expr, name: &str) -> bool {
    expr.as_call_expr().is_some_and(|call| called(call).0 == name)
}

fn first_argument(expr: &Expr) -> Option<&Expr> {
    expr.as_call_expr().and_then(|call| call.arguments.find_positional(0))
}

fn second_argument(expr: &Expr) -> Option<&Expr> {
    expr.as_call_expr().and_then(second_of)
}

fn second_of(call: &ExprCall) -> Option<&Expr> {
    call.arguments.find_positional(1)
}

fn receiver(expr: &Expr) -> Option<&Expr> {
    expr.as_call_expr().and_then(|call| called(call).1)
}

/// The text of a literal, for callers that need no constants of the module.
pub fn literal(expr: &Expr) -> Option<&str> {
    text_of(expr)
}
