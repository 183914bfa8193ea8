//! Who speaks to the daemon, and the requests they make.

use std::net::SocketAddr;

use serde_json::Value;

use super::{ADMIN, Answer, Connection};

/// Somebody with a credential, or none: every request carries its headers. Each request has a
/// connection of its own, so that what one leaves behind cannot touch the next.
#[derive(Clone, Debug)]
pub(crate) struct User {
    address: SocketAddr,
    credential: Vec<(String, String)>,
}

impl User {
    pub(crate) fn new(address: SocketAddr, credential: Option<(&str, &str)>) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self {
            address,
            credential: credential.map(owned).into_iter().collect(),
        }
    }

    /// The same user with one more header on every request.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut user = self.clone();
        user.credential.push((name.to_owned(), value.to_owned()));
        user
    }

    /// The same user at another daemon.
    #[cfg(feature = "fleet")]
    pub(crate) fn at(&self, address: SocketAddr) -> Self {
        Self {
            address,
            ..self.clone()
        }
    }

    /// Where the user's requests go.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The value of the user's credential: a cookie header, or a token.
    pub(crate) fn credential(&self) -> &str {
        &self.credential[0].1
    }

    /// What the user's headers prove it with: all values of tokens and sessions in them.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &str> {
        let values = self.credential.iter().map(|(_, value)| value);
        let parts = values.flat_map(|value| value.split(|c: char| !c.is_ascii_hexdigit()));
        parts.filter(|part| part.len() == 64)
    }

    /// Begins a request. The target goes out exactly as given.
    pub(crate) fn request(&self, method: &str, target: &str) -> Request {
        Request {
            address: self.address,
            method: method.to_owned(),
            target: target.to_owned(),
            headers: self.credential.clone(),
            body: None,
        }
    }

    #[track_caller]
    pub(crate) fn get(&self, target: &str) -> Answer {
        self.request("GET", target).send()
    }

    #[track_caller]
    pub(crate) fn head(&self, target: &str) -> Answer {
        self.request("HEAD", target).send()
    }

    #[track_caller]
    pub(crate) fn delete(&self, target: &str) -> Answer {
        self.request("DELETE", target).send()
    }

    #[track_caller]
    pub(crate) fn put(&self, target: &str, body: &[u8]) -> Answer {
        self.request("PUT", target)
            .header("Content-Type", "application/octet-stream")
            .body(body)
            .send()
    }

    /// Sends a JSON body.
    #[track_caller]
    pub(crate) fn post(&self, target: &str, body: &Value) -> Answer {
        self.request("POST", target).json(body).send()
    }

    /// Creates a token, and answers what the service said of it.
    #[track_caller]
    pub(crate) fn issue(&self, token: &Value) -> Value {
        self.post(&format!("{ADMIN}/tokens"), token)
            .expect_status(201)
            .json()
    }

    #[track_caller]
    pub(crate) fn patch(&self, target: &str, body: &Value) -> Answer {
        self.request("PATCH", target).json(body).send()
    }
}

/// A request under construction.
#[derive(Clone, Debug)]
#[must_use]
pub(crate) struct Request {
    address: SocketAddr,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = Some(body.to_owned());
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json")
            .body(body.to_string().as_bytes())
    }

    pub(crate) fn form(self, body: &str) -> Self {
        self.header("Content-Type", "application/x-www-form-urlencoded")
            .body(body.as_bytes())
    }

    /// Sends it and reads the answer, which must be lawful.
    #[track_caller]
    pub(crate) fn send(self) -> Answer {
        let mut connection = Connection::open(self.address);
        connection.send(&self.to_bytes());
        let answer = if self.method == "HEAD" {
            connection.answer_to_head()
        } else {
            connection.answer()
        };
        answer.assert_lawful();
        answer
    }

    /// The request as it goes over the wire.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut head = vec![
            format!("{} {} HTTP/1.1", self.method, self.target),
            format!("Host: {}", self.address),
        ];
        let header = |(name, value): &(String, String)| format!("{name}: {value}");
        head.extend(self.headers.iter().map(header));
        if let Some(body) = &self.body {
            head.push(format!("Content-Length: {}", body.len()));
        }
        head.extend([String::new(), String::new()]);
        let mut bytes = head.join("\r\n").into_bytes();
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }
}
