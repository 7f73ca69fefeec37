//! Gate 3: the result does not depend on who asks, where, when, or under which name the input comes.

use std::collections::BTreeSet;

use ruff_python_ast::{Expr, Stmt};

use super::Look;
use crate::code::{BindingKind, blocks};
use crate::constant;
use crate::flow::names_in;
use crate::lens::{Lens, Referent};
use crate::same::is_report;
use crate::vet::Case;

/// **no_dispatch**: no new condition on the name of the input (an ending is fine), on `__name__`, `__debug__`, `__file__`,
/// or on what only a test run or a debugger has. A branch that only reports passes. The clock, the environment and loaded
/// modules are refused by `no_new_abilities` wherever they stand.
pub(super) fn no_dispatch(case: &Case<'_>) -> Look {
    let lens = &case.new;
    let inputs = input_names(lens);
    let mut findings = Vec::new();
    for (test, silent) in tests(lens) {
        if silent || case.is_old(test) {
            continue;
        }
        for part in parts(lens, test) {
            if case.is_old(part) {
                continue;
            }
            if let Some(why) = asks_for_name(lens, part, &inputs).or_else(|| asks_for_run(lens, part)) {
                findings.push(why);
            }
        }
    }
    findings.dedup();
    findings.into()
}

/// The conditions of a body, and whether all that they decide about is reporting.
fn tests<'a>(lens: &Lens<'a>) -> Vec<(&'a Expr, bool)> {
    let mut found = Vec::new();
    for node in &lens.code.stmts {
        match node.stmt {
            Stmt::If(branch) => {
                let silent = blocks(node.stmt).into_iter().all(only_reports);
                found.push((&*branch.test, silent));
                found.extend(
                    branch.elif_else_clauses.iter().filter_map(|clause| clause.test.as_ref()).map(|t| (t, silent)),
                );
            }
            Stmt::While(node) => found.push((&node.test, false)),
            Stmt::Assert(node) => found.push((&node.test, false)),
            Stmt::Match(node) => found.push((&node.subject, false)),
            _ => {}
        }
    }
    for node in &lens.code.exprs {
        match node.expr {
            Expr::If(inner) => found.push((&inner.test, false)),
            Expr::BoolOp(inner) => found.extend(inner.values.iter().map(|value| (value, false))),
            Expr::ListComp(inner) => {
                found.extend(inner.generators.iter().flat_map(|g| &g.ifs).map(|test| (test, false)))
            }
            Expr::Generator(inner) => {
                found.extend(inner.generators.iter().flat_map(|g| &g.ifs).map(|test| (test, false)))
            }
            Expr::Subscript(inner) if inner.value.is_dict_expr() => found.push((&inner.slice, false)),
            _ => {}
        }
    }
    found
}

fn only_reports(body: &[Stmt]) -> bool {
    body.iter().all(|stmt| match stmt {
        Stmt::Expr(node) => matches!(&*node.value, Expr::Call(call) if is_report(&call.func)),
        Stmt::Pass(_) => true,
        _ => false,
    })
}

/// A condition, and the values of the names in it.
fn parts<'a>(lens: &Lens<'a>, test: &'a Expr) -> Vec<&'a Expr> {
    let mut found = vec![test];
    let range = ruff_text_size::Ranged::range(test);
    for node in &lens.code.exprs {
        if range.contains_range(ruff_text_size::Ranged::range(node.expr)) && !std::ptr::eq(node.expr, test) {
            found.push(node.expr);
        }
    }
    for name in names_in(test) {
        if let Some((_, bindings)) = lens.code.lookup(name, lens.code.scope_of(test)) {
            found.extend(bindings.iter().filter_map(|binding| match binding.kind {
                BindingKind::Value(value) => Some(value),
                _ => None,
            }));
        }
    }
    found
}

/// Parameters that name a file or address: by what they are used for, or by what they are called.
fn input_names<'a>(lens: &Lens<'a>) -> BTreeSet<&'a str> {
    let called =
        ["path", "file", "filename", "fname", "filepath", "file_path", "file_name", "url", "uri", "source_path", "fn"];
    let parameters: Vec<&str> = lens.code.parameters().collect();
    let mut found: BTreeSet<&str> = parameters.iter().copied().filter(|name| called.contains(name)).collect();
    for node in &lens.code.exprs {
        let Expr::Call(call) = node.expr else { continue };
        let opens = lens.paths(&call.func).iter().any(|path| {
            matches!(path.as_str(), "builtins.open" | "pathlib.Path" | "os.fspath" | "zipfile.ZipFile")
                || path.starts_with("pandas.read_")
                || path.ends_with(".open")
        });
        if opens && let Some(first) = call.arguments.args.first() {
            found.extend(parameters.iter().copied().filter(|name| names_in(first).contains(name)));
        }
    }
    // Locals that hold the name or a part of it.
    for _ in 0..3 {
        for (name, bindings) in &lens.code.scopes[0].names {
            let is_part = bindings.iter().any(|binding| match binding.kind {
                BindingKind::Value(value) | BindingKind::Part(value, _) => is_part_of_name(lens, value, &found),
                _ => false,
            });
            if is_part {
                found.insert(*name);
            }
        }
    }
    found
}

/// `os.path.basename(path)`, `Path(path).stem.lower()`, `str(path).split("/")[-1]`: still the name, not what is read.
fn is_part_of_name(lens: &Lens<'_>, expr: &Expr, inputs: &BTreeSet<&str>) -> bool {
    match expr {
        Expr::Name(name) => inputs.contains(name.id.as_str()),
        Expr::Attribute(node) => is_part_of_name(lens, &node.value, inputs),
        Expr::Subscript(node) => is_part_of_name(lens, &node.value, inputs),
        Expr::Call(call) => {
            let makes_path = lens.paths(&call.func).iter().any(|path| {
                path.starts_with("os.path.")
                    || matches!(path.as_str(), "builtins.str" | "pathlib.Path" | "pathlib.PurePath" | "os.fspath")
            });
            let of_text = matches!(&*call.func, Expr::Attribute(method) if matches!(
                method.attr.as_str(),
                "lower" | "upper" | "casefold" | "strip" | "split" | "rsplit" | "partition" | "rpartition" | "resolve" | "as_posix" | "removesuffix"
            ) && is_part_of_name(lens, &method.value, inputs));
            of_text
                || (makes_path && call.arguments.args.iter().any(|argument| is_part_of_name(lens, argument, inputs)))
        }
        _ => false,
    }
}

/// `path.endswith("new_seen.csv")`, `"march" in str(path)`, `path.stem == "x"`, and the same by `in` a list.
fn asks_for_name(lens: &Lens<'_>, part: &Expr, inputs: &BTreeSet<&str>) -> Option<String> {
    let of_input = |expr: &Expr| names_in(expr).iter().any(|name| inputs.contains(name)) && !reads(lens, expr);
    let named = |expr: &Expr| -> bool {
        let mut texts = constant::texts(lens, expr, Some(lens.code.scope_of(expr)));
        for item in constant::listed(lens, expr) {
            texts.extend(constant::texts(lens, item, Some(lens.code.scope_of(item))));
        }
        texts.iter().any(|text| is_stem(text))
    };
    let asks = match part {
        Expr::Compare(node) => {
            let all: Vec<&Expr> = std::iter::once(&*node.left).chain(&*node.comparators).collect();
            all.iter().any(|expr| of_input(expr)) && all.iter().any(|expr| !of_input(expr) && named(expr))
        }
        Expr::Call(call) => match &*call.func {
            Expr::Attribute(method) => {
                let asking = matches!(
                    method.attr.as_str(),
                    "startswith"
                        | "endswith"
                        | "find"
                        | "index"
                        | "count"
                        | "match"
                        | "search"
                        | "fullmatch"
                        | "fnmatch"
                        | "__contains__"
                        | "removeprefix"
                );
                let arguments = &call.arguments.args;
                asking
                    && ((of_input(&method.value) && arguments.iter().any(named))
                        || (arguments.iter().any(of_input) && (arguments.iter().any(named) || named(&method.value))))
            }
            Expr::Name(_) => {
                let arguments = &call.arguments.args;
                lens.paths(&call.func).iter().any(|path| path.starts_with("re.") || path.starts_with("fnmatch."))
                    && arguments.iter().any(of_input)
                    && arguments.iter().any(named)
            }
            _ => false,
        },
        _ => false,
    };
    asks.then(|| "the result depends on the name of the input".to_owned())
}

/// Does an expression read the input rather than its name?
fn reads(lens: &Lens<'_>, expr: &Expr) -> bool {
    let range = ruff_text_size::Ranged::range(expr);
    lens.code.exprs.iter().any(|node| {
        range.contains_range(ruff_text_size::Ranged::range(node.expr))
            && match node.expr {
                Expr::Call(call) => {
                    lens.paths(&call.func).iter().any(|path| path == "builtins.open" || path.starts_with("pandas.read"))
                        || matches!(&*call.func, Expr::Attribute(node) if matches!(node.attr.as_str(), "read_text" | "read_bytes" | "read" | "readline" | "open"))
                }
                _ => false,
            }
    })
}

/// More than an ending, a scheme or a mark: `new_seen.csv`, not `.csv`, `https://`, `~`, `-`.
fn is_stem(text: &str) -> bool {
    let text = text.trim_matches(['*', '^', '$', '\\']);
    let ending = text.strip_prefix('.').unwrap_or(text);
    let is_ending = ending.len() <= 8
        && (text.starts_with('.') || KNOWN_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
        && ending.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    let is_scheme = text.ends_with("://") || matches!(text, "http" | "https" | "file:" | "ftp");
    !is_ending && !is_scheme && text.chars().filter(|c| c.is_alphanumeric()).count() >= 2
}

const KNOWN_ENDINGS: &[&str] = &[
    "csv", "tsv", "txt", "json", "jsonl", "ndjson", "xml", "xls", "xlsx", "xlsm", "gz", "zip", "bz2", "xz", "parquet",
    "yaml", "yml", "html", "htm", "pdf", "dat", "log", "feather", "ods", "tar", "tgz",
];

/// `__name__ == "__main__"`, `__debug__`, `"pytest" in …`, `hasattr(sys, "ps1")`.
fn asks_for_run(lens: &Lens<'_>, part: &Expr) -> Option<String> {
    if let Expr::Name(name) = part
        && matches!(name.id.as_str(), "__debug__" | "__file__" | "__name__" | "__package__" | "__spec__")
        && matches!(lens.referent(name.id.as_str(), Some(lens.code.scope_of(part))), Referent::Builtin)
    {
        return Some(format!("the result depends on `{}`", name.id));
    }
    if let Expr::Call(call) = part
        && lens.paths(&call.func).iter().any(|path| matches!(path.as_str(), "builtins.id" | "builtins.hash"))
    {
        return Some("the result depends on where values happen to lie".to_owned());
    }
    if let Expr::StringLiteral(text) = part
        && RUN_WORDS.contains(&text.value.to_str().to_ascii_lowercase().as_str())
    {
        return Some(format!("the result depends on `{}`", text.value.to_str()));
    }
    None
}

/// Words that only a question about the run itself would hold.
const RUN_WORDS: &[&str] = &[
    "pytest",
    "_pytest",
    "unittest",
    "doctest",
    "nose",
    "coverage",
    "sanare",
    "pydevd",
    "debugpy",
    "pdb",
    "github_actions",
    "pytest_current_test",
    "__main__",
    "sanare_evidence_file",
    "hypothesis",
    "tox_env_name",
    "gettrace",
    "ld_preload",
    "seccomp",
    "landlock",
    "sandbox",
    "docker",
    "kubernetes_service_host",
    "/.dockerenv",
    "/proc/self/status",
];
