//! `cargo xtask bench`: the figures of C141 that exist so far, measured side by side with a bare interpreter and with the
//! peer from the package index, written to `docs/benchmarks.md`. A figure past its bar, times 1.5 for a shared machine,
//! is a failure.

mod page;

use anyhow::{Context as _, bail};
use serde_json::Value as Json;

use crate::python::{self, Venv};
use crate::shell;
use crate::workshop::Workshop;

/// The peer and its version, as the specification names it.
const PEER: &str = "healing-agent==0.5.0";
/// How far past its bar a figure may be on a shared machine.
const ALLOWANCE: f64 = 1.5;

/// One measured thing beside its bar.
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) what: String,
    /// Unit of all numbers.
    pub(crate) unit: &'static str,
    /// The bar; `None` for a figure that only stands for comparison.
    pub(crate) bar: Option<f64>,
    /// Median and quartiles.
    pub(crate) ours: [f64; 3],
    /// The same of the peer, where it has one.
    pub(crate) peer: Option<[f64; 3]>,
}

impl Figure {
    fn is_past(&self) -> bool {
        self.bar.is_some_and(|bar| self.ours[0] > bar * ALLOWANCE)
    }
}

struct Bench {
    name: &'static str,
    run: fn(&Workshop, &Venv, &Venv) -> anyhow::Result<Vec<Figure>>,
}

/// All benches. A new one is one line here and one script in `benches/`.
const BENCHES: &[Bench] = &[
    Bench { name: "import", run: import },
    Bench { name: "calls", run: calls },
    Bench { name: "heal", run: heal },
    Bench { name: "model", run: model },
    Bench { name: "evidence", run: evidence },
    Bench { name: "rest", run: rest },
    Bench { name: "ticker", run: ticker },
    Bench { name: "redact", run: redact },
    Bench { name: "detect", run: detect },
    Bench { name: "observations", run: observations },
    Bench { name: "observe", run: observe },
    Bench { name: "ledger", run: ledger },
    Bench { name: "decision", run: decision },
    Bench { name: "drift", run: drift },
    Bench { name: "look_alikes", run: look_alikes },
    Bench { name: "safety", run: safety },
];

/// Runs all benches, or those that are named; all of them rewrite the page.
pub fn run(workshop: &Workshop, arguments: &[String]) -> anyhow::Result<bool> {
    let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    if let Some(unknown) = arguments.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("no bench `{unknown}`\nhint: there are {}", names.join(", "));
    }
    let ours = python::wheel(workshop)?;
    let peer = Venv::ready(workshop, "venv-peer", &python::main_interpreter(workshop)?, PEER)?;
    let (mut figures, mut broken) = (Vec::new(), Vec::new());
    for bench in BENCHES.iter().filter(|bench| arguments.is_empty() || arguments.iter().any(|name| name == bench.name))
    {
        eprintln!("\n== {} ==", bench.name);
        // One that fails takes nobody else's figures with it.
        match (bench.run)(workshop, &ours, &peer) {
            Ok(found) => figures.extend(found),
            Err(error) => broken.push(format!("bench `{}`: {error:#}", bench.name)),
        }
    }
    println!("\n{}", page::table(&figures));
    for why in &broken {
        println!("{why}");
    }
    if !broken.is_empty() {
        return Ok(false);
    }
    if arguments.is_empty() {
        std::fs::write(workshop.root.join("docs/benchmarks.md"), page::page(workshop, &ours, PEER, &figures)?)?;
        println!("written to docs/benchmarks.md");
    }
    let past: Vec<&str> = figures.iter().filter(|figure| figure.is_past()).map(|figure| figure.what.as_str()).collect();
    for what in &past {
        println!("past its bar: {what}");
    }
    Ok(past.is_empty())
}

fn import(workshop: &Workshop, ours: &Venv, peer: &Venv) -> anyhow::Result<Vec<Figure>> {
    let mut command = ours.python(&workshop.root);
    command.args(["benches/import_cost.py", "40"]).arg(ours.program("python")).arg(peer.program("python"));
    let json = answer(&mut command)?;
    let over = |case: &str, bare: &str, key: &str| -> anyhow::Result<[f64; 3]> {
        let base = three(&json, &[bare, key])?[0];
        Ok(three(&json, &[case, key])?.map(|number| number - base))
    };
    let mut figures = Vec::new();
    for (key, what, unit, bar) in [
        ("cpu_ms", "processor time over the bare interpreter", "ms", 5.0),
        ("rss_mib", "resident memory over bare", "MiB", 3.0),
    ] {
        for (suffix, told) in [("", "import"), (" and one function", "import and one decorated function")] {
            figures.push(Figure {
                what: format!("{told}: {what}"),
                unit,
                bar: suffix.is_empty().then_some(bar),
                ours: over(&format!("sanare{suffix}"), "bare", key)?,
                peer: Some(over(&format!("healing_agent{suffix}"), "bare (peer's venv)", key)?),
            });
        }
    }
    Ok(figures)
}

fn calls(workshop: &Workshop, ours: &Venv, peer: &Venv) -> anyhow::Result<Vec<Figure>> {
    let [ours, peer] = both(workshop, ours, peer, "benches/call_cost.py", "101")?;
    let bars = [("sync function", 3.0), ("method", 3.0), ("async function", 10.0), ("generator item", 3.0)];
    let figure = |(form, bar): (&str, f64)| -> anyhow::Result<Figure> {
        Ok(Figure {
            what: format!("good call over undecorated: {form}"),
            unit: "ns",
            bar: Some(bar),
            ours: three(&ours, &[form, "over_ns"])?,
            peer: Some(three(&peer, &[form, "over_ns"])?),
        })
    };
    bars.into_iter().map(figure).collect()
}

fn heal(workshop: &Workshop, ours: &Venv, peer: &Venv) -> anyhow::Result<Vec<Figure>> {
    let [ours, peer] = both(workshop, ours, peer, "benches/heal_time.py", "30")?;
    let cold = |json: &Json| json.get("cold_ms").and_then(Json::as_f64).map(|millis| [millis; 3]).context("no cold_ms");
    Ok(vec![
        Figure {
            what: "renamed CSV column, failing call to healed result, all gates, file written: warm".to_owned(),
            unit: "ms",
            bar: Some(50.0),
            ours: three(&ours, &["warm_ms"])?,
            peer: Some(three(&peer, &["warm_ms"])?),
        },
        Figure {
            what: "the same, the first in its process (one sample)".to_owned(),
            unit: "ms",
            bar: None,
            ours: cold(&ours)?,
            peer: Some(cold(&peer)?),
        },
    ])
}

fn model(workshop: &Workshop, ours: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let mut command = ours.python(&workshop.root);
    let json = answer(command.args(["benches/model_request.py", "30"]))?;
    let first = json.get("first_ms").and_then(Json::as_f64).context("no first_ms")?;
    let figure = |what: &str, bar: Option<f64>, ours: [f64; 3]| Figure {
        what: format!("failing call of 60 lines to the first request to a model: {what}"),
        unit: "ms",
        bar,
        ours,
        peer: None,
    };
    Ok(vec![
        figure("warm", Some(5.0), three(&json, &["warm_ms"])?),
        figure("the first in its process", Some(15.0), three(&json, &["cold_ms"])?),
        figure("the first of its project, whose store is made (one sample)", None, [first; 3]),
    ])
}

fn evidence(workshop: &Workshop, ours: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let json = answer(ours.python(&workshop.root).args(["benches/evidence_time.py", "60"]))?;
    let mut figures = Vec::new();
    for (held, bar) in [
        ("typical", 1.0),
        ("list of 1,000,000", 10.0),
        ("50 MB of bytes", 10.0),
        ("50 MB of text", 10.0),
        ("50 MB frame", 10.0),
    ] {
        // Lower quartile, median, upper quartile there.
        let [low, middle, high] = three(&json, &[held, "ms"])?;
        figures.push(Figure {
            what: format!("failing call to recorded evidence, held: {held}"),
            unit: "ms",
            bar: Some(bar),
            ours: [middle, low, high],
            peer: None,
        });
        let most = json.get(held).and_then(|one| one.get("MiB")).and_then(Json::as_f64).context("no MiB")?;
        figures.push(Figure {
            what: format!("the same: most memory over, held: {held}"),
            unit: "MiB",
            bar: Some(5.0),
            ours: [most; 3],
            peer: None,
        });
    }
    Ok(figures)
}

fn rest(workshop: &Workshop, ours: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let json = answer(ours.python(&workshop.root).args(["benches/rest_time.py", "100"]))?;
    Ok(vec![Figure {
        what: "a failure that rests, over the same undecorated".to_owned(),
        unit: "ms",
        bar: Some(1.0),
        ours: three(&json, &["over_ms"])?,
        peer: None,
    }])
}

fn redact(workshop: &Workshop, ours: &Venv, peer: &Venv) -> anyhow::Result<Vec<Figure>> {
    let [ours, peer] = both(workshop, ours, peer, "benches/redact_speed.py", "5")?;
    let growth = |json: &Json| json.get("growth").and_then(Json::as_f64).map(|times| [times; 3]).context("no growth");
    // Milliseconds a megabyte, since a bar is a most: 5 are 200 MB/s.
    let cost = |what: &str, name: &str, bar: Option<f64>| -> anyhow::Result<Figure> {
        // The upper quartile of a speed is the lower one of what it costs.
        let of = |json: &Json| {
            three(json, &[name]).map(|[middle, low, high]| [middle, high, low].map(|speed| 1_000.0 / speed))
        };
        let peer = if peer.get(name).is_some() { Some(of(&peer)?) } else { None };
        Ok(Figure { what: format!("redaction: {what}"), unit: "ms/MB", bar, ours: of(&ours)?, peer })
    };
    Ok(vec![
        cost("log lines", "log", Some(5.0))?,
        cost("JSON, read, cleaned, written", "json text", Some(5.0))?,
        cost("nested data, from Python objects to Python objects", "json", None)?,
        Figure {
            what: "redaction: a word four times as long takes so many times as long".to_owned(),
            unit: "times",
            bar: Some(4.5),
            ours: growth(&ours)?,
            peer: Some(growth(&peer)?),
        },
        Figure {
            what: "redaction: the slowest of eleven texts of 16 KiB that are made to be slow".to_owned(),
            unit: "ms",
            bar: Some(50.0),
            ours: [ours.get("slow_ms").and_then(Json::as_f64).context("no slow_ms")?; 3],
            peer: None,
        },
    ])
}

fn ticker(workshop: &Workshop, ours: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let json = answer(ours.python(&workshop.root).args(["benches/ticker.py", "9"]))?;
    let one = |name: &str| json.get(name).and_then(Json::as_f64).with_context(|| format!("no {name}"));
    let [middle, low, high] = three(&json, &["late_ms"])?;
    let figure = |what: &str, bar: Option<f64>, ours: [f64; 3]| Figure {
        what: format!("lateness of a 10 ms ticker while 100 failing tasks wait 2 s for a model: {what}"),
        unit: "ms",
        bar,
        ours,
        peer: None,
    };
    Ok(vec![
        figure("worst of a heal", Some(20.0), [middle, low, high]),
        figure("worst of nine heals", Some(20.0), [one("worst_ms")?; 3]),
        figure("worst of the first in its process", Some(20.0), [one("first_ms")?; 3]),
        figure("with nothing to wait for", None, [one("alone_ms")?; 3]),
    ])
}

fn detect(workshop: &Workshop, _: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let arguments = ["run", "--release", "--quiet", "-p", "sanare-detect", "--example", "detect_speed", "--", "9"];
    let json = answer(&mut shell::cargo(&workshop.root, &arguments))?;
    let figure = |key: &str, what: &str, unit: &'static str, bar: f64| -> anyhow::Result<Figure> {
        Ok(Figure { what: what.to_owned(), unit, bar: Some(bar), ours: three(&json, &[key])?, peer: None })
    };
    Ok(vec![
        figure("observation_us", "an observation through its rules, 10,000 signals, one core", "µs", 10.0)?,
        figure("replay_s", "a million stored observations replayed", "s", 5.0)?,
        figure("inhibition_ms", "10,000 incidents grouped and under 100 inhibitions", "ms", 100.0)?,
    ])
}

fn observations(workshop: &Workshop, _: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let arguments = ["run", "--release", "--quiet", "-p", "sanare-store", "--example", "observation_speed", "--", "9"];
    let json = answer(shell::cargo(&workshop.root, &arguments).arg(&workshop.target))?;
    // Microseconds a reading, since a bar is a most; the upper quartile of a speed is the lower one of what it costs.
    let cost = |name: &str| three(&json, &[name]).map(|[middle, low, high]| [middle, high, low].map(|rate| 1e6 / rate));
    let figure = |name: &str, bare: &str, what: &str, bar: Option<f64>| -> anyhow::Result<Figure> {
        let what = format!("a reading stored, groups of 100, each synced to the disk: {what} (beside: bare SQLite)");
        Ok(Figure { what, unit: "µs", bar, ours: cost(name)?, peer: Some(cost(bare)?) })
    };
    Ok(vec![
        figure("sixteen", "bare_sixteen", "sixteen writers", Some(62.5))?,
        figure("one", "bare_one", "one writer", None)?,
        Figure {
            what: "one write of 4 KiB with its sync, on the disk of the two above".to_owned(),
            unit: "ms",
            bar: None,
            ours: three(&json, &["sync_ms"])?,
            peer: None,
        },
    ])
}

fn observe(workshop: &Workshop, ours: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let json = answer(ours.python(&workshop.root).args(["benches/observe_cost.py", "9"]))?;
    let figure = |key: &str, what: &str, bar: f64| -> anyhow::Result<Figure> {
        let what = format!("a call of `Service.observe`, {what}");
        Ok(Figure { what, unit: "µs", bar: Some(bar), ours: three(&json, &[key])?, peer: None })
    };
    Ok(vec![figure("median_us", "in the middle", 5.0)?, figure("p99_us", "99 of 100 within", 25.0)?])
}

fn ledger(workshop: &Workshop, _: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let arguments = ["run", "--release", "--quiet", "-p", "sanare-store", "--example", "ledger_speed", "--", "3"];
    let json = answer(shell::cargo(&workshop.root, &arguments).arg(&workshop.target))?;
    Ok(vec![Figure {
        what: "a ledger of 1,000,000 records in twenty chains verified: pages, hashes, contents".to_owned(),
        unit: "s",
        bar: Some(10.0),
        ours: three(&json, &["verify_s"])?,
        peer: None,
    }])
}

fn decision(workshop: &Workshop, _: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let arguments = ["run", "--release", "--quiet", "-p", "sanare-engine", "--example", "decision_speed", "--", "2000"];
    let json = answer(&mut shell::cargo(&workshop.root, &arguments))?;
    let figure = |key: &str, what: &str, bar: f64| -> anyhow::Result<Figure> {
        let ours = json.get(key).and_then(Json::as_f64).with_context(|| format!("no {key}"))?;
        Ok(Figure { what: what.to_owned(), unit: "ms", bar: Some(bar), ours: [ours; 3], peer: None })
    };
    Ok(vec![
        figure("p99_ms", "from a firing symptom to policy's verdict, rules alone, no disk: 99 of 100 within", 5.0)?,
        figure("rules_ms", "a case through 1,000 rules of the owner's", 1.0)?,
    ])
}

fn drift(workshop: &Workshop, _: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let large = workshop.target.join("large.csv");
    write_large(&large)?;
    let mut command = shell::cargo(
        &workshop.root,
        &["run", "--release", "--quiet", "-p", "sanare-drift", "--example", "drift_speed", "--", "30"],
    );
    let json = answer(command.arg(&large));
    std::fs::remove_file(&large)?;
    let json = json?;
    let figure = |key: &str, what: &str, bar: Option<f64>| -> anyhow::Result<Figure> {
        Ok(Figure { what: what.to_owned(), unit: "ms", bar, ours: three(&json, &[key])?, peer: None })
    };
    Ok(vec![
        figure("mapping_ms", "the engine alone: a mapping of 50 columns decided", Some(1.0))?,
        figure("layer_ms", "the engine alone: the same with table, source and the edit", None)?,
        figure("shape_ms", "the engine alone: shape of a table of 100 MB, from a bounded read", Some(100.0))?,
    ])
}

/// 100 MB of a table, written anew each time: it lies in the target folder for the length of one bench.
fn write_large(path: &std::path::Path) -> anyhow::Result<()> {
    use std::io::Write as _;
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "date,customer,amount,note")?;
    let mut written = 0;
    let mut row = 0_u32;
    while written < 100_000_000 {
        let line = format!(
            "2026-01-{:02},Alfa {},{},a note that is no number\n",
            row % 28 + 1,
            row % 977,
            1_000 + row % 9_000
        );
        file.write_all(line.as_bytes())?;
        written += line.len();
        row += 1;
    }
    Ok(file.flush()?)
}

fn look_alikes(workshop: &Workshop, ours: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let base = python::main_interpreter(workshop)?;
    let peer = Venv::ready(workshop, "venv-payload-heal", &base, "payload-heal==0.1.0")?;
    let ask = |venv: &Venv, who: &str| answer(venv.python(&workshop.root).args(["benches/look_alikes.py", who]));
    let (mine, fuzzy, theirs) = (ask(ours, "sanare")?, ask(ours, "difflib")?, ask(&peer, "payload_heal")?);
    let count = |json: &Json, key: &str| -> anyhow::Result<[f64; 3]> {
        Ok([json.get(key).and_then(Json::as_f64).with_context(|| format!("no {key}"))?; 3])
    };
    let (traps, renames) = (count(&mine, "traps")?[0], count(&mine, "renames")?[0]);
    let mut figures = Vec::new();
    for (other, name) in [(&theirs, "payload-heal 0.1.0"), (&fuzzy, "difflib, the closest name")] {
        figures.push(Figure {
            what: format!("look-alikes taken for the field, of {traps} (beside: {name})"),
            unit: "",
            bar: Some(0.0),
            ours: count(&mine, "wrong")?,
            peer: Some(count(other, "wrong")?),
        });
        figures.push(Figure {
            what: format!("real renames found, of {renames} (beside: {name})"),
            unit: "",
            bar: None,
            ours: count(&mine, "found")?,
            peer: Some(count(other, "found")?),
        });
    }
    Ok(figures)
}

/// Faults on real small processes (S149): what must never be is a figure whose bar is 0.
fn safety(workshop: &Workshop, ours: &Venv, _: &Venv) -> anyhow::Result<Vec<Figure>> {
    let json =
        answer(ours.python(&workshop.root).args(["benches/safety", "--beside", "monit", "--beside", "webhook"]))?;
    let count = |path: &[&str]| -> anyhow::Result<f64> {
        let found = path.iter().try_fold(&json, |at, key| at.get(key)).and_then(Json::as_f64);
        found.with_context(|| format!("no {}", path.join(".")))
    };
    let (faults, healable, people) = (count(&["faults"])?, count(&["healable"])?, count(&["for_a_person"])?);
    let figure = |what: String, unit: &'static str, bar: Option<f64>, ours: f64| Figure {
        what,
        unit,
        bar,
        ours: [ours; 3],
        peer: None,
    };
    let mut figures = Vec::new();
    for (key, what) in [
        ("harmful", "harmful acts"),
        ("doubled", "doubled acts"),
        ("over", "acts over limits"),
        ("false_recovered", "called recovered, and not"),
        ("missed", "ended without anybody being told"),
    ] {
        figures.push(figure(format!("{faults} faults on real processes: {what}"), "", Some(0.0), count(&[key])?));
    }
    let left = 100.0 * (healable - count(&["healed"])?) / healable;
    figures.push(figure(format!("of {healable} faults that can be healed: not healed in auto"), "%", Some(20.0), left));
    let untold = people - count(&["handed_over"])?;
    figures.push(figure(format!("of {people} faults for a person: not handed over"), "", Some(0.0), untold));
    for (key, what) in [("detected_s", "detected"), ("recovered_s", "served again"), ("verified_s", "verified")] {
        let what = format!("from the fault until it was {what}, median of the healed, service time");
        figures.push(figure(what, "s", None, count(&[key])?));
    }
    for name in ["monit", "webhook"] {
        if let Ok(more) = count(&[name, "more_than_help"]) {
            let well = format!("{} of {}", count(&[name, "healed"])?, count(&[name, "healable"])?);
            let what = format!("{name} on twelve of them ({well} well again): starts that could not help");
            figures.push(figure(what, "", None, more));
        }
    }
    Ok(figures)
}

/// Runs one script in both venvs, the peer with a home folder of its own: it writes a configuration there.
fn both(workshop: &Workshop, ours: &Venv, peer: &Venv, script: &str, rounds: &str) -> anyhow::Result<[Json; 2]> {
    let home = workshop.target.join("peer-home");
    std::fs::create_dir_all(&home)?;
    let first = answer(ours.python(&workshop.root).args([script, "sanare", rounds]))?;
    let mut second = peer.python(&workshop.root);
    second.args([script, "healing_agent", rounds]).env("HOME", &home).env("HEALING_AGENT_PROVIDER", "ollama");
    Ok([first, answer(&mut second)?])
}

/// The last line that it prints, as JSON: the peer narrates on standard output.
fn answer(command: &mut std::process::Command) -> anyhow::Result<Json> {
    let text = shell::output(command.env("PYTHONDONTWRITEBYTECODE", "1"))?;
    let last = text.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(last).with_context(|| format!("not JSON: {last}"))
}

fn three(json: &Json, path: &[&str]) -> anyhow::Result<[f64; 3]> {
    let found = path.iter().try_fold(json, |at, key| at.get(key));
    let numbers: Option<Vec<f64>> =
        found.and_then(Json::as_array).map(|list| list.iter().filter_map(Json::as_f64).collect());
    match numbers.as_deref() {
        Some([median, low, high]) => Ok([*median, *low, *high]),
        _ => bail!("no three numbers at {}", path.join(".")),
    }
}
