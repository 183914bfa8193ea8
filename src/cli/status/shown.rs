//! The state of a store as it is shown, in lines or as JSON.

use serde::Serialize;

use crate::repo::{Amount, Weights};
use crate::store::collection::KeptByCollection;
use crate::store::inspection::{self, SchemaSteps, Standby};

/// The state of a store, as JSON. What could not be told is `null`, and so is what there is none of where the
/// store lies, and what nobody asked to be counted.
#[derive(Debug, Serialize)]
pub(super) struct Status {
    pub(super) data: String,
    pub(super) version: &'static str,
    /// Of a folder.
    pub(super) format: Option<String>,
    /// Of a database.
    pub(super) schema: Option<SchemaSteps>,
    pub(super) service: Service,
    /// Of a database.
    pub(super) daemons: Option<Vec<Daemon>>,
    /// Of a database.
    pub(super) standby: Option<Standby>,
    pub(super) projects: Option<u64>,
    pub(super) branches: Option<u64>,
    pub(super) accounts: Option<usize>,
    pub(super) tokens: Option<usize>,
    pub(super) bytes: Bytes,
    /// Of a database: whether its server holds pages against checksums.
    pub(super) page_checksums: Option<bool>,
    /// Room on the disk.
    pub(super) free_bytes: Option<u64>,
    pub(super) last_backup: Option<String>,
    pub(super) last_collection: Option<LastCollection>,
    /// True where objects were to be counted, and weighed.
    #[serde(skip)]
    pub(super) is_weighed: bool,
    /// Of now, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weights: Option<Weights>,
    /// Why changes are refused; `None` where they are not, and where that is unknown.
    pub(super) writes_refused: Option<String>,
    /// True where it cannot be read whether they are.
    #[serde(skip)]
    pub(super) refusal_unread: bool,
    pub(super) findings: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Service {
    running: Option<bool>,
    pid: Option<u32>,
    /// Of the one process.
    version: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Daemon {
    host: String,
    version: String,
    began: String,
    /// What it refuses, and why; `None` where it does not.
    refuses: Option<String>,
}

/// What the store takes, in bytes.
#[derive(Debug, Serialize)]
pub(super) struct Bytes {
    /// On the disk.
    pub(super) database: Option<u64>,
    /// Of the database, what is free and will be used again.
    pub(super) unused: Option<u64>,
    pub(super) log: Option<u64>,
    /// All objects, large files among them, where they were to be counted.
    pub(super) objects: Option<u64>,
    /// Large files, likewise.
    pub(super) files: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct LastCollection {
    at: String,
    live_bytes: u64,
    old_bytes: u64,
}

impl Service {
    /// Who serves; the build is that of the one process, where it tells.
    pub(super) fn of(service: Option<&inspection::Service>, build: Option<String>) -> Self {
        match service {
            None => Self::default(),
            Some(inspection::Service::Process(pid)) => Self {
                running: Some(pid.is_some()),
                pid: *pid,
                version: build.filter(|_| pid.is_some()),
            },
            Some(inspection::Service::Daemons(seen)) => Self {
                running: Some(!seen.is_empty()),
                pid: None,
                version: None,
            },
        }
    }
}

impl Daemon {
    /// All that are seen where there may be several.
    pub(super) fn all(service: &inspection::Service) -> Option<Vec<Self>> {
        let inspection::Service::Daemons(seen) = service else {
            return None;
        };
        let daemons = seen.iter().map(|daemon| Self {
            host: daemon.host.clone(),
            version: daemon.version.clone(),
            began: daemon.began.to_string(),
            refuses: daemon.refuses.clone(),
        });
        Some(daemons.collect())
    }
}

impl From<KeptByCollection> for LastCollection {
    fn from(kept: KeptByCollection) -> Self {
        Self {
            at: kept.at.to_string(),
            live_bytes: kept.live_bytes,
            old_bytes: kept.old_bytes,
        }
    }
}

impl Status {
    /// The lines for a person: what, and how it is. What there is none of where the store lies has none.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("data", self.data.clone()),
            ("version", self.version_line()),
            ("service", self.service_line()),
        ];
        for Daemon {
            host,
            version,
            began,
            refuses: _,
        } in self.daemons.iter().flatten()
        {
            let other = self.other_build(Some(version));
            lines.push((
                "daemon",
                format!("on {host}, version {version}, since {began}{other}"),
            ));
        }
        lines.push((
            "changes",
            match &self.writes_refused {
                Some(_) => "refused".to_owned(),
                None if self.is_refusal_unknown() => "unknown".to_owned(),
                None => "accepted".to_owned(),
            },
        ));
        lines.extend(self.standby.iter().map(|it| ("standby", standby_text(it))));
        lines.extend([
            ("projects", or_unknown(self.projects)),
            ("branches", or_unknown(self.branches)),
            ("accounts", or_unknown(self.accounts)),
            ("tokens", or_unknown(self.tokens)),
        ]);
        self.add_room(&mut lines);
        if let Some(weights) = &self.weights {
            for (name, Amount { objects, bytes }) in [
                ("branches need", weights.live),
                ("older states", weights.old),
                ("unneeded", weights.unreachable),
            ] {
                lines.push((name, format!("{bytes} bytes, {objects} objects")));
            }
        }
        let findings = self.findings.iter();
        lines.extend(findings.map(|finding| ("to do", finding.clone())));
        lines
    }

    /// True where nothing tells whether changes are refused: of what cannot be read, for a role that may not see
    /// whether standbys follow, and of a database that does not say.
    fn is_refusal_unknown(&self) -> bool {
        let is_standby_unknown =
            self.schema.is_some() && self.standby.as_ref().is_none_or(is_unknown);
        self.refusal_unread || self.projects.is_none() || is_standby_unknown
    }

    fn version_line(&self) -> String {
        let version = self.version;
        match (&self.format, &self.schema) {
            (Some(format), _) => format!("{version}, format {format}"),
            (None, Some(SchemaSteps { step, writer_min })) => {
                format!(
                    "{version}, schema {step}, written by versions that know schema {writer_min}"
                )
            }
            (None, None) => format!("{version}, schema unknown"),
        }
    }

    fn service_line(&self) -> String {
        match (&self.daemons, self.service.running, self.service.pid) {
            (Some(daemons), ..) => {
                let s = if daemons.len() == 1 { "" } else { "s" };
                format!("{} daemon{s} seen in the last 10 seconds", daemons.len())
            }
            (None, _, Some(pid)) => {
                let version = self.service.version.as_deref();
                let said = version.filter(|version| *version != self.version);
                let said = said.map(|version| format!(", version {version}"));
                let other = self.other_build(version);
                format!(
                    "running, process id {pid}{}{other}",
                    said.unwrap_or_default()
                )
            }
            (None, Some(false), None) => "not running".to_owned(),
            _ => "unknown".to_owned(),
        }
    }

    /// What is said behind the build of what serves, where this command is of another one.
    fn other_build(&self, serving: Option<&str>) -> &'static str {
        match serving {
            Some(version) if version != self.version => ": another build than this command",
            _ => "",
        }
    }

    /// What it takes, and when that became less.
    fn add_room(&self, lines: &mut Vec<(&'static str, String)>) {
        let Bytes {
            database,
            unused,
            log,
            objects,
            files,
        } = &self.bytes;
        let bytes = |number: &Option<u64>| format!("{} bytes", or_unknown(*number));
        let is_folder = self.format.is_some();
        let more = match self.page_checksums {
            _ if is_folder => format!(", {} of them unused", or_unknown(*unused)),
            Some(true) => ", pages with checksums".to_owned(),
            Some(false) => ", pages without checksums".to_owned(),
            None => String::new(),
        };
        lines.push(("database", bytes(database) + &more));
        if is_folder {
            lines.push(("log", bytes(log)));
        }
        for (name, number) in [("objects", objects), ("large files", files)] {
            let text = if self.is_weighed {
                bytes(number)
            } else {
                "not counted without --weigh".to_owned()
            };
            lines.push((name, text));
        }
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "none".to_owned());
        if is_folder {
            lines.push(("free on disk", bytes(&self.free_bytes)));
            lines.push(("last backup", or_none(self.last_backup.clone())));
        }
        let collection = self.last_collection.as_ref().map(|kept| {
            format!(
                "{}; branches needed {} bytes then, older states {} more",
                kept.at, kept.live_bytes, kept.old_bytes
            )
        });
        lines.push(("last collection", or_none(collection)));
    }
}

fn is_unknown(standby: &Standby) -> bool {
    standby.wanted > 0 && standby.following.is_none()
}

fn standby_text(standby: &Standby) -> String {
    match (standby.wanted, standby.following) {
        (0, _) => "commits wait for none".to_owned(),
        (wanted, Some(following)) => format!("commits wait for {wanted}, and {following} follow"),
        (wanted, None) => {
            format!("commits wait for {wanted}; this role may not see how many follow")
        }
    }
}

fn or_unknown(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}
