//! States and faults of a registry, and names that it does not take.

use sanare_core::service::Version;

use super::{Alias, Model, Registry, RegistryFault, VersionState};
use crate::service::mlflow::twin::{serve, store};
use crate::service::twin::{Say, Twin, nobody, ok};

fn model() -> Model {
    Model::new("fraud", "champion").expect("a model")
}

fn version(text: &str) -> Version {
    Version::parse(text).expect("a version")
}

#[test]
fn alias_and_version_are_read_together() {
    let store = store();
    let twin = serve(&store, |_, _, _| None);
    let registry = Registry::new(twin.at(""));
    registry.tag(&model(), &version("42"), "owner", "ann").expect("tagged");
    let state = registry.state(&model()).expect("a state");
    assert_eq!(state.alias, Alias::At(version("42")));
    let Some(VersionState::Known(known)) = state.version else { panic!("known") };
    assert_eq!((known.status.as_str(), known.run.as_deref()), ("READY", Some("r1")));
    assert_eq!(known.tags.get("owner").map(String::as_str), Some("ann"));
    store.lock().expect("a lock").alias = None;
    let state = registry.state(&model()).expect("a state");
    assert_eq!((state.alias, state.version), (Alias::Absent, None));
    assert_eq!(registry.version(&model(), &version("7")), Ok(VersionState::Absent));
}

#[test]
fn an_outage_is_no_state_and_no_message_is_repeated() {
    let fault = |say: Say| {
        let twin = Twin::new(move |_| say.clone());
        Registry::new(twin.at("")).state(&model()).expect_err("a fault")
    };
    let error =
        |code: u16, name: &str| Say::Status(code, format!(r#"{{"error_code":"{name}","message":"key=s3cr3t"}}"#));
    for (say, declined) in [
        (error(400, "BAD_REQUEST"), true),
        (error(403, "PERMISSION_DENIED"), true),
        (Say::Status(403, "Invalid Host header".to_owned()), true),
        (error(500, "INTERNAL_ERROR"), false),
        (ok("<html>"), false),
        (ok(r#"{"model_version": {}}"#), false),
        (ok(r#"{"model_version": {"version": "-x; rm"}}"#), false),
        (Say::Reset, false),
        (Say::With(302, "location: http://127.0.0.1:1/", String::new()), false),
        (Say::Endless, false),
    ] {
        let fault = fault(say);
        assert_eq!(matches!(fault, RegistryFault::Declined(_)), declined, "{fault}");
        assert!(!fault.to_string().contains("s3cr3t"));
    }
    let gone = Registry::new(nobody()).state(&model());
    assert!(matches!(gone, Err(RegistryFault::NotSent(_))));
}

#[test]
fn names_that_the_registry_has_for_itself_are_refused() {
    let check =
        |name: &str, alias: &str| Model::new(name, alias).err().map(|invalid| invalid.field).unwrap_or_default();
    for good in ["champion", "Champion_2", "v2-live", "latest2", "v"] {
        assert_eq!(check("fraud", good), "", "{good}");
    }
    for bad in ["latest", "LATEST", "v1", "V12", "", "a b", "a/b", "a&version=1"] {
        assert_eq!(check("fraud", bad), "alias", "{bad}");
    }
    for bad in ["", "a/b", "a:b", "..", "a b", "a?x"] {
        assert_eq!(check(bad, "champion"), "model", "{bad}");
    }
}
