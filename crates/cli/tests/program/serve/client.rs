//! A server for a test, and a client that can say anything.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use super::Sandbox;

/// A server that ends with its test.
pub struct Server {
    child: Child,
    port: u16,
    /// What it has said when it began.
    pub said: String,
}

impl Server {
    pub fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("fedcompetitors"));
        command.arg("serve").args(arguments).current_dir(sandbox.path("")).stderr(Stdio::piped());
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let mut child = command.spawn().expect("it begins");
        let mut lines = BufReader::new(child.stderr.take().expect("its errors")).lines();
        let mut said = String::new();
        while !said.contains("the page is http://") {
            said += &(lines.next().expect("a line").expect("text") + "\n");
        }
        // Links for participants follow; the line that ends them is the page's own.
        let address = said.split("the page is http://").nth(1).expect("an address");
        let address = address.split('/').next().expect("a host");
        let port = address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        Self { child, port, said }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The token in the link to everything.
    pub fn token(&self) -> &str {
        let rest = self.said.rsplit("token=").next().expect("a token");
        rest.split(' ').next().expect("its end")
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[])
    }

    /// Asks with whatever headers; without one, the host is the right one.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut stream = self.send(method, path, headers);
        let mut bytes = Vec::new();
        // Whoever is cut off before it has said everything is answered all the same.
        let _ = stream.read_to_end(&mut bytes);
        Answer::of(&bytes)
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        let mut lines = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".to_owned()];
        if !headers.iter().any(|(key, _)| *key == "Host") {
            lines.push(format!("Host: 127.0.0.1:{}", self.port));
        }
        lines.extend(headers.iter().map(|(key, value)| format!("{key}: {value}")));
        let _ = stream.write_all(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes());
        stream
    }

    /// The events at an address.
    pub fn follow(&self, path: &str) -> Events {
        self.follow_with(path, &[])
    }

    pub fn follow_with(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        Events {
            stream: self.send("GET", path, headers),
            raw: Vec::new(),
            got: Vec::new(),
            is_begun: false,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was answered.
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Answer {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub fn header(&self, key: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case(key))
            .map(|(_, value)| value)
    }
}

/// Events as they come.
pub struct Events {
    stream: TcpStream,
    /// What has come, with the head and the lengths of chunks.
    raw: Vec<u8>,
    /// What it says.
    got: Vec<u8>,
    is_begun: bool,
}

impl Events {
    /// The next part of the page that is sent; nothing, if none comes in that time.
    pub fn next(&mut self, patience: Duration) -> Option<String> {
        let end = Instant::now() + patience;
        let mut bytes = vec![0; 65_536];
        loop {
            self.unpack();
            while let Some(at) = find(&self.got, b"\n\n") {
                let event: Vec<u8> = self.got.drain(..at + 2).collect();
                let event = String::from_utf8(event).expect("text");
                if event.contains("event: part") {
                    return Some(event);
                }
            }
            let left = end.checked_duration_since(Instant::now())?;
            self.stream.set_read_timeout(Some(left.max(Duration::from_millis(1)))).expect("set");
            let count = self.stream.read(&mut bytes).ok().filter(|&count| count > 0)?;
            self.raw.extend(&bytes[..count]);
        }
    }

    /// Takes whole chunks out of what has come.
    fn unpack(&mut self) {
        if !self.is_begun {
            let Some(at) = find(&self.raw, b"\r\n\r\n") else {
                return;
            };
            self.raw.drain(..at + 4);
            self.is_begun = true;
        }
        while let Some(at) = find(&self.raw, b"\r\n") {
            let length = String::from_utf8_lossy(&self.raw[..at]).into_owned();
            let length = usize::from_str_radix(&length, 16).expect("a length");
            if self.raw.len() < at + 2 + length + 2 {
                return;
            }
            self.got.extend(&self.raw[at + 2..at + 2 + length]);
            self.raw.drain(..at + 2 + length + 2);
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
