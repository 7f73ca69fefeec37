//! The static gates: what can be said of a candidate by looking at it, next to the function it would replace.
//!
//! Nothing is run. Each check is one file under `check/`; [`crate::check::ALL`] is their order. Abilities, guards and
//! defaults are judged against the old body: what it could do, raised and read, the candidate may, must and must.

use std::collections::HashSet;

use ruff_python_ast::comparable::ComparableExpr;
use ruff_python_ast::{Expr, ExprCall, Stmt, StmtFunctionDef};
use sanare_core::gate::{Check, Gate, GateReport};

use crate::candidate;
use crate::check::{ALL, Look, Unit, Work};
use crate::code::Code;
use crate::lens::Lens;
use crate::lists::lists;
use crate::module::Module;
use crate::parse::Source;
use crate::reach::called_deeply;

/// What the gates know besides the two texts.
#[derive(Clone, Debug)]
pub struct VetContext {
    /// The running interpreter's version: a candidate in a newer grammar fails `parses`.
    pub python: (u8, u8),
    /// The file's encoding; characters outside strings must fit into it.
    pub encoding: String,
    /// First line of the target (decorators included), for files that define the name twice.
    pub first_line: Option<usize>,
    /// What the failing values hold.
    pub seen_literals: Vec<SeenLiteral>,
    /// Candidates that were rejected for this incident before.
    pub rejected_before: Vec<String>,
    /// Modules that may be imported besides the built-in list (`heal.gates.allow_imports`).
    pub allow_imports: Vec<String>,
    /// Abilities (ids of `data/abilities.toml`) that may be gained (`heal.gates.allow_abilities`).
    pub allow_abilities: Vec<String>,
    /// The most lines that may change (`heal.gates.max_changed_lines`).
    pub max_changed_lines: usize,
    /// Names that the old body reads and that must still be read; found in the old body when empty.
    pub expected_names: Vec<String>,
    /// Keys that may have no new default, besides those that the old body reads.
    pub no_new_default_keys: Vec<String>,
}

impl Default for VetContext {
    fn default() -> Self {
        Self {
            python: (3, 10),
            encoding: "utf-8".to_owned(),
            first_line: None,
            seen_literals: Vec::new(),
            rejected_before: Vec::new(),
            allow_imports: Vec::new(),
            allow_abilities: Vec::new(),
            max_changed_lines: 120,
            expected_names: Vec::new(),
            no_new_default_keys: Vec::new(),
        }
    }
}

/// A text or number from the failing values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenLiteral {
    /// The text, or the number as it is written.
    pub text: String,
    /// A key, a header, or a part of a format: a repair may name it.
    pub structural: bool,
}

/// What the checks of gates 3 and 4 look at.
pub(crate) struct Case<'a> {
    /// The function as it is.
    pub old: Lens<'a>,
    /// The function as it would be.
    pub new: Lens<'a>,
    /// The file.
    pub old_source: &'a Source,
    /// The candidate.
    pub new_source: &'a Source,
    /// What else is known.
    pub context: &'a VetContext,
    /// Every expression of the old body.
    pub old_exprs: HashSet<ComparableExpr<'a>>,
    /// Every text of the old body.
    pub old_texts: HashSet<&'a str>,
    /// The functions of the file that the old body runs.
    pub old_helpers: &'a [Code<'a>],
}

impl<'a> Case<'a> {
    /// Does the old body hold an equal expression?
    pub fn is_old(&self, expr: &Expr) -> bool {
        self.old_exprs.contains(&ComparableExpr::from(expr))
    }

    /// The calls of the old body and of the functions of the file that it runs.
    pub fn old_calls(&self) -> impl Iterator<Item = &'a ExprCall> {
        let helpers = self.old_helpers.iter().flat_map(|code| &code.exprs);
        self.old.code.exprs.iter().chain(helpers).filter_map(|node| node.expr.as_call_expr())
    }

    /// Does the old body, or a function of the file that it runs, name this attribute?
    pub fn old_uses_attribute(&self, name: &str) -> bool {
        self.old_helpers.iter().chain([self.old.code]).any(|code| {
            code.exprs.iter().any(|node| matches!(node.expr, Expr::Attribute(here) if here.attr.as_str() == name))
        })
    }

    /// The text of an expression of the candidate, on one line and not too long.
    pub fn text(&self, expr: &Expr) -> String {
        let text = self.new_source.slice(expr).split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(60) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text,
        }
    }
}

/// What the fence looks at: the two functions, and whatever stands around the candidate's.
pub(crate) struct FenceCase<'a> {
    /// The function as it is.
    pub old: &'a StmtFunctionDef,
    /// The function as it would be, if the candidate holds one.
    pub new: Option<&'a StmtFunctionDef>,
    /// All statements of the candidate.
    pub statements: &'a [Stmt],
    /// The names around the target.
    pub module: &'a Module<'a>,
}

/// Asks the static checks in order; the first failure ends it.
pub fn vet(old_module: &str, qualified_name: &str, candidate: &str, context: &VetContext) -> GateReport {
    Run { context, go_on: false, report: GateReport::default() }.all(old_module, qualified_name, candidate)
}

/// Asks all static checks that can be asked and lists every finding, one failed check each.
pub fn vet_all(old_module: &str, qualified_name: &str, candidate: &str, context: &VetContext) -> GateReport {
    Run { context, go_on: true, report: GateReport::default() }.all(old_module, qualified_name, candidate)
}

struct Run<'c> {
    context: &'c VetContext,
    go_on: bool,
    report: GateReport,
}

impl Run<'_> {
    fn all(mut self, old_module: &str, qualified_name: &str, candidate: &str) -> GateReport {
        if let Some(broken) = &lists().broken {
            self.report.checks.push(Check::failed(
                Gate::Syntax,
                "size",
                format!("the lists of this build are broken: {broken}"),
            ));
            return self.report;
        }
        for unit in ALL {
            if let Work::Text(look) = unit.work
                && !self.note(unit, look(candidate, self.context))
            {
                return self.report;
            }
        }
        // A candidate that does not parse, or would exhaust the stack, has nothing more to look at.
        if self.report.first_failure().is_some_and(|check| matches!(check.name.as_str(), "size" | "parses")) {
            return self.report;
        }
        let flat = candidate::flatten(candidate);
        let Ok(new_source) = Source::parse(&flat) else { return self.refuse("parses", "the candidate does not parse") };
        let Ok(old_source) = Source::parse(old_module) else { return self.refuse("parses", "the file does not parse") };
        let Some(old) = target(&old_source, qualified_name, self.context.first_line, &new_source) else {
            return self.refuse("one_function", &format!("the file has no single function `{qualified_name}`"));
        };
        self.trees(&old_source, qualified_name, old, &new_source);
        self.report
    }

    fn trees(&mut self, old_source: &Source, qualified_name: &str, old: &StmtFunctionDef, new_source: &Source) {
        let module = Module::around(old_source.body(), qualified_name, old);
        let new = function_of(new_source, old.name.as_str());
        let fence = FenceCase { old, new, statements: new_source.body(), module: &module };
        for unit in ALL {
            if let Work::Fence(look) = unit.work
                && !self.note(unit, look(&fence))
            {
                return;
            }
        }
        let Some(new) = new else { return };
        let (old_code, new_code) = (Code::of(old), Code::of(new));
        let old_lens = Lens { code: &old_code, module: &module };
        let helpers: Vec<Code<'_>> = called_deeply(&old_lens).into_iter().map(Code::of).collect();
        let case = Case {
            old: old_lens,
            new: Lens { code: &new_code, module: &module },
            old_source,
            new_source,
            context: self.context,
            old_exprs: old_code.exprs.iter().map(|node| ComparableExpr::from(node.expr)).collect(),
            old_texts: old_code.texts.iter().map(|text| text.value).collect(),
            old_helpers: &helpers,
        };
        for unit in ALL {
            if let Work::Tree(look) = unit.work
                && !self.note(unit, look(&case))
            {
                return;
            }
        }
    }

    /// Writes an answer down; says whether to go on.
    fn note(&mut self, unit: &Unit, look: Look) -> bool {
        match look {
            Look::Passed => self.report.checks.push(Check::passed(unit.gate, unit.name)),
            Look::Skipped(why) => self.report.checks.push(Check::skipped(unit.gate, unit.name, why)),
            Look::Failed(reasons) => {
                let kept = if self.go_on { reasons.len() } else { 1 };
                for reason in reasons.into_iter().take(kept) {
                    self.report.checks.push(Check::failed(unit.gate, unit.name, reason));
                }
                return self.go_on;
            }
        }
        true
    }

    fn refuse(mut self, name: &str, reason: &str) -> GateReport {
        let gate = if name == "one_function" { Gate::Fence } else { Gate::Syntax };
        self.report.checks.push(Check::failed(gate, name, reason));
        self.report
    }
}

/// The function to compare with. Of several of one name, the one at `first_line`, else the one whose header is the candidate's.
fn target<'a>(
    source: &'a Source,
    qualified_name: &str,
    first_line: Option<usize>,
    candidate: &Source,
) -> Option<&'a StmtFunctionDef> {
    if let Some(line) = first_line {
        return source.function_at(qualified_name, line);
    }
    let found = source.functions(qualified_name);
    if let [only] = found.as_slice() {
        return Some(only);
    }
    let new = function_of(candidate, found.first()?.name.as_str())?;
    found.into_iter().find(|old| crate::check::has_same_header(old, new))
}

/// The candidate's function: the one of that name, else the first there is.
fn function_of<'a>(source: &'a Source, name: &str) -> Option<&'a StmtFunctionDef> {
    let functions = || source.body().iter().filter_map(|stmt| stmt.as_function_def_stmt());
    functions().find(|function| function.name.as_str() == name).or_else(|| functions().next())
}
