//! The calls through which tables come in, and how each gets from an argument of the function to its rows.

use sanare_source::ast::{Expr, ExprCall};
use sanare_source::size::Ranged;

use super::table_origin::{What, is_call};
use super::{Binding, Code, argument, called, dotted, generators, int_of, keyword};

/// Which sort of reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `csv.DictReader`.
    Dict,
    /// `csv.reader`.
    Rows,
    /// `pandas.read_csv`, `read_table`.
    Frame,
    /// `pandas.read_excel`.
    Excel,
    /// Rows of an openpyxl sheet.
    Sheet,
    /// An openpyxl sheet of which single cells are read.
    Cells,
}

impl Form {
    /// Whether it gives a data frame.
    pub fn is_frame(self) -> bool {
        matches!(self, Self::Frame | Self::Excel)
    }

    /// Whether it reads text with delimiters.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Dict | Self::Rows | Self::Frame)
    }
}

/// One step from the argument to the reader, outermost last.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// `open(path, ...)`, `path.open(...)`, `path.read_text(...)`.
    Open(&'a ExprCall),
    /// Text made a handle: `io.StringIO(text)`.
    Memory(&'a ExprCall),
    /// A text split into lines.
    Split(&'a Expr),
    /// `lines[6:]`.
    Slice(&'a Expr),
    /// `[line for line in lines if ...]`, `filter(...)`, `dropwhile(...)`.
    Chosen(&'a Expr),
    /// A helper of an earlier layer.
    Helper(&'a ExprCall),
    /// `.removeprefix(...)`, `.lstrip(...)` and the like.
    Stripped(&'a ExprCall),
}

/// Where a reader's text comes from.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// The parameter of the function.
    pub argument: &'a str,
    /// The expression that names it.
    pub root: &'a Expr,
    /// The steps from it, first to last.
    pub steps: Vec<Step<'a>>,
    /// Lines taken off a handle before the reader got it; `None` if that cannot be told.
    pub skipped: Option<usize>,
    /// Beginnings of lines that the code leaves out, such as `#`; `None` if it chooses lines in another way.
    pub dropped: Option<Vec<&'a str>>,
}

impl<'a> Input<'a> {
    /// The call that opens the file.
    pub fn open(&self) -> Option<&'a ExprCall> {
        self.steps.iter().find_map(|step| match step {
            Step::Open(call) => Some(*call),
            _ => None,
        })
    }

    /// Whether the code itself takes a byte order mark off the text.
    pub fn strips_mark(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Stripped(call) => {
                call.arguments.args.iter().filter_map(super::text_of).any(|text| text.contains('\u{feff}'))
            }
            _ => false,
        })
    }

    /// The constant number of lines sliced off or skipped; `None` if something else chooses lines.
    pub fn lines_above(&self) -> Option<usize> {
        let mut above = self.skipped?;
        for step in &self.steps {
            match step {
                Step::Slice(Expr::Subscript(subscript)) => {
                    let slice = subscript.slice.as_slice_expr()?;
                    if slice.upper.is_some() || slice.step.is_some() {
                        return None;
                    }
                    above += usize::try_from(slice.lower.as_deref().map_or(Some(0), int_of)?).ok()?;
                }
                Step::Slice(_) => return None,
                Step::Chosen(_) if self.dropped.is_none() => return None,
                _ => {}
            }
        }
        Some(above)
    }
}

/// A reader.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    /// Its sort.
    pub form: Form,
    /// The expression that gives the rows or the frame, without helpers of earlier layers around it.
    pub whole: &'a Expr,
    /// The call; for `sheet.values` there is none.
    pub call: Option<&'a ExprCall>,
    /// Where its text comes from.
    pub input: Option<Input<'a>>,
    /// The expression that picks the sheet of a workbook.
    pub sheet: Option<&'a Expr>,
}

impl<'a> Reader<'a> {
    /// The constant value of a keyword text, such as `delimiter`.
    pub fn keyword(&self, name: &str) -> Option<&'a Expr> {
        keyword(self.call?, name)
    }
}

impl<'a> Code<'a> {
    /// Every reader of the target, in order of the text.
    pub fn readers(&self) -> Vec<Reader<'a>> {
        let mut readers: Vec<Reader<'a>> = Vec::new();
        for (_, expr) in self.tree.exprs() {
            let Some(form) = self.reader_form(expr) else { continue };
            let call = expr.as_call_expr();
            let (input, sheet) = match (form, call) {
                (Form::Dict | Form::Rows, Some(call)) => (
                    argument(call, if form == Form::Dict { "f" } else { "iterable" }, 0)
                        .and_then(|first| self.input(first, expr)),
                    None,
                ),
                (Form::Frame, Some(call)) => {
                    (argument(call, "filepath_or_buffer", 0).and_then(|first| self.input(first, expr)), None)
                }
                (Form::Excel, Some(call)) => {
                    (argument(call, "io", 0).and_then(|first| self.input(first, expr)), argument(call, "sheet_name", 1))
                }
                _ => {
                    let sheet = sheet_of(expr);
                    (sheet.and_then(|sheet| self.book_input(sheet, expr)), sheet.map(|sheet| self.resolve(sheet)))
                }
            };
            readers.push(Reader { form, whole: expr, call, input, sheet });
        }
        if readers.is_empty() {
            readers.extend(self.cells());
        }
        readers
    }

    /// The sheet of which the code reads cells one by one.
    fn cells(&self) -> Option<Reader<'a>> {
        let read = |expr: &Expr| match expr {
            Expr::Attribute(attribute) => matches!(attribute.attr.as_str(), "cell" | "max_row" | "max_column"),
            Expr::Subscript(_) => true,
            _ => false,
        };
        let sheet = self.tree.exprs().find_map(|(_, expr)| {
            let base = match expr {
                Expr::Attribute(attribute) => &*attribute.value,
                Expr::Subscript(subscript) => &*subscript.value,
                _ => return None,
            };
            (read(expr) && self.origin(&[], base) == What::Sheet).then(|| self.resolve(base))
        })?;
        let input = self.book_input(sheet, sheet)?;
        Some(Reader { form: Form::Cells, whole: sheet, call: None, input: Some(input), sheet: Some(sheet) })
    }

    fn reader_form(&self, expr: &'a Expr) -> Option<Form> {
        if let Expr::Attribute(attribute) = expr {
            let is_sheet = matches!(attribute.attr.as_str(), "values" | "rows");
            return (is_sheet && self.origin(&[], &attribute.value) == What::Sheet).then_some(Form::Sheet);
        }
        let call = expr.as_call_expr()?;
        let (name, receiver) = called(call);
        let module = receiver.and_then(dotted).unwrap_or_default();
        match name {
            "DictReader" if module.is_empty() || module == "csv" => Some(Form::Dict),
            "reader" if module == "csv" || (module.is_empty() && self.imports("csv", "reader")) => Some(Form::Rows),
            "read_csv" | "read_table" if matches!(module.as_str(), "" | "pd" | "pandas") => Some(Form::Frame),
            "read_excel" if matches!(module.as_str(), "" | "pd" | "pandas") => Some(Form::Excel),
            "iter_rows" => receiver.is_some_and(|sheet| self.origin(&[], sheet) == What::Sheet).then_some(Form::Sheet),
            _ => None,
        }
    }

    fn imports(&self, module: &str, name: &str) -> bool {
        self.source.body().iter().filter_map(|statement| statement.as_import_from_stmt()).any(|import| {
            import.module.as_ref().is_some_and(|from| from.as_str() == module)
                && import.names.iter().any(|alias| alias.name.as_str() == name)
        })
    }

    /// Follows a reader's input back to a parameter.
    pub fn input(&self, expr: &'a Expr, reader: &'a Expr) -> Option<Input<'a>> {
        let mut steps = Vec::new();
        let mut skipped = Some(0);
        let mut at = expr;
        for _ in 0..16 {
            match at {
                Expr::Name(name) => {
                    skipped = match (skipped, self.taken_before(name.id.as_str(), reader)) {
                        (Some(so_far), Some(more)) => Some(so_far + more),
                        _ => None,
                    };
                    match self.binding(at)? {
                        Binding::Parameter => {
                            let argument = self.parameters().find(|parameter| name.id == *parameter)?;
                            steps.reverse();
                            let dropped = self.dropped_lines(&steps);
                            return Some(Input { argument, root: at, steps, skipped, dropped });
                        }
                        Binding::Assigned(value) | Binding::Entered(value) => at = value,
                        Binding::Item(_) | Binding::ItemPart(..) | Binding::Unpacked(..) | Binding::Rest(_) => {
                            return None;
                        }
                    }
                }
                Expr::Call(call) => {
                    let (step, next) = self.input_step(call)?;
                    steps.extend(step);
                    at = next;
                }
                Expr::Subscript(subscript) => {
                    subscript.slice.as_slice_expr()?;
                    steps.push(Step::Slice(at));
                    at = &subscript.value;
                }
                Expr::ListComp(_) | Expr::Generator(_) => {
                    let [clause] = generators(at) else { return None };
                    steps.push(Step::Chosen(at));
                    at = &clause.iter;
                }
                _ => return None,
            }
        }
        None
    }

    /// Beginnings of the lines that `[line for line in lines if not line.startswith("#")]` leaves out.
    fn dropped_lines(&self, steps: &[Step<'a>]) -> Option<Vec<&'a str>> {
        let mut dropped = Vec::new();
        for step in steps {
            let Step::Chosen(chosen) = step else { continue };
            let [clause] = generators(chosen) else { return None };
            for condition in &clause.ifs {
                let condition = condition.as_unary_op_expr().map(|unary| &*unary.operand)?;
                let call = condition.as_call_expr()?;
                if called(call).0 != "startswith" {
                    return None;
                }
                dropped.push(call.arguments.find_positional(0).and_then(|prefix| self.constant_text(prefix))?);
            }
        }
        Some(dropped)
    }

    fn input_step(&self, call: &'a ExprCall) -> Option<(Option<Step<'a>>, &'a Expr)> {
        let first = call.arguments.find_positional(0);
        let (name, receiver) = called(call);
        Some(match (name, receiver) {
            ("open", None) => (Some(Step::Open(call)), argument(call, "file", 0)?),
            ("open", Some(module)) if matches!(dotted(module).as_deref(), Some("io" | "codecs")) => {
                (Some(Step::Open(call)), first?)
            }
            ("open" | "read_text" | "read_bytes", Some(path)) => (Some(Step::Open(call)), path),
            ("StringIO", _) => (Some(Step::Memory(call)), first?),
            ("Path" | "fspath" | "str" | "list" | "iter" | "tuple", _) => (None, first?),
            ("read", Some(inner)) => (None, inner),
            ("strip" | "lstrip" | "rstrip" | "removeprefix" | "replace", Some(inner)) => {
                (Some(Step::Stripped(call)), inner)
            }
            ("splitlines" | "readlines" | "split", Some(inner)) => (Some(Step::Split(inner)), inner),
            ("filter" | "dropwhile", _) => {
                (Some(Step::Chosen(call.arguments.find_positional(1)?)), call.arguments.find_positional(1)?)
            }
            (helper, None) if self.helpers.contains(&helper) => (Some(Step::Helper(call)), first?),
            _ => return None,
        })
    }

    /// Lines taken off a handle by `next(handle)` or `handle.readline()` before the reader.
    fn taken_before(&self, name: &str, reader: &'a Expr) -> Option<usize> {
        let mut taken = 0;
        for (id, expr) in self.tree.exprs() {
            let Expr::Call(call) = expr else { continue };
            if expr.range().start() >= reader.range().start() {
                break;
            }
            let handle = match called(call) {
                ("next", None) => call.arguments.find_positional(0),
                ("readline", receiver) => receiver,
                _ => None,
            };
            if !handle.and_then(Expr::as_name_expr).is_some_and(|handle| handle.id == name) {
                continue;
            }
            let mut times = Some(1);
            for (_, above) in self.tree.above(id) {
                if let super::tree::Node::Stmt(sanare_source::ast::Stmt::For(each)) = above {
                    let range = each.iter.as_call_expr().filter(|_| is_call(&each.iter, "range"));
                    let count = range
                        .filter(|range| range.arguments.len() == 1)
                        .and_then(|range| self.constant_int(range.arguments.find_positional(0)?));
                    times = times
                        .zip(count.and_then(|count| usize::try_from(count).ok()))
                        .map(|(so_far, count)| so_far * count);
                }
                if matches!(
                    above,
                    super::tree::Node::Stmt(sanare_source::ast::Stmt::While(_) | sanare_source::ast::Stmt::If(_))
                ) {
                    times = None;
                }
            }
            taken += times?;
        }
        Some(taken)
    }

    /// Follows a sheet back to the workbook's file.
    fn book_input(&self, sheet: &'a Expr, reader: &'a Expr) -> Option<Input<'a>> {
        let mut at = sheet;
        for _ in 0..8 {
            at = match self.resolve(at) {
                Expr::Subscript(subscript) => &subscript.value,
                Expr::Attribute(attribute) => &attribute.value,
                Expr::Call(call) if called(call).0 == "load_workbook" => {
                    return self.input(argument(call, "filename", 0)?, reader);
                }
                Expr::Call(call) if self.helpers.contains(&called(call).0) => call.arguments.find_positional(0)?,
                Expr::Call(call) => called(call).1?,
                Expr::Name(_) => match self.binding(at)? {
                    Binding::Entered(value) | Binding::Assigned(value) => value,
                    _ => return None,
                },
                _ => return None,
            };
        }
        None
    }
}

fn sheet_of(rows: &Expr) -> Option<&Expr> {
    match rows {
        Expr::Attribute(attribute) => Some(&attribute.value),
        Expr::Call(call) => called(call).1,
        _ => None,
    }
}
