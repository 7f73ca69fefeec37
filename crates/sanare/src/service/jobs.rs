//! Jobs as the configuration names them: how one is followed, and the workflow that is dispatched (S88).

use std::collections::BTreeMap;

use sanare_core::service::Invalid;
use sanare_core::service::config::{Address, CancelWay, HeaderValue, JobSettings, JobWay, WorkflowSettings};
use sanare_core::service::job::Following;
use sanare_effects::service::job::{Cancel, Job, Way};
use sanare_effects::service::{Endpoint, http};
use serde_json::json;

use super::hands::endpoint;

/// A job with the headers of its request.
pub(super) fn job(settings: &JobSettings, headers: &BTreeMap<String, HeaderValue>) -> Result<Job, Invalid> {
    let way = match &settings.way {
        JobWay::Http { address, after, reference, pointer, candidate } => Way::Asked {
            reference: reference.clone(),
            endpoint: endpoint(address, headers)?,
            after: after.clone(),
            pointer: pointer.clone(),
            candidate: candidate.clone(),
        },
        JobWay::Command(argv) => Way::Told(argv.clone()),
    };
    let following = Following { every: settings.every, within: settings.within };
    let cancel = match &settings.cancel {
        Some(CancelWay::Http { address, method, after }) => Some(Cancel::Request {
            method: method.clone(),
            endpoint: endpoint(address, headers)?,
            after: after.clone(),
        }),
        Some(CancelWay::Command(argv)) => Some(Cancel::Program(argv.clone())),
        None => None,
    };
    Ok(Job { way, following, done: settings.done.clone(), failed: settings.failed.clone(), cancel })
}

/// Where runs are cancelled, before a run's number.
fn runs(workflow: &WorkflowSettings) -> Result<Endpoint, Invalid> {
    let base = workflow.address.text.trim_end_matches('/');
    let text = format!("{base}/repos/{}/actions/runs/", workflow.repository);
    endpoint(&Address { text, ..workflow.address.clone() }, &workflow.headers)
}

/// The request that dispatches a workflow: all of it is fixed but the receipt, by which its run is found again.
pub(super) fn dispatch(workflow: &WorkflowSettings) -> Result<http::Settings, Invalid> {
    let base = workflow.address.text.trim_end_matches('/');
    let of = |path: &str| {
        let text = format!("{base}/repos/{}/actions/workflows/{}/{path}", workflow.repository, workflow.workflow);
        endpoint(&Address { text, ..workflow.address.clone() }, &workflow.headers)
    };
    let mut inputs: BTreeMap<&str, &str> =
        workflow.inputs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    inputs.insert(&workflow.key_input, "{receipt}");
    let cancel = workflow.cancel.then(|| runs(workflow)).transpose()?.map(|endpoint| Cancel::Request {
        method: "POST".to_owned(),
        endpoint,
        after: "/cancel".to_owned(),
    });
    let following = Following { every: workflow.every, within: workflow.within };
    let way = Way::Listed(of("runs?event=workflow_dispatch&per_page=100")?);
    Ok(http::Settings {
        body: Some(json!({ "ref": workflow.reference, "inputs": inputs }).to_string()),
        job: Some(Job { way, following, done: Vec::new(), failed: Vec::new(), cancel }),
        ..http::Settings::post(of("dispatches")?)
    })
}
