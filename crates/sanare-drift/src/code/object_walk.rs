//! The walk that follows nested data through the statements of a function.

use std::collections::HashMap;

use sanare_core::value::Value;
use sanare_source::ast::{BoolOp, CmpOp, ExceptHandler, Expr, Operator, Parameters, Stmt, StmtFunctionDef, UnaryOp};
use sanare_source::parse::Source;
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_path::{Step, values};
use crate::code::object_reads::{Binding, Call, Entry, Form, How, Place, Read, Reading, Root, Text, Usage, Use};

/// How deep calls of project functions are followed.
const CALL_DEPTH: usize = 4;

/// What an expression stands for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sym {
    Unknown,
    /// A constant that is no text.
    Literal,
    /// Data.
    At(Place),
    /// What a conversion made of data.
    Made(Place),
    /// A key of the mapping at this place.
    KeyOf(Place),
    Items(Place),
    Keys(Place),
    Values(Place),
    /// Something whose members are these.
    Iter(Box<Sym>),
    Tuple(Vec<Sym>),
    /// One of these constant texts.
    Texts(Vec<String>),
    /// A handle on the file that a parameter names.
    Handle(String),
    /// The text of the file that a parameter names.
    FileText(String),
    /// One line of it.
    Line(String, Text),
    /// A function that stands inside another.
    Local(usize),
    /// A mapping written out: what it spreads, and its own keys.
    Overlay(Option<Place>, Vec<(String, Sym)>),
    /// A list written out, of members that are data.
    Display(Vec<Sym>),
}

/// Gives the value behind a root, if there is one at hand.
pub type Data<'d> = &'d dyn Fn(&Root) -> Option<Value>;

pub(crate) struct Walker<'a> {
    pub(crate) source: &'a Source,
    pub(crate) out: Reading,
    data: Data<'a>,
    pub(crate) values: Vec<Option<Value>>,
    pub(crate) names: HashMap<String, Sym>,
    pub(crate) imports: HashMap<String, String>,
    constants: HashMap<String, Sym>,
    locals: Vec<&'a StmtFunctionDef>,
    owner: usize,
    via: Option<usize>,
    active: Vec<&'a str>,
    caught: usize,
    returned: Option<Sym>,
    steps_left: usize,
}

impl<'a> Walker<'a> {
    pub(crate) fn follow(
        source: &'a Source,
        target: &'a StmtFunctionDef,
        data: Data<'a>,
    ) -> (Reading, Vec<Option<Value>>) {
        let mut walker = Self {
            source,
            out: Reading::default(),
            data,
            values: Vec::new(),
            names: HashMap::new(),
            imports: HashMap::new(),
            constants: HashMap::new(),
            locals: Vec::new(),
            owner: 0,
            via: None,
            active: vec![target.name.as_str()],
            caught: 0,
            returned: None,
            steps_left: 100_000,
        };
        walker.read_module();
        for parameter in target.parameters.iter_non_variadic_params() {
            let name = parameter.parameter.name.as_str();
            let root = Root {
                form: Form::Parameter,
                parameter: name.to_owned(),
                call: None,
                in_target: true,
                text: Text::None,
            };
            let place = walker.root(root);
            walker.names.insert(name.to_owned(), Sym::At(place));
        }
        walker.block(&target.body);
        (walker.out, walker.values)
    }

    fn read_module(&mut self) {
        for statement in self.source.body() {
            self.note_import(statement);
            if let Stmt::Assign(assign) = statement
                && let [Expr::Name(name)] = assign.targets.as_slice()
            {
                let sym = constant(&assign.value);
                if sym != Sym::Unknown {
                    self.constants.insert(name.id.to_string(), sym);
                }
            }
        }
    }

    fn note_import(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let full = alias.name.as_str();
                    let (name, stands_for) = match &alias.asname {
                        Some(asname) => (asname.as_str(), full),
                        None => {
                            let first = full.split('.').next().unwrap_or(full);
                            (first, first)
                        }
                    };
                    self.imports.insert(name.to_owned(), stands_for.to_owned());
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map(|module| module.as_str()).unwrap_or_default();
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.imports.insert(name.to_string(), format!("{module}.{}", alias.name));
                }
            }
            _ => {}
        }
    }

    pub(crate) fn root(&mut self, root: Root) -> Place {
        if let Some(at) = self.out.roots.iter().position(|known| *known == root) {
            return Place { root: at, steps: Vec::new() };
        }
        self.values.push((self.data)(&root));
        self.out.roots.push(root);
        Place { root: self.out.roots.len() - 1, steps: Vec::new() }
    }

    /// A parse call: its root, in the target or in a function that it calls.
    pub(crate) fn parsed(&mut self, form: Form, parameter: &str, text: Text, call: TextRange) -> Place {
        let in_target = self.owner == 0;
        let root = Root { form, parameter: parameter.to_owned(), call: Some(call), in_target, text };
        let place = self.root(root);
        let place = if form == Form::Lines { place.then(Step::Member) } else { place };
        self.enter(&place, call);
        place
    }

    pub(crate) fn enter(&mut self, place: &Place, range: TextRange) {
        if self.owner == 0 {
            self.out.entries.push(Entry { place: place.clone(), range });
        }
    }

    pub(crate) fn read(&mut self, place: Place, range: TextRange, base: TextRange, how: How, literal: bool) {
        let read = Read { place, range, base, how, literal, owner: self.owner, via: self.via, caught: self.caught > 0 };
        if !self.out.reads.contains(&read) {
            self.out.reads.push(read);
        }
    }

    pub(crate) fn used(&mut self, sym: &Sym, range: TextRange, how: Usage) {
        match sym {
            Sym::At(place) | Sym::Made(place) => {
                let converted = matches!(sym, Sym::Made(_));
                let used = Use { place: place.clone(), range, how, owner: self.owner, converted };
                if !self.out.uses.contains(&used) {
                    self.out.uses.push(used);
                }
            }
            Sym::Iter(member) => self.used(member, range, how),
            Sym::Tuple(members) => members.iter().for_each(|member| self.used(member, range, how.clone())),
            Sym::Values(place) => {
                self.used(&Sym::At(place.then(Step::Entry)), range, how);
            }
            Sym::Overlay(_, keys) => keys.iter().for_each(|(_, part)| self.used(part, range, how.clone())),
            Sym::Display(members) => members.iter().for_each(|member| self.used(member, range, how.clone())),
            _ => {}
        }
    }

    /// What a loop over this takes one by one.
    pub(crate) fn member(&mut self, sym: &Sym, range: TextRange) -> Sym {
        match sym {
            Sym::At(place) => {
                let member = place.then(Step::Member);
                self.read(member.clone(), range, range, How::Iterate, false);
                Sym::At(member)
            }
            Sym::Items(place) => Sym::Tuple(vec![Sym::KeyOf(place.clone()), Sym::At(place.then(Step::Entry))]),
            Sym::Keys(place) => Sym::KeyOf(place.clone()),
            Sym::Values(place) => Sym::At(place.then(Step::Entry)),
            Sym::Iter(member) => (**member).clone(),
            Sym::Tuple(members) | Sym::Display(members) => {
                members.iter().cloned().reduce(|left, right| self.merged(left, right)).unwrap_or(Sym::Unknown)
            }
            Sym::Handle(parameter) => Sym::Line(parameter.clone(), Text::Handle),
            _ => Sym::Unknown,
        }
    }

    pub(crate) fn lookup(&self, name: &str) -> Sym {
        self.names.get(name).or_else(|| self.constants.get(name)).cloned().unwrap_or(Sym::Unknown)
    }

    /// The dotted name that an expression of plain names stands for, imports resolved.
    pub(crate) fn dotted(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name) => {
                let known = self.names.get(name.id.as_str());
                if known.is_some_and(|sym| !matches!(sym, Sym::Local(_))) {
                    return None;
                }
                Some(self.imports.get(name.id.as_str()).cloned().unwrap_or_else(|| name.id.to_string()))
            }
            Expr::Attribute(attribute) => Some(format!("{}.{}", self.dotted(&attribute.value)?, attribute.attr)),
            _ => None,
        }
    }

    fn block(&mut self, body: &'a [Stmt]) {
        for statement in body {
            if self.steps_left == 0 {
                return;
            }
            self.steps_left -= 1;
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                self.locals.push(function);
                self.names.insert(function.name.to_string(), Sym::Local(self.locals.len() - 1));
            }
            Stmt::Return(back) => {
                if let Some(value) = &back.value {
                    let sym = self.eval(value);
                    if self.owner == 0 && self.active.len() == 1 {
                        self.used(&sym, value.range(), Usage::Stored);
                    }
                    self.returned = Some(match self.returned.take() {
                        Some(before) => self.merged(before, sym),
                        None => sym,
                    });
                }
            }
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.bind(target, Sym::Unknown)),
            Stmt::Assign(assign) => {
                let sym = self.eval(&assign.value);
                for target in &assign.targets {
                    self.note_binding(target, &sym, statement.range());
                    self.bind(target, sym.clone());
                }
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    let sym = self.eval(value);
                    self.note_binding(&assign.target, &sym, statement.range());
                    self.bind(&assign.target, sym);
                }
            }
            Stmt::AugAssign(assign) => {
                let sym = self.eval(&assign.value);
                let so_far = match &*assign.target {
                    Expr::Name(name) => self.lookup(name.id.as_str()),
                    _ => Sym::Unknown,
                };
                let how = match (&sym, so_far) {
                    (Sym::Iter(_), _) => Usage::Stored,
                    (_, Sym::Texts(_)) => Usage::Concat,
                    (_, Sym::Literal) => Usage::Arithmetic,
                    _ if matches!(assign.op, Operator::Add) => Usage::Add,
                    _ => Usage::Arithmetic,
                };
                self.used(&sym, assign.value.range(), how);
                if let Expr::Subscript(subscript) = &*assign.target {
                    let key = self.eval(&subscript.slice);
                    self.used(&key, subscript.slice.range(), Usage::Key);
                }
            }
            Stmt::For(each) => {
                let sym = self.eval(&each.iter);
                let member = self.member(&sym, each.iter.range());
                self.bind(&each.target, member);
                self.block(&each.body);
                self.block(&each.orelse);
            }
            Stmt::While(each) => {
                self.test(&each.test);
                self.block(&each.body);
                self.block(&each.orelse);
            }
            Stmt::If(branch) => self.branches(branch),
            Stmt::With(with) => {
                for item in &with.items {
                    let sym = self.eval(&item.context_expr);
                    if let Some(target) = &item.optional_vars {
                        self.bind(target, sym);
                    }
                }
                self.block(&with.body);
            }
            Stmt::Try(attempt) => {
                let catches = attempt.handlers.iter().any(|handler| {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    handler.type_.as_ref().is_none_or(|class| catches_lookups(self.source.slice(&**class)))
                });
                self.caught += usize::from(catches);
                self.block(&attempt.body);
                self.caught -= usize::from(catches);
                for handler in &attempt.handlers {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    self.block(&handler.body);
                }
                self.block(&attempt.orelse);
                self.block(&attempt.finalbody);
            }
            Stmt::Raise(raise) => {
                for expr in [&raise.exc, &raise.cause].into_iter().flatten() {
                    self.eval(expr);
                }
            }
            Stmt::Assert(assert) => self.test(&assert.test),
            Stmt::Expr(expr) => {
                self.eval(&expr.value);
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.note_import(statement),
            _ => {}
        }
    }

    fn note_binding(&mut self, target: &Expr, sym: &Sym, statement: TextRange) {
        if let (Expr::Name(name), Sym::At(place), 0) = (target, sym, self.owner) {
            let binding = Binding { name: name.id.to_string(), place: place.clone(), statement };
            if !self.out.bindings.contains(&binding) {
                self.out.bindings.push(binding);
            }
        }
    }

    fn branches(&mut self, branch: &'a sanare_source::ast::StmtIf) {
        self.test(&branch.test);
        match self.decided(&branch.test) {
            Some(true) => return self.block(&branch.body),
            Some(false) if branch.elif_else_clauses.is_empty() => return,
            Some(false) => {}
            None => return self.undecided(branch),
        }
        for clause in &branch.elif_else_clauses {
            if let Some(test) = &clause.test {
                self.test(test);
            }
            if clause.test.as_ref().is_none_or(|test| self.decided(test) != Some(false)) {
                return self.block(&clause.body);
            }
        }
    }

    fn undecided(&mut self, branch: &'a sanare_source::ast::StmtIf) {
        let before = self.names.clone();
        self.block(&branch.body);
        let mut after = std::mem::replace(&mut self.names, before.clone());
        if leaves(&branch.body) {
            after = before.clone();
        }
        for clause in &branch.elif_else_clauses {
            if let Some(test) = &clause.test {
                self.test(test);
            }
            self.block(&clause.body);
            let names = std::mem::replace(&mut self.names, before.clone());
            if !leaves(&clause.body) {
                after = self.merged_names(after, names);
            }
        }
        let open_end = branch.elif_else_clauses.last().is_none_or(|clause| clause.test.is_some());
        self.names = if open_end { self.merged_names(after, before) } else { after };
    }

    /// Evaluates what decides a branch.
    pub(crate) fn test(&mut self, expr: &'a Expr) {
        let sym = self.eval(expr);
        self.used(&sym, expr.range(), Usage::Truth);
    }

    pub(crate) fn bind(&mut self, target: &'a Expr, sym: Sym) {
        match target {
            Expr::Name(name) => {
                self.names.insert(name.id.to_string(), sym);
            }
            Expr::Tuple(tuple) => self.unpack(&tuple.elts, sym),
            Expr::List(list) => self.unpack(&list.elts, sym),
            Expr::Starred(starred) => self.bind(&starred.value, sym),
            Expr::Subscript(subscript) => {
                let base = self.eval(&subscript.value);
                let key = self.eval(&subscript.slice);
                self.used(&key, subscript.slice.range(), Usage::Key);
                self.used(&sym, target.range(), Usage::Stored);
                if let (Sym::At(place), Sym::Texts(texts)) = (&base, &key) {
                    for text in texts {
                        let written = place.then(Step::Key(text.clone()));
                        self.read(written, target.range(), subscript.value.range(), How::Written, true);
                    }
                }
            }
            Expr::Attribute(_) => self.used(&sym, target.range(), Usage::Stored),
            _ => {}
        }
    }

    fn unpack(&mut self, targets: &'a [Expr], sym: Sym) {
        for (at, target) in targets.iter().enumerate() {
            let part = match &sym {
                Sym::Tuple(parts) => parts.get(at).cloned().unwrap_or(Sym::Unknown),
                Sym::At(place) => {
                    let part = place.then(Step::Index(i64::try_from(at).unwrap_or(0)));
                    self.read(part.clone(), target.range(), target.range(), How::Iterate, false);
                    Sym::At(part)
                }
                Sym::Iter(member) => (**member).clone(),
                _ => Sym::Unknown,
            };
            self.bind(target, part);
        }
    }

    /// Follows a call of a project function; `None` when there is no such function or it is too deep.
    pub(crate) fn project_call(
        &mut self,
        name: &str,
        range: TextRange,
        arguments: &[(Option<String>, TextRange, Sym)],
    ) -> Option<Sym> {
        let (function, local) = match self.names.get(name) {
            Some(Sym::Local(at)) => (*self.locals.get(*at)?, true),
            Some(_) => return None,
            None => (self.module_function(name)?, false),
        };
        let method = name.contains('.');
        if self.active.len() > CALL_DEPTH || self.active.contains(&function.name.as_str()) {
            return None;
        }
        let (owner, via) = (self.owner, self.via);
        if !local && owner == 0 {
            let data = arguments.iter().filter_map(|(_, range, sym)| match sym {
                Sym::At(place) => Some((*range, place.clone())),
                Sym::Iter(member) => match &**member {
                    Sym::At(place) => place.parent().map(|(list, _)| (*range, list)),
                    _ => None,
                },
                _ => None,
            });
            let call = Call { function: name.to_owned(), range, arguments: data.collect() };
            self.via = match self.out.calls.iter().position(|known| *known == call) {
                Some(at) => Some(at),
                None => {
                    self.out.calls.push(call);
                    Some(self.out.calls.len() - 1)
                }
            };
        }
        if !local {
            self.owner += 1;
        }
        let inside = if local { self.names.clone() } else { HashMap::new() };
        let before = std::mem::replace(&mut self.names, inside);
        let caught = self.caught;
        if !local {
            self.caught = 0;
        }
        self.bind_parameters(&function.parameters, arguments, method && !local);
        self.active.push(function.name.as_str());
        let returned = self.returned.take();
        self.block(&function.body);
        let result = std::mem::replace(&mut self.returned, returned).unwrap_or(Sym::Literal);
        self.active.pop();
        self.names = before;
        self.caught = caught;
        (self.owner, self.via) = (owner, via);
        if let (Sym::At(place), false) = (&result, local) {
            self.enter(place, range);
        }
        Some(result)
    }

    fn module_function(&self, name: &str) -> Option<&'a StmtFunctionDef> {
        let functions = self.source.functions(name);
        match functions.as_slice() {
            [only] if !only.is_async => Some(only),
            _ => None,
        }
    }

    fn bind_parameters(
        &mut self,
        parameters: &'a Parameters,
        arguments: &[(Option<String>, TextRange, Sym)],
        method: bool,
    ) {
        let mut positional = arguments.iter().filter(|(name, ..)| name.is_none()).map(|(_, _, sym)| sym.clone());
        for (at, parameter) in parameters.iter_non_variadic_params().enumerate() {
            let name = parameter.parameter.name.as_str();
            if method && at == 0 && matches!(name, "self" | "cls") {
                continue;
            }
            let named = arguments.iter().find(|(keyword, ..)| keyword.as_deref() == Some(name));
            let sym = match named {
                Some((_, _, sym)) => sym.clone(),
                None => {
                    positional.next().unwrap_or_else(|| parameter.default.as_deref().map_or(Sym::Unknown, constant))
                }
            };
            self.names.insert(name.to_owned(), sym);
        }
    }

    /// The class of the target's own methods, for calls through `self`.
    pub(crate) fn in_class(&self, method: &str) -> Option<String> {
        let name = self.active.first()?;
        for statement in self.source.body() {
            if let Stmt::ClassDef(class) = statement {
                let has = |wanted: &str| {
                    class
                        .body
                        .iter()
                        .any(|inner| matches!(inner, Stmt::FunctionDef(def) if def.name.as_str() == wanted))
                };
                if has(name) && has(method) {
                    return Some(format!("{}.{method}", class.name));
                }
            }
        }
        None
    }

    /// The values that the data at hand has at a place.
    pub(crate) fn at(&self, place: &Place) -> Vec<&Value> {
        match self.values.get(place.root) {
            Some(Some(root)) => values(root, &place.steps),
            _ => Vec::new(),
        }
    }

    /// What stands for either. Of two places the one that the data at hand has.
    pub(crate) fn merged(&self, left: Sym, right: Sym) -> Sym {
        match (left, right) {
            (left, right) if left == right => left,
            (Sym::Literal, other) | (other, Sym::Literal) => other,
            (Sym::Texts(mut left), Sym::Texts(right)) => {
                left.extend(right.into_iter().filter(|text| !text.is_empty()));
                left.dedup();
                Sym::Texts(left)
            }
            (Sym::Tuple(left), Sym::Tuple(right)) if left.len() == right.len() => {
                Sym::Tuple(left.into_iter().zip(right).map(|(left, right)| self.merged(left, right)).collect())
            }
            (Sym::At(left), Sym::At(right)) => self.found(&[left, right]),
            _ => Sym::Unknown,
        }
    }

    /// The one of these places that the data at hand has.
    pub(crate) fn found(&self, places: &[Place]) -> Sym {
        let mut there = places.iter().filter(|place| !self.at(place).is_empty());
        match (there.next(), there.next()) {
            (Some(only), None) => Sym::At(only.clone()),
            _ => Sym::Unknown,
        }
    }

    fn merged_names(&self, left: HashMap<String, Sym>, mut right: HashMap<String, Sym>) -> HashMap<String, Sym> {
        let mut out = HashMap::new();
        for (name, sym) in left {
            let sym = match right.remove(&name) {
                Some(other) => self.merged(sym, other),
                None => sym,
            };
            out.insert(name, sym);
        }
        out.extend(right);
        out
    }

    /// How a test comes out for every value of the data at hand, when it only asks for keys, types and nulls.
    pub(crate) fn decided(&mut self, test: &'a Expr) -> Option<bool> {
        match test {
            Expr::UnaryOp(operation) if matches!(operation.op, UnaryOp::Not) => {
                self.decided(&operation.operand).map(|answer| !answer)
            }
            Expr::BoolOp(operation) => {
                let answers: Vec<Option<bool>> = operation.values.iter().map(|value| self.decided(value)).collect();
                let stop = matches!(operation.op, BoolOp::Or);
                if answers.contains(&Some(stop)) {
                    return Some(stop);
                }
                answers.iter().all(|answer| *answer == Some(!stop)).then_some(!stop)
            }
            Expr::Compare(compare) => {
                let ([op], [right]) = (&*compare.ops, &*compare.comparators) else { return None };
                let sym = self.eval(&compare.left);
                match op {
                    CmpOp::In | CmpOp::NotIn => {
                        let Sym::At(place) = self.eval(right) else { return None };
                        let Sym::Texts(texts) = sym else { return None };
                        let [text] = texts.as_slice() else { return None };
                        let there = self.agreed(&place, |value| value.as_map().map(|_| value.get(text).is_some()))?;
                        Some(there == matches!(op, CmpOp::In))
                    }
                    CmpOp::Is | CmpOp::IsNot if matches!(right, Expr::NoneLiteral(_)) => {
                        let Sym::At(place) = sym else { return None };
                        let null = self.agreed(&place, |value| Some(matches!(value, Value::Null)))?;
                        Some(null == matches!(op, CmpOp::Is))
                    }
                    _ => None,
                }
            }
            Expr::Call(call) if self.dotted(&call.func).as_deref() == Some("isinstance") => {
                let [subject, class] = &*call.arguments.args else { return None };
                let Sym::At(place) = self.eval(subject) else { return None };
                let class = self.dotted(class)?;
                if !matches!(class.as_str(), "dict" | "list" | "str" | "int" | "float" | "bool") {
                    return None;
                }
                self.agreed(&place, |value| Some(value.type_name() == class))
            }
            _ => None,
        }
    }

    fn agreed(&self, place: &Place, ask: impl Fn(&Value) -> Option<bool>) -> Option<bool> {
        let mut answers = self.at(place).into_iter().map(ask);
        let first = answers.next()??;
        answers.all(|answer| answer == Some(first)).then_some(first)
    }

    /// A lambda's body, its one parameter bound.
    pub(crate) fn lambda(&mut self, lambda: &'a sanare_source::ast::ExprLambda, argument: Sym) -> Sym {
        let before = self.names.clone();
        if let Some(parameters) = &lambda.parameters {
            for parameter in parameters.iter_non_variadic_params() {
                self.names.insert(parameter.parameter.name.to_string(), argument.clone());
            }
        }
        let sym = self.eval(&lambda.body);
        self.names = before;
        sym
    }
}

/// What a constant expression stands for.
pub(crate) fn constant(expr: &Expr) -> Sym {
    match expr {
        Expr::StringLiteral(text) => Sym::Texts(vec![text.value.to_str().to_owned()]),
        Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => Sym::Literal,
        Expr::Tuple(tuple) => Sym::Tuple(tuple.elts.iter().map(constant).collect()),
        Expr::List(list) => Sym::Tuple(list.elts.iter().map(constant).collect()),
        _ => Sym::Unknown,
    }
}

fn leaves(body: &[Stmt]) -> bool {
    matches!(body.last(), Some(Stmt::Return(_) | Stmt::Raise(_) | Stmt::Continue(_) | Stmt::Break(_)))
}

fn catches_lookups(class: &str) -> bool {
    ["KeyError", "LookupError", "IndexError", "TypeError", "ValueError", "AttributeError", "Exception"]
        .iter()
        .any(|name| class.contains(name))
}
