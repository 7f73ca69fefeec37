//! How long the lexicon and a mapping of 50 columns take; the bars hold in an optimised build.

use std::time::{Duration, Instant};

use sanare_drift::lexicon::Lexicon;

use super::desk::{Memory, decide, expected, seen};

/// The least time of several runs.
fn least(runs: usize, mut work: impl FnMut()) -> Duration {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

#[test]
fn the_lexicon_loads_and_fifty_columns_are_mapped_in_time() {
    let load = least(if cfg!(debug_assertions) { 2 } else { 40 }, || assert!(Lexicon::with_owner(&[]).is_ok()));
    let things =
        ["order", "customer", "product", "invoice", "supplier", "warehouse", "shipment", "payment", "store", "project"];
    let kunde =
        ["bestellung", "kunde", "produkt", "rechnung", "lieferant", "lager", "sendung", "zahlung", "laden", "projekt"];
    let heads = [
        ("date", "datum", 'd'),
        ("status", "status", 'k'),
        ("category", "kategorie", 'k'),
        ("number", "nummer", 'i'),
        ("description", "beschreibung", 't'),
    ];
    let mut before = Vec::new();
    let mut now = Vec::new();
    for (thing, ding) in things.iter().zip(kunde) {
        for (head, kopf, kind) in heads {
            before.push((format!("{thing}_{head}"), kind));
            now.push((format!("{ding} {kopf}"), kind));
        }
    }
    let mut expected =
        expected(&before.iter().map(|(name, kind)| (name.as_str(), *kind)).collect::<Vec<_>>(), Memory::Shape);
    for (at, field) in expected.iter_mut().enumerate() {
        field.needed = at % 3 == 0;
    }
    let seen = seen(&now.iter().map(|(name, kind)| (name.as_str(), *kind)).collect::<Vec<_>>());
    let decision = decide(&expected, &seen, false);
    assert!(decision.is_ok(), "{decision:?}");
    let mapping =
        least(if cfg!(debug_assertions) { 2 } else { 100 }, || assert!(decide(&expected, &seen, false).is_ok()));
    eprintln!("lexicon {load:?}, 50 columns {mapping:?}");
    if !cfg!(debug_assertions) {
        assert!(load < Duration::from_micros(4_500), "lexicon {load:?}");
        assert!(mapping < Duration::from_micros(1_500), "50 columns {mapping:?}");
    }
}
