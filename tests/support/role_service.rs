//! The services that give a role its keys, all behind one address: a token service, one beside a container, and the
//! metadata of a machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::bucket::{ROLE_KEY_ID, ROLE_TOKEN, SECRET_KEY};

/// What the token service is told, and the one beside a container.
pub(crate) const PLATFORM_TOKEN: &str = "aTokenOfThePlatform";
/// What the metadata of a machine want back.
const METADATA_TOKEN: &str = "aTokenOfTheMachine";

/// The services. They end with the process.
#[derive(Clone, Debug)]
pub(crate) struct RoleService {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// When the keys end, as in `2099-12-31T23:59:59Z`.
    end: String,
    denies: bool,
    /// How often keys were given.
    given: usize,
    /// How often somebody was refused by [`RoleService::deny`].
    denied: usize,
}

impl RoleService {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::default(),
        };
        service.end_keys_at("2099-12-31T23:59:59Z");
        let of_thread = service.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // Who asked may have left.
                drop(of_thread.serve(stream.unwrap()));
            }
        });
        service
    }

    /// Its address, without a path.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Has keys end then that are given from now on.
    pub(crate) fn end_keys_at(&self, end: &str) {
        end.clone_into(&mut self.state.lock().unwrap().end);
    }

    /// Has it refuse everybody, or nobody.
    pub(crate) fn deny(&self, denies: bool) {
        self.state.lock().unwrap().denies = denies;
    }

    /// How often it has given keys.
    pub(crate) fn given(&self) -> usize {
        self.state.lock().unwrap().given
    }

    /// How often it has refused somebody because it refuses everybody.
    pub(crate) fn denied(&self) -> usize {
        self.state.lock().unwrap().denied
    }

    /// Answers one request.
    fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let header = |name: &str| {
            let found = lines.iter().find_map(|line| {
                let (found, value) = line.split_once(": ")?;
                found.eq_ignore_ascii_case(name).then_some(value)
            });
            found.unwrap_or_default().to_owned()
        };
        let length = header("content-length").parse().unwrap_or(0);
        reader.by_ref().take(length).read_to_end(&mut Vec::new())?;
        let answer = self.answer(&lines[0], &header);
        let (status, body) =
            answer.map_or(("403 Forbidden", String::new()), |body| ("200 OK", body));
        let mut stream = reader.into_inner();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    }

    fn answer(&self, asked: &str, header: &dyn Fn(&str) -> String) -> Option<String> {
        let mut state = self.state.lock().unwrap();
        if state.denies {
            state.denied += 1;
            return None;
        }
        let target = asked.rsplit_once(' ')?.0;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let of_machine = header("x-aws-ec2-metadata-token") == METADATA_TOKEN;
        let is_known = match path {
            "PUT /latest/api/token" => return Some(METADATA_TOKEN.to_owned()),
            "GET /latest/meta-data/iam/security-credentials/" if of_machine => {
                return Some("shop".to_owned());
            }
            "GET /latest/meta-data/iam/security-credentials/shop" => of_machine,
            "GET /keys" => header("authorization") == PLATFORM_TOKEN,
            "POST /" => {
                query.contains("Action=AssumeRoleWithWebIdentity&")
                    && query.contains(&format!("WebIdentityToken={PLATFORM_TOKEN}"))
            }
            _ => false,
        };
        if !is_known {
            return None;
        }
        state.given += 1;
        let end = &state.end;
        Some(if path == "POST /" {
            format!(
                "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
                 <AccessKeyId>{ROLE_KEY_ID}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>\
                 <SessionToken>{ROLE_TOKEN}</SessionToken><Expiration>{end}</Expiration></Credentials>\
                 </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
            )
        } else {
            json!({
                "AccessKeyId": ROLE_KEY_ID,
                "SecretAccessKey": SECRET_KEY,
                "Token": ROLE_TOKEN,
                "Expiration": end,
            })
            .to_string()
        })
    }
}
