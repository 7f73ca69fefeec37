//! The refusal report (C59): ranked candidates, evidence, vetoes, the clause that failed, what would settle it.

use sanare_core::outcome::Reason;

use super::assign::Table;
use super::evidence::Fit;
use super::near;
use super::veto::{Rule, Veto};
use crate::problem::{Candidate, FieldReport, Refusal};

/// Candidates reported for one field.
const MOST_CANDIDATES: usize = 5;

/// Which clause of C55 an expected field fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No field has an identity for it (1).
    NoIdentity,
    /// The only field with an identity has no support (1).
    NoSupport,
    /// The only field with an identity is vetoed (2).
    Vetoed(Rule),
    /// A word in it has two meanings that nothing settles (3).
    Unsettled,
    /// Several fields have an identity for it (3).
    Several,
    /// A field has an identity, another has one and is vetoed (V8).
    VetoedRival,
    /// The field could be another expected one as well (3).
    WantedTwice,
}

/// The refusal of a batch that is too large to decide on.
pub(super) fn too_much(names: usize, columns: usize) -> Refusal {
    Refusal {
        reason: Reason::BudgetSpent,
        summary: format!("{names} missing names among {columns} columns are more than are decided at once"),
        fields: Vec::new(),
        hint: "name the fields in a contract".to_owned(),
    }
}

/// The refusal for the needed fields, of which at least one failed.
pub(super) fn refusal(table: &Table, judged: Vec<(usize, Result<usize, Failure>)>) -> Refusal {
    let mut fields = Vec::new();
    let mut worst: Option<(u8, Reason, usize)> = None;
    for (expected, found) in &judged {
        let Err(failure) = found else { continue };
        let candidates = candidates(table, *expected);
        let reason = reason(*failure, &candidates);
        let weight = weight(reason);
        if worst.is_none_or(|(other, ..)| weight > other) {
            worst = Some((weight, reason, *expected));
        }
        fields.push(FieldReport {
            expected: table.expected[*expected].name.clone(),
            candidates: candidates.into_iter().map(|ranked| ranked.candidate).collect(),
            unmet: unmet(*failure).to_owned(),
        });
    }
    let (_, reason, expected) = worst.unwrap_or((0, Reason::Internal, 0));
    let name = table.expected.get(expected).map_or("", |field| field.name.as_str());
    let best = fields.iter().find(|field| field.expected == name).and_then(|field| field.candidates.first());
    let summary = summary(name, reason, best, table);
    let hint = match best {
        Some(best) => format!(
            "if `{0}` is `{name}`: a contract alias, a line in the owner's lexicon, or `sanare approve ID --map {name}={0}`",
            best.seen
        ),
        None => format!("a contract alias or a line in the owner's lexicon for `{name}`"),
    };
    Refusal { reason, summary, fields, hint }
}

fn summary(name: &str, reason: Reason, best: Option<&Candidate>, table: &Table) -> String {
    let seen = best.map_or(String::new(), |best| best.seen.clone());
    let veto = best.and_then(|best| best.vetoes.first()).map_or(String::new(), |veto| format!(": {veto}"));
    match reason {
        Reason::Ambiguous => format!("`{name}` is not there, and more than one field could be it, such as `{seen}`"),
        Reason::Vetoed => format!("`{name}` is not there, and `{seen}` means something else{veto}"),
        Reason::ScaleOrUnit => format!("`{name}` is not there, and `{seen}` has another unit or scale{veto}"),
        Reason::NoIdentity => format!("`{name}` is not there, and nothing proves that `{seen}` is it"),
        _ => {
            let mut names: Vec<&str> = table.seen.iter().take(8).map(|field| field.name.as_str()).collect();
            if table.seen.len() > names.len() {
                names.push("…");
            }
            format!("`{name}` is not there under any name that can be proved; there are {}", names.join(", "))
        }
    }
}

fn weight(reason: Reason) -> u8 {
    match reason {
        Reason::Ambiguous => 5,
        Reason::ScaleOrUnit => 4,
        Reason::Vetoed => 3,
        Reason::NoIdentity => 2,
        _ => 1,
    }
}

fn reason(failure: Failure, candidates: &[Ranked]) -> Reason {
    match failure {
        Failure::Several | Failure::VetoedRival | Failure::WantedTwice | Failure::Unsettled => Reason::Ambiguous,
        Failure::Vetoed(rule) if Table::is_about_scale(rule) => Reason::ScaleOrUnit,
        Failure::Vetoed(_) => Reason::Vetoed,
        Failure::NoSupport => Reason::NoIdentity,
        Failure::NoIdentity => match candidates.first() {
            None => Reason::MissingField,
            // The same concept, and only the qualifier, unit or role keeps it from being the field.
            Some(best) if best.same_concept => match best.rule {
                Some(rule) if Table::is_about_scale(rule) => Reason::ScaleOrUnit,
                Some(_) => Reason::Vetoed,
                None => Reason::NoIdentity,
            },
            Some(_) => Reason::NoIdentity,
        },
    }
}

fn unmet(failure: Failure) -> &'static str {
    match failure {
        Failure::NoIdentity => "clause 1: no field has an identity for it",
        Failure::NoSupport => "clause 1: the one field with an identity has no support",
        Failure::Vetoed(_) => "clause 2: the one field with an identity is vetoed",
        Failure::Unsettled => "clause 3: a word of two meanings that the other headers do not settle",
        Failure::Several => "clause 3: more than one field has an identity for it",
        Failure::VetoedRival => {
            "clause 2 (V8): one field has an identity but is vetoed, so no other may take its place"
        }
        Failure::WantedTwice => "clause 3: the field could be another expected one as well",
    }
}

struct Ranked {
    candidate: Candidate,
    weight: f64,
    same_concept: bool,
    rule: Option<Rule>,
}

/// Fields that could be meant, best first.
fn candidates(table: &Table, expected: usize) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = table.open.iter().filter_map(|seen| candidate(table, expected, *seen)).collect();
    ranked.sort_by(|one, other| {
        other.weight.total_cmp(&one.weight).then_with(|| one.candidate.seen.cmp(&other.candidate.seen))
    });
    ranked.truncate(MOST_CANDIDATES);
    ranked
}

fn candidate(table: &Table, expected: usize, seen: usize) -> Option<Ranked> {
    let (name, other) = (&table.expected_names[expected], &table.seen_names[seen]);
    if let Some(edge) = table.edges.iter().find(|edge| edge.expected == expected && edge.seen == seen) {
        let mut evidence = vec![edge.identity.text.clone()];
        evidence.extend(edge.support.iter().cloned());
        let weight = 100.0 - edge.vetoes.len() as f64;
        return Some(ranked(table, seen, evidence, &edge.vetoes, weight, true));
    }
    let (vetoes, fit) = table.weigh(expected, seen, false);
    let concepts = |list: &[crate::lexicon::Reading]| -> Vec<u16> {
        list.iter().flat_map(|reading| reading.concepts.iter().chain(&reading.qualifiers).copied()).collect()
    };
    let (ours, theirs) = (concepts(&name.meaning.readings), concepts(&other.meaning.readings));
    let shared: Vec<&str> =
        ours.iter().filter(|id| theirs.contains(id)).map(|id| table.context.lexicon.entry(*id).id.as_str()).collect();
    let words: Vec<&String> =
        name.canonical.tokens.iter().filter(|word| other.canonical.tokens.contains(word)).collect();
    let alike = strsim::jaro_winkler(&name.canonical.key(), &other.canonical.key());
    let mut evidence = Vec::new();
    if !shared.is_empty() {
        evidence.push(format!("shares the concept {}", shared.join(", ")));
    } else if !words.is_empty() {
        let words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
        evidence.push(format!("shares the word {}", words.join(", ")));
    }
    if let Some(why) = near::near(name, other, table.context.lexicon) {
        evidence.push(format!("{why}, but the record is not closed"));
    }
    if alike > 0.9 {
        evidence.push("spelt alike, which proves nothing".to_owned());
    }
    if let Fit::Fits(text) = fit {
        evidence.push(text.to_owned());
    }
    let says_something = !shared.is_empty() || !words.is_empty() || alike > 0.9 || matches!(fit, Fit::Fits(_));
    let weight = 20.0 * shared.len() as f64 + 10.0 * words.len() as f64 + 5.0 * alike - 2.0 * vetoes.len() as f64
        + f64::from(u8::from(matches!(fit, Fit::Fits(_)))) * 4.0;
    says_something.then(|| ranked(table, seen, evidence, &vetoes, weight, !shared.is_empty()))
}

fn ranked(
    table: &Table,
    seen: usize,
    evidence: Vec<String>,
    vetoes: &[Veto],
    weight: f64,
    same_concept: bool,
) -> Ranked {
    Ranked {
        candidate: Candidate {
            seen: table.seen[seen].name.clone(),
            evidence,
            vetoes: vetoes.iter().map(|veto| veto.text.clone()).collect(),
        },
        weight,
        same_concept,
        rule: vetoes.first().map(|veto| veto.rule),
    }
}
