//! The storefronts: one by variables of its own, further ones as a JSON list.

use std::collections::BTreeSet;

use platform::Environment;
use purge::{Encode, PathRules, SecretIn, StorefrontConfig, TrailingSlash};
use serde::Deserialize;

/// The name of the storefront that has variables of its own.
const FIRST: &str = "storefront";
const MORE: &str = "MORE_STOREFRONTS";
/// Paths that one request may hold.
const LARGEST_BATCH: usize = 1000;

/// One storefront, and where its secrets are.
#[derive(Debug, Clone)]
pub struct StorefrontSettings {
    /// The target.
    pub config: StorefrontConfig,
    /// Names of the headers sent along; see [`Self::header_field`].
    pub headers: Vec<String>,
}

impl StorefrontSettings {
    /// The field of the targets' secret that holds this storefront's own: `storefront_secret`, `blog_secret`.
    pub fn secret_field(&self) -> String {
        format!("{}_secret", self.config.name)
    }

    /// The field that holds a header's value: `storefront_x-vercel-protection-bypass`.
    pub fn header_field(&self, header: &str) -> String {
        format!("{}_{header}", self.config.name)
    }
}

/// One entry of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    url: String,
    route: Option<String>,
    #[serde(default)]
    secret_in: SecretIn,
    batch_size: Option<usize>,
    #[serde(default)]
    base_path: String,
    #[serde(default)]
    locales: Vec<String>,
    #[serde(default)]
    trailing_slash: TrailingSlash,
    #[serde(default)]
    encode: Encode,
    #[serde(default)]
    headers: Vec<String>,
}

/// Reads all storefronts; none is fine.
pub(super) fn read(env: &mut Environment) -> Vec<StorefrontSettings> {
    let mut all: Vec<StorefrontSettings> = first(env).into_iter().collect();
    let Some(text) = env.optional_text(MORE) else {
        return all;
    };
    let listed: Vec<Listed> = match serde_json::from_str(&text) {
        Ok(listed) => listed,
        Err(error) => {
            env.problem(MORE, format!("a JSON list of storefronts ({error})"));
            return all;
        }
    };
    let mut names: BTreeSet<String> = all.iter().map(|one| one.config.name.clone()).collect();
    for each in listed {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if each.name.is_empty() || !each.name.bytes().all(plain) {
            env.problem(MORE, "names of lower-case letters, digits and hyphens");
        } else if !names.insert(each.name.clone()) {
            env.problem(MORE, format!("each name once; {:?} is there twice", each.name));
        }
        if !each
            .batch_size
            .is_none_or(|size| (1..=LARGEST_BATCH).contains(&size))
        {
            env.problem(MORE, format!("a batch_size from 1 to {LARGEST_BATCH}"));
        }
        all.push(each.into());
    }
    all
}

fn first(env: &mut Environment) -> Option<StorefrontSettings> {
    let url = env.optional_url("STOREFRONT_URL");
    let list = |env: &mut Environment, name: &str| match env.optional_text(name) {
        None => vec![],
        Some(_) => env.list(name),
    };
    let settings = StorefrontSettings {
        config: StorefrontConfig {
            name: FIRST.to_owned(),
            route: env.text("STOREFRONT_ROUTE"),
            secret_in: env.choice(
                "STOREFRONT_SECRET_IN",
                &[("header", SecretIn::Header), ("query", SecretIn::Query)],
            ),
            batch_size: env.number("STOREFRONT_BATCH_SIZE", 1..=LARGEST_BATCH),
            paths: PathRules {
                base_path: env.optional_text("STOREFRONT_BASE_PATH").unwrap_or_default(),
                locales: list(env, "STOREFRONT_LOCALES"),
                trailing_slash: env.choice(
                    "STOREFRONT_TRAILING_SLASH",
                    &[
                        ("as-is", TrailingSlash::AsIs),
                        ("always", TrailingSlash::Always),
                        ("never", TrailingSlash::Never),
                    ],
                ),
                encode: env.choice(
                    "STOREFRONT_ENCODE",
                    &[("none", Encode::None), ("path", Encode::Path)],
                ),
            },
            ..StorefrontConfig::new(url.clone().unwrap_or_default())
        },
        headers: list(env, "STOREFRONT_HEADERS"),
    };
    url.map(|_| settings)
}

impl From<Listed> for StorefrontSettings {
    fn from(listed: Listed) -> Self {
        let default = StorefrontConfig::new(listed.url);
        Self {
            config: StorefrontConfig {
                name: listed.name,
                route: listed.route.unwrap_or(default.route),
                secret_in: listed.secret_in,
                batch_size: listed.batch_size.unwrap_or(default.batch_size),
                paths: PathRules {
                    base_path: listed.base_path,
                    locales: listed.locales,
                    trailing_slash: listed.trailing_slash,
                    encode: listed.encode,
                },
                ..StorefrontConfig::new(default.base_url)
            },
            headers: listed.headers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF: [(&str, &str); 8] = [
        ("STOREFRONT_URL", ""),
        ("STOREFRONT_ROUTE", "/api/revalidate"),
        ("STOREFRONT_SECRET_IN", "header"),
        ("STOREFRONT_BATCH_SIZE", "20"),
        ("STOREFRONT_BASE_PATH", ""),
        ("STOREFRONT_LOCALES", ""),
        ("STOREFRONT_TRAILING_SLASH", "as-is"),
        ("STOREFRONT_ENCODE", "none"),
    ];

    fn storefronts(set: &[(&str, &str)]) -> Result<Vec<StorefrontSettings>, String> {
        let mut env = Environment::from_map(OFF.iter().chain(set).copied());
        let read = read(&mut env);
        env.finish(read).map_err(|error| error.to_string())
    }

    fn paths(settings: &StorefrontSettings, slug: &str) -> Vec<String> {
        settings.config.paths.paths(slug).unwrap()
    }

    #[test]
    fn nothing_set_is_no_storefront() {
        assert!(storefronts(&[]).unwrap().is_empty());
    }

    #[test]
    fn one_storefront_by_its_variables() {
        let read = storefronts(&[
            ("STOREFRONT_URL", "https://shop.example/base/"),
            ("STOREFRONT_ROUTE", "/hooks/fresh"),
            ("STOREFRONT_BASE_PATH", "/base"),
            ("STOREFRONT_LOCALES", "/, it"),
            ("STOREFRONT_TRAILING_SLASH", "always"),
            ("STOREFRONT_ENCODE", "path"),
            ("STOREFRONT_HEADERS", "x-vercel-protection-bypass"),
        ])
        .unwrap();
        let [one] = read.as_slice() else {
            panic!("{read:?}")
        };
        assert_eq!(paths(one, "/é"), ["/base/%C3%A9/", "/base/it/%C3%A9/"]);
        assert_eq!(one.config.route, "/hooks/fresh");
        assert_eq!(one.config.base_url, "https://shop.example/base");
        assert_eq!(one.secret_field(), "storefront_secret");
        assert_eq!(
            one.header_field(&one.headers[0]),
            "storefront_x-vercel-protection-bypass"
        );
    }

    #[test]
    fn several_storefronts_have_rules_and_secrets_of_their_own() {
        let more = r#"[{"name":"blog","url":"https://blog.example"},
            {"name":"docs-2","url":"https://docs.example","route":"/r","secret_in":"query","batch_size":5,
             "base_path":"/docs","locales":["","it"],"trailing_slash":"never","encode":"path","headers":["x-a"]}]"#;
        let read = storefronts(&[("STOREFRONT_URL", "https://shop.example"), (MORE, more)]).unwrap();
        let names: Vec<&str> = read.iter().map(|one| one.config.name.as_str()).collect();
        assert_eq!(names, ["storefront", "blog", "docs-2"]);
        assert_eq!(paths(&read[1], "/a/"), ["/a/"]);
        assert_eq!(paths(&read[2], "/é/"), ["/docs/%C3%A9", "/docs/it/%C3%A9"]);
        assert_eq!(read[2].config.secret_in, SecretIn::Query);
        assert_eq!(
            (read[2].config.route.as_str(), read[2].config.batch_size),
            ("/r", 5)
        );
        assert_eq!(read[2].secret_field(), "docs-2_secret");
        assert_eq!(read[2].header_field("x-a"), "docs-2_x-a");
        // Without the first.
        assert_eq!(storefronts(&[(MORE, more)]).unwrap().len(), 2);
    }

    #[test]
    fn what_is_wrong_with_the_list_is_said() {
        for (more, said) in [
            ("[", "EOF"),
            (r#"[{"name":"a"}]"#, "url"),
            (r#"[{"name":"a","url":"u","surprise":1}]"#, "surprise"),
            (r#"[{"name":"a","url":"u","trailing_slash":"maybe"}]"#, "maybe"),
            (r#"[{"name":"A b","url":"u"}]"#, "lower-case letters"),
            (r#"[{"name":"a","url":"u"},{"name":"a","url":"u"}]"#, "twice"),
            (r#"[{"name":"a","url":"u","batch_size":0}]"#, "batch_size"),
        ] {
            let error = storefronts(&[(MORE, more)]).unwrap_err();
            assert!(error.contains(said), "{more}: {error}");
        }
    }
}
