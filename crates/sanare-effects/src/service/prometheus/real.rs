//! The real Prometheus, where there is one: on the path, or named by `PROMETHEUS_PROGRAM`. It scrapes a small target that
//! the test owns.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sanare_core::service::Signal;

use super::{EVERY, Pull, PullFault, Sample, Settings};
use crate::service::Endpoint;
use crate::service::client::{Call, Reply};
use crate::service::endpoint::percent;
use crate::service::twin::{Say, Twin, ok};
use crate::trial::PrivateFolder;

/// A server that is ended with the test.
struct Server {
    child: Child,
    endpoint: Endpoint,
    _folder: PrivateFolder,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    let named = std::env::var_os("PROMETHEUS_PROGRAM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("prometheus")).find(|file| file.is_file());
    named.or(found)
}

fn start(program: PathBuf, target: &Twin) -> Server {
    let folder = PrivateFolder::create().expect("a folder");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let config = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: toy\n  static_configs: [{{targets: ['{}']}}]\n",
        target.at("/").authority()
    );
    let file = folder.path().join("prometheus.yml");
    std::fs::File::create(&file)
        .and_then(|mut file| std::io::Write::write_all(&mut file, config.as_bytes()))
        .expect("written");
    let child = Command::new(program)
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address={address}"))
        .arg("--web.enable-admin-api")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    let endpoint = Endpoint::new(&format!("http://{address}"), false).expect("an address");
    Server { child, endpoint, _folder: folder }
}

/// Pulls until an answer is as wanted, for at most half a minute.
fn until(pull: &Pull, wanted: impl Fn(&Result<Vec<Sample>, PullFault>) -> bool) -> Result<Vec<Sample>, PullFault> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = pull.pull();
        if wanted(&answer) || Instant::now() > end {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn age(sample: &Sample) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs_f64();
    now - sample.at.map_or(f64::INFINITY, |at| at.micros() as f64 / 1e6)
}

#[test]
fn a_real_server_is_read_as_it_is() {
    let Some(program) = program() else {
        eprintln!("NOT RUN: there is no `prometheus` on the path, and PROMETHEUS_PROGRAM names none");
        return;
    };
    // 0: all is well; 1: one series is gone; 2: the target is down.
    let mood = Arc::new(AtomicU8::new(0));
    let seen = Arc::clone(&mood);
    let target = Twin::new(move |_| match seen.load(Ordering::SeqCst) {
        0 => {
            // Two hosts whose clocks are wrong tell when they took a sample.
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis();
            ok(&format!(
                "depth{{queue=\"a\"}} 3\ndepth{{queue=\"b\"}} NaN\ndepth{{queue=\"c\"}} +Inf\nslow 1 {}\nfast 1 {}\n",
                now - 240_000,
                now + 480_000
            ))
        }
        1 => ok("depth{queue=\"b\"} NaN\ndepth{queue=\"c\"} +Inf\n"),
        _ => Say::Status(500, String::new()),
    });
    let server = start(program, &target);
    let pull = |query: &str| {
        let signal = Signal::parse("depth").expect("a name");
        let settings = Settings {
            endpoint: server.endpoint.clone(),
            query: query.to_owned(),
            timestamps: None,
            labels: vec!["queue".to_owned()],
            signal,
            every: EVERY,
        };
        Pull::new(settings).expect("a query")
    };
    let depth = pull("depth");
    let samples = until(&depth, |answer| answer.as_ref().is_ok_and(|samples| samples.len() == 3)).expect("samples");
    let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
    assert!(values[0] == 3.0 && values[1].is_nan() && values[2] == f64::INFINITY, "{values:?}");
    assert!(samples.iter().all(|sample| age(sample) < 10.0), "the samples' own times");

    let slow = pull("slow");
    let samples = until(&slow, |answer| answer.as_ref().is_ok_and(|samples| !samples.is_empty())).expect("samples");
    assert!((200.0..300.0).contains(&age(&samples[0])), "an old sample is as old as it is: {}", age(&samples[0]));
    assert_eq!(pull("fast").pull(), Ok(Vec::new()), "what lies ahead is not there yet");

    // A query over a window goes on having a value: nothing of it proves that the series is alive.
    let window = pull("max_over_time(depth{queue=\"a\"}[5m])");
    assert_eq!(window.pull().expect("samples")[0].at, None);
    assert!(matches!(pull("depth[1m]").pull(), Err(PullFault::Unreadable(_))), "a matrix");
    assert!(matches!(pull("depth{").pull(), Err(PullFault::Status(400))));
    assert_eq!(pull("no_such_metric").pull(), Ok(Vec::new()));

    mood.store(1, Ordering::SeqCst);
    let samples = until(&depth, |answer| answer.as_ref().is_ok_and(|samples| samples.len() == 2)).expect("samples");
    assert_eq!(samples.iter().filter_map(|sample| sample.labels.get("queue")).collect::<String>(), "bc", "series gone");

    mood.store(2, Ordering::SeqCst);
    let samples = until(&depth, |answer| answer.as_ref().is_ok_and(Vec::is_empty)).expect("samples");
    assert!(samples.is_empty(), "target down: no series, and no old sample that looks new");
    let stale = window.pull().expect("samples");
    assert!(
        !stale.is_empty() && stale.iter().all(|sample| sample.at.is_none()),
        "what is told of the past proves nothing"
    );

    // Deleted: also what looked back at it has no series, which is no error.
    let endpoint = server.endpoint.at(format!("/api/v1/admin/tsdb/delete_series?{}=depth", percent("match[]")));
    let call = Call { method: "POST", endpoint: &endpoint, headers: &[], body: None, timeout: EVERY, most: 1_024 };
    assert!(matches!(call.send(), Reply::Answer(answer) if answer.status == 204));
    assert_eq!(until(&window, |answer| answer.as_ref().is_ok_and(Vec::is_empty)), Ok(Vec::new()));
}
