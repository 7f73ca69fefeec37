//! Gate 4: a repair can do nothing to the world that the old body could not.

use std::collections::{BTreeSet, HashSet};

use ruff_python_ast::{Expr, Stmt};

use super::Look;
use super::paths::{files, is_in_memory, opens_to_write};
use crate::code::Code;
use crate::lens::{Lens, is_under};
use crate::lists::{Ability, bare, covers, lists};
use crate::reach::{called_deeply, reached_deeply};
use crate::vet::Case;

/// **no_new_abilities**: nothing of `data/abilities.toml` that the old body, and the functions of the file that it calls,
/// did not do; no file opened for writing, and none read that the call does not name.
pub(super) fn no_new_abilities(case: &Case<'_>) -> Look {
    let old: HashSet<String> = reached_deeply(&case.old).into_iter().map(|reach| reach.bare).collect();
    let mut findings = BTreeSet::new();
    for reach in reached_deeply(&case.new) {
        if old.contains(&reach.bare) || is_quietened(&case.new, &reach.bare, reach.expr) {
            continue;
        }
        if let Some(ability) = ability_of(&reach.bare)
            && !is_allowed(case, ability)
        {
            let through = reach.through.map_or_else(String::new, |function| format!(" through `{function}`"));
            findings.insert(format!("{}: `{}`{through}", ability.say, reach.bare));
        }
    }
    findings.extend(by_method(case));
    findings.extend(files(case));
    findings.extend(safeguards(case));
    findings.extend(addresses(case, &old));
    findings.into_iter().collect::<Vec<_>>().into()
}

/// The ability that a path gives.
pub(crate) fn ability_of(path: &str) -> Option<&'static Ability> {
    lists().abilities.ability.iter().find(|ability| {
        ability.modules.iter().any(|module| is_under(path, module))
            || ability.members.iter().any(|member| covers(&bare(member), path))
    })
}

fn is_allowed(case: &Case<'_>, ability: &Ability) -> bool {
    case.context.allow_abilities.contains(&ability.id)
}

/// Warning filters inside `with warnings.catch_warnings()` end with it.
fn is_quietened(lens: &Lens<'_>, path: &str, expr: Option<&Expr>) -> bool {
    if !matches!(path, "warnings.simplefilter" | "warnings.filterwarnings") {
        return false;
    }
    let Some(expr) = expr else { return true };
    let Some(at) = lens.code.place(expr) else { return false };
    lens.code.stmts_around(lens.code.exprs[at].stmt).any(|around| match lens.code.stmts[around].stmt {
        Stmt::With(node) => node
            .items
            .iter()
            .any(|item| lens.paths(&item.context_expr).iter().any(|path| path.starts_with("warnings.catch_warnings"))),
        _ => false,
    })
}

/// Methods whose names say enough, on objects of unknown kind; in the functions of the file that are newly called too.
fn by_method(case: &Case<'_>) -> Vec<String> {
    let mut findings = methods_of(case, &case.new);
    let old = called_deeply(&case.old);
    for function in called_deeply(&case.new) {
        if old.iter().any(|other| std::ptr::eq(*other, function)) {
            continue;
        }
        let code = Code::of(function);
        let lens = Lens { code: &code, module: case.new.module };
        let mut inner = methods_of(case, &lens);
        inner.extend(opens_to_write(&lens));
        findings.extend(inner.into_iter().map(|finding| format!("{finding} through `{}`", function.name)));
    }
    findings
}

fn methods_of(case: &Case<'_>, lens: &Lens<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    let old_text = case.old_source.slice(case.old.code.function);
    for node in &lens.code.exprs {
        let Expr::Call(call) = node.expr else { continue };
        let Expr::Attribute(method) = &*call.func else { continue };
        let name = method.attr.as_str();
        if case.old_uses_attribute(name) && !is_talker(&method.value, old_text)
            || is_harmless(lens, &method.value, name)
        {
            continue;
        }
        let found = lists().abilities.ability.iter().find(|ability| {
            ability.methods.iter().any(|method| method == name)
                || (owner(&method.value).is_some_and(|owner| ability.receivers.iter().any(|one| one == owner))
                    && is_talker(&method.value, old_text))
        });
        if let Some(ability) = found
            && !is_allowed(case, ability)
        {
            findings.push(format!("{}: `.{name}`", ability.say));
        }
    }
    findings
}

/// What a receiver is called.
fn owner(receiver: &Expr) -> Option<&str> {
    match receiver {
        Expr::Name(owner) => Some(owner.id.as_str().trim_start_matches('_')),
        Expr::Attribute(owner) => Some(owner.attr.as_str().trim_start_matches('_')),
        _ => None,
    }
}

/// Does a receiver have the name of something that talks, and did the old body not know it?
fn is_talker(receiver: &Expr, old_text: &str) -> bool {
    owner(receiver).is_some_and(|owner| {
        let talks = lists().abilities.ability.iter().any(|ability| ability.receivers.iter().any(|one| one == owner));
        talks && !old_text.contains(owner)
    })
}

/// A receiver that cannot reach out: text in memory, a pure module, the text methods of a column.
fn is_harmless(lens: &Lens<'_>, receiver: &Expr, name: &str) -> bool {
    if is_in_memory(lens, receiver) {
        return true;
    }
    if name == "extractall" && matches!(receiver, Expr::Attribute(column) if column.attr.as_str() == "str") {
        return true;
    }
    let paths = lens.paths(receiver);
    !paths.is_empty()
        && paths.iter().all(|path| {
            let path = bare(path);
            lists().modules.pure.iter().any(|module| is_under(&path, module)) && ability_of(&path).is_none()
        })
}

/// `verify=False`, `shell=True`, `check_hostname=False`: safeguards switched off.
fn safeguards(case: &Case<'_>) -> Vec<String> {
    let off = |code: &Code<'_>| -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for node in &code.exprs {
            let Expr::Call(call) = node.expr else { continue };
            if let (Expr::Attribute(method), [Expr::StringLiteral(old), Expr::StringLiteral(new)]) =
                (&*call.func, &*call.arguments.args)
                && method.attr.as_str() == "replace"
                && old.value.to_str().starts_with("https")
                && new.value.to_str().starts_with("http")
                && !new.value.to_str().starts_with("https")
            {
                found.insert("`https` becomes `http`".to_owned());
            }
            for keyword in &*call.arguments.keywords {
                let Some(arg) = &keyword.arg else { continue };
                let value = match &keyword.value {
                    Expr::BooleanLiteral(value) => value.value,
                    _ => continue,
                };
                let weak = match arg.as_str() {
                    "verify" | "check_hostname" | "verify_ssl" | "ssl" => !value,
                    "shell" | "allow_pickle" | "trust_remote_code" | "weights_only" => {
                        value != (arg.as_str() == "weights_only")
                    }
                    _ => false,
                };
                if weak {
                    found.insert(format!("`{arg}={}` turns a safeguard off", if value { "True" } else { "False" }));
                }
            }
        }
        found
    };
    off(case.new.code).difference(&off(case.old.code)).cloned().collect()
}

/// An address that the file does not name, in a body that talks to the network.
fn addresses(case: &Case<'_>, old: &HashSet<String>) -> Vec<String> {
    let talks = old.iter().any(|path| ability_of(path).is_some_and(|ability| ability.id == "network"));
    if !talks {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for text in &case.new.code.texts {
        let Some(at) = text.value.find("://") else { continue };
        let host = text.value.get(at + 3..).unwrap_or_default().split(['/', '?', '#', '{']).next().unwrap_or_default();
        let is_namespace = text.value.starts_with('{') || host.ends_with("w3.org");
        if !is_namespace && !case.old_source.text().contains(host) {
            findings.push(format!("an address that the file does not name: `{host}`"));
        }
    }
    findings
}
