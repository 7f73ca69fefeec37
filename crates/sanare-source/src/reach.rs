//! What a function reaches: every dotted path that it names, through whatever alias.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Stmt, StmtFunctionDef};

use crate::code::Code;
use crate::lens::{Lens, normal};
use crate::lists::bare;

/// One path that a function names.
#[derive(Clone, Debug)]
pub(crate) struct Reach<'a> {
    /// The path, with `()` for what calls gave.
    pub path: String,
    /// The path without those marks.
    pub bare: String,
    /// The expression that names it; `None` for an import.
    pub expr: Option<&'a Expr>,
    /// The function of the file through which it is reached, if it is not named by the body itself.
    pub through: Option<String>,
}

/// Everything that the body names, imports included.
pub(crate) fn reached<'a>(lens: &Lens<'a>) -> Vec<Reach<'a>> {
    let mut found = imported(lens.code);
    for (at, node) in lens.code.exprs.iter().enumerate() {
        let inner = lens.code.parent(at).is_some_and(|parent| match parent.expr {
            Expr::Attribute(attribute) => std::ptr::eq(&raw const *attribute.value, std::ptr::from_ref(node.expr)),
            _ => false,
        });
        let names = match node.expr {
            Expr::Name(name) => name.ctx.is_load() && !inner,
            Expr::Attribute(_) => !inner,
            Expr::Call(_) => true,
            _ => false,
        };
        if !names {
            continue;
        }
        for path in lens.paths(node.expr) {
            // A call is of interest only where it gives back a thing by its name: `getattr(os, "system")`.
            if !(node.expr.is_call_expr() && path.ends_with(')')) {
                found.push(Reach { bare: bare(&path), path, expr: Some(node.expr), through: None });
            }
        }
    }
    found
}

/// What the body and the functions of the file that it calls (three deep) name.
pub(crate) fn reached_deeply<'a>(lens: &Lens<'a>) -> Vec<Reach<'a>> {
    let mut found = reached(lens);
    let mut seen = BTreeSet::new();
    seen.insert(std::ptr::from_ref(lens.code.function).addr());
    follow(lens, 3, &mut seen, &mut found);
    found
}

fn follow<'a>(lens: &Lens<'a>, depth: usize, seen: &mut BTreeSet<usize>, found: &mut Vec<Reach<'a>>) {
    if depth == 0 {
        return;
    }
    for function in called(lens) {
        if !seen.insert(std::ptr::from_ref(function).addr()) {
            continue;
        }
        let code = Code::of(function);
        let inner = Lens { code: &code, module: lens.module };
        let name = function.name.to_string();
        found.extend(reached(&inner).into_iter().map(|reach| Reach {
            path: reach.path,
            bare: reach.bare,
            expr: None,
            through: Some(name.clone()),
        }));
        let mut deeper = Vec::new();
        follow(&inner, depth - 1, seen, &mut deeper);
        found.extend(deeper.into_iter().map(|reach| Reach { expr: None, through: Some(name.clone()), ..owned(reach) }));
    }
}

fn owned<'a>(reach: Reach<'_>) -> Reach<'a> {
    Reach { path: reach.path, bare: reach.bare, expr: None, through: reach.through }
}

/// The functions of the file that a body runs, three calls deep, itself not included.
pub(crate) fn called_deeply<'a>(lens: &Lens<'a>) -> Vec<&'a StmtFunctionDef> {
    let mut found: Vec<&StmtFunctionDef> = Vec::new();
    let mut level = called(lens);
    for _ in 0..3 {
        let mut next = Vec::new();
        for function in level {
            let known = found.iter().any(|other| std::ptr::eq(*other, function));
            if known || function.name == lens.code.function.name {
                continue;
            }
            found.push(function);
            let code = Code::of(function);
            next.extend(
                called(&Lens { code: &code, module: lens.module }).into_iter().map(|inner| inner.name.to_string()),
            );
        }
        level =
            next.iter().filter_map(|name| lens.module.function(name).or_else(|| lens.module.method(name))).collect();
    }
    found
}

/// The functions of the file (not those inside the body) that the body names.
pub(crate) fn called<'a>(lens: &Lens<'a>) -> Vec<&'a StmtFunctionDef> {
    let mut found = Vec::new();
    for node in &lens.code.exprs {
        match node.expr {
            Expr::Name(name) if name.ctx.is_load() && lens.code.lookup(name.id.as_str(), node.scope).is_none() => {
                found.extend(lens.module.function(name.id.as_str()));
            }
            Expr::Attribute(attribute) => {
                if matches!(&*attribute.value, Expr::Name(name) if matches!(name.id.as_str(), "self" | "cls")) {
                    found.extend(lens.module.method(attribute.attr.as_str()));
                }
            }
            _ => {}
        }
    }
    found
}

/// The paths of the import statements in a body.
pub(crate) fn imported<'a>(code: &Code<'_>) -> Vec<Reach<'a>> {
    let mut found = Vec::new();
    let mut add = |path: String| {
        let path = normal(&path);
        found.push(Reach { bare: path.clone(), path, expr: None, through: None });
    };
    for node in &code.stmts {
        match node.stmt {
            Stmt::Import(import) => import.names.iter().for_each(|alias| add(alias.name.to_string())),
            Stmt::ImportFrom(import) => {
                let dots = ".".repeat(import.level as usize);
                let module = format!("{dots}{}", import.module.as_ref().map_or("", |name| name.as_str()));
                import.names.iter().for_each(|alias| add(format!("{module}.{}", alias.name)));
            }
            _ => {}
        }
    }
    found
}
