//! Lines of logs become counts of configured patterns every ten seconds, and a few masked templates (S30).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;

use regex::Regex;
use sanare_core::service::config::LogSettings;
use sanare_core::service::moment::SECOND;
use sanare_core::service::template::{LINE, template};
use sanare_core::service::value::TEMPLATES;
use sanare_core::service::{Application, Component, Draft, Invalid, LogCount, Moment, ObservedValue, Signal, Text};
use sanare_effects::service::follow::Follow;

use super::healer::locked;
use super::setup::Setup;

/// The span of a count.
const WINDOW: u64 = 10 * SECOND;
/// Lines of a window that templates are made of.
const LOOKED_AT: u64 = 200;

/// The count of one pattern.
#[derive(Debug)]
pub(super) struct Counter {
    component: Component,
    signal: Signal,
    pattern: Regex,
    window: Mutex<Window>,
}

#[derive(Debug, Default)]
struct Window {
    count: u64,
    templates: BTreeSet<Text>,
    began: Option<Moment>,
    /// Whether its lines could not be read for some of the time: then its count is none.
    torn: bool,
}

impl Counter {
    fn new(settings: &LogSettings) -> Result<Self, Invalid> {
        Ok(Self {
            component: settings.component.clone(),
            signal: settings.signal.clone(),
            pattern: settings.regex()?,
            window: Mutex::default(),
        })
    }

    /// Counters of what a program of this process logs.
    pub fn of_program(setup: &Setup, application: &Application) -> Vec<Self> {
        let service = setup.configuration.services.get(application);
        let logs = service.into_iter().flat_map(|service| &service.logs);
        // A pattern that is none was refused when the configuration was read.
        logs.filter(|log| log.file.is_none()).filter_map(|log| Self::new(log).ok()).collect()
    }

    /// Takes a line.
    pub fn take(&self, line: &str) {
        if !self.pattern.is_match(line) {
            return;
        }
        let mut window = locked(&self.window);
        window.count += 1;
        if window.count <= LOOKED_AT && window.templates.len() < TEMPLATES {
            window.templates.insert(template(line));
        }
    }

    /// The count of the window that has ended now, if one has.
    pub fn ended(&self, application: &Application, now: Moment) -> Option<Draft> {
        let mut window = locked(&self.window);
        let began = *window.began.get_or_insert(now);
        if now.since(began) < WINDOW {
            return None;
        }
        let Window { count, templates, torn, .. } = std::mem::take(&mut *window);
        window.began = Some(now);
        let counted = LogCount { count, templates: templates.into_iter().collect() };
        let draft = Draft::new(application.clone(), self.signal.clone(), ObservedValue::LogSignal(counted));
        (!torn).then(|| Draft { component: self.component.clone(), event_time: Some(now), ..draft })
    }
}

/// A line, as much of it as is looked at.
pub(super) fn start(line: &str) -> &str {
    let mut end = line.len().min(LINE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}

/// A followed file with its patterns.
#[derive(Debug)]
struct Source {
    application: Application,
    path: PathBuf,
    follow: Follow,
    counters: Vec<Counter>,
}

/// All files that are followed.
#[derive(Debug, Default)]
pub(super) struct Files(Vec<Source>);

impl Files {
    /// Follows what a service's configuration names; each file is read once, however many patterns are sought in it.
    pub fn add(&mut self, setup: &Setup, application: &Application, settings: &LogSettings) -> Result<(), Invalid> {
        let Some(file) = &settings.file else { return Ok(()) };
        let path = setup.path(file);
        let counter = Counter::new(settings)?;
        let known = self.0.iter_mut().find(|source| source.path == path && source.application == *application);
        match known {
            Some(source) => source.counters.push(counter),
            None => self.0.push(Source {
                application: application.clone(),
                follow: Follow::new(&path),
                path,
                counters: vec![counter],
            }),
        }
        Ok(())
    }

    /// Goes on in files that another configuration follows where it has come to: a line that came before the change and
    /// was not looked at yet is counted.
    pub fn go_on_from(&mut self, before: &mut Self) {
        for source in &mut self.0 {
            let same = |one: &&mut Source| one.path == source.path && one.application == source.application;
            if let Some(known) = before.0.iter_mut().find(same) {
                std::mem::swap(&mut known.follow, &mut source.follow);
            }
        }
    }

    /// Looks at each file; the counts whose window has ended. Of a file that cannot be read nothing is said: its counts
    /// stay away.
    pub fn beat(&mut self, now: Moment) -> Vec<Draft> {
        let mut drafts = Vec::new();
        for Source { application, follow, counters, .. } in &mut self.0 {
            let looked = follow.look(|line| {
                let line = String::from_utf8_lossy(line);
                counters.iter().for_each(|counter| counter.take(&line));
            });
            for counter in counters.iter() {
                locked(&counter.window).torn |= looked.is_err();
                drafts.extend(counter.ended(application, now));
            }
        }
        drafts
    }
}
