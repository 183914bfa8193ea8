//! Requests to the Read API. Connections stay open; a redirect is never followed, so that the token goes
//! to the named host alone.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio_rustls::rustls;
use ureq::http::{HeaderMap, Response, StatusCode, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, BodyReader, Proxy, ProxyProtocol};

use super::body::Incoming;
use super::token::Token;
use crate::base::tls::distrust;
use crate::cli::output::visible;
use crate::cli::pull::fault::{Fault, Pulled};
use crate::cli::running::stop::Stop;
use crate::cli::{Error, Result};

/// Longest wait for a connection with its handshake.
const CONNECT: Duration = Duration::from_secs(15);
/// Longest wait for the next bytes.
const SILENCE: Duration = Duration::from_secs(30);
/// Longest wait for an answer to begin: a service under load lets a listing wait.
const ANSWER: Duration = Duration::from_mins(1);
/// Attempts at a request that fails by what may pass.
const ATTEMPTS: u32 = 4;
/// First pause between two attempts; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause that a server may ask for between two attempts. After a longer one the pull is to be
/// begun again.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// Longest refusal that is read, in bytes.
const REFUSAL_BYTES_MAX: u64 = 64 << 10;
/// Most characters of what a server says that are shown.
const SHOWN_CHARS_MAX: usize = 300;

/// What a request asks for beside its target.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cli::pull) struct RequestOptions<'a> {
    /// The tag of what is known: nothing new is answered with 304.
    pub(in crate::cli::pull) known: Option<&'a str>,
    /// From which byte on.
    pub(in crate::cli::pull) from: u64,
    /// For a file: not compressed, so that it can be gone on with.
    pub(in crate::cli::pull) is_file: bool,
    /// How long the server may hold the answer back.
    pub(in crate::cli::pull) held: Duration,
}

/// The client of one service.
pub(in crate::cli::pull) struct Client {
    /// Another one where the certificates were read again.
    agent: Arc<RwLock<Agent>>,
    ca_file: Option<PathBuf>,
    connections: usize,
    /// True if the certificates that were read do not make the service trusted.
    is_untrusted: AtomicBool,
    root: String,
    token: Option<Token>,
    instance: String,
    stop: Stop,
}

impl Client {
    /// A client that keeps so many connections open. A signal breaks off what is under way.
    ///
    /// # Errors
    /// [`Error::Usage`] for certificates or a proxy of the environment that cannot be used.
    pub(in crate::cli::pull) fn new(
        root: String,
        token: Option<Token>,
        instance: String,
        ca_file: Option<&Path>,
        connections: usize,
        stop: &Stop,
    ) -> Result<Self> {
        let agent = agent(&root, ca_file, connections)?;
        let agent = Arc::new(RwLock::new(agent));
        let ended = Arc::clone(&agent);
        stop.on_ask(move || present(&ended).shutdown());
        Ok(Self {
            agent,
            ca_file: ca_file.map(Path::to_owned),
            connections,
            is_untrusted: AtomicBool::new(false),
            root,
            token,
            instance,
            stop: stop.clone(),
        })
    }

    /// Asks once more after what may pass, a few times.
    pub(in crate::cli::pull) fn get(
        &self,
        target: &str,
        options: RequestOptions<'_>,
    ) -> Pulled<Response<Body>> {
        self.repeated(|| self.get_once(target, options))
    }

    /// Does it once more after what may pass, a few times.
    pub(in crate::cli::pull) fn repeated<T>(
        &self,
        mut attempt: impl FnMut() -> Pulled<T>,
    ) -> Pulled<T> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            match attempt() {
                Err(Fault::Passing { after, .. }) if after.is_none_or(|t| t <= PAUSE_MAX) => {
                    self.stop.pause(jittered(after.unwrap_or(pause)))?;
                    pause *= 2;
                }
                done => return done,
            }
        }
        attempt()
    }

    /// Asks once. The answer has status 200 or 206, 304 where a tag is known, or 416 where not all of a file was
    /// asked for.
    pub(in crate::cli::pull) fn get_once(
        &self,
        target: &str,
        options: RequestOptions<'_>,
    ) -> Pulled<Response<Body>> {
        let token = self.token.as_ref().map(|token| (token, token.text()));
        let mut response = self.send(target, options, token.as_ref().map(|(_, text)| &**text))?;
        if let Some((token, sent)) = token
            && matches!(response.status().as_u16(), 401 | 403)
            && token.renew(&sent)
        {
            response = self.send(target, options, Some(&token.text()))?;
        }
        match response.status() {
            StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(response),
            StatusCode::NOT_MODIFIED if options.known.is_some() => Ok(response),
            StatusCode::RANGE_NOT_SATISFIABLE if options.from > 0 => Ok(response),
            _ => Err(self.refused(response)),
        }
    }

    /// Looks whether the token's file holds another one now, and whether other certificates are trusted, if
    /// the service is not by those that are known. What cannot be read now changes nothing.
    pub(in crate::cli::pull) fn renew(&self) {
        if let Some(token) = &self.token {
            token.renew(&token.text());
        }
        if self.is_untrusted.load(Ordering::Relaxed)
            && let Ok(agent) = agent(&self.root, self.ca_file.as_deref(), self.connections)
        {
            self.is_untrusted.store(false, Ordering::Relaxed);
            *self.agent.write().unwrap_or_else(PoisonError::into_inner) = agent;
        }
    }

    /// Closes what is open and unused: a service has so many connections for all of its clients, and who waits for the
    /// next change needs one.
    pub(in crate::cli::pull) fn close_connections(&self) {
        let mut agent = self.agent.write().unwrap_or_else(PoisonError::into_inner);
        *agent = agent.config().new_agent();
    }

    fn send(
        &self,
        target: &str,
        options: RequestOptions<'_>,
        token: Option<&str>,
    ) -> Pulled<Response<Body>> {
        self.stop.go_on()?;
        let mut request = present(&self.agent)
            .get(format!("{}{target}", self.root))
            .header("X-Instance-Id", &self.instance);
        if let Some(token) = token {
            request = request.header("PRIVATE-TOKEN", token);
        }
        if let Some(known) = options.known {
            request = request.header("If-None-Match", known);
        }
        if options.is_file {
            request = request.header("Accept-Encoding", "identity");
        }
        if options.from > 0 {
            request = request.header("Range", format!("bytes={}-", options.from));
        }
        let silence = SILENCE + options.held;
        let request = request
            .config()
            .timeout_recv_response(Some(ANSWER + options.held))
            .timeout_per_read(Some(silence.max(ANSWER)))
            .build();
        request.call().map_err(|error| self.failed(error))
    }

    /// What became of a request that has no answer, or only a part of one.
    pub(in crate::cli::pull) fn failed(&self, error: ureq::Error) -> Fault {
        if self.stop.is_asked() {
            return Fault::Stopped;
        }
        let host = self.host();
        match error {
            ureq::Error::HostNotFound => Fault::passing(format!("there is no host {host}")),
            ureq::Error::Timeout(_) => Fault::passing(format!("{host} does not answer in time")),
            ureq::Error::Io(error) => match error.get_ref().and_then(|e| e.downcast_ref()) {
                Some(wrong) => self.of_tls(wrong),
                None => Fault::passing(format!("talking to {host}: {error}")),
            },
            ureq::Error::Rustls(wrong) => self.of_tls(&wrong),
            ureq::Error::ConnectProxyFailed(why) => Fault::passing(format!(
                "the proxy does not let us to {host}: {}",
                shown(&why)
            )),
            other => Fault::passing(format!("talking to {host}: {other}")),
        }
    }

    fn of_tls(&self, wrong: &rustls::Error) -> Fault {
        use rustls::Error::{InvalidCertificate, InvalidMessage, PeerIncompatible};
        if !matches!(
            wrong,
            InvalidCertificate(_) | InvalidMessage(_) | PeerIncompatible(_)
        ) {
            // As of a service that has as many connections as it takes: it has no other way to say so.
            return Fault::passing(format!("talking to {}: {wrong}", self.host()));
        }
        self.is_untrusted.store(true, Ordering::Relaxed);
        Fault::lasting(format!(
            "{} is not trusted: its certificate {}",
            self.host(),
            distrust(wrong, "--ca-file")
        ))
    }

    fn host(&self) -> String {
        let uri: Option<Uri> = self.root.parse().ok();
        let authority = uri.as_ref().and_then(Uri::authority);
        authority.map_or_else(|| self.root.clone(), ToString::to_string)
    }

    /// What an answer means that is none of those that were hoped for.
    fn refused(&self, response: Response<Body>) -> Fault {
        let (status, after) = (response.status(), retry_after(response.headers()));
        let location = header(response.headers(), "location").map(shown);
        let mut said = String::new();
        // A refusal without a readable text is one by its status.
        let _read = incoming(response)
            .take(REFUSAL_BYTES_MAX)
            .read_to_string(&mut said);
        let said = Refusal::text(&said).unwrap_or_else(|| status.to_string());
        let host = self.host();
        match status.as_u16() {
            401 if said == "FINGERPRINT_MISMATCH" => Fault::Denied(format!(
                "{host} refuses the token: {said}. It is bound to another client or folder; \
                 `siteconf token update ID --reset-fingerprint` on the server frees it"
            )),
            401 if self.token.is_none() => Fault::Denied(format!(
                "{host} wants a token: name its file with --token-file, or set SITECONF_TOKEN"
            )),
            401 => Fault::Denied(format!(
                "{host} refuses the token: {said}. It is unknown, has expired or was revoked, or its \
                 account is disabled"
            )),
            403 => Fault::Denied(format!(
                "{host} does not give the project to this token: {said}. `siteconf token update ID \
                 --add-repo REPO_ID` on the server does"
            )),
            404 => Fault::Moved(format!("{host} does not have it: {said}")),
            304 => Fault::passing(format!(
                "{host} answers {status}, though it was not told what is known here, as a cache may by mistake"
            )),
            300..=399 => Fault::lasting(format!(
                "{host} sends us on to {}, and we do not follow with a token: if that is right, name \
                 that address",
                location.unwrap_or_else(|| "nowhere".to_owned())
            )),
            408 | 425 | 429 | 500..=599 => Fault::Passing {
                what: format!("{host} cannot serve us now: {}", with_status(status, &said)),
                after,
            },
            200..=299 => Fault::lasting(format!(
                "{host} does not answer as the Read API does: {status}"
            )),
            _ => Fault::lasting(format!(
                "{host} refuses the request: {}",
                with_status(status, &said)
            )),
        }
    }
}

/// The body of an answer.
pub(in crate::cli::pull) fn incoming(response: Response<Body>) -> Incoming<BodyReader<'static>> {
    Incoming::new(response.into_body().into_reader(), Instant::now())
}

/// A refusal of the Read API, or of GitLab, which at times says it another way.
#[derive(Debug, Deserialize)]
struct Refusal {
    message: Option<serde_json::Value>,
    error: Option<String>,
}

impl Refusal {
    fn text(body: &str) -> Option<String> {
        let refusal: Self = serde_json::from_str(body).ok()?;
        let message = refusal.message.map(|message| match message {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        });
        message.or(refusal.error).map(|text| shown(&text))
    }
}

/// What a server says, after its status, with which it may begin itself.
fn with_status(status: StatusCode, said: &str) -> String {
    if said.starts_with(status.as_str()) {
        return said.to_owned();
    }
    format!("{} {said}", status.as_str())
}

/// A text of a server, short and without what deceives a terminal.
pub(in crate::cli::pull) fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    visible(&short)
}

/// The value of a header, if it is text.
pub(in crate::cli::pull) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The seconds of a `Retry-After`; a date there is not heeded.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = header(headers, "retry-after")?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// A time between this and a quarter more: clients that were cut off together do not come back together.
pub(in crate::cli::pull) fn jittered(length: Duration) -> Duration {
    length + length.mul_f64(rand::random::<f64>() / 4.0)
}

/// What sends requests, with the certificates that are trusted now.
fn agent(root: &str, ca_file: Option<&Path>, connections: usize) -> Result<Agent> {
    let roots = match ca_file {
        Some(path) => Some(certificates_in(path)?),
        None => system_certificates(),
    };
    let roots = roots.map_or(RootCerts::WebPki, |roots| {
        RootCerts::Specific(Arc::new(roots))
    });
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(proxy(root)?)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .user_agent(concat!("siteconf/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(CONNECT))
        .timeout_per_write(Some(SILENCE))
        .max_idle_connections(connections)
        .max_idle_connections_per_host(connections)
        .build();
    Ok(config.new_agent())
}

/// The one of now; it shares its connections with the one that is kept.
fn present(agent: &RwLock<Agent>) -> Agent {
    let agent = agent.read().unwrap_or_else(PoisonError::into_inner);
    agent.clone()
}

fn certificates_in(path: &Path) -> Result<Vec<Certificate<'static>>> {
    let pem = std::fs::read(path).map_err(Error::file("reading the certificates in", path))?;
    let items = parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    let found: Vec<_> = items.collect();
    if found.is_empty() {
        return Err(Error::Usage(format!(
            "{} holds no certificate in PEM",
            path.display()
        )));
    }
    Ok(found)
}

/// The certificates that the system trusts; `None` where it has none, as in a small container.
fn system_certificates() -> Option<Vec<Certificate<'static>>> {
    let found = rustls_native_certs::load_native_certs().certs;
    let found = found.iter();
    let found: Vec<_> = found
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    (!found.is_empty()).then_some(found)
}

/// The proxy of the environment for this address: `https_proxy` or `http_proxy`, else `all_proxy`, unless
/// `no_proxy` names the host; in small letters or large ones.
fn proxy(root: &str) -> Result<Option<Proxy>> {
    let of_scheme = if root.starts_with("https:") {
        "https_proxy"
    } else {
        "http_proxy"
    };
    let Some((name, text)) = variable(of_scheme).or_else(|| variable("all_proxy")) else {
        return Ok(None);
    };
    let excepted = variable("no_proxy").map(|(_, hosts)| hosts);
    if let (Some(hosts), Ok(uri)) = (excepted, root.parse::<Uri>()) {
        let mut any = Proxy::builder(ProxyProtocol::Http).host("proxy.invalid");
        for host in hosts.split(',').map(str::trim) {
            // A host is named with those below it.
            any = any.no_proxy(host).no_proxy(&format!(".{host}"));
        }
        if any.build().is_ok_and(|any| any.is_no_proxy(&uri)) {
            return Ok(None);
        }
    }
    // Its text may hold a password.
    let proxy = Proxy::new(&text).map_err(|_| {
        Error::Usage(format!(
            "{name} in the environment is no address of a proxy"
        ))
    })?;
    Ok(Some(proxy))
}

fn variable(name: &str) -> Option<(String, String)> {
    [name.to_owned(), name.to_uppercase()]
        .into_iter()
        .find_map(|name| {
            let text = env::var_os(&name)?.into_string().ok()?;
            (!text.is_empty()).then_some((name, text))
        })
}
