//! Fetching data, from a server in this process that can be as bad as servers are.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use sha2::{Digest, Sha256};

use super::*;

/// What a server does with one request.
#[derive(Clone, Copy)]
enum Answer {
    /// Sends the file, or the piece that is asked for.
    Serve,
    /// Sends half of what is left and goes away.
    Cut,
    /// Sends the whole file, whatever piece is asked for.
    Whole,
    /// Answers with a status and nothing else.
    Status(&'static str),
}

/// A server on this machine with one file, whatever the path, and answers in turn, of which
/// the last is for all further requests.
struct Server {
    address: SocketAddr,
    /// The first line of each request, and its range if it has one.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(file: &[u8], answers: &[Answer]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (file, answers, log) = (file.to_vec(), answers.to_vec(), Arc::clone(&requests));
        // It ends with the tests.
        thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let answer = answers[at.min(answers.len() - 1)];
                let _ = stream.and_then(|stream| respond(stream, &file, answer, &log));
            }
        });
        Self { address, requests }
    }

    fn url(&self) -> String {
        format!("http://{}/mirror", self.address)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

fn respond(
    mut stream: TcpStream,
    file: &[u8],
    answer: Answer,
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let mut request = lines.next().transpose()?.unwrap_or_default();
    let (mut start, mut same) = (0, true);
    for line in lines {
        let line = line?.to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(range) = line.strip_prefix("range: bytes=") {
            request = format!("{request} from {range}");
            start = range.trim_end_matches('-').parse().expect("a number");
        }
        if let Some(version) = line.strip_prefix("if-range: ") {
            same = version == "\"one\"";
        }
    }
    log.lock().expect("not poisoned").push(request);
    if matches!(answer, Answer::Whole) || !same {
        start = 0;
    }
    let always = "ETag: \"one\"\r\nConnection: close\r\n";
    if let Answer::Status(status) = answer {
        return write!(stream, "HTTP/1.1 {status}\r\n{always}Content-Length: 0\r\n\r\n");
    }
    let total = file.len();
    if start >= total && start > 0 {
        return write!(
            stream,
            "HTTP/1.1 416 Range Not Satisfiable\r\n{always}Content-Range: bytes */{total}\r\nContent-Length: 0\r\n\r\n"
        );
    }
    let rest = &file[start..];
    let status = if start > 0 {
        format!("206 Partial Content\r\nContent-Range: bytes {start}-{}/{total}", total - 1)
    } else {
        "200 OK".to_owned()
    };
    write!(stream, "HTTP/1.1 {status}\r\n{always}Content-Length: {}\r\n\r\n", rest.len())?;
    let sent = if matches!(answer, Answer::Cut) { rest.len() / 2 } else { rest.len() };
    stream.write_all(&rest[..sent])
}

fn sha256(bytes: &[u8]) -> String {
    let digits: Vec<String> =
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

/// Bytes that compress badly and repeat nowhere near a cut.
fn content() -> Vec<u8> {
    (0..300_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

impl Sandbox {
    /// Writes a catalogue with one data set, `set`, of these files.
    fn catalogue(&self, files: &str) {
        self.write(
            "catalogue.json",
            &format!(
                "{{\"format\": \"fedcompetitors-catalogue/1\", \"datasets\": [{{\"name\": \"set\", \"files\": [{files}]}}]}}"
            ),
        );
    }

    /// A catalogue with one file that must have these bytes.
    fn catalogue_of(&self, bytes: &[u8]) {
        self.catalogue(&format!(
            "{{\"name\": \"file.bin\", \"url\": \"http://127.0.0.1:9/file.bin\", \"checksums\": [\"sha256:{}\"]}}",
            sha256(bytes)
        ));
    }

    fn fetch(&self, server: &Server) -> Output {
        self.fetch_with(&["set", "--catalogue", "catalogue.json", "--mirror", &server.url()])
    }

    /// Fetches without any proxy that this machine may have.
    fn fetch_with(&self, arguments: &[&str]) -> Output {
        let mut command = cargo_bin_cmd!("fedcompetitors");
        command.current_dir(self.0.path()).args(["data", "fetch"]).args(arguments);
        for name in ["http_proxy", "https_proxy", "all_proxy"] {
            command.env_remove(name).env_remove(name.to_ascii_uppercase());
        }
        command.output().expect("it runs")
    }

    /// The names in the folder that is fetched to.
    fn fetched(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("data/set")).expect("a folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }
}

/// What a user sees, whatever the port.
fn seen_of(output: &Output, server: &Server) -> String {
    seen(output).replace(&server.address.to_string(), "SERVER")
}

#[test]
fn a_file_is_fetched_once() {
    let (sandbox, content) = (Sandbox::new(), content());
    sandbox.catalogue_of(&content);
    let server = Server::new(&content, &[Answer::Serve]);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
    assert_eq!(fs::read(sandbox.path("data/set/file.bin")).expect("fetched"), content);
    assert_eq!(server.requests(), ["GET /mirror/set/file.bin HTTP/1.1"]);
    // Another call finds it and asks nobody.
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
    assert_eq!(server.requests().len(), 1);
    // What is there and wrong is replaced.
    sandbox.write("data/set/file.bin", "something else");
    assert_eq!(sandbox.fetch(&server).status.code(), Some(0));
    assert_eq!(fs::read(sandbox.path("data/set/file.bin")).expect("fetched"), content);
    assert_eq!(sandbox.fetched(), ["file.bin"]);
}

#[test]
fn a_cut_connection_is_taken_up_where_it_ended() {
    let (sandbox, content) = (Sandbox::new(), content());
    sandbox.catalogue_of(&content);
    let server = Server::new(&content, &[Answer::Cut, Answer::Serve]);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
    assert_eq!(fs::read(sandbox.path("data/set/file.bin")).expect("fetched"), content);
    assert_eq!(
        server.requests(),
        ["GET /mirror/set/file.bin HTTP/1.1", "GET /mirror/set/file.bin HTTP/1.1 from 150000-"]
    );
}

#[test]
fn a_call_that_failed_is_taken_up_by_the_next() {
    let (sandbox, content) = (Sandbox::new(), content());
    sandbox.catalogue_of(&content);
    let bad = Server::new(&content, &[Answer::Cut]);
    let output = sandbox.fetch(&bad);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("hint: the received part is kept"));
    assert_eq!(sandbox.fetched(), ["file.bin.part", "file.bin.part.version"]);
    let good = Server::new(&content, &[Answer::Serve]);
    assert_eq!(sandbox.fetch(&good).status.code(), Some(0));
    assert!(good.requests()[0].contains("from "), "{:?}", good.requests());
    assert_eq!(fs::read(sandbox.path("data/set/file.bin")).expect("fetched"), content);
    assert_eq!(sandbox.fetched(), ["file.bin"]);
}

#[test]
fn a_server_without_ranges_and_one_with_another_version_start_anew() {
    let (sandbox, content) = (Sandbox::new(), content());
    sandbox.catalogue_of(&content);
    for (answer, version) in [(Answer::Whole, "\"one\""), (Answer::Serve, "\"older\"")] {
        fs::create_dir_all(sandbox.path("data/set")).expect("a folder");
        sandbox.write("data/set/file.bin.part", "of another time");
        sandbox.write("data/set/file.bin.part.version", version);
        let server = Server::new(&content, &[answer]);
        let output = sandbox.fetch(&server);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(server.requests(), ["GET /mirror/set/file.bin HTTP/1.1 from 15-"]);
        assert_eq!(fs::read(sandbox.path("data/set/file.bin")).expect("fetched"), content);
        fs::remove_file(sandbox.path("data/set/file.bin")).expect("there");
    }
}

#[test]
fn a_part_that_is_whole_or_longer_than_the_file_is_no_trouble() {
    let (sandbox, content) = (Sandbox::new(), content());
    sandbox.catalogue_of(&content);
    fs::create_dir_all(sandbox.path("data/set")).expect("a folder");
    for more in [0, 7] {
        let part = [&content[..], &vec![0; more]].concat();
        fs::write(sandbox.path("data/set/file.bin.part"), part).expect("written");
        let server = Server::new(&content, &[Answer::Serve]);
        let output = sandbox.fetch(&server);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(server.requests().len(), if more == 0 { 1 } else { 2 });
        assert_eq!(fs::read(sandbox.path("data/set/file.bin")).expect("fetched"), content);
        fs::remove_file(sandbox.path("data/set/file.bin")).expect("there");
    }
}

#[test]
fn a_wrong_file_is_not_kept() {
    let sandbox = Sandbox::new();
    sandbox.catalogue_of(b"what it should be");
    let server = Server::new(b"what it is", &[Answer::Serve]);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
    assert!(sandbox.fetched().is_empty());
}

#[test]
fn what_a_server_answers_is_told() {
    let (sandbox, content) = (Sandbox::new(), content());
    sandbox.catalogue_of(&content);
    let absent = Server::new(&content, &[Answer::Status("404 Not Found")]);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&absent), &absent));
    assert_eq!(absent.requests().len(), 1);
    let closed = Server::new(&content, &[Answer::Status("403 Forbidden")]);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&closed), &closed));
    let busy = Server::new(&content, &[Answer::Status("503 Service Unavailable"), Answer::Serve]);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&busy), &busy));
    assert_eq!(busy.requests().len(), 2);
}

#[test]
fn a_server_out_of_reach_is_told() {
    let sandbox = Sandbox::new();
    sandbox.catalogue_of(b"");
    // The port was free a moment ago, and nobody listens on it now.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let mirror = format!("http://{address}");
    let output = sandbox.fetch_with(&["set", "--catalogue", "catalogue.json", "--mirror", &mirror]);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{printed}");
    assert!(printed.contains(&mirror) && printed.contains("hint: "), "{printed}");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let sandbox = Sandbox::new();
    sandbox.catalogue_of(b"");
    sandbox.write("occupied", "a file, no folder");
    let server = Server::new(b"", &[Answer::Serve]);
    let mirror = server.url();
    let fetch = |to| {
        sandbox.fetch_with(&[
            "set",
            "--catalogue",
            "catalogue.json",
            "--mirror",
            &mirror,
            "--to",
            to,
        ])
    };
    let output = fetch("occupied/data");
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{printed}");
    assert!(printed.contains("occupied/data: cannot be written"), "{printed}");
    // The place of the part is taken by a folder.
    fs::create_dir_all(sandbox.path("to/file.bin.part")).expect("a folder");
    let output = fetch("to");
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{printed}");
    assert!(printed.contains("to/file.bin.part: cannot be written"), "{printed}");
}

#[test]
fn a_file_without_a_checksum_is_told_with_its_own() {
    let sandbox = Sandbox::new();
    sandbox.catalogue("{\"name\": \"file.bin\", \"url\": \"http://127.0.0.1:9/file.bin\"}");
    let server = Server::new(b"abc", &[Answer::Serve]);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
}

/// A list of checksums is fetched first, and what is not in it is not fetched.
#[test]
fn a_publishers_list_is_held_against_its_files() {
    let sandbox = Sandbox::new();
    let listed = |name: &str| {
        sandbox.write(
            "catalogue.json",
            &format!(
                "{{\"format\": \"fedcompetitors-catalogue/1\", \"datasets\": [{{\"name\": \"set\", \
                 \"checksum_list\": {{\"name\": \"SUMS\", \"url\": \"http://127.0.0.1:9/SUMS\"}}, \
                 \"files\": [{{\"name\": \"{name}\", \"url\": \"http://127.0.0.1:9/a\"}}]}}]}}"
            ),
        );
    };
    // The server sends the same for every path, so its list can name what it is not.
    let list = format!("{}  other.csv\n", sha256(b"other"));
    let server = Server::new(list.as_bytes(), &[Answer::Serve]);
    listed("absent.csv");
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
    listed("other.csv");
    let output = sandbox.fetch(&server);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    sandbox.write("data/set/other.csv", "other");
    assert_eq!(sandbox.fetch(&server).status.code(), Some(0));
    assert_eq!(sandbox.fetched(), ["SUMS", "other.csv"]);
}

/// A `.tar.gz` of these files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let pack = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    let mut tar = tar::Builder::new(pack);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        // By hand, as the library would refuse to write a path that leads out.
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        tar.append(&header, *content).expect("to memory");
    }
    tar.into_inner().and_then(flate2::write::GzEncoder::finish).expect("to memory")
}

#[test]
fn only_what_is_wanted_is_unpacked() {
    let (sandbox, content) = (Sandbox::new(), content());
    let packed = archive(&[
        ("folder/readme.html", b"not wanted"),
        ("../../escaped.txt", b"not wanted either"),
        ("folder/batch.bin", &content),
    ]);
    let member = |name: &str, of: &[u8]| {
        sandbox.catalogue(&format!(
            "{{\"name\": \"all.tar.gz\", \"url\": \"http://127.0.0.1:9/a\", \"checksums\": [\"sha256:{}\"], \
             \"unpack\": [{{\"name\": \"{name}\", \"checksums\": [\"sha256:{}\"]}}]}}",
            sha256(&packed),
            sha256(of)
        ));
    };
    let server = Server::new(&packed, &[Answer::Serve]);
    member("batch.bin", &content);
    insta::assert_snapshot!(seen_of(&sandbox.fetch(&server), &server));
    assert_eq!(fs::read(sandbox.path("data/set/batch.bin")).expect("unpacked"), content);
    assert_eq!(sandbox.fetched(), ["batch.bin"]);
    assert!(!sandbox.path("escaped.txt").exists());
    assert!(text(&sandbox.fetch(&server).stderr).contains("batch.bin: already exists"));
    assert_eq!(server.requests().len(), 1);
    // A member that is not as it should be, and one that is not there.
    member("batch.bin", b"another");
    assert_eq!(sandbox.fetch(&server).status.code(), Some(3));
    member("missing.bin", b"");
    let output = sandbox.fetch(&server);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        text(&output.stderr).contains("it does not contain missing.bin"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn what_cannot_be_fetched_is_refused_before_anything_is_asked() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(seen(&sandbox.fetch_with(&["hart"])));
    insta::assert_snapshot!(seen(&sandbox.fetch_with(&["heart", "--mirror", "ftp://127.0.0.1"])));
    assert!(!sandbox.path("data").exists());
}

#[test]
fn the_data_sets_are_listed() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(text(&sandbox.run(&["data", "list"]).stdout));
    // As JSON it is a catalogue that can be used as one.
    let json = text(&sandbox.run(&["data", "list", "--format", "json"]).stdout);
    sandbox.write("own.json", &json);
    let again = sandbox.run(&["data", "list", "--format", "json", "--catalogue", "own.json"]);
    assert_eq!(text(&again.stdout), json);
}
