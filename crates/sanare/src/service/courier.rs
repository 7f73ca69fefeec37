//! The courier: takes messages to people out of the outbox and brings them, at least once each and under one id, until
//! somebody has taken them or every way has failed for good (S104, S113, S132). It never holds up the loop.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sanare_core::ledger::Entry;
use sanare_core::port::{Clock, StoreFault};
use sanare_core::redact::Redactor;
use sanare_core::service::config::{self, RouteSettings};
use sanare_core::service::delivery::plan;
use sanare_core::service::moment::DAY;
use sanare_core::service::run::Message;
use sanare_core::service::word::Severity;
use sanare_core::service::{Change, Delivery, DeliveryState, Incident, Invalid, Moment, NotMade, ServiceStore, Status};
use sanare_effects::service::message::{Outgoing, Way};
use serde_json::json;

use super::hands::{endpoint, key_place};
use super::reminder;
use super::upkeep::TROUBLE;

/// Messages that one round looks at.
const MESSAGES: usize = 200;
/// Milliseconds of the courier's lease beside the time that a try may take.
const LEASE_MS: u64 = 30_000;
/// Records by which it is known that a person has taken notice.
const NOTICED: [&str; 6] = ["acknowledged", "held", "retried", "closed_by_hand", "answered", "settled"];

/// A route with its way out.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub settings: RouteSettings,
    pub way: Way,
}

/// Brings what is due; how many messages were taken by somebody. What is over for a day and was never tried, because no route
/// was there, is old news and not sent. One courier is at work at a time, among all processes. `stormy`: nobody is reminded of
/// what a storm consists of.
pub(super) fn round(
    store: &dyn ServiceStore,
    clock: &dyn Clock,
    routes: &[Route],
    owner: &str,
    stormy: bool,
) -> Result<u64, StoreFault> {
    // Without a way out messages stay where they are, for whoever looks.
    if routes.is_empty() {
        return Ok(0);
    }
    let Some(mut lease) = store.lease("courier", owner, clock.now(), LEASE_MS)? else { return Ok(0) };
    reminder::remind(store, clock, stormy)?;
    let settings: Vec<RouteSettings> = routes.iter().map(|route| route.settings.clone()).collect();
    let (mut taken, mut down, mut waiting) = (0, BTreeSet::new(), BTreeSet::new());
    let mut incidents: BTreeMap<String, Option<Incident>> = BTreeMap::new();
    for message in store.outbox(MESSAGES)? {
        let known = match incidents.get(message.incident.as_str()) {
            Some(known) => known.clone(),
            None => {
                let read = store.incident(&message.incident)?;
                incidents.insert(message.incident.to_string(), read.clone());
                read
            }
        };
        let deliveries = store.deliveries(&message.key)?;
        let closed = match message.is_of_all() {
            true => !stands(store, &message)?,
            false => known.as_ref().is_none_or(|one| one.status() == Status::Closed),
        };
        let noticed = closed || is_noticed(store, &message)?;
        let takes = |route: &RouteSettings| match &known {
            Some(one) => route.takes(&one.application, severity(&message, one), message.kind),
            None => message.is_of_all() && route.takes_of_all(message.kind),
        };
        let plan = plan(&message, &settings, takes, &deliveries, noticed, Moment::from_millis(clock.now()));
        let stale = closed && deliveries.is_empty() && Moment::from_millis(clock.now()).since(message.at) > DAY;
        if let Some(incident) = &known {
            let taken = deliveries.iter().filter(|one| one.state == DeliveryState::Delivered).map(|one| one.at).min();
            if let Some(at) = taken
                && !noticed
            {
                reminder::was_told(store, clock, &message, incident, at)?;
            }
            if message.reminder().is_some() && (noticed || reminder::is_late(store, &message, incident)?) {
                store.delivered(&message.key)?;
                continue;
            }
        }
        if plan.over || stale {
            end(store, clock, &message, &deliveries)?;
            continue;
        }
        for route in plan.send.iter().filter_map(|place| routes.get(*place)) {
            let name = route.settings.name.as_str();
            // What came first is brought first, and a way that has just failed is not tried again in the same round.
            let place = (name.to_owned(), message.incident.to_string());
            if down.contains(name) || waiting.contains(&place) {
                waiting.insert(place);
                continue;
            }
            let millis = LEASE_MS + route.settings.timeout / 1_000;
            match store.lease("courier", owner, clock.now(), millis)? {
                Some(held) if held.fence == lease.fence => lease = held,
                _ => return Ok(taken),
            }
            let before = deliveries.iter().find(|one| one.route == name);
            let begun = Delivery::begun(before, name, Moment::from_millis(clock.now()));
            store.note_delivery(&message.key, &begun)?;
            let came = bring(route, &message, clock);
            let ended = begun.ended(came.as_ref().copied().map_err(String::as_str), Moment::from_millis(clock.now()));
            store.note_delivery(&message.key, &ended)?;
            match ended.state {
                DeliveryState::Delivered => taken += 1,
                DeliveryState::Waiting => drop((down.insert(name.to_owned()), waiting.insert(place))),
                DeliveryState::Failed => drop(down.insert(name.to_owned())),
            }
        }
        // What waits for its next try keeps later ones of the same incident waiting.
        let open = deliveries.iter().filter(|one| one.state == DeliveryState::Waiting);
        let open = open.filter(|one| one.due > Moment::from_millis(clock.now()));
        waiting.extend(open.map(|one| (one.route.clone(), message.incident.to_string())));
    }
    store.release(&lease)?;
    Ok(taken)
}

/// Whether what a message about all services tells of is so still.
fn stands(store: &dyn ServiceStore, message: &Message) -> Result<bool, StoreFault> {
    Ok(store.states(TROUBLE)?.iter().any(|(key, told)| key == TROUBLE && *told == message.key.as_bytes()))
}

/// Sends a message once.
fn bring(route: &Route, message: &Message, clock: &dyn Clock) -> Result<(), String> {
    let body = json!({
        "id": message.key, "kind": message.kind, "incident": message.incident, "at": message.at,
        "body": message.body.as_ref(),
    });
    let body = serde_json::to_vec(&body).map_err(|_| "no_json".to_owned())?;
    let outgoing = Outgoing { id: &message.key, body: &body, at: clock.now() / 1_000 };
    route.way.send(outgoing, Duration::from_micros(route.settings.timeout))
}

/// How bad it is: as the message says, which may be worse than its incident.
pub(super) fn severity(message: &Message, incident: &Incident) -> Severity {
    let told = message.body.as_ref().get("severity").and_then(|word| Severity::parse(word.as_str()?).ok());
    told.unwrap_or(incident.severity).max(incident.severity)
}

/// Whether a person has done anything about it since.
pub(super) fn is_noticed(store: &dyn ServiceStore, message: &Message) -> Result<bool, StoreFault> {
    let records = store.records_of(&message.incident)?;
    let since = message.at.millis();
    Ok(records.iter().any(|record| record.at >= since && NOTICED.contains(&record.step.as_str())))
}

/// Nothing more is done with a message. That nobody has taken it is a record of its incident.
fn end(
    store: &dyn ServiceStore,
    clock: &dyn Clock,
    message: &Message,
    deliveries: &[Delivery],
) -> Result<(), StoreFault> {
    let lost = !deliveries.is_empty() && deliveries.iter().all(|one| one.state != DeliveryState::Delivered);
    if lost {
        let tried: Vec<_> =
            deliveries.iter().map(|one| json!({ "route": one.route, "tries": one.tries, "why": one.why })).collect();
        let payload = json!({ "message": message.key, "kind": message.kind, "routes": tried });
        let entry = Entry {
            incident: message.incident.clone(),
            step: "not_delivered".to_owned(),
            at: clock.now(),
            payload: Redactor::standard().json(&payload),
        };
        let change = Change { now: clock.now(), entries: vec![entry], ..Change::default() };
        match store.commit(&change) {
            Ok(_) => {}
            Err(NotMade::Store(fault)) => return Err(fault),
            Err(other) => return Err(StoreFault::Corrupt(other.to_string())),
        }
    }
    store.delivered(&message.key)
}

/// The way that a route's settings describe.
pub(super) fn way(settings: &config::Way) -> Result<Way, Invalid> {
    Ok(match settings {
        config::Way::Webhook { address, headers, sign } => {
            Way::Webhook { endpoint: endpoint(address, headers)?, sign: sign.as_ref().map(key_place) }
        }
        config::Way::Command { argv, env } => Way::Command { argv: argv.clone(), environment: env.clone() },
    })
}
