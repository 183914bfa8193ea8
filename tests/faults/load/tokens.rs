//! Tokens that are made, changed and revoked, and tokens that bind themselves to who uses them first.

use std::collections::BTreeMap;
use std::io;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::{Work, change, look};
use crate::client::Client;
use crate::daemon::{PROJECT, read};
use crate::told::{State, Told};

const TOKENS: &str = "/site-builder/api/tokens";

/// The tokens whose names begin so.
fn tokens(client: &mut Client, prefix: &str) -> Vec<Value> {
    let listed = look(client, TOKENS).json();
    let all = listed.as_array().unwrap().iter();
    let is_own = |token: &&Value| token["name"].as_str().unwrap().starts_with(prefix);
    all.filter(is_own).cloned().collect()
}

/// How a read with this value, by this instance, is answered.
fn status(client: &Client, value: &str, instance: &str) -> u16 {
    let mut reader = client.another();
    reader.credential = format!("PRIVATE-TOKEN: {value}\r\n{instance}");
    look(&mut reader, &read("/tree")).status
}

/// A token: where it is, and its value.
#[derive(Clone, Debug)]
struct Known {
    target: String,
    value: String,
}

impl Known {
    fn new(token: &Value) -> Self {
        Self {
            target: format!("{TOKENS}/{}", token["tokenId"].as_str().unwrap()),
            value: token["tokenString"].as_str().unwrap().to_owned(),
        }
    }
}

/// Tokens by name, with what they may be used for.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    made: u64,
    known: BTreeMap<String, Known>,
    /// Must not work once they are gone.
    revoked: Vec<(String, Known)>,
}

impl Work for Tokens {
    fn step(
        &mut self,
        client: &mut Client,
        told: &mut Told,
        random: &mut StdRng,
    ) -> io::Result<()> {
        let mut after = told.last().clone();
        // Of one whose making was cut off the value is not known.
        let known = self
            .known
            .iter()
            .find(|(name, _)| after.contains_key(*name));
        let known = known.map(|(name, known)| (name.clone(), known.clone()));
        match (known, random.random_range(0..3)) {
            (Some((name, known)), 0) => {
                after.remove(&name);
                let delete = ("DELETE", &*known.target, "", &b""[..]);
                if change(client, told, after, delete)?.is_some() {
                    self.known.remove(&name);
                    self.revoked.push((name, known));
                }
            }
            (Some((name, known)), 1) => {
                let year = random.random_range(2100..3000);
                after.insert(name, format!("{year}-01-31T00:00:00.000Z"));
                let body = json!({ "expires_at": format!("{year}-01-31") }).to_string();
                let patch = ("PATCH", &*known.target, "application/json", body.as_bytes());
                change(client, told, after, patch)?;
            }
            _ => {
                self.made += 1;
                let name = format!("token-{:05}", self.made);
                after.insert(name.clone(), "null".to_owned());
                let body = json!({ "name": name, "repos": [PROJECT] }).to_string();
                let make = ("POST", TOKENS, "application/json", body.as_bytes());
                if let Some(answer) = change(client, told, after, make)? {
                    self.known.insert(name, Known::new(&answer.json()));
                }
            }
        }
        Ok(())
    }

    fn found(&self, client: &mut Client) -> State {
        let tokens = tokens(client, "token-");
        let count = tokens.len();
        let found: State = tokens
            .into_iter()
            .map(|token| {
                let expires_at = token["expires_at"].to_string().replace('"', "");
                (token["name"].as_str().unwrap().to_owned(), expires_at)
            })
            .collect();
        assert_eq!(found.len(), count, "none was made twice");
        let known = self.known.iter().rev().take(2);
        let revoked = self.revoked.iter().rev().take(2);
        for (name, known) in known.chain(revoked.map(|(name, known)| (name, known))) {
            let expected = if found.contains_key(name) { 200 } else { 401 };
            assert_eq!(status(client, &known.value, ""), expected, "{name}");
        }
        found
    }
}

/// Tokens by name, with whether somebody has used them first.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    made: u64,
    fresh: Option<(String, Known)>,
    bound: Vec<(String, Known)>,
}

fn instance(name: &str) -> String {
    format!("X-Instance-Id: erp-{name}\r\n")
}

impl Work for Bindings {
    fn step(
        &mut self,
        client: &mut Client,
        told: &mut Told,
        _random: &mut StdRng,
    ) -> io::Result<()> {
        let mut after = told.last().clone();
        if let Some((name, known)) = self.fresh.take() {
            after.insert(name.clone(), "true".to_owned());
            let mut reader = client.another();
            reader.credential = format!("PRIVATE-TOKEN: {}\r\n{}", known.value, instance(&name));
            let first_use = ("GET", &*read("/tree"), "", &b""[..]);
            if change(&mut reader, told, after, first_use)?.is_some() {
                self.bound.push((name, known));
            }
            return Ok(());
        }
        self.made += 1;
        let name = format!("bound-{:05}", self.made);
        after.insert(name.clone(), "false".to_owned());
        let body = json!({ "name": name, "repos": [PROJECT], "fingerprint_required": true });
        let body = body.to_string();
        let make = ("POST", TOKENS, "application/json", body.as_bytes());
        if let Some(answer) = change(client, told, after, make)? {
            self.fresh = Some((name, Known::new(&answer.json())));
        }
        Ok(())
    }

    fn found(&self, client: &mut Client) -> State {
        let bound = tokens(client, "bound-");
        let count = bound.len();
        let found: State = bound
            .into_iter()
            .map(|token| {
                let is_bound = token["fingerprint_bound"].to_string();
                (token["name"].as_str().unwrap().to_owned(), is_bound)
            })
            .collect();
        assert_eq!(found.len(), count, "none was made twice");
        let is_bound = |name: &str| found.get(name).is_some_and(|is_bound| is_bound == "true");
        if let Some((name, known)) = self.bound.iter().rev().find(|(name, _)| is_bound(name)) {
            // Who was first stays it.
            let other = status(client, &known.value, &instance("another"));
            let own = status(client, &known.value, &instance(name));
            assert_eq!((other, own), (401, 200), "{name}");
        }
        found
    }
}
