//! Clients that cannot be installed: the requests they send, over a raw socket.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use crate::harness::{Answer, Connection, READ_V4};
use crate::matrix::Seen;
use crate::replayed::REPLAYED;
use crate::stage::Stage;

/// A client that is stood in for.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// Its column in the table.
    pub(crate) name: &'static str,
    /// The headers it sends with every request.
    pub(crate) headers: &'static [&'static str],
    /// The row that a request shows, the request line, and what the client needs of the answer.
    /// `{v4}`, `{number}`, `{token}`, `{commit}` stand for what differs from run to run.
    pub(crate) exchanges: &'static [(u8, &'static str, Check)],
}

/// Panics unless the answer is what the client needs, given the truth.
pub(crate) type Check = fn(&Answer, &Value);

/// Sends everything, and answers what each client would have seen.
pub(crate) fn run(stage: &Stage) -> Vec<Seen> {
    REPLAYED.iter().map(|client| client.run(stage)).collect()
}

impl Replayed {
    /// A row passes when every exchange that shows it does.
    fn run(&self, stage: &Stage) -> Seen {
        let rows: BTreeSet<_> = self.exchanges.iter().map(|(row, ..)| *row).collect();
        let rows: Vec<_> = rows.into_iter().collect();
        let mut seen = Seen::new(self.name.to_owned(), &rows);
        for (row, line, check) in self.exchanges {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let answer = self.exchange(line, stage);
                answer.assert_lawful();
                check(&answer, &stage.truth);
            }));
            match outcome {
                Ok(()) => seen.passed(*row),
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                    let text: String = text.unwrap_or_default().chars().take(900).collect();
                    seen.failed(*row, &format!("{line}: {text}"));
                }
            }
        }
        seen
    }

    fn exchange(&self, line: &str, stage: &Stage) -> Answer {
        let mut head = vec![format!("{line} HTTP/1.1"), "Host: {host}".to_owned()];
        head.extend(self.headers.iter().map(|header| (*header).to_owned()));
        head.extend([String::new(), String::new()]);
        let truth = &stage.truth;
        let head = head
            .join("\r\n")
            .replace("{host}", &stage.address().to_string())
            .replace("{v4}", READ_V4)
            .replace("{number}", &truth["project"]["number"].to_string())
            .replace("{token}", truth["tokens"]["good"].as_str().expect("text"))
            .replace("{commit}", truth["commit_id"].as_str().expect("text"));
        let mut connection = Connection::open(stage.address());
        connection.send(head.as_bytes());
        if line.starts_with("HEAD ") {
            connection.answer_to_head()
        } else {
            connection.answer()
        }
    }
}
