//! Which component an action is for: never a name that nobody configured (S13).

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::invalid::Invalid;
use super::name::{Application, Component};

/// The configured components of one action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ComponentTable {
    /// Nothing is configured: it is `application`, which then needs a target of that name.
    #[default]
    NotConfigured,
    /// One name that holds everywhere.
    Everywhere(Component),
    /// A name an application.
    ByApplication(BTreeMap<Application, Component>),
}

impl ComponentTable {
    /// Reads what the configuration holds.
    ///
    /// # Errors
    /// [`Invalid`] for a number, a list, a blank or otherwise illegal name.
    pub fn read(json: &Json) -> Result<Self, Invalid> {
        match json {
            Json::String(name) => Component::parse(name.as_str()).map(Self::Everywhere),
            Json::Object(map) => {
                let mut table = BTreeMap::new();
                for (application, component) in map {
                    let name = component
                        .as_str()
                        .ok_or_else(|| Invalid::new(format!("component.{application}"), "is a name"))?;
                    table.insert(Application::parse(application.as_str())?, Component::parse(name)?);
                }
                Ok(Self::ByApplication(table))
            }
            _ => Err(Invalid::new("component", "is one name, or a table from application to name")),
        }
    }

    /// The component for an application.
    ///
    /// # Errors
    /// The reason why the action is unavailable there.
    pub fn of(&self, application: &Application) -> Result<Component, String> {
        match self {
            Self::NotConfigured => Ok(Component::default()),
            Self::Everywhere(component) => Ok(component.clone()),
            Self::ByApplication(table) => {
                table.get(application).cloned().ok_or_else(|| format!("no component is configured for `{application}`"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::ComponentTable;
    use crate::service::name::Application;

    fn check(json: &Json) -> String {
        let fraud = Application::parse("fraud").expect("a name");
        match ComponentTable::read(json).map(|table| table.of(&fraud)) {
            Err(invalid) => format!("refused: {}", invalid.field),
            Ok(Ok(component)) => component.to_string(),
            Ok(Err(why)) => format!("unavailable: {why}"),
        }
    }

    #[test]
    fn no_name_is_ever_assumed() {
        assert_eq!(check(&json!(5)), "refused: component");
        assert_eq!(check(&json!(["api"])), "refused: component");
        assert_eq!(check(&json!(" ")), "refused: component");
        assert_eq!(check(&json!({ "fraud": 5 })), "refused: component.fraud");
        assert_eq!(check(&json!({ "fraud": "" })), "refused: component");
        assert_eq!(check(&json!({})), "unavailable: no component is configured for `fraud`");
        assert_eq!(check(&json!({ "churn": "api" })), "unavailable: no component is configured for `fraud`");
        assert_eq!(check(&json!({ "fraud": "api" })), "api");
        assert_eq!(check(&json!("api")), "api");
        let fraud = Application::parse("fraud").expect("a name");
        assert_eq!(ComponentTable::default().of(&fraud).map(|name| name.to_string()), Ok("application".to_owned()));
    }
}
