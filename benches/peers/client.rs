//! The clients that wrk cannot be: requests at a given pace, each timed from the moment at which it
//! was due, saves, and saves in turns with what they are compared with. `run` compiles and calls it:
//! one file, the standard library alone. Every answer must be a success; times are printed in
//! microseconds.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const SAVED_BYTES: usize = 4096;
/// Connections over which paced saves are spread.
const SAVERS: usize = 8;
/// Files that one saver changes in turn.
const FILES: usize = 100;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["polls", address, heads, run, connections, rate, seconds] => {
            let seconds = Duration::from_secs_f64(seconds.parse()?);
            polls(
                address,
                heads,
                run,
                connections.parse()?,
                rate.parse()?,
                seconds,
            )
        }
        ["saves", address, targets, rate, seconds] => {
            let seconds = Duration::from_secs_f64(seconds.parse()?);
            saves(address, targets, rate.parse()?, seconds)
        }
        ["writers", address, targets, writers, count] => {
            writing(address, targets, writers.parse()?, count.parse()?)
        }
        ["appends", address, targets, file, count] => {
            appends(address, targets, file, count.parse()?)
        }
        ["pages", address, few, many, run, count] => {
            pages(address, [few, many], run, count.parse()?)
        }
        _ => Err("polls, saves, writers, appends or pages; see the source".into()),
    }
}

/// Asks at a pace, over so many connections; prints how many answers there were and the median, the
/// 99th percentile and the greatest of the times from when they were due.
fn polls(
    address: &str,
    heads: &str,
    run: &str,
    connections: usize,
    rate: f64,
    seconds: Duration,
) -> Result<()> {
    let heads = fs::read(heads)?;
    let heads: Vec<&[u8]> = pieces(&heads);
    let times = on_threads(connections, |place| {
        let mut connection = Connection::open(address)?;
        let mut pace = Pace::new(rate, place, connections);
        let mut times = Vec::new();
        let mut next = place;
        while let Some(due) = pace.due_within(seconds) {
            let request = numbered(heads[next % heads.len()], run, next);
            connection.ask(&request)?;
            times.push(due.elapsed());
            next += connections;
        }
        Ok(times)
    })?;
    print_times(times);
    Ok(())
}

/// Saves at a pace; prints as [`polls`].
fn saves(address: &str, targets: &str, rate: f64, seconds: Duration) -> Result<()> {
    let targets = fs::read_to_string(targets)?;
    let savers = Saver::for_lines(&targets);
    let times = on_threads(SAVERS, |place| {
        let mut connection = Connection::open(address)?;
        let mut pace = Pace::new(rate, place, SAVERS);
        let mut times = Vec::new();
        let mut number = place;
        while let Some(due) = pace.due_within(seconds) {
            connection.ask(&savers[place % savers.len()].request(number))?;
            times.push(due.elapsed());
            number += SAVERS;
        }
        Ok(times)
    })?;
    print_times(times);
    Ok(())
}

/// Saves as fast as so many writers can, through one of these addresses each; prints as [`polls`], and how
/// many microseconds all took.
fn writing(addresses: &str, targets: &str, writers: usize, count: usize) -> Result<()> {
    let targets = fs::read_to_string(targets)?;
    let savers = Saver::for_lines(&targets);
    let next = AtomicUsize::new(0);
    let addresses: Vec<&str> = addresses.split(',').collect();
    let began = Instant::now();
    let times = on_threads(writers, |place| {
        let mut connection = Connection::open(addresses[place % addresses.len()])?;
        let mut times = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(times);
            }
            let request = savers[place % savers.len()].request(number);
            let before = Instant::now();
            connection.ask(&request)?;
            times.push(before.elapsed());
        }
    })?;
    let all = began.elapsed().as_micros();
    print_times(times);
    println!("{all}");
    Ok(())
}

/// Saves in turns with appends of as many bytes to a file and a sync of its data; prints the medians
/// of both.
fn appends(address: &str, targets: &str, file: &str, count: usize) -> Result<()> {
    let targets = fs::read_to_string(targets)?;
    let saver = &Saver::for_lines(&targets)[0];
    let mut connection = Connection::open(address)?;
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    let (mut saved, mut appended) = (Vec::new(), Vec::new());
    for number in 0..count {
        let request = saver.request(number);
        let before = Instant::now();
        connection.ask(&request)?;
        saved.push(before.elapsed());
        let content = content(number);
        let before = Instant::now();
        file.write_all(&content)?;
        file.sync_data()?;
        appended.push(before.elapsed());
    }
    println!(
        "{} {}",
        quantile(&mut saved, 0.5),
        quantile(&mut appended, 0.5)
    );
    Ok(())
}

/// Asks two projects in turns for a page, each time after a save in the same project; prints the
/// medians for both. In each file: a line that says where to save, and a request head for each page,
/// all ended by NUL.
fn pages(address: &str, projects: [&str; 2], run: &str, count: usize) -> Result<()> {
    let mut connection = Connection::open(address)?;
    let contents = [fs::read(projects[0])?, fs::read(projects[1])?];
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..count {
        for (content, times) in contents.iter().zip(&mut times) {
            let pieces = pieces(content);
            let turn = number % (pieces.len() / 2) * 2;
            let line = std::str::from_utf8(pieces[turn])?;
            let request = Saver::for_lines(line)[0].request(number);
            connection.ask(&request)?;
            let head = numbered(pieces[turn + 1], run, number);
            let before = Instant::now();
            connection.ask(&head)?;
            times.push(before.elapsed());
        }
    }
    let [few, many] = &mut times;
    println!("{} {}", quantile(few, 0.5), quantile(many, 0.5));
    Ok(())
}

/// What saves into one branch of one project.
struct Saver<'a> {
    cookie: &'a str,
    folder: &'a str,
}

impl<'a> Saver<'a> {
    /// One for each line: the cookie, a tab, the target that the branch's files lie under.
    fn for_lines(lines: &'a str) -> Vec<Self> {
        let fields = lines.lines().filter_map(|line| line.split_once('\t'));
        fields
            .map(|(cookie, folder)| Self { cookie, folder })
            .collect()
    }

    fn request(&self, number: usize) -> Vec<u8> {
        let Self { cookie, folder } = self;
        let file = number % FILES;
        let mut request = format!(
            "PUT {folder}/folder-7/saved-{file}.xml HTTP/1.1\r\nHost: conf.example\r\n\
             Cookie: {cookie}\r\nContent-Type: application/octet-stream\r\n\
             Content-Length: {SAVED_BYTES}\r\n\r\n"
        )
        .into_bytes();
        request.extend(content(number));
        request
    }
}

/// Bytes that were never saved before.
fn content(number: usize) -> Vec<u8> {
    let now = Instant::now();
    let mut content = format!("save {number} {now:?} ").into_bytes();
    content.resize(SAVED_BYTES, b'x');
    content
}

/// A whole request of a head and a number that no other has.
fn numbered(head: &[u8], run: &str, number: usize) -> Vec<u8> {
    let mut request = head.to_vec();
    request.extend(format!("X-Correlation-Id: {run}-{number}\r\n\r\n").into_bytes());
    request
}

/// The parts that NUL ends.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let parts = bytes.split(|&byte| byte == 0);
    parts.filter(|part| !part.is_empty()).collect()
}

/// When the requests of one of several threads are due.
struct Pace {
    start: Instant,
    first: Duration,
    every: Duration,
    count: u32,
}

impl Pace {
    /// `rate` requests a second by all threads, of which this is the one at `place`.
    fn new(rate: f64, place: usize, threads: usize) -> Self {
        let every = Duration::from_secs_f64(threads as f64 / rate);
        Self {
            start: Instant::now(),
            first: every.mul_f64(place as f64 / threads as f64),
            every,
            count: 0,
        }
    }

    /// Waits for the next one, unless it is due after so long.
    fn due_within(&mut self, seconds: Duration) -> Option<Instant> {
        let after = self.first + self.every * self.count;
        self.count += 1;
        if after >= seconds {
            return None;
        }
        let due = self.start + after;
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            thread::sleep(early);
        }
        Some(due)
    }
}

/// A kept connection, and the next one where the service ends it: after so many requests it does.
struct Connection {
    address: String,
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    fn open(address: &str) -> Result<Self> {
        Ok(Self {
            address: address.to_owned(),
            stream: connect(address)?,
            answer: vec![0; 64 << 10],
        })
    }

    /// Sends a request and takes its whole answer.
    fn ask(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request)?;
        let mut held = 0;
        let end = loop {
            held += self.read(held)?;
            if let Some(end) = find(&self.answer[..held], b"\r\n\r\n") {
                break end + 4;
            }
        };
        let head = std::str::from_utf8(&self.answer[..end])?.to_ascii_lowercase();
        if !head.starts_with("http/1.1 20") {
            let said = String::from_utf8_lossy(&self.answer[..held]);
            return Err(format!("answered {said}").into());
        }
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.ok_or("an answer without length")?.parse()?;
        let mut missing = (end + length)
            .checked_sub(held)
            .ok_or("more than one answer")?;
        while missing > 0 {
            missing = missing
                .checked_sub(self.read(0)?)
                .ok_or("more than one answer")?;
        }
        if head.contains("\r\nconnection: close\r\n") {
            self.stream = connect(&self.address)?;
        }
        Ok(())
    }

    fn read(&mut self, at: usize) -> Result<usize> {
        match self.stream.read(&mut self.answer[at..])? {
            0 => Err("the connection ends within an answer".into()),
            count => Ok(count),
        }
    }
}

fn connect(address: &str) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Does the work on so many threads, by their places, and joins what they bring.
fn on_threads(
    threads: usize,
    work: impl Fn(usize) -> Result<Vec<Duration>> + Sync,
) -> Result<Vec<Duration>> {
    let work = &work;
    thread::scope(|scope| {
        let started: Vec<_> = (0..threads)
            .map(|place| scope.spawn(move || work(place)))
            .collect();
        let mut all = Vec::new();
        for thread in started {
            all.extend(thread.join().map_err(|_| "a thread panicked")??);
        }
        Ok(all)
    })
}

/// The time below which this share of them lies, in microseconds.
fn quantile(times: &mut [Duration], share: f64) -> u128 {
    times.sort_unstable();
    let place = (times.len() as f64 * share) as usize;
    times
        .get(place.min(times.len().saturating_sub(1)))
        .map_or(0, Duration::as_micros)
}

fn print_times(mut times: Vec<Duration>) {
    let [half, most, all] = [0.5, 0.99, 1.0].map(|share| quantile(&mut times, share));
    println!("{} {half} {most} {all}", times.len());
}
