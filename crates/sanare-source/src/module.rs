//! What a module binds at its top, and what the functions around the target bind: the names a body may refer to.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, Stmt, StmtClassDef, StmtFunctionDef};

use crate::code::{Code, blocks, collect_elements};

/// The names that a function of a module can see from outside itself.
#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    /// Names bound at the top of the module, conditional branches included.
    pub names: BTreeMap<&'a str, Vec<Global<'a>>>,
    /// Names bound by the functions around the target: its closure.
    pub closure: BTreeSet<String>,
    /// Every dotted path that the file imports at its top or around the target.
    pub imports: BTreeSet<String>,
    /// The class whose method the target is.
    pub class: Option<&'a StmtClassDef>,
}

/// One binding of a name outside the target.
#[derive(Clone, Debug)]
pub(crate) enum Global<'a> {
    /// An import of this dotted path.
    Import(String),
    /// An assignment.
    Value(&'a Expr),
    /// A function.
    Function(&'a StmtFunctionDef),
    /// A class.
    Class,
    /// Anything else: a parameter of an outer function, a loop variable.
    Other,
}

impl<'a> Module<'a> {
    /// Collects the names around `target`, which is reached by `qualified` from the top of `body`.
    pub fn around(body: &'a [Stmt], qualified: &str, target: &StmtFunctionDef) -> Self {
        let mut module = Self::default();
        module.collect(body);
        let path: Vec<&str> = qualified.split('.').filter(|part| *part != "<locals>").collect();
        module.descend(body, &path, target);
        module
    }

    /// The last binding of a name that is a function.
    pub fn function(&self, name: &str) -> Option<&'a StmtFunctionDef> {
        self.names.get(name)?.iter().rev().find_map(|global| match global {
            Global::Function(function) => Some(*function),
            _ => None,
        })
    }

    /// A method of the target's class.
    pub fn method(&self, name: &str) -> Option<&'a StmtFunctionDef> {
        self.class?.body.iter().find_map(|stmt| match stmt {
            Stmt::FunctionDef(function) if function.name.as_str() == name => Some(function),
            _ => None,
        })
    }

    fn collect(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            self.statement(stmt);
            if !matches!(stmt, Stmt::FunctionDef(_) | Stmt::ClassDef(_)) {
                blocks(stmt).into_iter().for_each(|block| self.collect(block));
            }
        }
    }

    fn statement(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Import(node) => {
                for alias in &node.names {
                    let name = alias.name.as_str();
                    self.imports.insert(name.to_owned());
                    let root = name.split('.').next().unwrap_or(name);
                    match &alias.asname {
                        Some(local) => self.bind(local.as_str(), Global::Import(name.to_owned())),
                        None => self.bind(root, Global::Import(root.to_owned())),
                    }
                }
            }
            Stmt::ImportFrom(node) => {
                let dots = ".".repeat(node.level as usize);
                let module = format!("{dots}{}", node.module.as_ref().map_or("", |name| name.as_str()));
                self.imports.insert(module.clone());
                for alias in &node.names {
                    let path = format!("{module}.{}", alias.name);
                    self.imports.insert(path.clone());
                    let local = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.bind(local.as_str(), Global::Import(path));
                }
            }
            Stmt::Assign(node) => node.targets.iter().for_each(|target| self.bind_target(target, Some(&node.value))),
            Stmt::AnnAssign(node) => self.bind_target(&node.target, node.value.as_deref()),
            Stmt::AugAssign(node) => self.bind_target(&node.target, None),
            Stmt::For(node) => self.bind_target(&node.target, None),
            Stmt::With(node) => {
                for target in node.items.iter().filter_map(|item| item.optional_vars.as_deref()) {
                    self.bind_target(target, None);
                }
            }
            Stmt::FunctionDef(node) => self.bind(node.name.as_str(), Global::Function(node)),
            Stmt::ClassDef(node) => self.bind(node.name.as_str(), Global::Class),
            _ => {}
        }
    }

    fn bind(&mut self, name: &'a str, global: Global<'a>) {
        self.names.entry(name).or_default().push(global);
    }

    fn bind_target(&mut self, target: &'a Expr, value: Option<&'a Expr>) {
        match target {
            Expr::Name(name) => self.bind(name.id.as_str(), value.map_or(Global::Other, Global::Value)),
            Expr::Starred(starred) => self.bind_target(&starred.value, None),
            _ => {
                for part in collect_elements(target).unwrap_or_default() {
                    self.bind_target(part, None);
                }
            }
        }
    }

    /// Walks down to the target and takes in what the functions on the way bind.
    fn descend(&mut self, body: &'a [Stmt], path: &[&str], target: &StmtFunctionDef) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        for stmt in body {
            let found = match stmt {
                Stmt::FunctionDef(function) if function.name.as_str() == *first && rest.is_empty() => {
                    std::ptr::eq(function, target)
                }
                Stmt::FunctionDef(function) if function.name.as_str() == *first => {
                    let found = self.descend(&function.body, rest, target);
                    if found {
                        self.take_in(function);
                    }
                    found
                }
                Stmt::ClassDef(class) if class.name.as_str() == *first => {
                    let found = self.descend(&class.body, rest, target);
                    if found && rest.len() == 1 {
                        self.class = Some(class);
                    }
                    found
                }
                Stmt::FunctionDef(_) | Stmt::ClassDef(_) => false,
                _ => blocks(stmt).into_iter().any(|block| self.descend(block, path, target)),
            };
            if found {
                return true;
            }
        }
        false
    }

    fn take_in(&mut self, function: &'a StmtFunctionDef) {
        let code = Code::of(function);
        self.closure.extend(code.scopes[0].names.keys().map(|name| (*name).to_owned()));
        let parameters: Vec<&'a str> = crate::code::parameter_names(&function.parameters).collect();
        for name in parameters {
            self.names.insert(name, vec![Global::Other]);
        }
        self.collect(&function.body);
    }
}
