//! A file over HTTP, taken up again where it was cut.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
    thread,
    time::Duration,
};

use fedcompetitors_graphs::shown;
use indicatif::{ProgressBar, ProgressStyle};
use ureq::{
    Agent, Body,
    http::{HeaderMap, Response, StatusCode},
};

use super::fetch::{unwritable, version_of};
use crate::{
    Failure,
    output::{shown_path, tell},
};

/// How long a server may take to be reached.
const CONNECT: Duration = Duration::from_secs(20);
/// How long a server may say nothing.
const SILENCE: Duration = Duration::from_secs(30);
/// How long to wait before trying again, the first time, the second, ….
const PAUSES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(3)];

/// A file to fetch.
pub struct Download<'a> {
    /// Where it is.
    pub url: &'a str,
    /// Where its bytes go.
    pub part: &'a Path,
    /// What it will be called.
    pub target: &'a Path,
    /// Its length, if it is known before the server tells.
    pub size: Option<u64>,
    /// Will a checksum tell whether it is the right one?
    pub checked: bool,
}

/// Why an attempt failed.
enum Trouble {
    /// It may be over in a moment.
    Passing(String),
    /// Trying again would not help.
    Lasting(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Lasting(failure)
    }
}

/// What fetches.
pub struct Client(Agent);

impl Client {
    pub fn new() -> Self {
        let config = Agent::config_builder()
            .user_agent(concat!("fedcompetitors/", env!("CARGO_PKG_VERSION")))
            // Files are wanted as they are, also those that a server could pack.
            .accept_encoding("identity")
            .http_status_as_error(false)
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .build();
        Self(Agent::new_with_config(config))
    }

    /// Fetches a file into its part, going on with what is there.
    pub fn download(&self, wanted: &Download<'_>) -> Result<(), Failure> {
        let style = ProgressStyle::with_template(
            "{msg} {bar:30} {decimal_bytes} of {decimal_total_bytes}, {eta} left",
        )
        .unwrap_or_else(|_| ProgressStyle::default_bar());
        // Shown on terminals only.
        let bar = ProgressBar::new(wanted.size.unwrap_or(0)).with_style(style);
        bar.set_message(shown_path(wanted.target));
        let result = self.attempts(wanted, &bar);
        bar.finish_and_clear();
        result
    }

    fn attempts(&self, wanted: &Download<'_>, bar: &ProgressBar) -> Result<(), Failure> {
        let mut pauses = PAUSES.iter();
        loop {
            let cause = match self.attempt(wanted, bar) {
                Ok(()) => return Ok(()),
                Err(Trouble::Lasting(failure)) => return Err(failure),
                Err(Trouble::Passing(cause)) => cause,
            };
            let Some(&pause) = pauses.next() else {
                return Err(Failure::Network {
                    error: format!("{}: {cause}", shown(wanted.url)),
                    hint: "the received part is kept; run the same command again to resume".into(),
                });
            };
            bar.suspend(|| tell(&format!("{}: {cause}; trying again", shown(wanted.url))));
            thread::sleep(pause);
        }
    }

    fn attempt(&self, wanted: &Download<'_>, bar: &ProgressBar) -> Result<(), Trouble> {
        let known = fs::read_to_string(version_of(wanted.part)).ok();
        // Without a version, pieces of two versions could be put together, and only a checksum
        // would tell.
        let there = match fs::metadata(wanted.part) {
            Ok(part) if known.is_some() || wanted.checked => part.len(),
            _ => 0,
        };
        let mut request = self.0.get(wanted.url);
        if there > 0 {
            request = request.header("Range", format!("bytes={there}-"));
            if let Some(version) = &known {
                request = request.header("If-Range", version);
            }
        }
        let response = request.call().map_err(|error| trouble(error, wanted))?;
        let (status, version) = (response.status(), version(response.headers()));
        let range = content_range(response.headers());
        match status {
            StatusCode::PARTIAL_CONTENT if there > 0 => {
                let other = known.is_some() && version.is_some() && known != version;
                if other || range.is_none_or(|range| range.start != Some(there)) {
                    return Err(start_anew(wanted));
                }
                receive(response, wanted, there, range.and_then(|range| range.total), bar)
            }
            StatusCode::OK => {
                refuse_pages(&response, wanted)?;
                // What is there may be of another version. It goes before the new version is noted.
                File::create(wanted.part).map_err(|error| unwritable(wanted.part, error))?;
                let path = version_of(wanted.part);
                match version {
                    Some(version) => fs::write(&path, version),
                    None if path.exists() => fs::remove_file(&path),
                    None => Ok(()),
                }
                .map_err(|error| unwritable(&path, error))?;
                let total = response.body().content_length();
                receive(response, wanted, 0, total, bar)
            }
            // All of it was there when the last call ended.
            StatusCode::RANGE_NOT_SATISFIABLE
                if there > 0 && range.and_then(|range| range.total) == Some(there) =>
            {
                Ok(())
            }
            StatusCode::RANGE_NOT_SATISFIABLE if there > 0 => Err(start_anew(wanted)),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => {
                Err(Trouble::Passing(format!("the server answers {status}")))
            }
            status if status.is_server_error() => {
                Err(Trouble::Passing(format!("the server answers {status}")))
            }
            status => Err(Trouble::Lasting(refused(status, wanted))),
        }
    }
}

/// Writes what comes behind what is there.
fn receive(
    response: Response<Body>,
    wanted: &Download<'_>,
    there: u64,
    total: Option<u64>,
    bar: &ProgressBar,
) -> Result<(), Trouble> {
    bar.set_length(total.or(wanted.size).unwrap_or(0));
    bar.set_position(there);
    bar.reset_eta();
    let part = wanted.part;
    let file = File::options().append(true).open(part);
    let mut file = file.map_err(|error| unwritable(part, error))?;
    let mut body = response.into_body().into_reader();
    let came = copy(&mut body, &mut file, |length| bar.inc(length as u64));
    let came = came.map_err(|error| match error {
        CopyError::Read(error) => Trouble::Passing(cause(ureq::Error::from(error))),
        CopyError::Write(error) => Trouble::Lasting(unwritable(part, error)),
    })?;
    match total {
        Some(total) if there + came < total => Err(Trouble::Passing(format!(
            "the connection ended after {} of {total} bytes",
            there + came
        ))),
        _ => Ok(()),
    }
}

/// Why copying ended early.
pub enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

/// Copies all that can be read, telling of each piece; says how many bytes it were.
pub fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    mut progress: impl FnMut(usize),
) -> Result<u64, CopyError> {
    let mut piece = vec![0; 1 << 16];
    let mut total = 0;
    loop {
        let length = match from.read(&mut piece) {
            Ok(0) => return Ok(total),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        to.write_all(&piece[..length]).map_err(CopyError::Write)?;
        total += length as u64;
        progress(length);
    }
}

/// The version of a file by which a server knows whether a piece still belongs to it. A weak
/// tag is no such thing.
fn version(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let tag = text("ETag").filter(|tag| !tag.starts_with("W/"));
    tag.or_else(|| text("Last-Modified")).map(str::to_owned)
}

/// Which piece of how much a server sends.
#[derive(Clone, Copy)]
struct ContentRange {
    start: Option<u64>,
    total: Option<u64>,
}

/// `bytes 100-199/200`, `bytes 100-199/*` or `bytes */200`.
fn content_range(headers: &HeaderMap) -> Option<ContentRange> {
    let text = headers.get("Content-Range")?.to_str().ok()?;
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let start = range.split_once('-').and_then(|(start, _)| start.parse().ok());
    Some(ContentRange { start, total: total.parse().ok() })
}

/// Forgets what is there, which does not go together with what the server has.
fn start_anew(wanted: &Download<'_>) -> Trouble {
    for path in [wanted.part, &version_of(wanted.part)] {
        if let Err(error) = fs::remove_file(path)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Trouble::Lasting(unwritable(path, error));
        }
    }
    Trouble::Passing("the file has changed since part of it was fetched".into())
}

/// Where no checksum would tell, a page that asks for a login must not pass for data.
fn refuse_pages(response: &Response<Body>, wanted: &Download<'_>) -> Result<(), Failure> {
    if wanted.checked || response.body().mime_type() != Some("text/html") {
        return Ok(());
    }
    Err(Failure::Network {
        error: format!("{}: the server sent a web page instead of the file", shown(wanted.url)),
        hint: by_hand(wanted),
    })
}

fn refused(status: StatusCode, wanted: &Download<'_>) -> Failure {
    let hint = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => by_hand(wanted),
        _ => "the file may have moved: use a mirror that has each file as NAME/FILE (--mirror), or a catalogue with the new address (--catalogue)".into(),
    };
    Failure::Network { error: format!("{}: the server answers {status}", shown(wanted.url)), hint }
}

fn by_hand(wanted: &Download<'_>) -> String {
    format!(
        "the server may refuse programs: fetch the file with a browser and save it as {}",
        shown_path(wanted.target)
    )
}

/// What went wrong before there was an answer.
fn trouble(error: ureq::Error, wanted: &Download<'_>) -> Trouble {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock,
    };
    let passing = match &error {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(error) => matches!(
            error.kind(),
            BrokenPipe
                | ConnectionAborted
                | ConnectionReset
                | TimedOut
                | UnexpectedEof
                | WouldBlock
        ),
        _ => false,
    };
    let cause = cause(error);
    if passing {
        return Trouble::Passing(cause);
    }
    Trouble::Lasting(Failure::Network {
        error: format!("{}: {cause}", shown(wanted.url)),
        hint: "check the network and the address; if this machine cannot reach the server, use another one with --mirror".into(),
    })
}

/// The library's words without its names for things.
fn cause(error: ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection ended early".into()
        }
        ureq::Error::Io(error) => error.to_string(),
        ureq::Error::Timeout(_) => "the server does not answer".into(),
        ureq::Error::HostNotFound => "the server was not found".into(),
        error => error.to_string(),
    }
}
