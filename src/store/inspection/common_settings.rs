//! Settings that must be the same at all daemons of a store, told and compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What one daemon has of the settings that must be the same at all. What it does not tell is unknown; one of an
/// earlier version tells nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonSettings(BTreeMap<String, String>);

impl CommonSettings {
    /// The same with another one, by its name in the file of settings.
    #[must_use]
    pub fn with(mut self, name: &str, value: String) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// The same with others.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Those that another one has, too.
    #[must_use]
    pub fn known_to(mut self, other: &Self) -> Self {
        self.0.retain(|name, _| other.0.contains_key(name));
        self
    }

    /// As text, which is JSON.
    pub fn encode(&self) -> String {
        serde_json::to_string(self).expect("names and values are texts")
    }

    /// Reads what [`CommonSettings::encode`] gives. Anything else tells nothing.
    pub fn decode(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// In what some differ, as far as they tell, each with words for where it is: "`keep_deleted_days` is 30 here and
    /// 365 on web2". `None` where they are the same.
    pub fn differences<'a>(all: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Option<String> {
        let mut found: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
        for (place, settings) in all {
            for (name, value) in &settings.0 {
                let values = found.entry(name.as_str()).or_default();
                let places = values.entry(value.as_str()).or_default();
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        found.retain(|_, values| values.len() > 1);
        let differences = found.iter().map(|(name, values)| {
            let values = values.iter();
            let values = values.map(|(value, places)| format!("{value} {}", places.join(", ")));
            format!("{name} is {}", values.collect::<Vec<_>>().join(" and "))
        });
        let told = differences.collect::<Vec<_>>().join("; ");
        (!told.is_empty()).then_some(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_with_where_and_what_is_unknown_does_not() {
        let settings = CommonSettings::decode;
        let own = settings(r#"{"blobs":"none","days":"30"}"#);
        assert_eq!(CommonSettings::decode(&own.encode()), own);
        let told = |others: &[(&str, CommonSettings)]| {
            let others = others.iter().map(|(place, settings)| (*place, settings));
            CommonSettings::differences([("here", &own)].into_iter().chain(others))
        };
        assert_eq!(told(&[]), None);
        let same = settings(r#"{"days":"30","new":"1"}"#);
        let unknown = settings("not even JSON");
        assert_eq!(told(&[("on b", same.clone()), ("on c", unknown)]), None);
        let other = settings(r#"{"blobs":"s3://b","days":"365"}"#);
        let all = [
            ("on b", same.clone()),
            ("on c", other.clone()),
            ("on c", other.clone()),
        ];
        assert_eq!(
            told(&all).as_deref(),
            Some("blobs is none here and s3://b on c; days is 30 here, on b and 365 on c")
        );
        let known = other.known_to(&same);
        assert_eq!(known, settings(r#"{"days":"365"}"#));
    }
}
