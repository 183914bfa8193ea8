//! What systemd is told.

use std::fs::{self, File};
use std::os::linux::fs::MetadataExt;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::pair::Pair;
use crate::service::{Service, shown};

fn next(told: &UnixDatagram) -> String {
    let mut bytes = [0; 1000];
    let length = told.recv(&mut bytes).unwrap();
    String::from_utf8(bytes[..length].to_vec()).unwrap()
}

fn patient(told: UnixDatagram) -> UnixDatagram {
    told.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    told
}

#[test]
fn systemd_is_told_of_the_start_a_reload_and_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let name = format!("siteconf-test-{}", std::process::id());
    let by_path = UnixDatagram::bind(&path).unwrap();
    let by_name = SocketAddr::from_abstract_name(&name).unwrap();
    let by_name = UnixDatagram::bind_addr(&by_name).unwrap();
    for (told, socket) in [(by_path, shown(path)), (by_name, format!("@{name}"))] {
        let told = patient(told);
        let mut service = Service::start(&[], &[("NOTIFY_SOCKET", &socket)]);
        let ready = format!("READY=1\nSTATUS=listening on http://{}", service.plain());
        assert_eq!(next(&told), ready);
        service.signal(Signal::HUP);
        let reloading = next(&told);
        let since = reloading
            .strip_prefix("RELOADING=1\nMONOTONIC_USEC=")
            .unwrap();
        assert!(since.parse::<u64>().unwrap() > 0, "{reloading}");
        assert_eq!(next(&told), ready);
        assert_eq!(service.stop().code(), Some(0));
        assert_eq!(next(&told), "STOPPING=1");
    }
}

#[test]
fn the_watchdog_is_told_at_half_its_time_and_only_who_is_meant_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let told = patient(UnixDatagram::bind(&path).unwrap());
    let socket = shown(path);
    let started = Instant::now();
    let variables = [("NOTIFY_SOCKET", &*socket), ("WATCHDOG_USEC", "600000")];
    let service = Service::start(&[], &variables);
    // All is well before the service says that it is ready, and may be for long.
    let (mut ready, mut well) = (0, 0);
    while ready < 1 || well < 3 {
        let line = next(&told);
        if line.starts_with("READY=1\n") {
            ready += 1;
        } else {
            assert_eq!(line, "WATCHDOG=1");
            well += 1;
        }
    }
    assert!(started.elapsed() > Duration::from_millis(600));
    // What it asks itself for that is no request of anybody.
    assert!(!service.log().contains("\"message\":\"request\""));
    // A process that is stopped answers nobody, and tells nothing.
    service.signal(Signal::STOP);
    told.set_nonblocking(true).unwrap();
    while told.recv(&mut [0; 1000]).is_ok() {}
    told.set_nonblocking(false).unwrap();
    told.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    // One may have been on its way.
    let late = (0..2).filter(|_| told.recv(&mut [0; 1000]).is_ok()).count();
    assert!(late < 2);
    drop(service);

    let told = patient(told);
    let other = [&variables[..], &[("WATCHDOG_PID", "1")]].concat();
    let mut service = Service::start(&[], &other);
    assert!(next(&told).starts_with("READY=1\n"));
    service.stop();
    assert_eq!(next(&told), "STOPPING=1");
}

#[test]
fn a_reload_that_is_asked_for_before_the_service_listens_is_done_then() {
    for signal in [Signal::HUP, Signal::USR1] {
        let as_it_begins = |folder: &Path, id: Pid| {
            let end = Instant::now() + Duration::from_secs(20);
            while !folder.join("data/LOCK").exists() {
                assert!(Instant::now() < end, "it never begins");
            }
            kill_process(id, signal).unwrap();
        };
        let folder = tempfile::tempdir().unwrap();
        let mut service = Service::start_while(folder, &[], &[], as_it_begins);
        service.logged("\"message\":\"reloaded\"", 1);
        assert_eq!(service.stop().code(), Some(0));
    }
}

/// So that "journalctl -p err" finds them.
#[test]
fn the_journal_is_told_the_priority_of_what_went_wrong() {
    for format in ["json", "text"] {
        for (is_journal, marks) in [(true, ["<4>", "<3>", ""]), (false, ["", "", ""])] {
            let folder = tempfile::tempdir().unwrap();
            let log = File::create(folder.path().join("log")).unwrap();
            let log = log.metadata().unwrap();
            let inode = if is_journal { log.st_ino() } else { 1 };
            let stream = format!("{}:{inode}", log.st_dev());
            let [cert, key] = Pair::new().write(folder.path()).map(shown);
            let flags = [
                ["--tls-listen", "127.0.0.1:0"],
                ["--tls-cert", &cert],
                ["--tls-key", &key],
                ["--connections-max", "4000000000"],
                ["--log-format", format],
            ];
            let service =
                Service::start_in(folder, flags.as_flattened(), &[("JOURNAL_STREAM", &stream)]);
            fs::write(&cert, "no certificate").unwrap();
            service.signal(Signal::HUP);
            let told = ["fewer open files", "ERROR", "serving"].map(|text| service.line(text, 1));
            for (line, mark) in told.iter().zip(marks) {
                let rest = line.strip_prefix(mark).unwrap_or_default();
                let is_whole = rest.starts_with(if format == "json" { '{' } else { '2' });
                assert!(is_whole, "{format}, {is_journal}: {line}");
            }
        }
    }
}

/// The watchdog ends a service that hangs by a signal that has the system keep its memory.
#[test]
fn its_memory_is_not_written_into_a_file() {
    // As an operator may have it.
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let current = maximum;
    setrlimit(Resource::Core, Rlimit { current, maximum }).unwrap();
    let service = Service::start(&[], &[]);
    let limits = format!("/proc/{}/limits", service.id().as_raw_nonzero());
    let limits = fs::read_to_string(limits).unwrap();
    let cores = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"));
    let soft = cores.and_then(|line| line.split_whitespace().nth(4));
    assert_eq!(soft, Some("1"), "{limits}");
}
