//! The kinds of incidents (S8): when each opens, and how severe it is unless a rule says otherwise.

use super::word::{Severity, words};

words! {
    /// What is wrong.
    IncidentKind("kind") {
        /// Nobody is served.
        Unreachable = "unreachable",
        /// The ping passes and nobody is served.
        HalfAlive = "half_alive",
        /// The process keeps dying.
        CrashLoop = "crash_loop",
        /// Too many requests fail.
        ErrorRateHigh = "error_rate_high",
        /// Answers take too long.
        LatencyHigh = "latency_high",
        /// Far fewer requests than expected.
        ThroughputCollapse = "throughput_collapse",
        /// Memory, disk or handles run out.
        ResourceExhausted = "resource_exhausted",
        /// The service runs without its model.
        ModelLoadFailed = "model_load_failed",
        /// The registry names another version than is served.
        WrongModelVersion = "wrong_model_version",
        /// Predictions are bad, by labels.
        QualityLow = "quality_low",
        /// Predictions are probably bad, by an estimate without labels.
        EstimatedQualityLow = "estimated_quality_low",
        /// Features are distributed otherwise than in the reference.
        InputDrift = "input_drift",
        /// Predictions are.
        OutputDrift = "output_drift",
        /// Features have other types or ranges.
        SchemaViolation = "schema_violation",
        /// A feature is absent.
        FeatureMissing = "feature_missing",
        /// The live model is too old.
        ModelStale = "model_stale",
        /// The newest data are too old.
        DataStale = "data_stale",
        /// Something that it needs is down.
        DependencyDown = "dependency_down",
        /// A signal stays away.
        SignalMissing = "signal_missing",
        /// A Python function failed: code healing's incidents.
        CodeException = "code_exception",
        /// Too many applications are ill at once.
        Storm = "storm",
        /// An outside alert that no mapping names.
        Unclassified = "unclassified",
    }
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindLine {
    /// When it opens, for people.
    pub opens: &'static str,
    /// How severe it is by default.
    pub severity: Severity,
}

impl IncidentKind {
    /// Its line of the table.
    pub fn line(self) -> KindLine {
        use Severity::{Critical, High, Low, Medium};
        let (severity, opens) = match self {
            Self::Unreachable => (Critical, "the serving probe fails 3 times in a row or for 90 s"),
            Self::HalfAlive => (High, "the ping passes, the serving probe fails or a wrong instance answers"),
            Self::CrashLoop => (Critical, "3 starts of the process in 10 min"),
            Self::ErrorRateHigh => (High, "the error share is over its bound, or the error budget burns"),
            Self::LatencyHigh => (Medium, "a latency signal is over its bound"),
            Self::ThroughputCollapse => (High, "requests are under 20 % of the expected rate for 5 min"),
            Self::ResourceExhausted => (High, "memory, GPU memory, disk or handles are over 95 % of the limit"),
            Self::ModelLoadFailed => (Critical, "the service says so, or starts without a model"),
            Self::WrongModelVersion => (High, "the served version differs from the registry's, or is unknown to it"),
            Self::QualityLow => (High, "a labelled quality signal is outside its bound"),
            Self::EstimatedQualityLow => (Medium, "the estimate without labels falls"),
            Self::InputDrift => (Medium, "features drift"),
            Self::OutputDrift => (Medium, "predictions drift"),
            Self::SchemaViolation => (High, "feature types or ranges are broken"),
            Self::FeatureMissing => {
                (High, "a feature is absent or empty in over 5 % of requests, in the reference in under 1 %")
            }
            Self::ModelStale => (Low, "the age of the live model is over its limit"),
            Self::DataStale => (Medium, "the newest training or feature data are over their limit"),
            Self::DependencyDown => (High, "the probe of a declared dependency fails"),
            Self::SignalMissing => (Medium, "a signal stays away"),
            Self::CodeException => (Medium, "a Python function failed"),
            Self::Storm => (Critical, "too many applications are ill at once"),
            Self::Unclassified => (Low, "an outside alert that no mapping names"),
        };
        KindLine { opens, severity }
    }

    /// Whether a version that was live under such an incident is not known-good for that time (S87).
    pub fn taints_version(self) -> bool {
        matches!(
            self,
            Self::CrashLoop | Self::ModelLoadFailed | Self::QualityLow | Self::EstimatedQualityLow | Self::OutputDrift
        )
    }
}

#[cfg(test)]
mod tests {
    use super::IncidentKind;

    #[test]
    fn the_table_is_the_specification_s() {
        let table: Vec<String> =
            IncidentKind::ALL.iter().map(|kind| format!("{kind} {}", kind.line().severity)).collect();
        assert_eq!(
            table,
            [
                "unreachable critical",
                "half_alive high",
                "crash_loop critical",
                "error_rate_high high",
                "latency_high medium",
                "throughput_collapse high",
                "resource_exhausted high",
                "model_load_failed critical",
                "wrong_model_version high",
                "quality_low high",
                "estimated_quality_low medium",
                "input_drift medium",
                "output_drift medium",
                "schema_violation high",
                "feature_missing high",
                "model_stale low",
                "data_stale medium",
                "dependency_down high",
                "signal_missing medium",
                "code_exception medium",
                "storm critical",
                "unclassified low",
            ]
        );
    }
}
