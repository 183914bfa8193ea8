//! What `siteconf example` prints for several daemons: the script is run, the compose file is read.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

use crate::client::Client;
use crate::cluster::until;
use crate::daemon::{Daemon, file, read, serve};
use crate::free_address::free_address;
use crate::seaweed::{is_here, program, turn};
use crate::store::{log_in, make_project, save, settled, token};

/// A process that ends with the test, with what it has started.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _may_have_ended = kill_process(Pid::from_child(&self.0), Signal::TERM);
        drop(self.0.wait());
    }
}

/// A script that was started in a folder.
struct Script {
    process: Running,
    /// Kept open, so that it may print.
    _said: BufReader<ChildStdout>,
    password: String,
}

impl Script {
    /// What starts it.
    fn command(folder: &Path, port: u16) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_siteconf"));
        let weed = program().expect("it was looked for");
        let path = format!(
            "{}:{}:{}",
            binary.parent().unwrap().display(),
            weed.parent().unwrap().display(),
            // A user's, in which Debian's haproxy is not.
            "/usr/local/bin:/usr/bin:/bin"
        );
        fs::write(folder.join("fleet.sh"), example("fleet-local")).unwrap();
        // A shell ignores for ever what was ignored when it was started, as Ctrl-C is in the background of another.
        let mut command = Command::new("env");
        command
            .args(["--default-signal=INT", "sh"])
            .args(["fleet.sh", "data", &port.to_string()])
            .current_dir(folder)
            .env("PATH", path)
            .stdin(Stdio::null());
        command
    }

    /// Starts it, and waits until it has told where to go.
    fn start(folder: &Path, port: u16) -> Self {
        let mut command = Self::command(folder, port);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut lines = said.by_ref().lines().map(Result::unwrap);
        let start = format!("http://127.0.0.1:{port}/ is siteconf, user admin, password ");
        let password = lines.find_map(|line| {
            let rest = line.strip_prefix(&start)?;
            Some(rest.strip_suffix(" at the beginning")?.to_owned())
        });
        let Some(password) = password else {
            let logs = fs::read_dir(folder.join("data")).unwrap();
            let logs = logs.map(|entry| entry.unwrap().path());
            let logs: Vec<_> = logs
                .filter(|path| path.extension().is_some_and(|it| it == "log"))
                .collect();
            let texts: Vec<_> = logs.iter().map(fs::read_to_string).collect();
            panic!("{} {texts:#?}", process.wait().unwrap());
        };
        Self {
            process: Running(process),
            _said: said,
            password,
        }
    }

    /// Ends it, and waits until it has ended.
    fn end(&mut self, signal: Signal) -> ExitStatus {
        kill_process(Pid::from_child(&self.process.0), signal).unwrap();
        self.process.0.wait().unwrap()
    }
}

fn allow(folder: &Path, mode: u32) {
    fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
}

fn example(name: &str) -> String {
    let printed = Command::new(env!("CARGO_BIN_EXE_siteconf"))
        .args(["example", name])
        .output()
        .unwrap();
    assert!(printed.status.success(), "{printed:?}");
    String::from_utf8(printed.stdout).unwrap()
}

/// The commands of all processes that name this folder.
fn processes_of(folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let commands = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let commands = commands.map(|command| String::from_utf8_lossy(&command).replace('\0', " "));
    commands
        .filter(|command| command.contains(folder))
        .collect()
}

/// What is answered, once the balancer knows that a daemon is there and the bucket answers: on a busy machine its looks
/// may come late, and `SeaweedFS` refuses all for a moment when it has been started again.
fn got(address: SocketAddr, credential: &str, target: &str) -> Vec<u8> {
    settled(|| Client::new(address, credential).get(target)).body
}

/// The first account at this address.
fn admin_at(address: SocketAddr, script: &Script) -> Client {
    log_in(Client::new(address, ""), &script.password)
}

#[test]
fn the_script_starts_a_fleet_that_can_be_used_and_ends_all_of_it() {
    if !is_here("haproxy") || program().is_none() {
        return;
    }
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let balancer = free_address();
    // PostgreSQL does not run as root, who alone may go there.
    if geteuid().is_root() {
        allow(folder.path(), 0o700);
        let mut command = Script::command(folder.path(), balancer.port());
        let refused = command.output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert_eq!(
            String::from_utf8(refused.stderr).unwrap(),
            format!(
                "fleet: the user postgres may not enter {}: name a folder that it can reach, as in: sh \
                 fleet.sh /var/tmp/fleet\n",
                data.display()
            )
        );
    }
    allow(folder.path(), 0o711);
    let mut script = Script::start(folder.path(), balancer.port());
    let daemon = |number: usize| -> SocketAddr {
        let log = fs::read_to_string(data.join(format!("daemon-{number}.log"))).unwrap();
        let address = log
            .lines()
            .find_map(|line| line.strip_prefix("listening on http://"));
        address.unwrap().parse().unwrap()
    };
    let large: Vec<_> = (0..20_000_000_u32)
        .map(|n| n.to_le_bytes()[n as usize % 3])
        .collect();

    let mut one = admin_at(daemon(1), &script);
    make_project(&mut one);
    save(&mut one, "small.txt", b"small");
    save(&mut one, "large.bin", &large);
    let token = token(&mut one);
    let raw = |path: &str| read(&format!("/files/{path}/raw?ref=main"));
    for address in [daemon(2), balancer] {
        assert_eq!(got(address, &one.credential, &file("small.txt")), b"small");
        assert!(got(address, &token, &raw("large.bin")) == large);
    }
    // Who comes by the balancer is known by the own address.
    let mut admin = admin_at(balancer, &script);
    let listed = settled(|| admin.get("/site-builder/api/projects"));
    assert_eq!(listed.status, 200);

    assert_eq!(script.end(Signal::INT).code(), Some(130));
    assert_eq!(processes_of(&data), [""; 0]);
    let mut script = Script::start(folder.path(), balancer.port());
    let admin = admin_at(balancer, &script);
    assert_eq!(
        got(balancer, &admin.credential, &file("small.txt")),
        b"small"
    );
    assert!(got(daemon(1), &token, &raw("large.bin")) == large);
    assert_eq!(script.end(Signal::TERM).code(), Some(143));
    assert_eq!(processes_of(&data), [""; 0]);
}

#[test]
fn a_daemon_that_has_ended_costs_no_request_through_the_balancer() {
    if !is_here("haproxy") {
        return;
    }
    let [mut one, two] = [(); 2].map(|()| Daemon::start());
    let balancer = Balancer::start([&one, &two]);
    let asked = || balancer.client().get("/livez").status;
    assert_eq!([(); 4].map(|()| asked()), [200; 4]);
    assert!(one.stop().success());
    // Its looks have not told the balancer yet.
    assert_eq!([(); 20].map(|()| asked()), [200; 20]);
}

#[test]
fn where_no_daemon_is_ready_the_balancer_asks_those_that_live() {
    if !is_here("haproxy") {
        return;
    }
    let unready = || {
        let folder = tempfile::tempdir().unwrap();
        let mut command = serve(&folder.path().join("data"));
        command.args(["--disk-low-bytes", &(1_u64 << 60).to_string()]);
        Daemon::start_as(folder, command)
    };
    let [one, two] = [(); 2].map(|()| unready());
    let balancer = Balancer::start([&one, &two]);
    for name in ["one", "two"] {
        until(|| balancer.log().contains(&format!("siteconf/{name} is DOWN")));
    }
    let ready = balancer.client().get("/readyz");
    let reasons = ready.json()["message"].as_str().unwrap().to_owned();
    assert!(
        ready.status == 503 && reasons.contains("less than disk_low_bytes"),
        "{reasons}"
    );
    let asked = || balancer.client().get("/livez").status;
    assert_eq!([(); 4].map(|()| asked()), [200; 4]);
    // One that hangs takes what it is sent and never answers.
    let id = i32::try_from(one.id()).unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::STOP).unwrap();
    until(|| balancer.log().contains("siteconf_live/one is DOWN"));
    assert_eq!([(); 20].map(|()| asked()), [200; 20]);
}

/// HAProxy as the compose file has it, before two daemons.
struct Balancer {
    _process: Running,
    folder: tempfile::TempDir,
    address: SocketAddr,
}

impl Balancer {
    fn start([one, two]: [&Daemon; 2]) -> Self {
        let address = free_address();
        let compose = document(&example("fleet"));
        let text = compose["configs"]["balancer"]["content"].as_str().unwrap();
        // The names of the containers are those of the daemons here, and nobody is asked for them.
        let text = text
            .replace("bind :8080", &format!("bind {address}"))
            .replace("one:8080", one.base().trim_start_matches("http://"))
            .replace("two:8080", two.base().trim_start_matches("http://"))
            .replace(" resolvers docker init-addr none", "");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("haproxy.cfg"), text).unwrap();
        let haproxy = Command::new("haproxy")
            .args(["-db", "-f", "haproxy.cfg"])
            .current_dir(folder.path())
            .stderr(fs::File::create(folder.path().join("log")).unwrap())
            .spawn();
        let balancer = Self {
            _process: Running(haproxy.unwrap()),
            folder,
            address,
        };
        until(|| TcpStream::connect(address).is_ok());
        balancer
    }

    fn client(&self) -> Client {
        Client::new(self.address, "")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap()
    }
}

/// The one document of a text without aliases.
fn document(text: &str) -> Value {
    let mut open: Vec<(Value, Option<String>)> = Vec::new();
    let mut whole = Value::Null;
    for event in Parser::new_from_str(text) {
        let value = match event.unwrap().0 {
            Event::Scalar(text, ..) => match open.last_mut() {
                Some((Value::Object(_), key @ None)) => {
                    *key = Some(text.into_owned());
                    continue;
                }
                _ => Value::from(text.into_owned()),
            },
            Event::SequenceStart(..) => {
                open.push((Value::Array(Vec::new()), None));
                continue;
            }
            Event::MappingStart(..) => {
                open.push((Value::Object(Map::new()), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().unwrap().0,
            Event::Alias(_) => panic!("an alias"),
            _ => continue,
        };
        match open.last_mut() {
            Some((Value::Array(list), _)) => list.push(value),
            Some((Value::Object(object), key)) => {
                let twice = object.insert(key.take().unwrap(), value);
                assert_eq!(twice, None, "a key is there twice");
            }
            _ => whole = value,
        }
    }
    whole
}

#[test]
fn the_compose_file_names_what_is_there_and_its_settings_are_right() {
    let compose = document(&example("fleet"));
    let services = compose["services"].as_object().unwrap();
    let names: Vec<_> = services.keys().map(String::as_str).collect();
    assert_eq!(names, ["balancer", "init", "one", "postgres", "s3", "two"]);
    for (name, service) in services {
        assert!(service["image"].is_string(), "{name}");
        let volumes = service["volumes"].as_array().into_iter().flatten();
        let volumes = volumes.map(|volume| volume.as_str().unwrap().split(':').next().unwrap());
        for volume in volumes {
            assert!(compose["volumes"][volume].is_object(), "{name}: {volume}");
        }
        for config in service["configs"].as_array().into_iter().flatten() {
            let source = config["source"].as_str().unwrap();
            assert!(
                compose["configs"][source]["content"].is_string(),
                "{name}: {source}"
            );
        }
        let others = match &service["depends_on"] {
            Value::Array(list) => list.iter().map(|it| it.as_str().unwrap()).collect(),
            Value::Object(object) => object.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        assert!(
            others.iter().all(|other| services.contains_key(*other)),
            "{name}"
        );
    }

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = |name: &str| compose["configs"][name]["content"].as_str().unwrap();
    fs::write(at("s3-keys"), text("s3-keys")).unwrap();
    let settings = text("settings").replace("\"/s3-keys\"", &format!("{:?}", at("s3-keys")));
    fs::write(at("siteconf.toml"), settings).unwrap();
    let mut commands = Vec::new();
    for name in ["init", "one", "two"] {
        let service = &services[name];
        assert_eq!(
            service["environment"]["SITECONF_CONFIG"], "/siteconf.toml",
            "{name}"
        );
        let words = service["command"].as_array().unwrap().iter();
        commands.push(
            words
                .map(|word| word.as_str().unwrap())
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
    assert_eq!(
        commands,
        [
            "siteconf init --if-absent",
            "siteconf serve",
            "siteconf serve"
        ]
    );
    let checked = Command::new(env!("CARGO_BIN_EXE_siteconf"))
        .args(["config", "check", "--config", &at("siteconf.toml")])
        // As the image has it.
        .env("SITECONF_DATA", "/data/store")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&checked.stdout),
        "the settings are right\n",
        "{checked:?}"
    );

    if is_here("haproxy") {
        // A name is that of a container there, and of a user of the own machine nowhere.
        fs::write(at("haproxy.cfg"), text("balancer")).unwrap();
        let checked = Command::new("haproxy")
            .args(["-c", "-f", &at("haproxy.cfg")])
            .output();
        let checked = checked.unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
}
