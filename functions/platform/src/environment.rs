//! Configuration from the environment: read once, checked as a whole, every problem reported at once.
//!
//! The readers never fail on the spot. They note what is wrong and hand back something harmless, so that one look at
//! the log of a failed start shows all that must be mended:
//!
//! ```
//! # use platform::Environment;
//! # let mut env = Environment::from_map([("STAGE", "prod"), ("READY_SHARDS", "4")]);
//! struct Config { stage: String, ready_shards: u32 }
//! let config = Config { stage: env.text("STAGE"), ready_shards: env.number("READY_SHARDS", 1..=64) };
//! let config = env.finish(config)?;
//! # Ok::<(), platform::ConfigurationError>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::secret::Secret;

/// The variables of a process and the problems found in them so far.
pub struct Environment {
    variables: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

/// One variable that does not hold what it must.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The variable's name.
    pub variable: String,
    /// What it holds, shortened; `None` when it is unset or empty, or is not to be shown.
    pub held: Option<String>,
    /// What it may hold.
    pub allowed: String,
}

/// Everything that is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigurationError {
    /// One entry a variable, in the order they were read; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the configuration has {} problem(s)", self.problems.len())?;
        for Problem {
            variable,
            held,
            allowed,
        } in &self.problems
        {
            match held {
                Some(held) => write!(f, "; {variable} holds {held:?}, allowed is {allowed}")?,
                None => write!(f, "; {variable} is not set, needed is {allowed}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values stay out: the environment may hold credentials.
        f.debug_struct("Environment")
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl Environment {
    /// The variables of this process. One that is not UTF-8 counts as unset.
    pub fn from_process() -> Self {
        let text = |pair: (std::ffi::OsString, std::ffi::OsString)| {
            Some((pair.0.into_string().ok()?, pair.1.into_string().ok()?))
        };
        Self::from_map(std::env::vars_os().filter_map(text))
    }

    /// The given variables and no others.
    pub fn from_map<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            variables,
            problems: vec![],
        }
    }

    /// Whether this is `sam local`, where overrides are honoured that are ignored elsewhere.
    pub fn is_sam_local(&self) -> bool {
        self.held("AWS_SAM_LOCAL").is_some_and(|value| value == "true")
    }

    /// A text that must be there.
    pub fn text(&mut self, name: &str) -> String {
        match self.held(name) {
            Some(value) => value.to_owned(),
            None => {
                self.problem(name, "a text that is not empty");
                String::new()
            }
        }
    }

    /// A text that may be missing. Templates have no way to leave a variable out, so empty is the same as unset.
    pub fn optional_text(&mut self, name: &str) -> Option<String> {
        self.held(name).map(str::to_owned)
    }

    /// Texts separated by commas, at least one; blanks around each are dropped.
    pub fn list(&mut self, name: &str) -> Vec<String> {
        let items: Vec<String> = self
            .held(name)
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .map(str::to_owned)
            .collect();
        if items.iter().any(String::is_empty) {
            self.problem(name, "one or more texts separated by commas, none of them empty");
            return vec![];
        }
        items
    }

    /// A number within `range`, which must be there.
    pub fn number<N>(&mut self, name: &str, range: RangeInclusive<N>) -> N
    where
        N: FromStr + PartialOrd + Copy + fmt::Display,
    {
        self.checked_number(name, &range).unwrap_or_else(|| {
            self.problem(
                name,
                format!("a number from {} to {}", range.start(), range.end()),
            );
            *range.start()
        })
    }

    /// A number within `range`, or `default` when the variable is unset or empty.
    pub fn number_or<N>(&mut self, name: &str, default: N, range: RangeInclusive<N>) -> N
    where
        N: FromStr + PartialOrd + Copy + fmt::Display,
    {
        if self.held(name).is_none() {
            default
        } else {
            self.number(name, range)
        }
    }

    /// Zero, which switches something off, or a number within `range`.
    pub fn zero_or_number(&mut self, name: &str, range: RangeInclusive<u64>) -> u64 {
        if self.held(name) == Some("0") {
            return 0;
        }
        self.checked_number(name, &range).unwrap_or_else(|| {
            self.problem(
                name,
                format!("0, or a number from {} to {}", range.start(), range.end()),
            );
            0
        })
    }

    /// One of a few words, each with its meaning. A problem gives the first.
    ///
    /// # Panics
    /// When `choices` is empty, which no configuration can mend.
    pub fn choice<T: Clone>(&mut self, name: &str, choices: &[(&str, T)]) -> T {
        let held = self.held(name);
        match choices.iter().find(|(word, _)| held == Some(word)) {
            Some((_, meaning)) => meaning.clone(),
            None => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                self.problem(name, format!("one of {}", words.join(", ")));
                choices[0].1.clone()
            }
        }
    }

    /// `true` or `false`, which must be there.
    pub fn flag(&mut self, name: &str) -> bool {
        self.choice(name, &[("false", false), ("true", true)])
    }

    /// The base of a web address, `http://` or `https://`, without trailing slashes; empty is `None`.
    ///
    /// No user name and no query: those carry credentials, and addresses are logged.
    pub fn optional_url(&mut self, name: &str) -> Option<String> {
        let held = self.held(name)?.trim_end_matches('/').to_owned();
        let rest = held
            .strip_prefix("https://")
            .or_else(|| held.strip_prefix("http://"));
        let host = rest.and_then(|rest| rest.split('/').next()).unwrap_or_default();
        let odd =
            |c: char| c.is_whitespace() || c.is_control() || matches!(c, '@' | '?' | '#' | '"' | '<' | '>');
        if host.is_empty() || host.starts_with(':') || held.contains(odd) {
            self.secret_problem(
                name,
                "a web address such as https://example.com/path, without user name or query",
            );
            return None;
        }
        Some(held)
    }

    /// A secret for runs under `sam local`: `None` anywhere else, whatever the variable holds, and when it is empty.
    pub fn local_secret(&mut self, name: &str) -> Option<Secret> {
        if !self.is_sam_local() {
            return None;
        }
        self.held(name).map(Secret::new)
    }

    /// Notes a problem that the caller found, with the value that the variable holds.
    pub fn problem(&mut self, name: &str, allowed: impl Into<String>) {
        let held = self.held(name).map(|value| value.chars().take(80).collect());
        self.problems.push(Problem {
            variable: name.to_owned(),
            held,
            allowed: allowed.into(),
        });
    }

    /// Notes a problem without showing what the variable holds.
    pub fn secret_problem(&mut self, name: &str, allowed: impl Into<String>) {
        let held = self.held(name).map(|_| "(not shown)".to_owned());
        self.problems.push(Problem {
            variable: name.to_owned(),
            held,
            allowed: allowed.into(),
        });
    }

    /// The configuration, if nothing was wrong with any variable read so far.
    ///
    /// # Errors
    /// All problems together.
    pub fn finish<T>(self, configuration: T) -> Result<T, ConfigurationError> {
        if self.problems.is_empty() {
            Ok(configuration)
        } else {
            Err(ConfigurationError {
                problems: self.problems,
            })
        }
    }

    fn held(&self, name: &str) -> Option<&str> {
        self.variables
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    fn checked_number<N: FromStr + PartialOrd>(&self, name: &str, range: &RangeInclusive<N>) -> Option<N> {
        self.held(name)?
            .parse()
            .ok()
            .filter(|number| range.contains(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_reported_at_once() {
        let mut env = Environment::from_map([
            ("GOOD", "yes"),
            ("EMPTY", ""),
            ("SHARDS", "65"),
            ("WORD", "never"),
            ("AGE", "600"),
            ("FLAG", "TRUE"),
            ("URL", "https://user:hunter2@example.com"),
            ("LIST", "a,,b"),
        ]);
        assert_eq!(env.text("GOOD"), "yes");
        env.text("EMPTY");
        env.text("UNSET");
        env.number("SHARDS", 1..=64u32);
        env.choice("WORD", &[("document", 1), ("type", 2)]);
        env.zero_or_number("AGE", 2100..=86_400);
        env.flag("FLAG");
        env.optional_url("URL");
        env.list("LIST");
        let error = env.finish(()).unwrap_err();
        let variables: Vec<&str> = error.problems.iter().map(|p| p.variable.as_str()).collect();
        assert_eq!(
            variables,
            ["EMPTY", "UNSET", "SHARDS", "WORD", "AGE", "FLAG", "URL", "LIST"]
        );
        let text = error.to_string();
        assert!(
            text.contains("SHARDS holds \"65\", allowed is a number from 1 to 64"),
            "{text}"
        );
        assert!(
            text.contains("WORD holds \"never\", allowed is one of document, type"),
            "{text}"
        );
        assert!(
            text.contains("AGE holds \"600\", allowed is 0, or a number from 2100 to 86400"),
            "{text}"
        );
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn what_is_right_is_read() {
        let mut env = Environment::from_map([
            ("NUMBER", "7"),
            ("WORD", "type"),
            ("OFF", "0"),
            ("AGE", "2100"),
            ("FLAG", "true"),
            ("URL", "https://admin.stellate.co/my-service/"),
            ("LIST", "production, staging"),
            ("NOTHING", ""),
        ]);
        assert_eq!(env.number("NUMBER", 1..=10u64), 7);
        assert_eq!(env.number_or("NOTHING", 3, 1..=10u64), 3);
        assert_eq!(env.choice("WORD", &[("document", 1), ("type", 2)]), 2);
        assert_eq!(env.zero_or_number("OFF", 2100..=86_400), 0);
        assert_eq!(env.zero_or_number("AGE", 2100..=86_400), 2100);
        assert!(env.flag("FLAG"));
        assert_eq!(
            env.optional_url("URL").as_deref(),
            Some("https://admin.stellate.co/my-service")
        );
        assert_eq!(env.optional_url("NOTHING"), None);
        assert_eq!(env.optional_text("NOTHING"), None);
        assert_eq!(env.list("LIST"), ["production", "staging"]);
        env.finish(()).unwrap();
    }

    #[test]
    fn a_local_secret_counts_only_under_sam_local() {
        let variables = [("LOCAL_SECRET", "hunter2")];
        assert_eq!(
            Environment::from_map(variables).local_secret("LOCAL_SECRET"),
            None
        );
        for (value, honoured) in [("false", false), ("", false), ("1", false), ("true", true)] {
            let mut env = Environment::from_map(variables.into_iter().chain([("AWS_SAM_LOCAL", value)]));
            assert_eq!(env.local_secret("LOCAL_SECRET").is_some(), honoured, "{value:?}");
        }
        let mut env = Environment::from_map([("LOCAL_SECRET", ""), ("AWS_SAM_LOCAL", "true")]);
        assert_eq!(env.local_secret("LOCAL_SECRET"), None);
    }

    #[test]
    fn debug_shows_no_values() {
        let env = Environment::from_map([("TOKEN", "hunter2")]);
        assert!(!format!("{env:?}").contains("hunter2"));
    }
}
