//! The walk's expressions: what each stands for, and the reads and uses in it.

use sanare_source::ast::{BoolOp, CmpOp, Comprehension, Expr, ExprCall, ExprDict, Number, Operator, UnaryOp};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_path::Step;
use crate::code::object_reads::{Form, How, Place, Text, Usage};
use crate::code::object_walk::{Sym, Walker, constant};

impl<'a> Walker<'a> {
    pub(crate) fn eval(&mut self, expr: &'a Expr) -> Sym {
        match expr {
            Expr::Name(name) => self.lookup(name.id.as_str()),
            Expr::StringLiteral(_) | Expr::NumberLiteral(_) | Expr::BooleanLiteral(_) | Expr::NoneLiteral(_) => {
                constant(expr)
            }
            Expr::Subscript(subscript) => self.subscript(expr.range(), &subscript.value, &subscript.slice),
            Expr::Attribute(attribute) => {
                let base = self.eval(&attribute.value);
                self.used(&base, expr.range(), Usage::Attribute(attribute.attr.to_string()));
                Sym::Unknown
            }
            Expr::Call(call) => self.call(call),
            Expr::BinOp(operation) => {
                let (left, right) = (self.eval(&operation.left), self.eval(&operation.right));
                let sides = [&left, &right];
                let text = sides.iter().any(|side| matches!(side, Sym::Texts(_)));
                let how = match operation.op {
                    Operator::Mod if matches!(left, Sym::Texts(_)) => Usage::Format,
                    Operator::Add if text => Usage::Concat,
                    Operator::Add if !sides.iter().any(|side| matches!(side, Sym::Literal)) => Usage::Add,
                    _ => Usage::Arithmetic,
                };
                let result =
                    if matches!(how, Usage::Format | Usage::Concat) { Sym::Texts(Vec::new()) } else { Sym::Unknown };
                self.used(&left, operation.left.range(), how.clone());
                self.used(&right, operation.right.range(), how);
                result
            }
            Expr::UnaryOp(operation) => {
                let sym = self.eval(&operation.operand);
                let truth = matches!(operation.op, UnaryOp::Not);
                self.used(&sym, operation.operand.range(), if truth { Usage::Truth } else { Usage::Arithmetic });
                Sym::Unknown
            }
            Expr::BoolOp(operation) => {
                let mut result = Sym::Literal;
                for (at, value) in operation.values.iter().enumerate() {
                    let sym = self.eval(value);
                    if at + 1 < operation.values.len() {
                        self.used(&sym, value.range(), Usage::Truth);
                    }
                    result = match (&result, operation.op) {
                        (Sym::At(_), BoolOp::Or) => result,
                        _ if at == 0 => sym,
                        _ => self.merged(result, sym),
                    };
                }
                result
            }
            Expr::If(branch) => {
                self.test(&branch.test);
                match self.decided(&branch.test) {
                    Some(true) => self.eval(&branch.body),
                    Some(false) => self.eval(&branch.orelse),
                    None => {
                        let body = self.eval(&branch.body);
                        let other = self.eval(&branch.orelse);
                        self.merged(body, other)
                    }
                }
            }
            Expr::Compare(compare) => {
                let mut left = (self.eval(&compare.left), compare.left.range());
                for (op, comparator) in compare.ops.iter().zip(&compare.comparators) {
                    let right = self.eval(comparator);
                    self.compared(
                        *op,
                        &left,
                        &(right.clone(), comparator.range()),
                        expr.range(),
                        matches!(comparator, Expr::NoneLiteral(_)),
                    );
                    left = (right, comparator.range());
                }
                Sym::Literal
            }
            Expr::Named(named) => {
                let sym = self.eval(&named.value);
                self.bind(&named.target, sym.clone());
                sym
            }
            Expr::Dict(dict) => self.mapping(dict),
            Expr::Set(set) => self.stored(&set.elts, Usage::Key),
            Expr::List(list) => self.display(&list.elts),
            Expr::Tuple(tuple) => Sym::Tuple(tuple.elts.iter().map(|item| self.eval(item)).collect()),
            Expr::Starred(starred) => {
                let sym = self.eval(&starred.value);
                self.member(&sym, starred.value.range());
                Sym::Unknown
            }
            Expr::FString(text) => {
                for element in text.value.elements() {
                    if let Some(part) = element.as_interpolation() {
                        let sym = self.eval(&part.expression);
                        self.used(&sym, part.expression.range(), Usage::Format);
                    }
                }
                Sym::Texts(Vec::new())
            }
            Expr::ListComp(list) => self.comprehension(&list.generators, &[&list.elt]),
            Expr::SetComp(set) => {
                let sym = self.comprehension(&set.generators, &[&set.elt]);
                self.used(&sym, set.elt.range(), Usage::Key);
                sym
            }
            Expr::Generator(generator) => self.comprehension(&generator.generators, &[&generator.elt]),
            Expr::DictComp(dict) => {
                let key = dict.key.as_deref();
                let mut parts: Vec<&Expr> = key.into_iter().collect();
                parts.push(&dict.value);
                if let Sym::Iter(pair) = self.comprehension(&dict.generators, &parts)
                    && let Sym::Tuple(pair) = *pair
                {
                    if let ([key_sym, value_sym], Some(key)) = (pair.as_slice(), key) {
                        self.used(key_sym, key.range(), Usage::Key);
                        self.used(value_sym, dict.value.range(), Usage::Stored);
                    }
                }
                Sym::Unknown
            }
            Expr::Await(inner) => self.eval(&inner.value),
            Expr::Yield(inner) => {
                if let Some(value) = &inner.value {
                    let sym = self.eval(value);
                    self.used(&sym, value.range(), Usage::Stored);
                }
                Sym::Unknown
            }
            Expr::Lambda(lambda) => self.lambda(lambda, Sym::Unknown),
            _ => Sym::Unknown,
        }
    }

    /// A mapping written out.
    fn mapping(&mut self, dict: &'a ExprDict) -> Sym {
        let mut base = None;
        let mut keys = Vec::new();
        for item in &dict.items {
            let value = self.eval(&item.value);
            let Some(key) = &item.key else {
                match value {
                    Sym::At(place) => base = Some(place),
                    other => self.used(&other, item.value.range(), Usage::Splat),
                }
                continue;
            };
            let sym = self.eval(key);
            self.used(&sym, key.range(), Usage::Key);
            match sym {
                Sym::Texts(texts) => keys.extend(texts.into_iter().map(|text| (text, value.clone()))),
                _ => self.used(&value, item.value.range(), Usage::Stored),
            }
        }
        Sym::Overlay(base, keys)
    }

    /// Several expressions that are collected.
    fn stored(&mut self, items: &'a [Expr], how: Usage) -> Sym {
        for item in items {
            let sym = self.eval(item);
            self.used(&sym, item.range(), how.clone());
        }
        Sym::Unknown
    }

    /// A list written out: constants stay what they are, data is stored.
    fn display(&mut self, items: &'a [Expr]) -> Sym {
        let parts: Vec<Sym> = items.iter().map(|item| self.eval(item)).collect();
        if parts.iter().all(|part| matches!(part, Sym::Texts(_) | Sym::Literal)) && !parts.is_empty() {
            return Sym::Tuple(parts);
        }
        if parts.iter().any(|part| *part != Sym::Unknown) { Sym::Display(parts) } else { Sym::Unknown }
    }

    fn comprehension(&mut self, generators: &'a [Comprehension], parts: &[&'a Expr]) -> Sym {
        let before = self.names.clone();
        for generator in generators {
            let sym = self.eval(&generator.iter);
            let member = self.member(&sym, generator.iter.range());
            self.bind(&generator.target, member);
            generator.ifs.iter().for_each(|test| self.test(test));
        }
        let mut syms: Vec<Sym> = parts.iter().map(|part| self.eval(part)).collect();
        self.names = before;
        let member = if syms.len() == 1 { syms.remove(0) } else { Sym::Tuple(syms) };
        Sym::Iter(Box::new(member))
    }

    fn compared(&mut self, op: CmpOp, left: &(Sym, TextRange), right: &(Sym, TextRange), whole: TextRange, none: bool) {
        match op {
            CmpOp::In | CmpOp::NotIn => {
                if let (Sym::Texts(texts), Sym::At(place)) = (&left.0, &right.0) {
                    for text in texts {
                        let key = place.then(Step::Key(text.clone()));
                        self.read(key, whole, right.1, How::Contains, true);
                    }
                } else {
                    self.used(&left.0, left.1, Usage::Compare);
                }
            }
            CmpOp::Is | CmpOp::IsNot if none => self.used(&left.0, left.1, Usage::NoneTest),
            CmpOp::Eq | CmpOp::NotEq | CmpOp::Is | CmpOp::IsNot => {
                self.used(&left.0, left.1, if none { Usage::NoneTest } else { Usage::Compare });
                self.used(&right.0, right.1, Usage::Compare);
            }
            _ => {
                self.used(&left.0, left.1, Usage::Order);
                self.used(&right.0, right.1, Usage::Order);
            }
        }
    }

    fn subscript(&mut self, range: TextRange, value: &'a Expr, slice: &'a Expr) -> Sym {
        let base = self.eval(value);
        if let Expr::Slice(slice) = slice {
            for bound in [&slice.lower, &slice.upper, &slice.step].into_iter().flatten() {
                let sym = self.eval(bound);
                self.used(&sym, bound.range(), Usage::Arithmetic);
            }
            return base;
        }
        let key = self.eval(slice);
        if let (Sym::Overlay(under, keys), Sym::Texts(texts)) = (&base, &key)
            && let [text] = texts.as_slice()
        {
            if let Some((_, sym)) = keys.iter().rev().find(|(name, _)| name == text) {
                return sym.clone();
            }
            let Some(place) = under else { return Sym::Unknown };
            let read = place.then(Step::Key(text.clone()));
            self.read(read.clone(), range, value.range(), How::Subscript, true);
            return Sym::At(read);
        }
        let Sym::At(place) = base else {
            self.used(&key, slice.range(), Usage::Key);
            return match (base, integer(slice)) {
                (Sym::Tuple(parts), Some(at)) => {
                    usize::try_from(at).ok().and_then(|at| parts.get(at).cloned()).unwrap_or(Sym::Unknown)
                }
                (Sym::Display(parts), Some(0)) => parts.into_iter().next().unwrap_or(Sym::Unknown),
                (Sym::Iter(member), Some(_)) => *member,
                _ => Sym::Unknown,
            };
        };
        let literal = matches!(slice, Expr::StringLiteral(_) | Expr::NumberLiteral(_) | Expr::UnaryOp(_));
        let step = match (&key, integer(slice)) {
            (Sym::Texts(texts), _) => {
                for text in texts {
                    self.read(place.then(Step::Key(text.clone())), range, value.range(), How::Subscript, literal);
                }
                match texts.as_slice() {
                    [only] => Step::Key(only.clone()),
                    many => {
                        let places: Vec<Place> = many.iter().map(|text| place.then(Step::Key(text.clone()))).collect();
                        return self.found(&places);
                    }
                }
            }
            (_, Some(at)) => Step::Index(at),
            (Sym::KeyOf(mapping), _) if *mapping == place => Step::Entry,
            (Sym::At(member), _) if member.parent().is_some_and(|(list, _)| list == place) => Step::Entry,
            (Sym::KeyOf(_) | Sym::At(_), _) => {
                self.used(&key, slice.range(), Usage::Key);
                Step::Entry
            }
            _ => Step::Member,
        };
        let read = place.then(step.clone());
        if !matches!(step, Step::Key(_)) {
            self.read(read.clone(), range, value.range(), How::Subscript, literal);
        }
        Sym::At(read)
    }

    fn call(&mut self, call: &'a ExprCall) -> Sym {
        if let Expr::Attribute(attribute) = &*call.func
            && self.dotted(&call.func).is_none()
        {
            let base = self.eval(&attribute.value);
            return self.method(call, &base, attribute.value.range(), attribute.attr.as_str());
        }
        let Some(mut name) = self.dotted(&call.func) else {
            self.eval(&call.func);
            return self.unknown_call(call, "");
        };
        if let Some(method) = name.strip_prefix("self.").or_else(|| name.strip_prefix("cls.")) {
            if let Some(full) = self.in_class(method) {
                name = full;
            }
        }
        if let Some(sym) = self.builtin(call, &name) {
            return sym;
        }
        let arguments = self.arguments(call);
        if let Some(sym) = self.project_call(&name, call.range(), &arguments) {
            return sym;
        }
        self.passed(&arguments, &name);
        match arguments.first() {
            Some((_, _, Sym::At(place) | Sym::Made(place))) if CONVERSIONS.contains(&name.as_str()) => {
                Sym::Made(place.clone())
            }
            _ => Sym::Unknown,
        }
    }

    fn arguments(&mut self, call: &'a ExprCall) -> Vec<(Option<String>, TextRange, Sym)> {
        let mut out = Vec::new();
        for argument in &call.arguments.args {
            out.push((None, argument.range(), self.eval(argument)));
        }
        for keyword in &call.arguments.keywords {
            let sym = self.eval(&keyword.value);
            match &keyword.arg {
                Some(name) => out.push((Some(name.to_string()), keyword.value.range(), sym)),
                None => self.used(&sym, keyword.value.range(), Usage::Splat),
            }
        }
        out
    }

    fn passed(&mut self, arguments: &[(Option<String>, TextRange, Sym)], name: &str) {
        let converts = CONVERSIONS.contains(&name);
        for (at, (_, range, sym)) in arguments.iter().enumerate() {
            let how =
                if converts && at == 0 { Usage::Convert(name.to_owned()) } else { Usage::Passed(name.to_owned()) };
            self.used(sym, *range, how);
        }
    }

    fn unknown_call(&mut self, call: &'a ExprCall, name: &str) -> Sym {
        let arguments = self.arguments(call);
        self.passed(&arguments, name);
        Sym::Unknown
    }

    fn builtin(&mut self, call: &'a ExprCall, name: &str) -> Option<Sym> {
        let first = call.arguments.args.first();
        let range = call.range();
        match name {
            "len" => {
                let sym = self.eval(first?);
                self.used(&sym, range, Usage::Length);
                Some(Sym::Literal)
            }
            "list" | "tuple" | "iter" | "reversed" | "copy.copy" | "copy.deepcopy" | "dict"
                if call.arguments.keywords.is_empty() =>
            {
                Some(self.eval(first?))
            }
            "set" | "frozenset" | "collections.Counter" | "Counter" => {
                let sym = self.eval(first?);
                let member = self.member(&sym, first?.range());
                self.used(&member, range, Usage::Key);
                Some(Sym::Iter(Box::new(member)))
            }
            "sorted" | "min" | "max" => {
                let sym = self.eval(first?);
                if call.arguments.args.len() > 1 {
                    self.used(&sym, first?.range(), Usage::Order);
                    for other in call.arguments.args.iter().skip(1) {
                        let sym = self.eval(other);
                        self.used(&sym, other.range(), Usage::Order);
                    }
                    return Some(Sym::Unknown);
                }
                let member = self.member(&sym, first?.range());
                self.keyed(call, &member, range);
                Some(if name == "sorted" {
                    if matches!(sym, Sym::At(_)) { sym } else { Sym::Iter(Box::new(member)) }
                } else {
                    member
                })
            }
            "sum" | "math.fsum" | "statistics.mean" | "statistics.median" => {
                let sym = self.eval(first?);
                let member = self.member(&sym, first?.range());
                self.used(&member, range, Usage::Arithmetic);
                Some(Sym::Unknown)
            }
            "enumerate" => {
                let sym = self.eval(first?);
                let member = self.member(&sym, first?.range());
                Some(Sym::Iter(Box::new(Sym::Tuple(vec![Sym::Literal, member]))))
            }
            "zip" => {
                let mut members = Vec::new();
                for argument in &call.arguments.args {
                    let sym = self.eval(argument);
                    members.push(self.member(&sym, argument.range()));
                }
                Some(Sym::Iter(Box::new(Sym::Tuple(members))))
            }
            "next" => {
                let sym = self.eval(first?);
                Some(self.member(&sym, first?.range()))
            }
            "map" | "filter" => {
                let iterable = call.arguments.args.get(1)?;
                let sym = self.eval(iterable);
                let member = self.member(&sym, iterable.range());
                let result = match first? {
                    Expr::Lambda(lambda) => self.lambda(lambda, member.clone()),
                    function => match self.dotted(function) {
                        Some(name) => {
                            let arguments = [(None, iterable.range(), member.clone())];
                            match self.project_call(&name, range, &arguments) {
                                Some(sym) => sym,
                                None => {
                                    self.passed(&arguments, &name);
                                    Sym::Unknown
                                }
                            }
                        }
                        None => Sym::Unknown,
                    },
                };
                Some(Sym::Iter(Box::new(if name == "filter" { member } else { result })))
            }
            "isinstance" | "type" => {
                let sym = self.eval(first?);
                self.used(&sym, range, Usage::TypeTest);
                Some(Sym::Literal)
            }
            "any" | "all" => {
                let sym = self.eval(first?);
                let member = self.member(&sym, first?.range());
                self.used(&member, range, Usage::Truth);
                Some(Sym::Literal)
            }
            "open" | "io.open" | "codecs.open" | "gzip.open" => match self.eval(first?) {
                Sym::At(place) if place.steps.is_empty() => {
                    let parameter = self.out.roots.get(place.root)?.parameter.clone();
                    Some(Sym::Handle(parameter))
                }
                _ => Some(Sym::Unknown),
            },
            "pathlib.Path" | "os.fspath" | "str" if matches!(first, Some(Expr::Name(_))) => match self.eval(first?) {
                Sym::At(place) if place.steps.is_empty() => Some(Sym::At(place)),
                sym => {
                    self.used(&sym, range, Usage::Convert(name.to_owned()));
                    Some(Sym::Unknown)
                }
            },
            "json.load" => match self.eval(first?) {
                Sym::Handle(parameter) => Some(Sym::At(self.parsed(Form::Json, &parameter, Text::Handle, range))),
                _ => Some(Sym::Unknown),
            },
            "json.loads" => self.loads(first?, range),
            _ => None,
        }
    }

    fn loads(&mut self, first: &'a Expr, range: TextRange) -> Option<Sym> {
        let place = match self.eval(first) {
            Sym::FileText(parameter) => self.parsed(Form::Json, &parameter, Text::FileText, range),
            Sym::Line(parameter, text) => self.parsed(Form::Lines, &parameter, text, range),
            Sym::At(place) if place.steps.is_empty() => {
                let parameter = self.out.roots.get(place.root)?.parameter.clone();
                self.parsed(Form::Json, &parameter, Text::Parameter, range)
            }
            _ => return Some(Sym::Unknown),
        };
        Some(Sym::At(place))
    }

    /// `key=` of sorted, min and max.
    fn keyed(&mut self, call: &'a ExprCall, member: &Sym, range: TextRange) {
        match call.arguments.find_keyword("key").map(|keyword| &keyword.value) {
            Some(Expr::Lambda(lambda)) => {
                let sym = self.lambda(lambda, member.clone());
                self.used(&sym, lambda.body.range(), Usage::Order);
            }
            Some(other) => {
                if let Some(name) = self.dotted(other) {
                    self.project_call(&name, range, &[(None, range, member.clone())]);
                }
            }
            None => self.used(member, range, Usage::Order),
        }
    }

    fn method(&mut self, call: &'a ExprCall, base: &Sym, base_range: TextRange, method: &str) -> Sym {
        let first = call.arguments.args.first();
        let range = call.range();
        match (base, method) {
            (Sym::At(place), "get" | "pop") if first.is_some() => {
                let Some(first) = first else { return Sym::Unknown };
                let key = self.eval(first);
                let default = call.arguments.args.get(1).map(Ranged::range);
                if let Some(default) = call.arguments.args.get(1) {
                    self.eval(default);
                }
                let Sym::Texts(texts) = key else {
                    self.used(&key, first.range(), Usage::Key);
                    return Sym::At(place.then(if integer(first).is_some() {
                        Step::Index(integer(first).unwrap_or(0))
                    } else {
                        Step::Entry
                    }));
                };
                let literal = matches!(first, Expr::StringLiteral(_));
                for text in &texts {
                    let how = if method == "get" { How::Get(default) } else { How::Pop };
                    self.read(place.then(Step::Key(text.clone())), range, base_range, how, literal);
                }
                match texts.as_slice() {
                    [only] => Sym::At(place.then(Step::Key(only.clone()))),
                    _ => Sym::Unknown,
                }
            }
            (Sym::At(place), "items" | "keys" | "values") => {
                self.read(place.then(Step::Entry), range, base_range, How::Entries, false);
                let place = place.clone();
                match method {
                    "items" => Sym::Items(place),
                    "keys" => Sym::Keys(place),
                    _ => Sym::Values(place),
                }
            }
            (Sym::At(_), "copy") => base.clone(),
            (Sym::At(place), "read_text" | "open") if place.steps.is_empty() => {
                let parameter = self.out.roots.get(place.root).map(|root| root.parameter.clone()).unwrap_or_default();
                if method == "open" { Sym::Handle(parameter) } else { Sym::FileText(parameter) }
            }
            (Sym::At(place), "splitlines") if place.steps.is_empty() => {
                let parameter = self.out.roots.get(place.root).map(|root| root.parameter.clone()).unwrap_or_default();
                Sym::Iter(Box::new(Sym::Line(parameter, Text::Parameter)))
            }
            (Sym::Handle(parameter), "read") => Sym::FileText(parameter.clone()),
            (Sym::Handle(parameter), "readlines") => Sym::Iter(Box::new(Sym::Line(parameter.clone(), Text::Handle))),
            (Sym::FileText(parameter), "splitlines" | "split") => {
                Sym::Iter(Box::new(Sym::Line(parameter.clone(), Text::FileText)))
            }
            (Sym::FileText(_) | Sym::Line(..), "strip" | "lstrip" | "rstrip" | "decode") => base.clone(),
            (Sym::At(_), _) => {
                self.used(base, range, Usage::Method(method.to_owned()));
                self.unknown_call(call, method)
            }
            _ => {
                let arguments = self.arguments(call);
                let how = match method {
                    "append" | "extend" | "insert" | "put" => Usage::Stored,
                    "add" | "setdefault" | "get" | "pop" | "index" | "count" | "remove" => Usage::Key,
                    "format" | "write" => Usage::Format,
                    "join" => Usage::Concat,
                    _ => {
                        self.passed(&arguments, method);
                        return Sym::Unknown;
                    }
                };
                for (_, argument, sym) in &arguments {
                    let sym =
                        if matches!(method, "extend" | "join") { self.member(sym, *argument) } else { sym.clone() };
                    self.used(&sym, *argument, how.clone());
                }
                Sym::Unknown
            }
        }
    }
}

/// Functions whose first argument is converted, by their dotted name.
pub(crate) const CONVERSIONS: &[&str] = &[
    "int",
    "float",
    "str",
    "bool",
    "complex",
    "round",
    "abs",
    "decimal.Decimal",
    "fractions.Fraction",
    "datetime.datetime.fromtimestamp",
    "datetime.datetime.utcfromtimestamp",
    "datetime.datetime.fromisoformat",
    "datetime.datetime.strptime",
    "datetime.date.fromisoformat",
    "datetime.date.fromtimestamp",
    "datetime.timedelta",
    "time.gmtime",
    "time.localtime",
    "time.strptime",
];

fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(value) => value.as_i64(),
            _ => None,
        },
        Expr::UnaryOp(operation) if matches!(operation.op, UnaryOp::USub) => {
            integer(&operation.operand).map(|value| -value)
        }
        _ => None,
    }
}
