//! Each rule of the decision by itself: evidence (C54), clauses (C55), vetoes (C56), tiers (C57), the report (C59).

use sanare_drift::lexicon::Lexicon;
use sanare_drift::matching::{
    Expected, ImpliedType, MOST_NAMES, MatchContext, Seen, ValueLinks, match_fields, match_with_links,
};
use sanare_drift::problem::{Mapping, Refusal, Tier};
use sanare_drift::profile::Profile;

use super::desk::{Memory, decide, expected, profile, seen, text};

/// A decision over columns written as `name:kind`, all remembered; the needed ones are marked with `*`.
fn ask(before: &str, now: &str, closed: bool) -> Result<Vec<Mapping>, Refusal> {
    let fields = |list: &str| -> Vec<(String, char, bool)> {
        list.split(", ")
            .map(|field| {
                let (name, kind) = field.rsplit_once(':').unwrap();
                let needed = name.ends_with('*');
                (name.trim_end_matches('*').to_owned(), kind.chars().next().unwrap(), needed)
            })
            .collect()
    };
    let before = fields(before);
    let mut expected =
        expected(&before.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect::<Vec<_>>(), Memory::Shape);
    for (field, (_, _, needed)) in expected.iter_mut().zip(&before) {
        field.needed = *needed;
    }
    let now = fields(now);
    decide(&expected, &seen(&now.iter().map(|(name, kind, _)| (name.as_str(), *kind)).collect::<Vec<_>>()), closed)
}

fn check(before: &str, now: &str, expected: &str) {
    assert_eq!(text(&ask(before, now, false)), expected, "{before} -> {now}");
}

fn check_closed(before: &str, now: &str, expected: &str) {
    assert_eq!(text(&ask(before, now, true)), expected, "{before} -> {now}, closed");
}

/// Expected and seen with the given values.
fn with_values(name: &str, before: &[&str], now_name: &str, now: &[&str]) -> Result<Vec<Mapping>, Refusal> {
    let expected = Expected {
        name: name.to_owned(),
        needed: true,
        profile: Some(Profile::of_texts(before.iter().copied())),
        ..Expected::default()
    };
    let seen = Seen { name: now_name.to_owned(), profile: Profile::of_texts(now.iter().copied()), position: 0 };
    decide(&[expected], &[seen], false)
}

fn first(decision: &Result<Vec<Mapping>, Refusal>) -> (Tier, &str) {
    match decision {
        Ok(mappings) => (mappings[0].tier, &mappings[0].evidence[0][..2]),
        Err(refusal) => panic!("{refusal:?}"),
    }
}

#[test]
fn identity_by_names() {
    assert_eq!(first(&ask("Total_Amt*:n", "total_amt:n", false)), (Tier::A, "I3"));
    assert_eq!(first(&ask("amount*:n", "osszeg:n", false)), (Tier::B, "I4"));
    assert_eq!(first(&ask("zork_date*:d", "date_zork:d", false)), (Tier::B, "I5"));
}

#[test]
fn identity_by_declaration_and_values() {
    let ask = |aliases: &[(String, String)], lockfile: &[Mapping], links: &ValueLinks| {
        let context =
            MatchContext { lexicon: Lexicon::standard(), contract_aliases: aliases, lockfile, closed_record: false };
        let expected = expected(&[("zork", 'i')], Memory::Shape);
        match_with_links(&expected, &seen(&[("blub", 'i'), ("gnarf", 'i')]), &context, links)
    };
    let pair = vec![("zork".to_owned(), "blub".to_owned())];
    let none = ValueLinks::default();
    let refused = ask(&[], &[], &none);
    assert!(refused.is_err());
    assert_eq!(first(&ask(&pair, &[], &none)), (Tier::A, "I1"));
    let entry = Mapping { expected: "zork".to_owned(), seen: "blub".to_owned(), evidence: Vec::new(), tier: Tier::B };
    assert_eq!(first(&ask(&[], &[entry], &none)), (Tier::A, "I2"));
    let overlap = ValueLinks { overlaps: pair.clone(), ..ValueLinks::default() };
    assert_eq!(first(&ask(&[], &[], &overlap)), (Tier::B, "I6"));
    let equation = ValueLinks { equations: pair, ..ValueLinks::default() };
    assert_eq!(first(&ask(&[], &[], &equation)), (Tier::B, "I7"));
    // What values link, names may still forbid.
    let context =
        MatchContext { lexicon: Lexicon::standard(), contract_aliases: &[], lockfile: &[], closed_record: false };
    let links = ValueLinks { overlaps: vec![("order_id".to_owned(), "refund_id".to_owned())], ..ValueLinks::default() };
    let decision = match_with_links(
        &expected(&[("order_id", 'i')], Memory::Shape),
        &seen(&[("refund_id", 'i')]),
        &context,
        &links,
    );
    assert_eq!(text(&decision), "refused: vetoed");
}

#[test]
fn identity_by_the_owner() {
    let lexicon = Lexicon::with_owner(&["[concept.amount]\nen = \"gnarf\""]).unwrap();
    let context = MatchContext { lexicon: &lexicon, contract_aliases: &[], lockfile: &[], closed_record: false };
    let decision = match_fields(&expected(&[("amount", 'n')], Memory::Shape), &seen(&[("gnarf", 'n')]), &context);
    assert_eq!(first(&decision), (Tier::A, "I1"));
}

#[test]
fn near_meanings_count_in_a_closed_record_only() {
    // The re-nested reply of the drift cases: name and price became title and amount.
    check_closed("name*:t, price*:n", "title:t, amount:n", "name=title, price=amount");
    check("name*:t, price*:n", "title:t, amount:n", "refused: no_identity");
    // Another field more, and the record is not the one that was expected.
    check_closed("name*:t, price*:n", "title:t, amount:n, sku:i", "refused: no_identity");
    // One of the fields is not mapped, so none is.
    check_closed("name*:t, price*:n, weight:n", "title:t, amount:n, zork:n", "refused: no_identity");
    // The date of a series that says now that it was observed.
    check_closed("DATE*:d, UNRATE:n", "observation_date:d, UNRATE:n", "DATE=observation_date");
    check("DATE*:d, UNRATE:n", "observation_date:d, UNRATE:n", "refused: no_identity");
    check_closed("date*:d, value*:n", "report_date:d, value:n", "refused: vetoed");
    check_closed("customer*:t, amount:n", "customer_name:t, amount:n", "customer=customer_name");
    check_closed("customer*:t, amount:n", "customer_id:i, amount:n", "refused: vetoed");
}

#[test]
fn what_is_never_identity() {
    // Type, place, a repeated value, spelling.
    check("amount*:n", "zork:n", "refused: no_identity");
    check("date:d, amount*:n, customer:t", "date:d, zork:n, customer:t", "refused: no_identity");
    check("customer*:t", "custumer:t", "refused: no_identity");
    check("warenkorb*:n", "warenkorbe:n", "refused: no_identity");
    check_closed("lat*:n, lon*:n, place:t", "coord_1:n, coord_2:n, place:t", "refused: no_identity");
}

#[test]
fn a_concept_needs_support() {
    // Nothing is known of the values, and the name does not say enough.
    let open = Expected { name: "status".to_owned(), needed: true, ..Expected::default() };
    let all_different: Vec<Seen> = vec![Seen {
        name: "stav".to_owned(),
        profile: Profile::of_texts(["12345678", "23456789"].into_iter()),
        position: 0,
    }];
    assert_eq!(text(&decide(std::slice::from_ref(&open), &all_different, false)), "refused: no_identity");
    // A sibling in the same language is support.
    let two = [open, Expected { name: "customer".to_owned(), needed: true, ..Expected::default() }];
    let siblings =
        vec![all_different[0].clone(), Seen { name: "zakaznik".to_owned(), profile: profile('t'), position: 1 }];
    assert_eq!(text(&decide(&two, &siblings, false)), "status=stav, customer=zakaznik");
}

#[test]
fn only_one_may_be_it() {
    check("amount*:n", "betrag:n, osszeg:n", "refused: ambiguous");
    check("amount*:n", "Amount:n, AMOUNT:n", "refused: ambiguous");
    check("amount*:n, betrag*:n", "osszeg:n", "refused: ambiguous");
    check("amount*:n, betrag:n", "betrag:n, osszeg:n", "refused: ambiguous");
    // What was there before under its own name is no rival.
    check("amount*:n, tax_amount:n, customer:t", "osszeg:n, tax_amount:n, customer:t", "amount=osszeg");
}

#[test]
fn nothing_is_stolen() {
    // `betrag` is an expected name itself.
    check("amount*:n, betrag*:n", "betrag:n, zork:n", "refused: no_identity");
    check("start*:d, begin*:d", "begin:d, zork:d", "refused: no_identity");
}

#[test]
fn what_is_there_maps_to_itself() {
    check("amount*:n, customer*:t", "customer:t, amount:n", "");
    check("amount*:n, zork:n", "amount:n", "");
}

#[test]
fn bounds() {
    let names: Vec<String> = (0..=MOST_NAMES).map(|at| format!("zork{at}")).collect();
    let fields: Vec<(&str, char)> = names.iter().map(|name| (name.as_str(), 'n')).collect();
    assert_eq!(text(&decide(&expected(&fields, Memory::Names), &[], false)), "refused: budget_spent");
}

#[test]
fn qualifiers_negations_roles_forbid() {
    check("amount*:n", "refund_amount:n", "refused: vetoed");
    check("active*:f", "is_not_active:f", "refused: vetoed");
    check("employee*:t", "employer:t", "refused: no_identity");
    check("order_id*:i", "order_count:c", "refused: vetoed");
}

#[test]
fn units_forbid_unless_the_values_show_them() {
    check("price*:n", "price_cents:n", "refused: scale_or_unit");
    check("price*:n", "price_eur:n", "refused: scale_or_unit");
    check("Betrag (EUR)*:n", "Betrag (USD):n", "refused: scale_or_unit");
    check("duration*:n", "duration_ms:n", "refused: scale_or_unit");
    let shown = with_values("rate", &["12.5%", "7.1%"], "rate (%)", &["11.0%", "9.5%"]);
    assert_eq!(text(&shown), "rate=rate (%)");
    let other = with_values("price", &["€12.50", "€7.10"], "Price", &["$12.50", "$7.10"]);
    assert_eq!(text(&other), "refused: scale_or_unit");
    // A field that is vetoed keeps others from its place (V8).
    check("price*:n", "price_cents:n, preis:n", "refused: ambiguous");
}

#[test]
fn values_forbid() {
    let reason = |before: &[&str], now: &[&str]| text(&with_values("amount", before, "osszeg", now));
    let usual = ["12.50", "340.00", "99.90", "15.00"];
    assert_eq!(reason(&usual, &["11.20", "250.00"]), "amount=osszeg");
    // V6: cents, thousands, new signs.
    assert_eq!(reason(&usual, &["125000", "3400000", "999000"]), "refused: scale_or_unit");
    assert_eq!(reason(&usual, &["1250", "34000", "9990", "1500"]), "refused: scale_or_unit");
    assert_eq!(reason(&usual, &["-12.50", "340.00"]), "refused: scale_or_unit");
    // V7: suddenly empty.
    assert_eq!(reason(&usual, &["", "", "", "12.50", ""]), "refused: vetoed");
    // V4: text, dates.
    assert_eq!(reason(&usual, &["Alfa", "Beta"]), "refused: vetoed");
    assert_eq!(reason(&usual, &["2026-01-02", "2026-01-03"]), "refused: vetoed");
    // Some bad rows among good ones are for the loader.
    assert_eq!(reason(&usual, &["12.50", "oops", "15.00", "99.00"]), "amount=osszeg");
    // V9: leading zeros would be lost.
    assert_eq!(text(&with_values("quantity", &["12", "15"], "menge", &["0012", "0015"])), "refused: vetoed");
    assert_eq!(text(&with_values("Nummer", &["0012", "0015"], "number", &["0044", "0051"])), "Nummer=number");
    // V5: a list where one value was.
    let list = Seen {
        name: "osszeg".to_owned(),
        profile: Profile { type_name: "list".to_owned(), count: 3, ..Profile::default() },
        position: 0,
    };
    let code =
        [Expected { implied_type: Some(ImpliedType::Float), ..expected(&[("amount", 'n')], Memory::Names)[0].clone() }];
    assert_eq!(text(&decide(&code, std::slice::from_ref(&list), false)), "refused: vetoed");
    assert_eq!(text(&decide(&expected(&[("amount", 'n')], Memory::Shape), &[list], false)), "refused: vetoed");
}

#[test]
fn marked_words_need_other_headers() {
    check("Date*:d", "Datum:d", "refused: ambiguous");
    check("Date*:d, Quantity*:c", "Datum:d, Aantal:c", "Date=Datum, Quantity=Aantal");
    check("date*:d, customer:t, amount*:n", "datum:d, ugyfel:t, osszeg:n", "date=datum, amount=osszeg");
    check("amount*:n, date*:d", "valor:n, data do lançamento:d", "refused: ambiguous");
    // Values that are no dates settle nothing.
    check("Date*:d, Quantity*:c", "Datum:n, Aantal:c", "refused: vetoed");
    check("total*:n", "gesamt:n", "refused: ambiguous");
    check("total*:n, customer:t, amount*:n", "gesamt:n, kunde:t, betrag:n", "total=gesamt, amount=betrag");
}

#[test]
fn the_real_files() {
    let tlc = "vendor_name:k, Trip_Pickup_DateTime:z, Trip_Dropoff_DateTime:z, Passenger_Count:c, Trip_Distance*:n, \
               Payment_Type:k, Fare_Amt:n, surcharge:n, mta_tax:n, Tip_Amt:n, Tolls_Amt:n, Total_Amt*:n";
    let later = "vendor_id:k, pickup_datetime:z, dropoff_datetime:z, passenger_count:c, trip_distance:n, \
                 payment_type:k, fare_amount:n, surcharge:n, mta_tax:n, tip_amount:n, tolls_amount:n, total_amount:n";
    check(tlc, later, "Trip_Distance=trip_distance, Total_Amt=total_amount");
    check(
        "date:d, day:c, cases*:c, deaths:c, countriesAndTerritories*:t",
        "dateRep:d, year_week:k, cases_weekly:c, deaths_weekly:c, countriesAndTerritories:t",
        "refused: vetoed",
    );
    check_closed(
        "year:c, month:c, decimal date*:n, average:n, interpolated*:n, trend:n, ndays:c",
        "year:c, month:c, decimal date:n, monthly average:n, de-season alized:n, ndays:c, stdev:n",
        "refused: no_identity",
    );
    check_closed(
        "date*:d, areaName:t, newDeathsByDeathDate*:c",
        "date:d, areaName:t, newDeaths28DaysByDeathDate:c, newDeaths60DaysByDeathDate:c",
        "refused: scale_or_unit",
    );
    check(
        "Datum*:d, Empfänger*:t, Kontonummer:i, Verwendungszweck:t, Betrag (EUR)*:n",
        "Booking Date:d, Value Date:d, Partner Name:t, Payment Reference:t, Amount (EUR):n, Original Amount:n",
        "refused: no_identity",
    );
    check(
        "pickup_longitude*:n, pickup_latitude*:n, total_amount:n",
        "PULocationID:c, DOLocationID:c, total_amount:n",
        "refused: no_identity",
    );
    check(
        "Buchungstag*:d, Wertstellung:d, Verwendungszweck*:t, Betrag (EUR)*:n",
        "Buchungsdatum:d, Wertstellung:d, Verwendungszweck:t, Betrag (€):n",
        "Buchungstag=Buchungsdatum, Betrag (EUR)=Betrag (€)",
    );
    check("Admissions*:c", "Admissions total:c", "refused: vetoed");
    check("Duration*:c, Rental Id:i", "Number:i, Total duration:t, Total duration (ms):c", "refused: vetoed");
    check("num_bikes_available*:c", "num_vehicles_available:c, num_docks_available:c", "refused: no_identity");
}

#[test]
fn the_report_says_everything() {
    let refusal = ask("amount*:n, customer*:t", "refund_amount:n, tax_amount:n, zork:n, ugyfel:t", false).unwrap_err();
    let mut report = format!("{}\n{}\n{}\n", refusal.reason.code(), refusal.summary, refusal.hint);
    for field in &refusal.fields {
        report.push_str(&format!("{}: {}\n", field.expected, field.unmet));
        for candidate in &field.candidates {
            report.push_str(&format!(
                "  {} for: {} against: {}\n",
                candidate.seen,
                candidate.evidence.join("; "),
                candidate.vetoes.join("; ")
            ));
        }
    }
    let expected = "\
vetoed
`amount` is not there, and `tax_amount` means something else: V1 qualifier tax
if `tax_amount` is `amount`: a contract alias, a line in the owner's lexicon, or `sanare approve ID --map amount=tax_amount`
amount: clause 1: no field has an identity for it
  tax_amount for: shares the concept amount; S numbers as before against: V1 qualifier tax
  refund_amount for: shares the concept amount; S numbers as before against: V1 qualifier refund
  zork for: S numbers as before against: \n";
    assert_eq!(report, expected);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let ask = || format!("{:?}", ask("amount*:n, customer*:t", "betrag:n, osszeg:n, ugyfel:t, refund_amount:n", true));
    let first = ask();
    assert!((0..50).all(|_| ask() == first));
}
