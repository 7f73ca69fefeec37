//! The kinds of drift (C61), one file each, in the fixed order of layers (C62).

mod bug_environment;
mod bug_unbound;
mod bug_zero;
mod blank_rows;
mod column_merged;
mod column_split;
mod columns_moved;
mod date_format;
mod deliberate;
mod delimiter;
mod encoding;
mod flag;
mod footer;
mod header_renamed;
mod library;
mod header_row;
mod name_in_list;
mod not_data;
mod null_word;
pub(crate) mod number_format;
mod object;
mod object_again;
#[cfg(test)]
mod object_cases;
mod object_date;
mod object_digits;
mod object_envelope;
mod object_keyed;
mod object_lines;
mod object_moved;
mod object_number;
mod object_optional;
mod object_pages;
mod object_renamed;
mod object_scalar;
mod object_single;
mod object_text;
mod object_time;
mod object_unwrapped;
mod object_xml;
mod object_xml_none;
mod rows;
mod sheet;
pub(crate) mod units;

use std::cell::OnceCell;

use sanare_source::ast::StmtFunctionDef;
use sanare_source::parse::Source;

use crate::code::Code;
use crate::problem::{Answer, Layer, Mapping, Problem, Tier};
use crate::table::Tables;

/// One kind of drift: what it is called and what it says to a problem.
pub struct Kind {
    /// Its name in records, the file's name.
    pub name: &'static str,
    /// Its answer: nothing if the problem is not of this kind.
    pub answer: fn(&Subject) -> Option<Answer>,
}

/// A problem with its source parsed and its target found.
pub struct Subject<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// The module.
    pub source: &'a Source,
    /// The one function that may change.
    pub target: &'a StmtFunctionDef,
    tables: OnceCell<Tables<'a>>,
}

impl<'a> Subject<'a> {
    /// A problem, its module and the function that may change.
    pub fn new(problem: &'a Problem, source: &'a Source, target: &'a StmtFunctionDef) -> Self {
        Self { problem, source, target, tables: OnceCell::new() }
    }

    /// The tables that the target reads, looked at once.
    pub fn tables(&self) -> &Tables<'a> {
        self.tables.get_or_init(|| Tables::of(self.problem, Code::of(self.source, self.target)))
    }
}

/// Every kind, in the order in which layers are laid: the first answer counts.
pub const ALL: &[Kind] = &[
    Kind { name: "not_data", answer: not_data::answer },
    Kind { name: "deliberate", answer: deliberate::answer },
    Kind { name: "encoding", answer: encoding::answer },
    Kind { name: "delimiter", answer: delimiter::answer },
    Kind { name: "sheet_renamed", answer: sheet::answer },
    Kind { name: "header_row", answer: header_row::answer },
    Kind { name: "footer", answer: footer::answer },
    Kind { name: "blank_rows", answer: blank_rows::answer },
    Kind { name: "column_split", answer: column_split::answer },
    Kind { name: "column_merged", answer: column_merged::answer },
    Kind { name: "header_renamed", answer: header_renamed::answer },
    Kind { name: "name_in_list", answer: name_in_list::answer },
    Kind { name: "columns_moved", answer: columns_moved::answer },
    Kind { name: "number_format", answer: number_format::answer },
    Kind { name: "date_format", answer: date_format::answer },
    Kind { name: "flag", answer: flag::answer },
    Kind { name: "null_word", answer: null_word::answer },
    Kind { name: "library", answer: library::answer },
    Kind { name: "object_again", answer: object_again::answer },
    Kind { name: "object", answer: object::answer },
    Kind { name: "object_xml", answer: object_xml::answer },
    Kind { name: "object_xml_none", answer: object_xml_none::answer },
    Kind { name: "bug_unbound", answer: bug_unbound::answer },
    Kind { name: "bug_zero", answer: bug_zero::answer },
    Kind { name: "bug_environment", answer: bug_environment::answer },
];

/// Makes the answers of kinds.
pub struct Layers;

impl Layers {
    /// A layer whose identity rests on mappings. Without a source the target cannot take the edit.
    pub fn mapped(kind: &str, source: Option<String>, mappings: Vec<Mapping>, summary: String) -> Answer {
        let tier = mappings.iter().map(|mapping| mapping.tier).max().unwrap_or(Tier::A);
        let evidence = mappings
            .iter()
            .map(|mapping| format!("{} <- {}: {}", mapping.expected, mapping.seen, mapping.evidence.join("; ")))
            .collect();
        Self::of(kind, source, tier, mappings, summary, evidence)
    }

    /// A layer whose answer is unique by construction.
    pub fn structural(kind: &str, source: Option<String>, summary: String, evidence: Vec<String>) -> Answer {
        Self::of(kind, source, Tier::A, Vec::new(), summary, evidence)
    }

    fn of(
        kind: &str,
        source: Option<String>,
        tier: Tier,
        mappings: Vec<Mapping>,
        summary: String,
        evidence: Vec<String>,
    ) -> Answer {
        match source {
            Some(source) => Answer::Layer(Layer {
                kind: kind.to_owned(),
                source,
                tier,
                mappings,
                summary,
                evidence,
                profiles: Vec::new(),
            }),
            None => crate::engine::refused(
                sanare_core::outcome::Reason::UnsupportedTarget,
                &format!("{summary}, but the function is written in a way that cannot take the repair"),
            ),
        }
    }
}
