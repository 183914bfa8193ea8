//! An answer as it came over the wire, and what every answer owes.

use serde_json::{Value, json};

/// Headers that differ from one answer to the next by their nature.
const EPHEMERAL: [&str; 2] = ["Date", "X-Request-Id"];

/// One answer: status, headers in order with their spelling, body without its framing.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Set for answers that never have a body.
    pub(crate) to_head: bool,
}

impl Answer {
    /// The value of a header, whatever its case; a header that came twice fails the test.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str());
        let first = values.next();
        assert_eq!(values.next(), None, "{name} came twice");
        first
    }

    /// All headers but those that differ by their nature, sorted, to compare two answers.
    pub(crate) fn lasting_headers(&self) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        headers.retain(|(name, _)| !EPHEMERAL.contains(&name.as_str()));
        headers.sort();
        headers
    }

    /// The body as text.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    /// The body as JSON, answered as such.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(
            self.header("Content-Type"),
            Some("application/json"),
            "{self:?}"
        );
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// Asserts the status and hands the answer on.
    #[track_caller]
    pub(crate) fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.for_people());
        self
    }

    /// Asserts the whole of a JSON answer.
    #[track_caller]
    pub(crate) fn assert_json(&self, status: u16, body: &Value) {
        assert_eq!(self.status, status, "{}", self.for_people());
        assert_eq!(&self.json(), body);
    }

    /// Asserts the whole of an error whose text is stable.
    #[track_caller]
    pub(crate) fn assert_error(&self, status: u16, message: &str) {
        self.assert_json(status, &json!({ "message": message }));
    }

    /// Asserts an error whose text is for people, and hands that text on.
    #[track_caller]
    pub(crate) fn assert_refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.for_people());
        self.message()
    }

    /// Asserts an answer without a body.
    #[track_caller]
    pub(crate) fn assert_empty(&self, status: u16) {
        assert_eq!(self.status, status, "{}", self.for_people());
        assert_eq!(self.body, b"", "{}", self.for_people());
    }

    /// Asserts a file's bytes.
    #[track_caller]
    pub(crate) fn assert_bytes(&self, status: u16, body: &[u8]) {
        assert_eq!(self.status, status, "{}", self.for_people());
        assert!(self.body == body, "other bytes: {}", self.for_people());
    }

    /// The text of an error, whose body must be exactly one field.
    #[track_caller]
    fn message(&self) -> String {
        let body = self.json();
        let fields = body.as_object().expect("an error is an object");
        assert_eq!(fields.len(), 1, "{body}");
        let message = fields["message"].as_str().expect("message is a string");
        assert!(!message.is_empty());
        message.to_owned()
    }

    /// Asserts what every answer of the service owes (contract sections 1 and 2): header names in
    /// title case, a request id, no CORS, never 409, and errors as JSON with one field.
    #[track_caller]
    pub(crate) fn assert_lawful(&self) {
        for (name, _) in &self.headers {
            let title_case = name.split('-').all(|word| {
                word.chars().next().is_some_and(|c| c.is_ascii_uppercase())
                    && !word.chars().skip(1).any(|c| c.is_ascii_uppercase())
            });
            assert!(title_case, "{name} is not in title case");
            assert!(!name.starts_with("Access-Control-"), "{name} was sent");
        }
        assert!(
            self.header("X-Request-Id").is_some_and(|id| !id.is_empty()),
            "no request id: {}",
            self.for_people()
        );
        assert_eq!(
            self.header("X-Content-Type-Options"),
            Some("nosniff"),
            "{}",
            self.for_people()
        );
        assert_ne!(self.status, 409, "{}", self.for_people());
        if self.status >= 400 && !self.to_head {
            self.message();
        }
    }

    /// The answer for the text of a failure.
    fn for_people(&self) -> String {
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(2000)]);
        format!("{} {:?} {body}", self.status, self.headers)
    }
}
