//! nginx before the daemon, once handing paths on as they came, once decoding them, and once speaking TLS
//! with both sides.

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::free_address::free_address;
use crate::harness::READ;
use crate::stage::Stage;

/// A port that was free a moment ago may be taken; then others are tried.
const ATTEMPTS: usize = 5;

/// A running nginx. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Nginx {
    folder: TempDir,
    passing: SocketAddr,
    decoding: SocketAddr,
    by_tls: SocketAddr,
}

impl Nginx {
    /// True if it can be run here.
    pub(crate) fn is_installed() -> bool {
        let output = Command::new("nginx").arg("-v").output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Starts it before a daemon. It has returned from its start only when it listens.
    pub(crate) fn before(stage: &Stage) -> Self {
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let nginx = Self {
                folder: tempfile::tempdir().expect("a folder of our own"),
                passing: free_address(),
                decoding: free_address(),
                by_tls: free_address(),
            };
            fs::write(nginx.folder.path().join("conf"), nginx.settings(stage)).expect("ours");
            let output = nginx.call(&[]);
            if output.status.success() {
                return nginx;
            }
            said = String::from_utf8_lossy(&output.stderr).into_owned();
        }
        panic!("nginx does not start: {said}");
    }

    /// The base URL where a path goes through as it came.
    pub(crate) fn passing(&self) -> String {
        format!("http://{}{READ}", self.passing)
    }

    /// The base URL where `%2F` becomes a slash, for `proxy_pass` has a path of its own there.
    pub(crate) fn decoding(&self) -> String {
        format!("http://{}{READ}", self.decoding)
    }

    /// The base URL of https, behind which the daemon is asked by https too.
    pub(crate) fn by_tls(&self) -> String {
        format!("https://{}{READ}", self.by_tls)
    }

    fn settings(&self, stage: &Stage) -> String {
        let daemon = stage.address();
        let server = |listen: SocketAddr, path: &str| {
            format!(
                "server {{ listen {listen}; location / {{ proxy_pass http://{daemon}{path}; }} }}"
            )
        };
        let [passing, decoding] = [server(self.passing, ""), server(self.decoding, "/")];
        let by_tls = format!(
            "server {{
                listen {} ssl;
                ssl_certificate {cert};
                ssl_certificate_key {};
                location / {{
                    proxy_pass https://{};
                    proxy_ssl_trusted_certificate {cert};
                    proxy_ssl_verify on;
                    proxy_ssl_name conf.example;
                    proxy_ssl_server_name on;
                    proxy_ssl_protocols TLSv1.2 TLSv1.3;
                }}
            }}",
            self.by_tls,
            stage.key().display(),
            stage.tls_address(),
            cert = stage.certificate().display(),
        );
        format!(
            "pid pid;
            error_log error.log;
            events {{}}
            http {{
                access_log off;
                client_body_temp_path body;
                proxy_temp_path proxy;
                fastcgi_temp_path fastcgi;
                uwsgi_temp_path uwsgi;
                scgi_temp_path scgi;
                proxy_max_temp_file_size 0;
                proxy_http_version 1.1;
                proxy_set_header Host $http_host;
                {passing}
                {decoding}
                {by_tls}
            }}"
        )
    }

    fn call(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("nginx");
        command.arg("-p").arg(self.folder.path());
        command.args(["-c", "conf", "-e", "error.log"]);
        command.args(arguments).output().expect("nginx runs")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if self.folder.path().join("pid").exists() {
            drop(self.call(&["-s", "stop"]));
        }
    }
}
