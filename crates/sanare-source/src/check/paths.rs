//! Gate 4, files: what is opened, how, and whether the call names it.
//!
//! A path is named by the call if it is a parameter (or an attribute or element of one), perhaps as text or as a `Path`,
//! or what the old body opened. A path built with new parts is another file.

use ruff_python_ast::{Expr, ExprCall};

use crate::code::{BindingKind, ExprNode, ScopeKind};
use crate::constant;
use crate::lens::{Lens, Referent};
use crate::lists::bare;
use crate::module::Global;
use crate::vet::Case;

const DEPTH: usize = 8;

/// How a function opens files: where its path and its mode stand.
struct Opener {
    path: &'static str,
    name: &'static str,
    at: usize,
    mode: Option<usize>,
}

const fn opener(path: &'static str, name: &'static str, at: usize, mode: Option<usize>) -> Opener {
    Opener { path, name, at, mode }
}

const OPENERS: &[Opener] = &[
    opener("builtins.open", "file", 0, Some(1)),
    opener("codecs.open", "filename", 0, Some(1)),
    opener("gzip.open", "filename", 0, Some(1)),
    opener("bz2.open", "filename", 0, Some(1)),
    opener("lzma.open", "filename", 0, Some(1)),
    opener("gzip.GzipFile", "filename", 0, Some(1)),
    opener("bz2.BZ2File", "filename", 0, Some(1)),
    opener("lzma.LZMAFile", "filename", 0, Some(1)),
    opener("zipfile.ZipFile", "file", 0, Some(1)),
    opener("tarfile.open", "name", 0, Some(1)),
    opener("tarfile.TarFile", "name", 0, Some(1)),
    opener("aiofiles.open", "file", 0, Some(1)),
];

/// Functions that read a path, an address or an open file.
const READERS: &[&str] = &[
    "numpy.loadtxt",
    "numpy.genfromtxt",
    "numpy.fromfile",
    "xml.etree.ElementTree.parse",
    "xml.etree.ElementTree.iterparse",
    "xml.dom.minidom.parse",
    "xml.sax.parse",
    "openpyxl.load_workbook",
    "xlrd.open_workbook",
    "calamine.CalamineWorkbook",
    "os.path.exists",
    "os.path.isfile",
    "os.path.isdir",
    "os.path.getsize",
    "os.path.getmtime",
    "os.stat",
    "zipfile.is_zipfile",
    "tarfile.is_tarfile",
    "zipfile.Path",
    "polars.scan_csv",
    "polars.scan_parquet",
    "lxml.etree.parse",
    "tomli.load",
    "PIL.Image.open",
];

/// Methods of a path that read what it names.
const PATH_METHODS: &[&str] =
    &["read_text", "read_bytes", "exists", "is_file", "is_dir", "stat", "lstat", "samefile", "resolve", "open"];

/// What is wrong with the files that the candidate opens.
pub(super) fn files(case: &Case<'_>) -> Vec<String> {
    let lens = &case.new;
    let mut findings = Vec::new();
    for node in &lens.code.exprs {
        let Expr::Call(call) = node.expr else { continue };
        for path in lens.paths(&call.func) {
            let plain = bare(&path);
            if let Some(opener) = OPENERS.iter().find(|opener| opener.path == plain) {
                findings.extend(opened(case, call, opener));
            } else if !path.contains('(') && (READERS.contains(&plain.as_str()) || is_table_reader(&plain)) {
                findings.extend(read(case, call));
            }
        }
        if let Expr::Attribute(method) = &*call.func {
            findings.extend(by_path_method(case, call, &method.value, method.attr.as_str()));
        }
        if writes_to_open_file(case, call) {
            findings.push("writes: `.write`".to_owned());
        }
    }
    findings.sort();
    findings.dedup();
    findings
}

fn is_table_reader(path: &str) -> bool {
    ["pandas.read_", "polars.read_", "geopandas.read_", "pyarrow.csv.read_", "pyarrow.parquet.read_"]
        .iter()
        .any(|start| path.starts_with(start))
}

fn opened(case: &Case<'_>, call: &ExprCall, opener: &Opener) -> Vec<String> {
    let mut findings = Vec::new();
    let mode = opener.mode.and_then(|at| call.arguments.find_argument_value("mode", at));
    findings.extend(writes(case, call, mode));
    let was_spread =
        |node: &ExprNode<'_>| matches!(node.expr, Expr::Call(old) if same_callee(old, call) && is_spread(old));
    if is_spread(call) && !case.old.code.exprs.iter().any(was_spread) {
        findings.push("opens a file in a way that is not written out".to_owned());
    }
    if call.arguments.find_keyword("opener").is_some() {
        findings.push("opens files by a function of its own".to_owned());
    }
    match call.arguments.find_argument_value(opener.name, opener.at) {
        Some(path)
            if is_named(case, path, &[]) || (opener.path != "builtins.open" && is_in_memory(&case.new, path)) => {}
        Some(path) => findings.push(format!("opens `{}`, which the call does not name", case.text(path))),
        None if call.arguments.find_keyword("fileobj").is_some() || call.arguments.is_empty() => {}
        None => findings.push("opens a file that the call does not name".to_owned()),
    }
    findings
}

fn writes(case: &Case<'_>, call: &ExprCall, mode: Option<&Expr>) -> Option<String> {
    let mode = mode?;
    let texts = constant::texts(&case.new, mode, Some(case.new.code.scope_of(mode)));
    let may_write = texts.is_empty()
        || texts
            .iter()
            .any(|text| text.contains(['w', 'a', 'x', '+']) && !text.starts_with("r:") && !text.starts_with("r|"));
    let is_old = case.old.code.exprs.iter().any(|node| match node.expr {
        Expr::Call(old) => {
            let old_mode = old.arguments.find_argument_value("mode", 1);
            old_mode.is_some_and(|old| {
                use ruff_python_ast::comparable::ComparableExpr;
                ComparableExpr::from(old) == ComparableExpr::from(mode)
            }) && same_callee(old, call)
        }
        _ => false,
    });
    (may_write && !is_old).then(|| format!("opens a file to write: `{}`", case.text(mode)))
}

/// Does a function of the file open anything to write?
pub(super) fn opens_to_write(lens: &Lens<'_>) -> Option<String> {
    lens.code.exprs.iter().find_map(|node| {
        let Expr::Call(call) = node.expr else { return None };
        let at = lens.paths(&call.func).iter().find_map(|path| {
            let plain = bare(path);
            OPENERS.iter().find(|opener| opener.path == plain).and_then(|opener| opener.mode)
        })?;
        let mode = call.arguments.find_argument_value("mode", at)?;
        let texts = constant::texts(lens, mode, Some(node.scope));
        let may_write = texts.is_empty() || texts.iter().any(|text| text.contains(['w', 'a', 'x', '+']));
        may_write.then(|| "opens a file to write".to_owned())
    })
}

/// `f(*args)`, `f(**options)`
fn is_spread(call: &ExprCall) -> bool {
    call.arguments.args.iter().any(Expr::is_starred_expr)
        || call.arguments.keywords.iter().any(|keyword| keyword.arg.is_none())
}

fn same_callee(a: &ExprCall, b: &ExprCall) -> bool {
    use ruff_python_ast::comparable::ComparableExpr;
    ComparableExpr::from(&a.func) == ComparableExpr::from(&b.func)
}

fn read(case: &Case<'_>, call: &ExprCall) -> Option<String> {
    let source = call.arguments.args.first().or_else(|| {
        ["filepath_or_buffer", "io", "source", "path", "fname", "filename", "path_or_buf"]
            .iter()
            .find_map(|name| call.arguments.find_keyword(name).map(|keyword| &keyword.value))
    })?;
    let fine = is_named(case, source, &[]) || is_in_memory(&case.new, source) || is_handle(case, source, 0);
    (!fine).then(|| format!("reads `{}`, which the call does not name", case.text(source)))
}

fn by_path_method(case: &Case<'_>, call: &ExprCall, receiver: &Expr, name: &str) -> Vec<String> {
    let lens = &case.new;
    let of_path = lens.paths(receiver).iter().any(|path| path.starts_with("pathlib."))
        || (matches!(name, "read_text" | "read_bytes") && lens.paths(receiver).is_empty());
    if !PATH_METHODS.contains(&name) || !of_path {
        return Vec::new();
    }
    let mut findings = Vec::new();
    if name == "open" {
        findings.extend(writes(case, call, call.arguments.find_argument_value("mode", 0)));
    }
    if name != "resolve" && !is_named(case, receiver, &[]) {
        findings.push(format!("reads `{}`, which the call does not name", case.text(receiver)));
    }
    findings
}

/// `.write` on something that is not made in memory, where the old body wrote nothing.
fn writes_to_open_file(case: &Case<'_>, call: &ExprCall) -> bool {
    let Expr::Attribute(method) = &*call.func else { return false };
    if !matches!(method.attr.as_str(), "write" | "writelines") || case.old_uses_attribute(method.attr.as_str()) {
        return false;
    }
    let to_people =
        case.new.paths(&method.value).iter().any(|path| matches!(path.as_str(), "sys.stderr" | "sys.stdout"));
    !to_people && !is_in_memory(&case.new, &method.value)
}

/// Is a value made in memory: `io.StringIO(text)`, `io.BytesIO(data)`, a hash, a compressor?
pub(super) fn is_in_memory(lens: &Lens<'_>, expr: &Expr) -> bool {
    let paths = lens.paths(expr);
    !paths.is_empty()
        && paths.iter().all(|path| {
            ["io.StringIO(", "io.BytesIO(", "io.TextIOWrapper(", "hashlib.", "zlib.", "array.array(", "csv.writer("]
                .iter()
                .any(|start| path.starts_with(start))
        })
}

/// Is a value an open file: bound by `open`, by a method `open` of an archive, or a response?
fn is_handle(case: &Case<'_>, expr: &Expr, depth: usize) -> bool {
    if depth > DEPTH {
        return false;
    }
    let lens = &case.new;
    match expr {
        Expr::Call(call) => {
            // `StringIO`, a decoder, a helper of the body: not a path written or built here.
            let opens = lens.paths(&call.func).iter().any(|path| path.ends_with("open") || path.starts_with("io."));
            let by_method = matches!(&*call.func, Expr::Attribute(node) if matches!(node.attr.as_str(), "open" | "extractfile" | "makefile"));
            opens || by_method || lens.callee(call).is_some()
        }
        Expr::Name(name) => match lens.referent(name.id.as_str(), Some(lens.code.scope_of(expr))) {
            Referent::Local(_, bindings) => bindings.iter().all(|binding| match binding.kind {
                BindingKind::With(value) | BindingKind::Value(value) => {
                    is_handle(case, value, depth + 1) || is_in_memory(lens, value) || is_named(case, value, &[])
                }
                BindingKind::Parameter(..) | BindingKind::Rest => true,
                _ => false,
            }),
            _ => false,
        },
        _ => false,
    }
}

/// Does the call of the function name this path? `open` are the names that are being looked through.
fn is_named(case: &Case<'_>, expr: &Expr, open: &[&str]) -> bool {
    if open.len() > DEPTH {
        return false;
    }
    let go = |inner: &Expr| is_named(case, inner, open);
    let lens = &case.new;
    if is_what_it_was(case, expr, open) {
        return true;
    }
    match expr {
        // A name that is rebound to something made of itself is what its other bindings are.
        Expr::Name(name) if open.contains(&name.id.as_str()) => true,
        Expr::Name(name) => {
            let open: Vec<&str> = open.iter().copied().chain([name.id.as_str()]).collect();
            is_name_named(case, expr, name.id.as_str(), &open)
        }
        Expr::Attribute(node) => !OTHER_FILE.contains(&node.attr.as_str()) && go(&node.value),
        Expr::Subscript(node) => is_parameter(lens, &node.value) && !node.slice.is_slice_expr(),
        Expr::If(node) => go(&node.body) && go(&node.orelse),
        Expr::BoolOp(node) => node.values.iter().all(go),
        Expr::Named(node) => go(&node.value),
        Expr::Call(call) => {
            let same_file = lens.paths(&call.func).iter().any(|path| SAME_FILE.contains(&bare(path).as_str()));
            match (&*call.func, &*call.arguments.args) {
                (_, [only]) if same_file && call.arguments.keywords.is_empty() => go(only),
                (Expr::Attribute(method), []) => {
                    matches!(method.attr.as_str(), "resolve" | "absolute" | "strip" | "as_posix" | "__fspath__")
                        && go(&method.value)
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// Functions that give the same file back.
const SAME_FILE: &[&str] = &[
    "builtins.str",
    "pathlib.Path",
    "pathlib.PurePath",
    "os.fspath",
    "os.fsdecode",
    "os.fsencode",
    "os.path.abspath",
    "os.path.realpath",
    "os.path.normpath",
    "pathlib.PosixPath",
];
/// Attributes of a path that are another path, or a part of one.
const OTHER_FILE: &[&str] =
    &["parent", "parents", "root", "anchor", "drive", "stem", "suffix", "suffixes", "name", "parts"];

fn is_name_named(case: &Case<'_>, expr: &Expr, name: &str, open: &[&str]) -> bool {
    let lens = &case.new;
    match lens.referent(name, Some(lens.code.scope_of(expr))) {
        Referent::Local(holder, bindings) => bindings.iter().all(|binding| match &binding.kind {
            BindingKind::Parameter(..) | BindingKind::Rest if holder == 0 => true,
            BindingKind::Parameter(position, default) => {
                let helper = matches!(lens.code.scopes[holder].kind, ScopeKind::Function);
                let calls = constant::calls_of_scope(lens, holder);
                helper
                    && !calls.is_empty()
                    && default.is_none_or(|default| is_named(case, default, open))
                    && calls.iter().all(|call| {
                        let value = call.arguments.find_argument_value(name, *position);
                        value.map_or(default.is_some(), |value| is_named(case, value, open))
                    })
            }
            // A name rebound to something in memory opens no other file.
            BindingKind::Value(value) => is_named(case, value, open) || is_in_memory(lens, value),
            BindingKind::Each(iter) => {
                is_parameter(lens, iter)
                    || crate::code::collect_elements(iter)
                        .is_some_and(|parts| parts.iter().all(|part| is_named(case, part, open)))
                    || is_what_it_was(case, iter, open)
            }
            BindingKind::EachPart(iter, _) | BindingKind::Part(iter, _) => is_what_it_was(case, iter, open),
            BindingKind::With(value) => is_what_it_was(case, value, open),
            _ => false,
        }),
        Referent::Outer(globals) => {
            let is_import = globals.iter().any(|global| matches!(global, Global::Import(_)));
            !is_import && case.is_old(expr)
        }
        Referent::Builtin => false,
    }
}

fn is_parameter(lens: &Lens<'_>, expr: &Expr) -> bool {
    match expr {
        Expr::Name(name) => {
            matches!(lens.referent(name.id.as_str(), Some(lens.code.scope_of(expr))), Referent::Local(0, bindings)
                if bindings.iter().all(|binding| matches!(binding.kind, BindingKind::Parameter(..) | BindingKind::Rest)))
        }
        Expr::Attribute(node) => is_parameter(lens, &node.value),
        _ => false,
    }
}

/// An expression of the old body whose names mean what they meant there.
fn is_what_it_was(case: &Case<'_>, expr: &Expr, open: &[&str]) -> bool {
    if open.len() > DEPTH || expr.is_name_expr() || !case.is_old(expr) {
        return false;
    }
    crate::flow::names_in(expr).iter().all(|name| {
        if open.contains(name) {
            return true;
        }
        let open: Vec<&str> = open.iter().copied().chain([*name]).collect();
        let Some((_, bindings)) = case.new.code.lookup(name, case.new.code.scope_of(expr)) else { return true };
        bindings.iter().all(|binding| match binding.kind {
            BindingKind::Value(value) => is_what_it_was(case, value, &open) || is_named(case, value, &open),
            BindingKind::Each(value)
            | BindingKind::EachPart(value, _)
            | BindingKind::Part(value, _)
            | BindingKind::With(value) => case.is_old(value),
            BindingKind::Parameter(..) | BindingKind::Rest | BindingKind::Import(_) | BindingKind::Function(..) => true,
            _ => false,
        })
    })
}
