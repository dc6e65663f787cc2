//! From the text of `routes.toml` to the checked [`RoutesConfig`].

use std::collections::{BTreeMap, BTreeSet};

use ledger::late::LatePolicy;
use toml::de::DeTable;

use super::dependencies;
use super::groq::mentions;
use super::read::{Problems, Table};
use super::{Component, GraphqlNames, Limits, RoutedType, RoutesConfig, RoutesConfigError, UnknownTypes};

/// What every row must show; see [`crate::row`].
const FIELDS: [&str; 6] = ["_id", "_type", "_rev", "_updatedAt", "routes", "dependencies"];

pub(super) fn check(text: &str) -> Result<RoutesConfig, RoutesConfigError> {
    let (root, errors) = DeTable::parse_recoverable(text);
    let mut problems = Problems::new(text);
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        problems.add(at, "", format!("not TOML: {}", error.message()));
    }
    if !errors.is_empty() {
        // What a broken file says further down is a guess, and would bury the real problem.
        return Err(RoutesConfigError {
            problems: problems.into_sorted(),
        });
    }
    let config = read(Table::root(root.get_ref()), &mut problems);
    match problems.into_sorted() {
        none if none.is_empty() => Ok(config),
        problems => Err(RoutesConfigError { problems }),
    }
}

fn read(mut root: Table<'_, '_>, problems: &mut Problems<'_>) -> RoutesConfig {
    let unknown_types = match root.optional_text("unknown_types", problems).as_deref() {
        None | Some("cascade") => UnknownTypes::Cascade,
        Some("review") => UnknownTypes::Review,
        Some(_) => {
            let at = root.position("unknown_types");
            problems.add(at, "unknown_types", "must be \"cascade\" or \"review\"");
            UnknownTypes::Cascade
        }
    };
    let late = read_late(&mut root, problems);
    // Which list a type is in, to find the types that are in two.
    let mut listed = BTreeMap::new();
    let mut ignored = BTreeSet::new();
    for (name, at) in root.texts("ignored", problems).unwrap_or_default() {
        list(&mut listed, &name, "ignored", at, problems);
        ignored.insert(name);
    }
    let mut routed = BTreeMap::new();
    if let Some(types) = root.table("routed", true, problems) {
        let tables = types.tables(problems);
        if tables.is_empty() {
            problems.add(types.at(), types.path(), "must hold at least one type");
        }
        for (name, table) in tables {
            list(&mut listed, &name, "routed", table.at(), problems);
            routed.insert(name, read_routed(table, problems));
        }
    }
    let mut components = BTreeMap::new();
    if let Some(types) = root.table("components", false, problems) {
        for (name, mut table) in types.tables(problems) {
            list(&mut listed, &name, "components", table.at(), problems);
            let graphql_type = table.optional_text("graphql_type", problems);
            if let Some(name) = &graphql_type {
                graphql_name(&table, "graphql_type", name, problems);
            }
            let late = read_late(&mut table, problems);
            table.finish(problems);
            components.insert(name, Component { graphql_type, late });
        }
    }
    let limits = read_limits(root.table("limits", true, problems), problems);
    let graphql = read_graphql(root.table("graphql", true, problems), problems);
    let dependencies = dependencies::read(root.table("dependencies", false, problems), problems);
    let groq = read_query(root.table("routing_query", true, problems), problems);
    root.finish(problems);
    RoutesConfig {
        routed,
        components,
        ignored,
        unknown_types,
        late: late.unwrap_or_default(),
        limits,
        graphql,
        dependencies,
        groq,
    }
}

fn read_late(table: &mut Table<'_, '_>, problems: &mut Problems<'_>) -> Option<LatePolicy> {
    let name = table.optional_text("late", problems)?;
    let policy = LatePolicy::named(&name);
    if policy.is_none() {
        let known: Vec<String> = LatePolicy::NAMES
            .iter()
            .map(|(name, _)| format!("{name:?}"))
            .collect();
        let what = format!("must be one of {}", known.join(", "));
        problems.add(table.position("late"), &table.path_of("late"), what);
    }
    policy
}

fn list(
    listed: &mut BTreeMap<String, &'static str>,
    name: &str,
    under: &'static str,
    at: usize,
    problems: &mut Problems<'_>,
) {
    if let Some(before) = listed.insert(name.to_owned(), under) {
        problems.add(
            at,
            under,
            format!("type {name:?} is already listed under `{before}`"),
        );
    }
}

fn read_routed(mut table: Table<'_, '_>, problems: &mut Problems<'_>) -> RoutedType {
    let graphql_type = table.text("graphql_type", problems);
    graphql_name(&table, "graphql_type", &graphql_type, problems);
    let event_paths = match table.texts("event_paths", problems) {
        None => vec!["/{slug}".to_owned()],
        Some(paths) => {
            for (path, at) in &paths {
                if !path.starts_with('/') || !path.contains("{slug}") {
                    let what = format!("{path:?} must begin with \"/\" and contain {{slug}}");
                    problems.add(*at, &table.path_of("event_paths"), what);
                }
            }
            paths.into_iter().map(|(path, _)| path).collect()
        }
    };
    let late = read_late(&mut table, problems);
    table.finish(problems);
    RoutedType {
        graphql_type,
        event_paths,
        late,
    }
}

fn read_limits(table: Option<Table<'_, '_>>, problems: &mut Problems<'_>) -> Limits {
    let Some(mut table) = table else {
        return Limits {
            chunk_size: 1,
            maximum_width: 1,
            maximum_dependencies: 1,
        };
    };
    let limits = Limits {
        chunk_size: table.number("chunk_size", 1..=1000, problems),
        maximum_width: table.number("maximum_width", 1..=1_000_000, problems),
        // A route with its dependencies is one DynamoDB item of at most 400 KB; an id has at most 128 bytes.
        maximum_dependencies: table.number("maximum_dependencies", 1..=2500, problems),
    };
    table.finish(problems);
    limits
}

fn read_graphql(table: Option<Table<'_, '_>>, problems: &mut Problems<'_>) -> GraphqlNames {
    let Some(mut table) = table else {
        return GraphqlNames {
            routing_type: String::new(),
            slug_field: String::new(),
            id_field: String::new(),
        };
    };
    let [routing_type, slug_field, id_field] = ["routing_type", "slug_field", "id_field"].map(|key| {
        let name = table.text(key, problems);
        graphql_name(&table, key, &name, problems);
        name
    });
    table.finish(problems);
    GraphqlNames {
        routing_type,
        slug_field,
        id_field,
    }
}

fn read_query(table: Option<Table<'_, '_>>, problems: &mut Problems<'_>) -> String {
    let Some(mut table) = table else {
        return String::new();
    };
    let groq = table.text("groq", problems);
    if !groq.is_empty() {
        let (at, path) = (table.position("groq"), table.path_of("groq"));
        let mentions = mentions(&groq);
        if !mentions.parameters.contains("ids") {
            problems.add(at, &path, "must select by the parameter $ids");
        }
        for other in mentions.parameters.iter().filter(|name| *name != "ids") {
            problems.add(
                at,
                &path,
                format!("has the parameter ${other}; only $ids is given"),
            );
        }
        for field in FIELDS {
            if !mentions.words.contains(field) {
                problems.add(at, &path, format!("must return {field}"));
            }
        }
    }
    table.finish(problems);
    groq
}

/// Reports a name that GraphQL would not accept. An empty one has been reported already.
fn graphql_name(table: &Table<'_, '_>, key: &str, name: &str, problems: &mut Problems<'_>) {
    let valid = name
        .bytes()
        .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if !valid {
        let what = format!("{name:?} is no GraphQL name (letters, digits and _, not beginning with a digit)");
        problems.add(table.position(key), &table.path_of(key), what);
    }
}
