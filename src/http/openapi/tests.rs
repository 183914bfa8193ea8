//! The document against the route tables, and against itself.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::Value;

use super::{document, security};
use crate::http::route::openapi::Route;
use crate::http::route::policy::Policy;
use crate::http::route::template::Template;
use crate::http::route::{Mount, admin, probe, read, user};

/// Where each table is mounted; the Read API also where a setting puts it, which no document can know.
const READ: [&str; 2] = [
    "/site-builder/api/erp-config",
    "/site-builder/api/erp-config/api/v4",
];
const ADMIN: &str = "/site-builder/api";
const USER: &str = "/user";
const DOCUMENT: &str = "/site-builder/api/openapi.json";

/// Every operation of the document as `METHOD /path`, with what the document says of it.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations.push((format!("{} {path}", method.to_uppercase()), operation));
        }
    }
    operations
}

/// What a reference points to, or the value itself.
#[track_caller]
fn followed<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let Some(reference) = value.get("$ref") else {
        return value;
    };
    let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
    document
        .pointer(pointer)
        .unwrap_or_else(|| panic!("{reference} points nowhere"))
}

/// The templates of a table below a mount.
fn mounted(mount: &str, templates: &[&str]) -> Vec<String> {
    let below = |template: &&str| template.replacen(' ', &format!(" {mount}"), 1);
    templates.iter().map(below).collect()
}

#[test]
fn the_document_and_the_router_are_equal() {
    let mut routes = mounted(ADMIN, admin::project::Route::TEMPLATES);
    routes.extend(mounted(ADMIN, admin::branch::Route::TEMPLATES));
    routes.extend(mounted(ADMIN, admin::account::Route::TEMPLATES));
    routes.extend(
        READ.map(|mount| mounted(mount, read::Route::TEMPLATES))
            .concat(),
    );
    routes.extend(mounted(USER, user::Route::TEMPLATES));
    routes.extend(mounted(DOCUMENT, Route::TEMPLATES));
    routes.extend(mounted("", probe::Route::TEMPLATES));
    let document = document();
    let documented = operations(&document).into_iter().map(|(name, _)| name);
    let documented: BTreeSet<_> = documented.collect();
    let count = routes.len();
    let routes: BTreeSet<_> = routes.into_iter().collect();
    assert_eq!(count, routes.len(), "a template is there twice");
    let missing: Vec<_> = routes.difference(&documented).collect();
    let invented: Vec<_> = documented.difference(&routes).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "not documented: {missing:#?}\nno route: {invented:#?}"
    );
}

/// What the document tells of is tried by every kind of credential; of other routes there are few.
#[test]
fn the_document_tells_whom_each_route_is_for_and_others_are_for_anybody() {
    let document = document();
    let mut schemes = document["components"]["securitySchemes"].clone();
    let mut explained = String::new();
    for scheme in schemes.as_object_mut().unwrap().values_mut() {
        explained += scheme["description"].as_str().unwrap();
    }
    let documented = operations(&document);
    for route in Template::all() {
        let name = format!("{} {}", route.method(), route.path());
        let operation = documented
            .iter()
            .find(|(documented, _)| *documented == name);
        match (operation, route.policy()) {
            (Some((_, operation)), Some(policy)) => {
                assert_eq!(operation["security"], security(policy), "{name}");
                for need in policy.needs() {
                    assert!(explained.contains(&format!("`{need}`")), "{need}");
                }
            }
            (None, policy) => assert!(matches!(policy, None | Some(Policy::Anybody)), "{name}"),
            (Some(_), None) => panic!("{name} has no policy"),
        }
    }
    for (name, operation) in documented {
        assert!(operation["security"].is_array(), "{name}");
    }
}

#[test]
fn every_documented_path_leads_to_its_route() {
    for (name, _) in operations(&document()) {
        let (method, path) = name.split_once(' ').unwrap();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let (mount, templates) = match Mount::of(&segments, false) {
            Mount::Read(rest) => {
                let mount = &path[..path.len() - rest.join("/").len() - 1];
                (
                    mount,
                    read::Route::find(&method, rest).map(|r| r.templates()),
                )
            }
            Mount::Admin(rest) => (
                ADMIN,
                admin::Route::find(&method, rest).map(|r| r.templates()),
            ),
            Mount::User(rest) => (
                USER,
                user::Route::find(&method, rest).map(|r| r.templates()),
            ),
            Mount::OpenApi(rest) => (DOCUMENT, Route::find(&method, rest).map(|r| r.templates())),
            Mount::Probe(rest) => ("", probe::Route::find(&method, rest).map(|r| r.templates())),
            Mount::Web(_) | Mount::None => panic!("{name} is below no mount of an API"),
        };
        let templates = templates.unwrap_or_else(|| panic!("{name} leads nowhere"));
        assert!(
            mounted(mount, templates).contains(&name),
            "{name} leads to {templates:?}"
        );
    }
}

#[test]
fn parameters_are_those_that_the_routes_know() {
    let document = document();
    for (name, operation) in operations(&document) {
        let (method, path) = name.split_once(' ').unwrap();
        let of = |place: &str| -> BTreeSet<&str> {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            parameters
                .map(|parameter| followed(&document, parameter))
                .filter(|parameter| parameter["in"] == place)
                .map(|parameter| parameter["name"].as_str().unwrap())
                .collect()
        };
        let placeholders = path.split(['{', '}']).skip(1).step_by(2);
        assert_eq!(of("path"), placeholders.collect(), "{name}");
        let segments: Vec<_> = path.split('/').skip(1).collect();
        if let Mount::Admin(rest) = Mount::of(&segments, false) {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let route = admin::Route::find(&method, rest).unwrap();
            let known = route.parameters().iter().copied();
            assert_eq!(of("query"), known.collect(), "{name}");
        }
    }
}

#[test]
fn references_lead_somewhere_and_nothing_is_left_over() {
    fn collect<'a>(value: &'a Value, into: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(fields) => {
                into.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| collect(value, into));
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, into)),
            _ => {}
        }
    }
    let document = document();
    let mut used = BTreeSet::new();
    collect(&document, &mut used);
    let mut there = BTreeSet::new();
    for (kind, components) in document["components"].as_object().unwrap() {
        // Those are named, not pointed to.
        if kind != "securitySchemes" {
            let names = components.as_object().unwrap().keys();
            there.extend(names.map(|name| format!("#/components/{kind}/{name}")));
        }
    }
    assert_eq!(
        there.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        used
    );
}

#[test]
fn names_are_unique_and_the_version_is_the_packages() {
    let document = document();
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&document) {
        let id = operation["operationId"].as_str();
        let id = id.unwrap_or_else(|| panic!("{name} has no operation id"));
        assert!(ids.insert(id), "{id} is there twice");
    }
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
}

/// What stops a generator of clients, or makes it leave an operation out.
#[test]
fn nothing_is_there_that_generators_stumble_over() {
    fn check(place: &str, value: &Value) {
        let Some(fields) = value.as_object() else {
            let items = value.as_array().into_iter().flatten();
            items.for_each(|item| check(place, item));
            return;
        };
        if fields.get("type").is_some_and(|kind| kind == "array") {
            assert!(fields.contains_key("items"), "{place}: an array of what?");
        }
        for keyword in ["enum", "const"] {
            let has_type = fields.contains_key("type") || !fields.contains_key(keyword);
            // A property may be called so.
            let is_schema = fields.get(keyword).is_some_and(|value| !value.is_object());
            assert!(has_type || !is_schema, "{place}: {keyword} of which type?");
        }
        if let Some(values) = fields.get("enum").and_then(Value::as_array) {
            let folded: BTreeSet<_> = values
                .iter()
                .map(|value| value.to_string().to_lowercase())
                .collect();
            assert_eq!(folded.len(), values.len(), "{place}: they differ in case");
        }
        for (name, value) in fields {
            check(&format!("{place}/{name}"), value);
        }
    }
    let document = document();
    for (path, item) in document["paths"].as_object().unwrap() {
        assert!(item.get("$ref").is_none(), "{path} refers to another");
    }
    check("", &document);
}
