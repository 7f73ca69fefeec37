//! Traps made from the lexicon by rule, at least 20,000 of them, and fields to heal, whose recall is printed.
//!
//! Nothing here is random: the same lexicon makes the same traps.

use sanare_drift::date;
use sanare_drift::names::same;
use sanare_drift::number;

use super::desk::{MEMORIES, Memory, decide, expected, seen, text};
use super::entries::{Entry, LANGUAGES, entries};

/// Steps through a list in a fixed but scattered order.
struct Steps(u64);

impl Steps {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Concepts that can stand for a field: with a role, not made of parts.
fn plain_concepts() -> Vec<&'static Entry> {
    entries()
        .iter()
        .filter(|entry| entry.kind == "concept" && entry.parts.is_empty() && !entry.role.is_empty())
        .collect()
}

fn qualifiers() -> Vec<&'static Entry> {
    entries().iter().filter(|entry| entry.kind == "qualifier" && !entry.terms.is_empty()).collect()
}

fn term(entry: &'static Entry, language: &str, steps: &mut Steps) -> Option<&'static str> {
    let terms = entry.terms_in(language);
    (!terms.is_empty()).then(|| terms[steps.below(terms.len())])
}

/// A name of words, written in one of the ways that headers are written.
fn write(words: &[&str], steps: &mut Steps) -> String {
    let joined = words.join(" ");
    match steps.below(4) {
        0 => joined,
        1 => joined.replace(' ', "_"),
        2 => joined.replace(' ', "-").to_uppercase(),
        _ => joined
            .split(' ')
            .map(|word| {
                let mut chars = word.chars();
                chars.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + chars.as_str())
            })
            .collect(),
    }
}

/// Counts traps and notes the ones that were fallen into.
#[derive(Default)]
struct Tally {
    traps: usize,
    wrong: Vec<String>,
}

impl Tally {
    /// `before` must not be mapped to `now`.
    fn trap(&mut self, kind: &str, before: &str, now: &str, values: char) {
        if before == now {
            return;
        }
        let memory = MEMORIES[self.traps % MEMORIES.len()];
        let closed = self.traps.is_multiple_of(2);
        self.traps += 1;
        let before_fields = [("row", 'i'), (before, values)];
        let now_fields = [("row", 'i'), (now, values)];
        if let Ok(mappings) = decide(&expected(&before_fields, memory), &seen(&now_fields), closed) {
            self.wrong
                .push(format!("{kind}: {before} = {now}, {memory:?}, closed {closed}: {:?}", mappings[0].evidence));
        }
    }

    fn close(self, kind: &str, least: usize) -> usize {
        eprintln!("{kind}: {} traps, {} wrong", self.traps, self.wrong.len());
        assert!(self.traps >= least, "{kind}: only {} traps", self.traps);
        let shown: Vec<&String> = self.wrong.iter().take(40).collect();
        assert!(
            self.wrong.is_empty(),
            "{} wrong\n{}",
            self.wrong.len(),
            shown.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n")
        );
        self.traps
    }
}

#[test]
fn a_qualifier_more_is_another_field() {
    let (mut tally, mut steps) = (Tally::default(), Steps(1));
    for concept in plain_concepts() {
        for qualifier in qualifiers().into_iter().skip(steps.below(3)).step_by(3) {
            let language = LANGUAGES[steps.below(12)];
            let other = LANGUAGES[steps.below(12)];
            let (Some(before), Some(word), Some(now)) = (
                term(concept, language, &mut steps),
                term(qualifier, other, &mut steps),
                term(concept, other, &mut steps),
            ) else {
                continue;
            };
            let now =
                if steps.below(2) == 0 { write(&[word, now], &mut steps) } else { write(&[now, word], &mut steps) };
            if steps.below(8) == 0 {
                tally.trap("qualifier", &now, before, concept.values());
            } else {
                tally.trap("qualifier", before, &now, concept.values());
            }
        }
    }
    tally.close("one qualifier more", 8_000);
}

#[test]
fn another_qualifier_is_another_field() {
    let (mut tally, mut steps) = (Tally::default(), Steps(2));
    let (concepts, qualifiers) = (plain_concepts(), qualifiers());
    for one in &qualifiers {
        for other in &qualifiers {
            if one.id == other.id {
                continue;
            }
            let concept = steps.pick(&concepts);
            let (language, second) = (LANGUAGES[steps.below(12)], LANGUAGES[steps.below(12)]);
            let (Some(a), Some(b), Some(here), Some(there)) = (
                term(one, language, &mut steps),
                term(other, second, &mut steps),
                term(concept, language, &mut steps),
                term(concept, second, &mut steps),
            ) else {
                continue;
            };
            let before = write(&[a, here], &mut steps);
            let now = write(&[b, there], &mut steps);
            tally.trap("qualifiers", &before, &now, concept.values());
        }
    }
    tally.close("another qualifier", 5_000);
}

#[test]
fn another_concept_is_another_field() {
    let (mut tally, mut steps) = (Tally::default(), Steps(3));
    let concepts = plain_concepts();
    for (at, one) in concepts.iter().enumerate() {
        for _ in 0..24 {
            let other = concepts[(at + 1 + steps.below(concepts.len() - 1)) % concepts.len()];
            if one.near.contains(&other.id) || other.near.contains(&one.id) {
                continue;
            }
            let (language, second) = (LANGUAGES[steps.below(15)], LANGUAGES[steps.below(15)]);
            let (Some(before), Some(now)) = (term(one, language, &mut steps), term(other, second, &mut steps)) else {
                continue;
            };
            tally.trap("concepts", before, &write(&[now], &mut steps), one.values());
        }
    }
    tally.close("another concept", 4_000);
}

#[test]
fn another_head_is_another_field() {
    let (mut tally, mut steps) = (Tally::default(), Steps(4));
    let heads: Vec<&Entry> = plain_concepts().into_iter().filter(|entry| entry.head).collect();
    let things: Vec<&Entry> =
        ["customer", "order", "product", "invoice", "station", "employee", "project", "trip", "patient"]
            .into_iter()
            .map(super::entries::find)
            .collect();
    for thing in things {
        for one in &heads {
            for _ in 0..6 {
                let other = steps.pick(&heads);
                if one.id == other.id {
                    continue;
                }
                let (language, second) = (LANGUAGES[steps.below(12)], LANGUAGES[steps.below(12)]);
                let (Some(here), Some(a), Some(there), Some(b)) = (
                    term(thing, language, &mut steps),
                    term(one, language, &mut steps),
                    term(thing, second, &mut steps),
                    term(other, second, &mut steps),
                ) else {
                    continue;
                };
                tally.trap("heads", &write(&[here, a], &mut steps), &write(&[there, b], &mut steps), one.values());
            }
        }
    }
    tally.close("another head", 2_000);
}

#[test]
fn another_unit_is_another_field() {
    let units = [
        "cents",
        "usd",
        "eur",
        "huf",
        "gbp",
        "percent",
        "pct",
        "kg",
        "lb",
        "tonnes",
        "km",
        "miles",
        "ms",
        "seconds",
        "minutes",
        "hours",
        "days",
        "kwh",
        "mwh",
        "kw",
        "fahrenheit",
        "kelvin",
        "thousands",
        "millions",
        "ppm",
        "mm",
        "litres",
    ];
    let brackets = [
        "(%)",
        "(€)",
        "($)",
        "(EUR)",
        "(USD)",
        "(kg)",
        "(km)",
        "(km/h)",
        "(°F)",
        "(ms)",
        "(s)",
        "(Mio. EUR)",
        "(tsd.)",
    ];
    let (mut tally, mut steps) = (Tally::default(), Steps(5));
    let sized: Vec<&Entry> = plain_concepts()
        .into_iter()
        .filter(|entry| matches!(entry.role.as_str(), "money" | "measure" | "rate" | "quantity"))
        .collect();
    for concept in sized {
        for at in 0..units.len() {
            let (language, second) = (LANGUAGES[steps.below(12)], LANGUAGES[steps.below(12)]);
            let (Some(before), Some(now)) = (term(concept, language, &mut steps), term(concept, second, &mut steps))
            else {
                continue;
            };
            let with = format!("{}_{}", now.replace(' ', "_"), units[at]);
            tally.trap("unit", before, &with, concept.values());
            let bracket = format!("{now} {}", steps.pick(&brackets));
            tally.trap("unit", before, &bracket, concept.values());
            let other = units[(at + 1 + steps.below(units.len() - 1)) % units.len()];
            // Two spellings of one unit are no trap.
            if !same_unit(units[at], other) {
                tally.trap("units", &format!("{before} {}", units[at]), &format!("{now} {other}"), concept.values());
            }
        }
    }
    tally.close("another unit", 6_000);
}

fn same_unit(one: &str, other: &str) -> bool {
    matches!((one, other), ("percent", "pct") | ("pct", "percent"))
}

#[test]
fn a_negation_is_another_field() {
    let nots = [("en", "not"), ("de", "nicht"), ("nl", "niet"), ("hu", "nem"), ("sv", "inte"), ("fr", "pas")];
    let (mut tally, mut steps) = (Tally::default(), Steps(6));
    for concept in entries().iter().filter(|entry| entry.kind != "negation" && !entry.terms.is_empty()) {
        for (language, not) in nots {
            let (Some(before), Some(now)) = (term(concept, "en", &mut steps), term(concept, language, &mut steps))
            else {
                continue;
            };
            tally.trap("negation", before, &write(&[not, now], &mut steps), concept.values());
        }
    }
    tally.close("a negation", 2_000);
}

#[test]
fn two_that_mean_the_same_are_one_too_many() {
    let (mut wrong, mut traps, mut steps) = (Vec::new(), 0, Steps(7));
    for concept in plain_concepts() {
        for language in LANGUAGES {
            let other = LANGUAGES[steps.below(LANGUAGES.len())];
            let (Some(one), Some(two), Some(before)) = (
                term(concept, language, &mut steps),
                term(concept, other, &mut steps),
                term(concept, "en", &mut steps),
            ) else {
                continue;
            };
            if one == two || one == before || two == before {
                continue;
            }
            traps += 1;
            let kind = concept.values();
            let decision =
                decide(&expected(&[(before, kind)], Memory::Shape), &seen(&[(one, kind), (two, kind)]), false);
            if decision.is_ok() {
                wrong.push(format!("{before}: {one}, {two} -> {}", text(&decision)));
            }
        }
    }
    eprintln!("two that mean the same: {traps} traps, {} wrong", wrong.len());
    assert!(traps > 1_500 && wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pairs_are_never_swapped() {
    let (mut wrong, mut right, mut refused, mut steps) = (Vec::new(), 0, 0, Steps(8));
    let pairs = [
        ("start", "end"),
        ("minimum", "maximum"),
        ("buyer", "seller"),
        ("gross", "net"),
        ("created", "updated"),
        ("debit", "credit"),
        ("billing", "delivery"),
        ("departure", "arrival"),
        ("previous", "next"),
        ("imported", "exported"),
        ("male", "female"),
        ("planned", "actual"),
    ];
    let concepts: Vec<&Entry> =
        ["date", "amount", "price", "quantity", "temperature", "address", "name", "weight", "cost", "balance"]
            .into_iter()
            .map(super::entries::find)
            .collect();
    for (one, other) in pairs {
        for concept in &concepts {
            for language in &LANGUAGES[1..12] {
                let words = |id: &str, steps: &mut Steps| term(super::entries::find(id), language, steps);
                let thing = |steps: &mut Steps| {
                    let marked = concept.id == "date" || concept.id == "name";
                    if marked { None } else { term(concept, language, steps) }
                };
                let (Some(a), Some(b), Some(now)) =
                    (words(one, &mut steps), words(other, &mut steps), thing(&mut steps))
                else {
                    continue;
                };
                let (first, second) = (format!("{one}_{}", concept.id), format!("{other}_{}", concept.id));
                let kind = concept.values();
                // The new columns stand in the other order.
                let (new_second, new_first) = (write(&[b, now], &mut steps), write(&[a, now], &mut steps));
                if [&new_first, &new_second].iter().any(|name| **name == first || **name == second) {
                    continue;
                }
                let decision = decide(
                    &expected(&[(&first, kind), (&second, kind)], Memory::Shape),
                    &seen(&[(&new_second, kind), (&new_first, kind)]),
                    true,
                );
                match &decision {
                    Ok(_) if text(&decision) == format!("{first}={new_first}, {second}={new_second}") => right += 1,
                    Ok(_) => wrong.push(format!("{language}: {}", text(&decision))),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    eprintln!("pairs in the other order: {right} right, {refused} refused, {} wrong", wrong.len());
    assert!(wrong.is_empty() && right > 300, "{}", wrong.join("\n"));
}

#[test]
fn formats_that_read_two_ways_are_refused() {
    let (mut traps, mut steps) = (0, Steps(9));
    let mut wrong = Vec::new();
    for _ in 0..1_500 {
        let rows = 1 + steps.below(5);
        let point = if steps.below(2) == 0 { '.' } else { ',' };
        let numbers: Vec<String> =
            (0..rows).map(|_| format!("{}{point}{:03}", 1 + steps.below(998), steps.below(1_000))).collect();
        let list: Vec<&str> = numbers.iter().map(String::as_str).collect();
        traps += 1;
        if number::decide(&list, None).is_ok() {
            wrong.push(format!("{numbers:?}"));
        }
        let gap = *steps.pick(&['/', '-', '.']);
        let dates: Vec<String> = (0..rows)
            .map(|_| {
                format!("{:02}{gap}{:02}{gap}{}", 1 + steps.below(12), 1 + steps.below(12), 1990 + steps.below(40))
            })
            .collect();
        let list: Vec<&str> = dates.iter().map(String::as_str).collect();
        let told_apart = dates.iter().any(|date| date[..2] != date[3..5]);
        traps += 1;
        if told_apart && date::decide(&list, None, None).is_ok() {
            wrong.push(format!("{dates:?}"));
        }
        let mixed = ["1.234,50".to_owned(), format!("1,{:03}.50", steps.below(1_000))];
        let list: Vec<&str> = mixed.iter().map(String::as_str).collect();
        traps += 1;
        if number::decide(&list, None).is_ok() {
            wrong.push(format!("{mixed:?}"));
        }
    }
    eprintln!("formats that read two ways: {traps} traps, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every concept, from every promised language into every other: what is mapped, what is refused, nothing wrong.
#[test]
fn recall_of_the_heal_suite() {
    let (mut healed, mut refused, mut wrong, mut steps) = (0, 0, Vec::new(), Steps(10));
    let concepts: Vec<&Entry> = entries()
        .iter()
        .filter(|entry| entry.kind == "concept" && !entry.role.is_empty() && !entry.terms.is_empty())
        .collect();
    for (at, concept) in concepts.iter().enumerate() {
        for language in &LANGUAGES[..12] {
            let second = LANGUAGES[steps.below(12)];
            let decoy = concepts[(at + 1 + steps.below(concepts.len() - 1)) % concepts.len()];
            let (Some(before), Some(now), Some(other)) = (
                term(concept, language, &mut steps),
                term(concept, second, &mut steps),
                term(decoy, second, &mut steps),
            ) else {
                continue;
            };
            let (now, other) = (write(&[now], &mut steps), write(&[other], &mut steps));
            if same(before, &other) || before == now || now == other {
                continue;
            }
            let kind = concept.values();
            let fields = [("row", 'i'), (before, kind)];
            let decision = decide(
                &expected(&fields, Memory::Shape),
                &seen(&[(&other, decoy.values()), ("row", 'i'), (&now, kind)]),
                false,
            );
            match &decision {
                Ok(_) if text(&decision) == format!("{before}={now}") => healed += 1,
                Ok(_) => wrong.push(format!("{before}: {}", text(&decision))),
                Err(_) => refused += 1,
            }
        }
    }
    let recall = f64::from(healed) / f64::from(healed + refused);
    eprintln!("heal suite: {healed} healed, {refused} refused, {} wrong, recall {:.1} %", wrong.len(), recall * 100.0);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(recall > 0.8, "recall {recall}");
}
