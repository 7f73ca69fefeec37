//! Which columns the target reads from a reader, by name or by place, and through which expressions.

use std::collections::BTreeSet;

use sanare_source::ast::{CmpOp, Expr, ExprCall, Stmt};

use super::table_origin::{What, is_call};
use super::table_reader::{Form, Reader};
use super::tree::{Node, Tree};
use super::{Binding, Code, called, generators, int_of, text_of};

/// How a column is addressed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// By its name.
    Name(String),
    /// By its place; negative from the end.
    At(i64),
}

/// The form of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// `row["name"]` of a mapping.
    Subscript,
    /// `row.get("name")`.
    Get,
    /// `field(row, "name", "alias")` of an earlier layer.
    Helper,
    /// `row[2]`, or an item of an unpacked row.
    Place,
    /// `row[column]` where `column` came from the row of names.
    Found,
    /// `header.index("name")`.
    Index,
    /// `frame["name"]` and other mentions in a call on a frame.
    Frame,
    /// A name in a list that the target goes through, or in another function that gets the row.
    Elsewhere,
}

/// One read.
#[derive(Clone, Debug)]
pub struct Read<'a> {
    /// Place of its reader.
    pub reader: usize,
    /// The column.
    pub key: Key,
    /// The form.
    pub via: Via,
    /// The expression that gives the value.
    pub expr: &'a Expr,
    /// The literal with the name, if it stands in the target.
    pub literal: Option<&'a Expr>,
    /// Whether the code asks first if the column is there, or does without it.
    pub optional: bool,
    /// In another function: that function and the name of its parameter.
    pub elsewhere: Option<&'a sanare_source::ast::StmtFunctionDef>,
}

/// What the target reads.
#[derive(Clone, Debug, Default)]
pub struct Reads<'a> {
    /// Each read in order of the text.
    pub all: Vec<Read<'a>>,
    /// Aliases of earlier layers: expected, seen.
    pub aliases: Vec<(String, String)>,
}

impl<'a> Reads<'a> {
    /// Names that the code reads from a reader, each once, in order.
    pub fn names(&self, reader: usize) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let named = self.all.iter().filter(|read| read.reader == reader).filter_map(|read| match &read.key {
            Key::Name(name) => Some(name.as_str()),
            Key::At(_) => None,
        });
        named.filter(|name| seen.insert(*name)).collect()
    }

    /// Whether every read of a name may do without it.
    pub fn is_optional(&self, reader: usize, name: &str) -> bool {
        let key = Key::Name(name.to_owned());
        self.all.iter().filter(|read| read.reader == reader && read.key == key).all(|read| read.optional)
    }

    /// The reads of one column.
    pub fn of(&self, reader: usize, key: &Key) -> impl Iterator<Item = &Read<'a>> + use<'a, '_> {
        let key = key.clone();
        self.all.iter().filter(move |read| read.reader == reader && read.key == key)
    }
}

/// Keywords of pandas that hold names of columns.
const NAMING_KEYWORDS: &[&str] = &[
    "usecols",
    "parse_dates",
    "index_col",
    "dtype",
    "subset",
    "by",
    "on",
    "left_on",
    "index",
    "columns",
    "values",
    "id_vars",
    "value_vars",
    "converters",
    "key",
    "keys",
];

/// Methods of pandas whose arguments are names of columns.
const NAMING_METHODS: &[&str] = &[
    "groupby",
    "sort_values",
    "set_index",
    "drop_duplicates",
    "pivot",
    "pivot_table",
    "nlargest",
    "nsmallest",
    "dropna",
    "merge",
    "agg",
    "drop",
    "pop",
    "get",
    "melt",
    "duplicated",
];

impl<'a> Code<'a> {
    /// Every read of every reader. `known` are remembered names: a text that equals one is a read of it.
    /// So is, where one reader gives rows, a text that was looked up in vain or that is handed on (`failed`).
    pub fn reads(&self, readers: &[Reader<'a>], known: &[String], failed: Option<&str>) -> Reads<'a> {
        let mut reads = Reads::default();
        let asked = self.asked_first();
        for (id, expr) in self.tree.exprs() {
            match expr {
                Expr::Subscript(subscript) if subscript.ctx.is_load() => self.subscript(readers, expr, id, &mut reads),
                Expr::Call(call) => self.call(readers, call, expr, &mut reads),
                Expr::Attribute(attribute) if attribute.ctx.is_load() => {
                    let name = attribute.attr.as_str();
                    let at = match self.origin(readers, &attribute.value) {
                        What::Frame(at) | What::Tuple(at) if known.iter().any(|column| column == name) => at,
                        What::Tuple(at) if !name.starts_with('_') => at,
                        _ => continue,
                    };
                    push(&mut reads, at, Key::Name(name.to_owned()), Via::Frame, expr, None);
                }
                _ => {}
            }
        }
        self.unpacked(readers, &mut reads);
        for (at, reader) in readers.iter().enumerate() {
            if reader.form.is_frame() {
                self.mentioned(at, reader, readers, known, &mut reads);
            }
        }
        if let [reader] = readers
            && !reader.form.is_frame()
        {
            self.handed_on(known, failed, &mut reads);
        }
        for alias in self.known_names() {
            if !reads.aliases.contains(&alias) {
                reads.aliases.push(alias);
            }
        }
        let made = self.made(readers);
        reads.all.retain(
            |read| !matches!(&read.key, Key::Name(name) if made.contains(name.as_str()) && !known.contains(name)),
        );
        for read in &mut reads.all {
            let guarded = matches!(&read.key, Key::Name(name) if asked.contains(name.as_str()));
            read.optional |= guarded;
        }
        reads
    }

    fn subscript(&self, readers: &[Reader<'a>], expr: &'a Expr, id: usize, reads: &mut Reads<'a>) {
        let Expr::Subscript(subscript) = expr else { return };
        let index = &*subscript.slice;
        match self.origin(readers, &subscript.value) {
            What::Record(at) => match self.constant_text(index) {
                Some(name) => push(reads, at, Key::Name(name.to_owned()), Via::Subscript, expr, Some(index)),
                None => {
                    for name in self.names_gone_through(index) {
                        push(reads, at, Key::Name(name.to_owned()), Via::Elsewhere, expr, None);
                    }
                }
            },
            What::Row(at) => {
                if let Some(place) = int_of(self.resolve(index)) {
                    push(reads, at, Key::At(place), Via::Place, expr, None);
                } else if let Some((name, _)) = self.looked_up(index) {
                    push(reads, at, Key::Name(name.to_owned()), Via::Found, expr, None);
                }
            }
            What::Frame(at) => {
                let through_loc =
                    matches!(&*subscript.value, Expr::Attribute(attribute) if attribute.attr.as_str() == "loc");
                let places = match index {
                    Expr::Tuple(tuple) if through_loc => tuple.elts.get(1),
                    _ if through_loc => None,
                    _ => Some(index),
                };
                let Some(places) = places else { return };
                if let Some(name) = self.constant_text(places) {
                    push(reads, at, Key::Name(name.to_owned()), Via::Frame, expr, Some(places));
                } else if let Some(names) = self.constant_texts(places) {
                    for name in names {
                        push(reads, at, Key::Name(name.to_owned()), Via::Frame, expr, None);
                    }
                }
            }
            What::Other => {
                if let ([Reader { form: Form::Cells, .. }], Some(name)) = (readers, self.constant_text(index))
                    && self.places_by_name(&subscript.value).is_some()
                {
                    push(reads, 0, Key::Name(name.to_owned()), Via::Found, expr, Some(index));
                }
            }
            _ => {}
        }
        let _ = id;
    }

    /// `{sheet.cell(1, c).value: c for c in ...}`: places by the names in the cells.
    pub fn places_by_name(&self, expr: &'a Expr) -> Option<&'a Expr> {
        let mut whole = self.resolve(expr);
        if let Expr::Call(call) = whole
            && called(call).1.is_none()
            && self.helpers.contains(&called(call).0)
        {
            whole = call.arguments.find_positional(0)?;
        }
        let key = whole.as_dict_comp_expr()?.key.as_deref()?;
        key.as_attribute_expr().filter(|key| key.attr.as_str() == "value").map(|_| whole)
    }

    fn call(&self, readers: &[Reader<'a>], call: &'a ExprCall, expr: &'a Expr, reads: &mut Reads<'a>) {
        let (name, receiver) = called(call);
        let first = call.arguments.find_positional(0);
        match (name, receiver) {
            ("get", Some(row)) => {
                if let (What::Record(at), Some(key)) =
                    (self.origin(readers, row), first.and_then(|key| self.constant_text(key)))
                {
                    push(reads, at, Key::Name(key.to_owned()), Via::Get, expr, first);
                    if let Some(last) = reads.all.last_mut() {
                        last.optional = true;
                    }
                }
            }
            ("index", Some(header)) => {
                if let (What::Header(at), Some(key)) =
                    (self.origin(readers, header), first.and_then(|key| self.constant_text(key)))
                {
                    push(reads, at, Key::Name(key.to_owned()), Via::Index, expr, first);
                }
            }
            ("map", None) => {
                if let (Some(function), Some(rows)) =
                    (first.and_then(Expr::as_name_expr), call.arguments.find_positional(1))
                    && let What::Rows(at) = self.origin(readers, rows)
                {
                    self.elsewhere(at, function.id.as_str(), 0, expr, reads);
                }
            }
            (helper, None) if self.helpers.contains(&helper) => {
                let texts: Vec<&str> = call.arguments.args.iter().skip(1).filter_map(text_of).collect();
                if let (Some(What::Record(at)), [name, aliases @ ..]) =
                    (first.map(|row| self.origin(readers, row)), texts.as_slice())
                {
                    push(
                        reads,
                        at,
                        Key::Name((*name).to_owned()),
                        Via::Helper,
                        expr,
                        call.arguments.find_positional(1),
                    );
                    for alias in aliases.iter().map(|alias| ((*name).to_owned(), (*alias).to_owned())) {
                        if !reads.aliases.contains(&alias) {
                            reads.aliases.push(alias);
                        }
                    }
                }
            }
            (function, None) => {
                for (place, argument) in call.arguments.args.iter().enumerate() {
                    if let What::Record(at) = self.origin(readers, argument) {
                        self.elsewhere(at, function, place, expr, reads);
                    }
                }
            }
            _ => {}
        }
    }

    /// Names that another function of the module reads from the row that it is given.
    fn elsewhere(&self, at: usize, function: &str, place: usize, expr: &'a Expr, reads: &mut Reads<'a>) {
        let Some(function) = self.function(function) else { return };
        let Some(parameter) = function.parameters.iter().nth(place).map(|parameter| parameter.name().as_str()) else {
            return;
        };
        let inner = Code::of(self.source, function);
        let is_row = |base: &Expr| base.as_name_expr().is_some_and(|base| base.id == parameter);
        for (_, found) in Tree::exprs(&inner.tree) {
            let (key, optional) = match found {
                Expr::Subscript(subscript) if is_row(&subscript.value) => {
                    (inner.constant_text(&subscript.slice), false)
                }
                Expr::Call(call) if called(call).0 == "get" && called(call).1.is_some_and(is_row) => {
                    (call.arguments.find_positional(0).and_then(|key| inner.constant_text(key)), true)
                }
                _ => continue,
            };
            if let Some(key) = key {
                push(reads, at, Key::Name(key.to_owned()), Via::Elsewhere, expr, None);
                if let Some(last) = reads.all.last_mut() {
                    last.optional = optional;
                    last.elsewhere = Some(function);
                }
            }
        }
    }

    /// Names of columns that are not seen to be read from a row: looked up in something whose origin is not known, or
    /// handed to a function, such as `itemgetter("name")` or `number(row, "name")`.
    fn handed_on(&self, known: &[String], failed: Option<&str>, reads: &mut Reads<'a>) {
        let unseen = |name: &str, reads: &Reads| !reads.all.iter().any(|read| read.key == Key::Name(name.to_owned()));
        let looked_up = failed.is_some_and(|failed| unseen(failed, reads));
        for (id, expr) in self.tree.exprs() {
            let Some(name) = text_of(expr).filter(|name| known.iter().any(|one| one == name) || failed == Some(*name))
            else {
                continue;
            };
            let taken = match self.tree.parent_expr(id) {
                Some((_, Expr::Subscript(subscript))) => looked_up && subscript.ctx.is_load(),
                Some((_, Expr::Call(call))) => {
                    let (function, receiver) = called(call);
                    function == "itemgetter" || receiver.is_none() && self.function(function).is_some()
                }
                _ => false,
            };
            if taken && unseen(name, reads) && !in_inner_function(&self.tree, id) {
                push(reads, 0, Key::Name(name.to_owned()), Via::Elsewhere, expr, None);
            }
        }
    }

    /// The texts of the constant list that a loop variable goes through.
    fn names_gone_through(&self, index: &'a Expr) -> Vec<&'a str> {
        match self.binding(index) {
            Some(Binding::Item(iterable)) => self.constant_texts(iterable).unwrap_or_default(),
            Some(Binding::ItemPart(iterable, place)) => {
                let items =
                    iterable.as_call_expr().filter(|_| is_call(iterable, "items")).and_then(|call| called(call).1);
                match (items.map(|items| self.resolve(items)), place) {
                    (Some(Expr::Dict(dict)), 0) => dict.iter_keys().flatten().filter_map(text_of).collect(),
                    (Some(Expr::Dict(dict)), _) => dict.iter_values().filter_map(text_of).collect(),
                    _ => self.parts_gone_through(iterable, place),
                }
            }
            _ => Vec::new(),
        }
    }

    fn parts_gone_through(&self, iterable: &'a Expr, place: usize) -> Vec<&'a str> {
        let items: &[Expr] = match self.resolve(iterable) {
            Expr::List(list) => &list.elts,
            Expr::Tuple(tuple) => &tuple.elts,
            _ => return Vec::new(),
        };
        items.iter().filter_map(|item| item.as_tuple_expr()?.elts.get(place).and_then(text_of)).collect()
    }

    /// The name behind an index that came from the row of names: `header.index("x")`, `places["x"]`.
    fn looked_up(&self, index: &'a Expr) -> Option<(&'a str, &'a Expr)> {
        let value = self.resolve(index);
        match value {
            Expr::Call(call) if called(call).0 == "index" => {
                let literal = call.arguments.find_positional(0)?;
                Some((self.constant_text(literal)?, literal))
            }
            Expr::Call(call) if called(call).1.is_none() && self.helpers.contains(&called(call).0) => {
                let literal = call.arguments.find_positional(1)?;
                Some((text_of(literal)?, literal))
            }
            Expr::Subscript(subscript) => {
                let places = self.resolve(&subscript.value);
                let counted = matches!(places, Expr::DictComp(_))
                    && generators(places).iter().any(|clause| is_call(&clause.iter, "enumerate"));
                let literal = &*subscript.slice;
                if counted { Some((self.constant_text(literal)?, literal)) } else { None }
            }
            _ => None,
        }
    }

    /// `for a, b, c in rows`: each item is a read by place.
    fn unpacked(&self, readers: &[Reader<'a>], reads: &mut Reads<'a>) {
        let loops = self.tree.stmts().filter_map(|(_, statement)| match statement {
            Stmt::For(each) => Some((&*each.target, &*each.iter)),
            _ => None,
        });
        let clauses = self.tree.comprehensions().map(|clause| (&clause.target, &clause.iter));
        let assigned = self.tree.stmts().filter_map(|(_, statement)| match statement {
            Stmt::Assign(assign) => assign.targets.first().map(|target| (target, &*assign.value)),
            _ => None,
        });
        for (target, iterable) in loops.chain(clauses) {
            if let (Some(tuple), What::Rows(at)) = (target.as_tuple_expr(), self.origin(readers, iterable))
                && !readers[at].form.is_frame()
                && readers[at].form != Form::Dict
            {
                push_places(&tuple.elts, at, reads);
            }
        }
        for (target, value) in assigned {
            if let (Some(tuple), What::Row(at)) = (target.as_tuple_expr(), self.origin(readers, value)) {
                push_places(&tuple.elts, at, reads);
            }
        }
    }

    /// Texts in calls on a frame that name columns.
    fn mentioned(
        &self,
        at: usize,
        reader: &Reader<'a>,
        readers: &[Reader<'a>],
        known: &[String],
        reads: &mut Reads<'a>,
    ) {
        let mut note = |expr: &'a Expr| {
            let names = self
                .constant_text(expr)
                .map(|name| vec![name])
                .or_else(|| self.constant_texts(expr))
                .unwrap_or_default();
            for name in names {
                push(reads, at, Key::Name(name.to_owned()), Via::Frame, expr, text_of(expr).map(|_| expr));
            }
        };
        for keyword in reader.call.iter().flat_map(|call| call.arguments.keywords.iter()) {
            if keyword.arg.as_ref().is_some_and(|name| NAMING_KEYWORDS.contains(&name.as_str())) {
                note(&keyword.value);
            }
        }
        for (_, expr) in self.tree.exprs() {
            let Expr::Call(call) = expr else { continue };
            let (method, Some(frame)) = called(call) else { continue };
            if self.origin(readers, frame) != What::Frame(at) {
                continue;
            }
            if NAMING_METHODS.contains(&method) {
                call.arguments.args.iter().for_each(&mut note);
            }
            for keyword in &call.arguments.keywords {
                if keyword.arg.as_ref().is_some_and(|name| NAMING_KEYWORDS.contains(&name.as_str())) {
                    note(&keyword.value);
                }
            }
        }
        for (id, expr) in self.tree.exprs() {
            let texts = text_of(expr).map(|text| vec![text]).or_else(|| {
                let constant = expr.as_name_expr().and_then(|name| self.constant(&name.id))?;
                self.constant_texts(constant)
            });
            // `frame.groupby("a")["b"]`: the value is that of the subscript around the name.
            let around = self.tree.parent_expr(id).map(|(_, around)| around);
            let whole = around.filter(|around| {
                around.as_subscript_expr().is_some_and(|subscript| std::ptr::eq(&*subscript.slice, expr))
            });
            for text in texts.unwrap_or_default() {
                if known.iter().any(|name| name == text)
                    && !reads.all.iter().any(|read| read.key == Key::Name(text.to_owned()))
                {
                    push(
                        reads,
                        at,
                        Key::Name(text.to_owned()),
                        Via::Frame,
                        whole.unwrap_or(expr),
                        text_of(expr).map(|_| expr),
                    );
                }
            }
        }
    }

    /// Columns that the target itself makes.
    pub fn made(&self, readers: &[Reader<'a>]) -> BTreeSet<&'a str> {
        let mut made = BTreeSet::new();
        for (_, expr) in self.tree.exprs() {
            match expr {
                Expr::Subscript(subscript) if subscript.ctx.is_store() => {
                    if matches!(self.origin(readers, &subscript.value), What::Frame(_) | What::Record(_)) {
                        made.extend(self.constant_text(&subscript.slice));
                    }
                }
                Expr::Call(call) if called(call).0 == "assign" => {
                    made.extend(
                        call.arguments
                            .keywords
                            .iter()
                            .filter_map(|keyword| keyword.arg.as_ref().map(|name| name.as_str())),
                    );
                }
                Expr::Call(call) if called(call).0 == "rename" => {
                    let names = super::keyword(call, "columns").map(|names| self.resolve(names));
                    if let Some(Expr::Dict(dict)) = names {
                        made.extend(dict.iter_values().filter_map(text_of));
                    }
                }
                _ => {}
            }
        }
        made
    }

    /// Names that the target asks for with `in` before it reads them.
    fn asked_first(&self) -> BTreeSet<&'a str> {
        let mut asked = BTreeSet::new();
        for (_, expr) in self.tree.exprs() {
            let Expr::Compare(compare) = expr else { continue };
            if matches!(compare.ops.first(), Some(CmpOp::In | CmpOp::NotIn)) {
                asked.extend(text_of(&compare.left));
            }
        }
        asked
    }
}

fn push<'a>(reads: &mut Reads<'a>, reader: usize, key: Key, via: Via, expr: &'a Expr, literal: Option<&'a Expr>) {
    let literal = literal.filter(|literal| text_of(literal).is_some());
    reads.all.push(Read { reader, key, via, expr, literal, optional: false, elsewhere: None });
}

fn push_places<'a>(items: &'a [Expr], at: usize, reads: &mut Reads<'a>) {
    let starred = items.iter().position(Expr::is_starred_expr);
    for (place, item) in items.iter().enumerate() {
        let ignored = item.as_name_expr().is_some_and(|name| name.id.starts_with('_')) || item.is_starred_expr();
        let place = match starred {
            Some(star) if place > star => {
                i64::try_from(place).unwrap_or_default() - i64::try_from(items.len()).unwrap_or_default()
            }
            _ => i64::try_from(place).unwrap_or_default(),
        };
        if !ignored {
            push(reads, at, Key::At(place), Via::Place, item, None);
        }
    }
}

/// Whether a node lies in a nested function that is not ours; such reads are left to the owner.
pub fn in_inner_function(tree: &Tree, id: usize) -> bool {
    tree.above(id).any(|(_, node)| matches!(node, Node::Stmt(Stmt::FunctionDef(_))))
}
