//! From the slug that a route holds to the paths that the storefront is asked to revalidate.

use serde::Deserialize;

use crate::Reason;

/// Next.js silently ignores a longer path (`NEXT_CACHE_SOFT_TAG_MAX_LENGTH`), counted as JavaScript counts: UTF-16 units.
pub const LONGEST_PATH: usize = 1024;

/// How a slug becomes paths. The default leaves it as it is but for a `/` in front.
///
/// In the order they are applied: base path, locale, slug, trailing slash, encoding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathRules {
    /// Next.js adds none itself. `res.revalidate` on Vercel needs it, `revalidatePath` must not have it.
    pub base_path: String,
    /// A slug stands for one path a locale, e.g. `["", "it", "de"]`; the empty one adds no segment. None: one path, no segment.
    pub locales: Vec<String>,
    /// The slash at the end.
    pub trailing_slash: TrailingSlash,
    /// Percent-encoding.
    pub encode: Encode,
}

/// What to do about the slash at the end of a path. `/` alone is never touched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrailingSlash {
    /// As the slug has it.
    #[default]
    AsIs,
    /// There is one, as under `trailingSlash: true`; a last segment with a dot is a file and gets none, as in Next.js.
    Always,
    /// There is none.
    Never,
}

/// Whether the path is percent-encoded here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encode {
    /// Sent as stored: the route of the storefront encodes, or uses `revalidatePath`, which wants it plain.
    #[default]
    None,
    /// Encoded once, so that `%` becomes `%25`: for a route that hands the path to `res.revalidate` as it comes.
    Path,
}

impl PathRules {
    /// The paths of a slug, at least one.
    ///
    /// # Errors
    /// A path is longer than Next.js takes.
    pub fn paths(&self, slug: &str) -> Result<Vec<String>, Reason> {
        let locales = if self.locales.is_empty() {
            &[String::new()][..]
        } else {
            &self.locales[..]
        };
        let mut paths: Vec<String> = Vec::with_capacity(locales.len());
        for locale in locales {
            let path = self.path(locale, slug);
            let length = path.encode_utf16().count();
            if length > LONGEST_PATH {
                let what =
                    format!("the path is {length} characters long; Next.js takes at most {LONGEST_PATH}");
                return Err(Reason::new(what));
            }
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    fn path(&self, locale: &str, slug: &str) -> String {
        let mut path = String::new();
        for prefix in [self.base_path.trim_matches('/'), locale.trim_matches('/')] {
            if !prefix.is_empty() {
                path.push('/');
                path.push_str(prefix);
            }
        }
        // The home page under a prefix is the prefix: "/it", not "/it/".
        if !(slug.is_empty() || slug == "/") || path.is_empty() {
            if !slug.starts_with('/') {
                path.push('/');
            }
            path.push_str(slug);
        }
        match self.trailing_slash {
            TrailingSlash::AsIs => {}
            TrailingSlash::Always => {
                let last = path.rsplit('/').next().unwrap_or_default();
                if !last.is_empty() && !last.contains('.') {
                    path.push('/');
                }
            }
            TrailingSlash::Never => {
                let bare = path.trim_end_matches('/').len().max(1);
                path.truncate(bare);
            }
        }
        match self.encode {
            Encode::None => path,
            Encode::Path => encode(&path),
        }
    }
}

/// JavaScript's `encodeURI` with `?` and `#` encoded too: what RFC 3986 allows in a path stays, the rest becomes UTF-8 escapes.
fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => encoded.push(char::from(byte)),
            _ if b"-_.~!$&'()*+,;=:@/".contains(&byte) => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(rules: &PathRules, slug: &str) -> String {
        let mut paths = rules.paths(slug).unwrap();
        assert_eq!(paths.len(), 1);
        paths.remove(0)
    }

    #[test]
    fn by_default_a_slug_is_sent_as_stored_behind_a_slash() {
        let rules = PathRules::default();
        for (slug, path) in [
            ("/a/b", "/a/b"),
            ("a", "/a"),
            ("", "/"),
            ("/", "/"),
            ("/a/", "/a/"),
            ("/caffè al bar", "/caffè al bar"),
            ("/100%", "/100%"),
            ("/a%20b", "/a%20b"),
            ("//a", "//a"),
        ] {
            assert_eq!(one(&rules, slug), path);
        }
    }

    #[test]
    fn encoding_happens_exactly_once() {
        let rules = PathRules {
            encode: Encode::Path,
            ..PathRules::default()
        };
        for (slug, path) in [
            ("/caffè al bar", "/caff%C3%A8%20al%20bar"),
            ("/100%", "/100%25"),
            ("/a%20b", "/a%2520b"),
            ("/a?b#c", "/a%3Fb%23c"),
            ("/日本", "/%E6%97%A5%E6%9C%AC"),
            ("/a,b@c+d&e;f:g=h$i!j*(k)'l~m", "/a,b@c+d&e;f:g=h$i!j*(k)'l~m"),
            ("/[x]|\"\\", "/%5Bx%5D%7C%22%5C"),
        ] {
            assert_eq!(one(&rules, slug), path);
        }
    }

    #[test]
    fn amannn_next_intl_846_base_path_locale_and_slash() {
        let rules = PathRules {
            base_path: "/shop/".to_owned(),
            locales: vec![String::new(), "it".to_owned(), "/de".to_owned()],
            trailing_slash: TrailingSlash::Always,
            encode: Encode::None,
        };
        assert_eq!(
            rules.paths("/a").unwrap(),
            ["/shop/a/", "/shop/it/a/", "/shop/de/a/"]
        );
        assert_eq!(rules.paths("/").unwrap(), ["/shop/", "/shop/it/", "/shop/de/"]);
        assert_eq!(rules.paths("/feed.xml").unwrap()[0], "/shop/feed.xml");
        let never = PathRules {
            trailing_slash: TrailingSlash::Never,
            ..PathRules::default()
        };
        assert_eq!(one(&never, "/a/"), "/a");
        assert_eq!(one(&never, "/"), "/");
        let always = PathRules {
            trailing_slash: TrailingSlash::Always,
            ..PathRules::default()
        };
        assert_eq!(one(&always, "/a/"), "/a/");
        assert_eq!(one(&always, "/"), "/");
    }

    #[test]
    fn a_path_longer_than_nextjs_takes_is_an_error_and_counted_as_javascript_counts() {
        let rules = PathRules::default();
        assert!(rules.paths(&format!("/{}", "a".repeat(1023))).is_ok());
        let reason = rules.paths(&format!("/{}", "a".repeat(1024))).unwrap_err();
        assert_eq!(
            reason.as_str(),
            "the path is 1025 characters long; Next.js takes at most 1024"
        );
        // One emoji is two units.
        assert!(rules.paths(&format!("/{}a", "😀".repeat(511))).is_ok());
        assert!(rules.paths(&format!("/{}", "😀".repeat(512))).is_err());
        // The encoded form counts when that is what is sent.
        let encoded = PathRules {
            encode: Encode::Path,
            ..rules
        };
        assert!(encoded.paths(&format!("/{}", "è".repeat(200))).is_err());
    }

    proptest! {
        #[test]
        fn an_encoded_path_is_plain_and_decodes_to_what_was_stored(slug in "/\\PC{0,60}") {
            let rules = PathRules { encode: Encode::Path, ..PathRules::default() };
            let path = one(&rules, &slug);
            let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'?' && byte != b'#');
            prop_assert!(is_plain);
            let mut decoded = Vec::new();
            let mut bytes = path.bytes();
            while let Some(byte) = bytes.next() {
                decoded.push(match byte {
                    b'%' => {
                        let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                        u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
                    }
                    byte => byte,
                });
            }
            prop_assert_eq!(String::from_utf8(decoded).unwrap(), slug);
        }

        #[test]
        fn every_path_starts_with_a_slash(slug in "\\PC{0,30}", base in "/?[a-z]{0,5}/?", locale in "[a-z]{0,2}") {
            for trailing_slash in [TrailingSlash::AsIs, TrailingSlash::Always, TrailingSlash::Never] {
                let rules = PathRules {
                    base_path: base.clone(), locales: vec![locale.clone()], trailing_slash, encode: Encode::None,
                };
                prop_assert!(one(&rules, &slug).starts_with('/'));
            }
        }
    }
}
