//! What is asked for as a request of the APIs, and their answers as those of the model.

use serde_json::{Value, json};

use crate::client::{Answer as Reply, segment};
use crate::model::{Answer, Condition, Content, Files, PATHS, SHORT, Wish, body, content};
use crate::scene::{KnownToken, Scene, token};

/// A request.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    /// Lines of its head.
    pub(crate) lines: String,
    pub(crate) kind: &'static str,
    pub(crate) body: String,
}

/// The tag of a file.
pub(crate) fn tag(content: Content) -> String {
    blake3::hash(body(content).as_bytes()).to_hex().to_string()
}

fn condition_line(condition: Condition) -> String {
    match condition {
        Condition::None => String::new(),
        Condition::Is(content) => format!("If-Match: \"{}\"\r\n", tag(content)),
        Condition::IsAbsent => "If-None-Match: *\r\n".to_owned(),
    }
}

fn get(target: String) -> Request {
    Request {
        method: "GET",
        target,
        ..Request::default()
    }
}

fn with_json(method: &'static str, target: String, body: &Value) -> Request {
    Request {
        method,
        target,
        kind: "application/json",
        body: body.to_string(),
        ..Request::default()
    }
}

impl Wish {
    /// True for what the Read API is asked, by the holder of a token.
    pub(crate) fn is_of_read_api(&self) -> bool {
        matches!(self, Self::Describe(_) | Self::ReadTree | Self::ReadCommit)
    }

    /// The request for it.
    pub(crate) fn request(&self, scene: &Scene<'_>) -> Request {
        let file = |path: usize| scene.on_branch(&format!("/files/{}", segment(PATHS[path])));
        let own = |number: usize| token(&format!("/{}", scene.token(number).id));
        match self {
            Self::Save(path, content, condition) => Request {
                method: "PUT",
                target: file(*path),
                lines: condition_line(*condition),
                kind: "application/octet-stream",
                body: body(*content),
            },
            Self::Delete(path, condition) => Request {
                method: "DELETE",
                lines: condition_line(*condition),
                ..get(file(*path))
            },
            Self::Update(contents) => {
                let update = |(path, content): &(usize, Content)| {
                    let content = body(*content);
                    json!({ "action": "update", "file_path": PATHS[*path], "content": content })
                };
                let actions: Vec<_> = contents.iter().map(update).collect();
                with_json(
                    "POST",
                    scene.on_branch("/batch"),
                    &json!({ "actions": actions }),
                )
            }
            Self::RollBack(to, path, commit) => {
                let path = path.map(|path| format!("&path={}", segment(PATHS[path])));
                let query = format!("?to=v{to:04}{}", path.unwrap_or_default());
                let line = commit
                    .as_ref()
                    .map(|commit| format!("If-Match: \"{commit}\"\r\n"));
                Request {
                    method: "POST",
                    lines: line.unwrap_or_default(),
                    ..get(scene.on_branch(&format!("/rollback{query}")))
                }
            }
            Self::Read(path) => get(file(*path)),
            Self::Describe(path) => {
                get(scene.read(&format!("/files/{}/raw?ref=main", segment(PATHS[*path]))))
            }
            Self::ReadSnapshot(version, path) => {
                let path = segment(PATHS[*path]);
                get(scene.on_branch(&format!("/snapshots/v{version:04}/files/{path}")))
            }
            Self::ReadTree => get(scene.read("/tree?ref=main&recursive=true")),
            Self::ReadCommit | Self::ShowToken(..) => get(scene.read("/branches/main")),
            Self::ReadBranch => get(scene.on_branch("")),
            Self::MakeToken {
                number,
                name,
                binds,
            } => {
                let name = format!("{number}.{name}");
                let wanted =
                    json!({ "name": name, "repos": [scene.id], "fingerprint_required": binds });
                with_json("POST", token(""), &wanted)
            }
            Self::RenameToken(number, name) => {
                let name = format!("{number}.{name}");
                with_json("PATCH", own(*number), &json!({ "name": name }))
            }
            Self::ReleaseToken(number) => {
                with_json("PATCH", own(*number), &json!({ "reset_fingerprint": true }))
            }
            Self::RevokeToken(number) => Request {
                method: "DELETE",
                ..get(own(*number))
            },
            Self::ListTokens => get(scene.admin("/tokens")),
        }
    }

    /// What a reply says. It may make something known.
    pub(crate) fn answer(&self, scene: &Scene<'_>, reply: &Reply) -> Answer {
        match (reply.status, self) {
            (404, _) => Answer::NotThere,
            (412, _) => Answer::Unmet,
            (400, Self::Update(_)) => Answer::Impossible,
            (
                200 | 201,
                Self::Save(..) | Self::Delete(..) | Self::Update(_) | Self::RollBack(..),
            ) => {
                let told = reply.json();
                let (snapshot, commit) = (version(&told["snapshot"]), text(&told["commit_id"]));
                scene.known().branch(snapshot, &commit);
                Answer::Changed {
                    snapshot,
                    commit: short(&commit),
                }
            }
            (200, Self::Read(path)) => {
                let file = content(&reply.body);
                scene.known().files[*path] = Some(file);
                Answer::File(file)
            }
            (200, Self::ReadSnapshot(..)) => Answer::File(content(&reply.body)),
            (200, Self::Describe(_)) => Answer::Described {
                file: content(&reply.body),
                commit: short(reply.header("x-gitlab-commit-id").unwrap()),
            },
            (200, Self::ReadTree) => {
                let files = files(scene, &reply.json());
                scene.known().files = files;
                Answer::Tree(files)
            }
            (200, Self::ReadCommit) => Answer::Commit(short(&text(&reply.json()["commit"]["id"]))),
            (200, Self::ReadBranch) => {
                let told = reply.json();
                let commit = text(&told["commit"]["id"]);
                let (snapshots, files) = (count(&told["snapshots"]), count(&told["files"]));
                scene.known().branch(snapshots, &commit);
                Answer::Branch {
                    snapshots,
                    files,
                    commit: short(&commit),
                }
            }
            (201, Self::MakeToken { number, .. }) => {
                let told = reply.json();
                scene.known().tokens.push(KnownToken {
                    number: *number,
                    id: text(&told["tokenId"]),
                    value: text(&told["tokenString"]),
                });
                Answer::Done
            }
            (200, Self::RenameToken(..) | Self::ReleaseToken(_)) | (204, Self::RevokeToken(_)) => {
                Answer::Done
            }
            (200, Self::ListTokens) => tokens(&reply.json()),
            _ => panic!("{self:?}: {reply:?}"),
        }
    }
}

/// The number of a version as in `v0007`.
pub(crate) fn version(value: &Value) -> usize {
    value
        .as_str()
        .unwrap()
        .strip_prefix('v')
        .unwrap()
        .parse()
        .unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn short(commit: &str) -> String {
    commit[..SHORT].to_owned()
}

fn count(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn files(scene: &Scene<'_>, tree: &Value) -> Files {
    let entries = tree.as_array().unwrap().iter();
    let mut files = Files::default();
    for entry in entries.filter(|entry| entry["type"] == "blob") {
        let at = PATHS.iter().position(|path| entry["path"] == **path);
        files[at.unwrap()] = Some(scene.content_of(entry["id"].as_str().unwrap()));
    }
    files
}

fn tokens(list: &Value) -> Answer {
    let shown = |token: &Value| {
        let (number, name) = token["name"].as_str().unwrap().split_once('.').unwrap();
        let is_bound = token["fingerprint_bound"].as_bool().unwrap();
        (number.parse().unwrap(), name.parse().unwrap(), is_bound)
    };
    let mut tokens: Vec<_> = list.as_array().unwrap().iter().map(shown).collect();
    tokens.sort_unstable();
    Answer::Tokens(tokens)
}
