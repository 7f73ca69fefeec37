//! The walk through the functions of the module that the target calls.

use std::collections::HashMap;

use sanare_source::ast::{Parameters, Stmt, StmtFunctionDef};
use sanare_source::size::TextRange;

use crate::code::object_reads::Call;
use crate::code::object_walk::{CALL_DEPTH, Sym, Walker, constant};

impl<'a> Walker<'a> {
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
}
