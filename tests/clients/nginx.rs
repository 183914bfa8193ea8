//! nginx before the daemon, once handing paths on as they came and once decoding them.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::harness::READ;

/// A port that was free a moment ago may be taken; then others are tried.
const ATTEMPTS: usize = 5;

/// A running nginx. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Nginx {
    folder: TempDir,
    passing: SocketAddr,
    decoding: SocketAddr,
}

impl Nginx {
    /// True if it can be run here.
    pub(crate) fn is_installed() -> bool {
        let output = Command::new("nginx").arg("-v").output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Starts it before a daemon. It has returned from its start only when it listens.
    pub(crate) fn before(daemon: SocketAddr) -> Self {
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let nginx = Self {
                folder: tempfile::tempdir().expect("a folder of our own"),
                passing: free_address(),
                decoding: free_address(),
            };
            fs::write(nginx.folder.path().join("conf"), nginx.settings(daemon)).expect("ours");
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

    fn settings(&self, daemon: SocketAddr) -> String {
        let server = |listen: SocketAddr, path: &str| {
            format!(
                "server {{ listen {listen}; location / {{ proxy_pass http://{daemon}{path}; }} }}"
            )
        };
        let [passing, decoding] = [server(self.passing, ""), server(self.decoding, "/")];
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

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound")
}
