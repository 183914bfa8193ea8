//! One client of both APIs, who waits for each answer, and what is recorded of it.

use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::check::Event;
use crate::client::{Answer as Reply, Client};
use crate::gate::Life;
use crate::model::{Answer, Call, PATHS, Wish};
use crate::scene::{KnownToken, Scene, new_number};

/// How long somebody asks whose database counts as away, as where one is held up for seconds, and the pause that
/// whoever is refused so is told to make.
const AWAY_MAX: Duration = Duration::from_mins(1);
const AWAY_PAUSE: Duration = Duration::from_secs(1);

/// Somebody logged in, who has the tokens of the project, too.
#[derive(Debug)]
pub(crate) struct Hand<'a> {
    scene: &'a Scene<'a>,
    client: Client,
    session: String,
    /// The daemon that it asks.
    daemon: Life,
    random: StdRng,
    pub(crate) events: Vec<Event<Call>>,
}

/// A request that was sent, and the reply, if any.
struct Sent {
    at: Duration,
    until: Option<Duration>,
    reply: Option<Reply>,
}

impl<'a> Hand<'a> {
    pub(crate) fn of(scene: &'a Scene<'a>, mut random: StdRng) -> Self {
        let (client, daemon) = scene.gate.client(random.random_range(0..usize::MAX));
        Self {
            session: client.credential.clone(),
            scene,
            client,
            daemon,
            random,
            events: Vec::new(),
        }
    }

    /// Asks for something.
    pub(crate) fn step(&mut self) {
        let wish = if self.random.random_bool(self.scene.changing) {
            self.change()
        } else {
            self.look()
        };
        if wish.is_of_read_api() {
            let token = self.some_token();
            let instance = [None, Some(1), Some(2)][self.random.random_range(0..3)];
            self.ask_by_token(wish, &token, instance);
        } else {
            self.ask(wish);
        }
    }

    /// Asks the Admin API for this.
    pub(crate) fn ask(&mut self, wish: Wish) {
        let credential = self.session.clone();
        let Some(sent) = self.send(&wish, credential) else {
            return;
        };
        let answer = sent
            .reply
            .as_ref()
            .map(|reply| wish.answer(self.scene, reply));
        self.record(&sent, wish, answer);
    }

    /// Asks the Read API for this. It looks at the token first, and at what was asked for later: two calls.
    pub(crate) fn ask_by_token(&mut self, wish: Wish, token: &KnownToken, instance: Option<u8>) {
        let shown = instance.map(|instance| format!("X-Instance-Id: erp-{instance}\r\n"));
        let credential = format!(
            "PRIVATE-TOKEN: {}\r\n{}",
            token.value,
            shown.unwrap_or_default()
        );
        let Some(sent) = self.send(&wish, credential) else {
            return;
        };
        let show = Wish::ShowToken(token.number, instance);
        let Some(reply) = &sent.reply else {
            return self.record(&sent, show, None);
        };
        if reply.status == 401 {
            let is_mismatch = reply.json()["message"] == "FINGERPRINT_MISMATCH";
            let answer = if is_mismatch {
                Answer::WrongInstance
            } else {
                Answer::UnknownToken
            };
            return self.record(&sent, show, Some(answer));
        }
        self.record(&sent, show, Some(Answer::Done));
        let answer = wish.answer(self.scene, reply);
        self.record(&sent, wish, Some(answer));
    }

    /// Sends the request for this, until the database is not away. `None` where the daemon had died before.
    fn send(&mut self, wish: &Wish, credential: String) -> Option<Sent> {
        let request = wish.request(self.scene);
        self.client.credential = credential + &request.lines;
        let gate = self.scene.gate;
        let over = gate.now() + AWAY_MAX;
        loop {
            let at = gate.now();
            let replied = self.client.attempt(
                request.method,
                &request.target,
                request.kind,
                request.body.as_bytes(),
            );
            let Ok(reply) = replied else {
                return self.cut_off(at);
            };
            let until = gate.now();
            if reply.status != 503 || !gate.outlives() || until > over {
                return Some(Sent {
                    at,
                    until: Some(until),
                    reply: Some(reply),
                });
            }
            thread::sleep(AWAY_PAUSE);
            let said = String::from_utf8_lossy(&reply.body);
            let was_not_asked = said.contains("does not answer; try again");
            // What binds a token may fail after that.
            if !was_not_asked || wish.is_of_read_api() {
                return Some(Sent {
                    at,
                    until: None,
                    reply: None,
                });
            }
        }
    }

    /// A request that was sent at this time and has no reply. `None` where the daemon had died before.
    fn cut_off(&mut self, at: Duration) -> Option<Sent> {
        let gate = self.scene.gate;
        let death = gate.death_of(self.daemon);
        (self.client, self.daemon) = gate.client(self.random.random_range(0..usize::MAX));
        (at < death).then_some(Sent {
            at,
            until: (!gate.outlives()).then_some(death),
            reply: None,
        })
    }

    fn record(&mut self, sent: &Sent, wish: Wish, answer: Option<Answer>) {
        self.events.push(Event {
            is_answered: answer.is_some(),
            call: Call {
                wish,
                answer,
                is_beside: false,
            },
            sent: sent.at,
            until: sent.until,
        });
    }

    fn some_token(&mut self) -> KnownToken {
        let known = self.scene.known();
        // Of some that were revoked meanwhile, too.
        let last = known.tokens.len().saturating_sub(3);
        known.tokens[last..]
            .choose(&mut self.random)
            .expect("there is one from the first")
            .clone()
    }

    fn path(&mut self) -> usize {
        self.random.random_range(0..PATHS.len())
    }

    fn change(&mut self) -> Wish {
        let (path, scene) = (self.path(), self.scene);
        let condition = self.scene.condition(path, &mut self.random);
        match self.random.random_range(0..100) {
            0..45 => Wish::Save(path, scene.new_content(), condition),
            45..55 => Wish::Delete(path, condition),
            55..65 => {
                let others = (0..PATHS.len()).filter(|other| *other != path);
                Wish::Update(others.map(|path| (path, scene.new_content())).collect())
            }
            65..82 => self.roll_back(path),
            82..88 => {
                let mut known = scene.known();
                known.tokens_made += 1;
                Wish::MakeToken {
                    number: known.tokens_made,
                    name: new_number(),
                    binds: self.random.random(),
                }
            }
            88..92 => Wish::RenameToken(self.some_token().number, new_number()),
            92..95 => Wish::ReleaseToken(self.some_token().number),
            _ => Wish::RevokeToken(self.some_token().number),
        }
    }

    fn roll_back(&mut self, path: usize) -> Wish {
        let known = self.scene.known();
        if known.snapshots == 0 || self.random.random_ratio(1, 6) {
            // One that may come just now.
            return Wish::RollBack(known.snapshots + 1, None, None);
        }
        let to = self.random.random_range(1..=known.snapshots);
        let path = self.random.random_ratio(1, 3).then_some(path);
        let commit = known.commit.clone().filter(|_| self.random.random());
        Wish::RollBack(to, path, commit)
    }

    fn look(&mut self) -> Wish {
        let path = self.path();
        match self.random.random_range(0..100) {
            0..20 => Wish::Read(path),
            20..45 => Wish::Describe(path),
            45..60 => Wish::ReadTree,
            60..75 => Wish::ReadCommit,
            75..85 => Wish::ReadBranch,
            85..93 => {
                let snapshots = self.scene.known().snapshots;
                Wish::ReadSnapshot(self.random.random_range(1..=snapshots + 1), path)
            }
            _ => Wish::ListTokens,
        }
    }
}
