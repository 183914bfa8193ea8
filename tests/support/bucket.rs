//! A bucket for the tests of one process: a server that speaks S3, with signatures and multipart, over a
//! temporary folder. It does wrong what a test asks it to.

#[path = "bucket/faults.rs"]
mod faults;
#[path = "bucket/uploads.rs"]
mod uploads;

use std::convert::Infallible;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

pub(crate) use faults::Fault;
use faults::Faults;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use siteconf::store::bucket_access::{BucketAccess, BucketKey, BucketKeys};
use siteconf::store::bucket_url::BucketUrl;
use uploads::{Uploads, param};

/// Waits until somebody closes its input, which the end of the process does, and removes the folder.
const GUARD: &str = r#"trap '' INT TERM; read -r _; rm -rf "$1""#;
/// The keys that the server takes.
pub(crate) const KEY_ID: &str = "siteconf-tests";
pub(crate) const SECRET_KEY: &str = "aVerySecretKeyOfTests";
/// The id of a key that is taken with its token alone, as those of roles are.
pub(crate) const ROLE_KEY_ID: &str = "siteconf-role";
/// That token.
pub(crate) const ROLE_TOKEN: &str = "aTokenOfTheRole";
const BUCKET: &str = "blobs";

/// The server, and the part of its bucket that one store has. The server ends with the process.
#[derive(Clone, Debug)]
pub(crate) struct TestBucket {
    server: &'static Server,
    prefix: String,
}

#[derive(Debug)]
struct Server {
    port: u16,
    folder: PathBuf,
    /// Its input stays open as long as the process lives.
    _guard: Child,
    faults: Arc<Faults>,
    uploads: Arc<Uploads>,
    prefixes: AtomicU32,
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Writes a file that nobody else may read.
pub(crate) fn write_secret(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

impl TestBucket {
    /// A part of the bucket that nobody has.
    pub(crate) fn new() -> Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        let server = SERVER.get_or_init(Server::start);
        let number = server.prefixes.fetch_add(1, Ordering::Relaxed);
        Self {
            server,
            prefix: format!("store{number}"),
        }
    }

    /// A part of a bucket that no other test has a part of: what uploads leave cannot be told apart.
    pub(crate) fn alone() -> Self {
        Self {
            server: Box::leak(Box::new(Server::start())),
            prefix: "store".to_owned(),
        }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        let (prefix, port) = (&self.prefix, self.server.port);
        format!("s3://{BUCKET}/{prefix}?endpoint=http://127.0.0.1:{port}")
    }

    /// How it is reached.
    pub(crate) fn access(&self) -> BucketAccess {
        BucketAccess {
            url: BucketUrl::parse(&self.url()).unwrap(),
            keys: BucketKeys::Fixed(BucketKey {
                id: KEY_ID.to_owned(),
                secret: SECRET_KEY.to_owned(),
                token: None,
            }),
            roots: Vec::new(),
            trash_days: 14,
        }
    }

    /// Writes the file of the keys.
    pub(crate) fn write_keys(path: &Path) {
        let text = format!(
            "[default]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET_KEY}\n"
        );
        write_secret(path, text.as_bytes());
    }

    /// Has the next requests of this part end so, for ever without a number.
    pub(crate) fn fault(&self, fault: Fault, times: Option<u64>) {
        self.server.faults.set(&self.prefix, fault, times);
    }

    /// The same of those for one of its files, for ever.
    pub(crate) fn fault_of(&self, fault: Fault, file: &Path) {
        self.server.faults.set_of(&self.prefix, fault, file);
    }

    /// How many requests ended in a fault, of all parts.
    pub(crate) fn faults_done(&self) -> u64 {
        self.server.faults.done()
    }

    /// The files of its blobs.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let folder = self.server.folder.join(BUCKET).join(&self.prefix);
        let mut files: Vec<_> = walkdir::WalkDir::new(folder)
            .min_depth(2)
            .into_iter()
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_file())
            .map(walkdir::DirEntry::into_path)
            .collect();
        files.sort();
        files
    }

    /// True if a store has marked it as its own.
    pub(crate) fn is_marked(&self) -> bool {
        let folder = self.server.folder.join(BUCKET).join(&self.prefix);
        folder.join("siteconf-store").exists()
    }

    /// Puts a file where a blob could lie.
    pub(crate) fn plant(&self, place: &str) -> PathBuf {
        let folder = self.server.folder.join(BUCKET).join(&self.prefix);
        let path = folder.join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "planted").unwrap();
        path
    }

    /// Has its unfinished uploads be of another day, as in `2020-01-01`.
    pub(crate) fn date_uploads(&self, day: &str) {
        self.server.uploads.date(&self.prefix, day);
    }

    /// How many uploads of this part are not ended.
    pub(crate) fn uploads(&self) -> usize {
        self.server.uploads.count(&self.prefix)
    }

    /// Parts of uploads that are not ended, of all parts of the bucket.
    pub(crate) fn parts_under_way(&self) -> usize {
        let files = std::fs::read_dir(&self.server.folder).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".upload_id-")).count()
    }
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("siteconf-s3")
            .tempdir()
            .unwrap()
            .keep();
        let guard = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        std::fs::create_dir(folder.join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(&folder).unwrap());
        let mut keys = SimpleAuth::from_single(KEY_ID, SECRET_KEY);
        keys.register(ROLE_KEY_ID.to_owned(), SECRET_KEY.into());
        builder.set_auth(keys);
        let service = builder.build();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (faults, uploads) = (Arc::new(Faults::default()), Arc::new(Uploads::default()));
        let of_thread = (Arc::clone(&faults), Arc::clone(&uploads));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(serve(listener, &service, &of_thread.0, &of_thread.1));
        });
        Self {
            port,
            folder,
            _guard: guard,
            faults,
            uploads,
            prefixes: AtomicU32::new(0),
        }
    }
}

async fn serve(
    listener: std::net::TcpListener,
    service: &S3Service,
    faults: &Arc<Faults>,
    uploads: &Arc<Uploads>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let all = (service.clone(), Arc::clone(faults), Arc::clone(uploads));
        let answer = hyper::service::service_fn(move |request| {
            let (service, faults, uploads) = all.clone();
            async move { answer(&service, &faults, &uploads, request).await }
        });
        tokio::spawn(async move {
            let socket = hyper_util::rt::TokioIo::new(socket);
            let served =
                hyper::server::conn::http1::Builder::new().serve_connection(socket, answer);
            // A client may leave, and a fault ends it.
            drop(served.await);
        });
    }
}

/// The answer; an error closes the connection.
async fn answer(
    service: &S3Service,
    faults: &Faults,
    uploads: &Uploads,
    request: Request<Incoming>,
) -> io::Result<Response<Body>> {
    if !request.uri().path().starts_with("/blobs") {
        return Ok(refusal(StatusCode::NOT_FOUND, "NoSuchBucket"));
    }
    if lacks_token(&request) {
        return Ok(refusal(StatusCode::FORBIDDEN, "InvalidAccessKeyId"));
    }
    let fault = faults.meant_for(&request);
    match fault {
        Fault::Away => return Err(io::Error::other("away")),
        Fault::Hangs | Fault::HangsLists => std::future::pending().await,
        Fault::SlowsDown => return Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, "SlowDown")),
        Fault::EndsKeys => return Ok(refusal(StatusCode::BAD_REQUEST, "ExpiredToken")),
        Fault::FindsNoPage => {
            let page = "<html><title>404 Not Found</title></html>";
            return Ok(of_text(StatusCode::NOT_FOUND, page.to_owned()));
        }
        Fault::Fails => return Ok(refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")),
        Fault::Denies | Fault::DeniesWrites | Fault::DeniesLists | Fault::KeepsFiles => {
            return Ok(refusal(StatusCode::FORBIDDEN, "AccessDenied"));
        }
        Fault::Locks => return Ok(refusal(StatusCode::BAD_REQUEST, "InvalidRequest")),
        Fault::Full => {
            return Ok(refusal(
                StatusCode::INSUFFICIENT_STORAGE,
                "XMinioStorageFull",
            ));
        }
        Fault::Quota => return Ok(refusal(StatusCode::FORBIDDEN, "QuotaExceeded")),
        Fault::Skewed => return Ok(refusal(StatusCode::FORBIDDEN, "RequestTimeTooSkewed")),
        Fault::OtherRegion => {
            let code = "AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is wrong; \
                        expecting 'eu-central-1'</Message><Code>";
            return Ok(refusal(StatusCode::BAD_REQUEST, code));
        }
        Fault::Elsewhere => {
            return Ok(refusal(StatusCode::MOVED_PERMANENTLY, "PermanentRedirect"));
        }
        Fault::Loses => return Ok(refusal(StatusCode::NOT_FOUND, "NoSuchKey")),
        Fault::RefusesParts => return Ok(refusal(StatusCode::BAD_REQUEST, "InvalidPart")),
        Fault::Nothing | Fault::Flips | Fault::Cuts | Fault::ListsNoUploads => {}
    }
    let (method, address) = (request.method().clone(), request.uri().clone());
    let answered = hyper::service::Service::call(service, request).await;
    let answered = answered.map_err(|e| io::Error::other(format!("{e:?}")))?;
    let (head, body) = answered.into_parts();
    // Who asks for it is allowed to, then.
    let is_list = param(&address, "uploads").is_some();
    if is_list && head.status == StatusCode::NOT_IMPLEMENTED && fault != Fault::ListsNoUploads {
        let list = uploads.listed(&address);
        return Ok(Response::new(
            Full::from(list).map_err(never).boxed_unsync(),
        ));
    }
    if head.status.is_success() && (method == Method::POST || method == Method::DELETE) {
        let bytes = collected(body).await?;
        uploads.note(&address, &String::from_utf8_lossy(&bytes));
        let body = Full::from(bytes).map_err(never).boxed_unsync();
        return Ok(Response::from_parts(head, body));
    }
    let body = match fault {
        Fault::Flips => {
            let mut bytes = collected(body).await?.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            Full::from(bytes).map_err(never).boxed_unsync()
        }
        Fault::Cuts => {
            let bytes = collected(body).await?;
            let half = bytes.slice(..bytes.len() / 2);
            let frames = [Ok(Frame::data(half)), Err(io::Error::other("cut"))];
            StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync()
        }
        _ => body
            .map_err(|e| io::Error::other(e.to_string()))
            .boxed_unsync(),
    };
    Ok(Response::from_parts(head, body))
}

/// True for a request that is signed with the key of a role, and does not bring its token along.
fn lacks_token(request: &Request<Incoming>) -> bool {
    let header = |name: &str| {
        let found = request.headers().get(name)?.to_str().ok()?;
        Some(found.to_owned())
    };
    let found =
        |name: &str, param_name: &str| header(name).or_else(|| param(request.uri(), param_name));
    let signed_by = found("authorization", "X-Amz-Credential").unwrap_or_default();
    let token = found("x-amz-security-token", "X-Amz-Security-Token");
    signed_by.contains(ROLE_KEY_ID) && token.as_deref() != Some(ROLE_TOKEN)
}

async fn collected(body: s3s::Body) -> io::Result<Bytes> {
    let all = body.collect().await;
    Ok(all.map_err(|e| io::Error::other(e.to_string()))?.to_bytes())
}

fn never(never: Infallible) -> io::Error {
    match never {}
}

fn refusal(status: StatusCode, code: &str) -> Response<Body> {
    let text = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
    of_text(status, text)
}

fn of_text(status: StatusCode, text: String) -> Response<Body> {
    let mut answer = Response::new(Full::from(text).map_err(never).boxed_unsync());
    *answer.status_mut() = status;
    answer
}
