//! The walk's calls: built-ins, methods of data, conversions, and what is passed on.

use sanare_source::ast::{Expr, ExprCall};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_eval::integer;
use crate::code::object_path::Step;
use crate::code::object_reads::{Form, How, Text, Usage};
use crate::code::object_walk::{Sym, Walker};

impl<'a> Walker<'a> {
    pub(crate) fn call(&mut self, call: &'a ExprCall) -> Sym {
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
        let method = name.strip_prefix("self.").or_else(|| name.strip_prefix("cls."));
        if let Some(full) = method.and_then(|method| self.in_class(method)) {
            name = full;
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
