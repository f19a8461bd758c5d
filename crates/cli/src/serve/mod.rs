//! `serve`: runs in a browser, as they go on.
//!
//! It only ever reads. `runs` knows which runs there are, `live` keeps the page of one up with
//! its record for all who look at it, `guard` decides who gets an answer at all, `answers` are
//! the pages, and what is here puts them on a socket with limits on everything that a stranger
//! chooses: how many connections, how long a request, how slowly it may come.

mod answers;
mod guard;
mod live;
mod own;
mod runs;
mod what_if;

use std::{fs, io, net::SocketAddr, sync::Arc, time::Duration};

use fedcompetitors_graphs::shown;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{
    Failure, Outcome,
    arguments::ServeArguments,
    output::{shown_path, tell, warn},
};
use guard::{Guard, Keys};
use runs::Runs;

/// Connections at a time; whoever comes then waits.
const MOST_CONNECTIONS: usize = 1_024;

/// Bytes of a request's head.
const LONGEST_HEAD: usize = 32 * 1024;

/// How long a request's head may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers that cost something, at a time; whoever comes then is told to try again.
const MOST_AT_WORK: usize = 4;

/// A secret that is shorter could be guessed.
const SHORTEST_SECRET: usize = 16;

/// What all answers share.
pub struct Server {
    pub runs: Runs,
    pub guard: Guard,
    /// A permit for each answer that costs something.
    pub work: Arc<Semaphore>,
}

pub fn serve(arguments: &ServeArguments) -> Result<Outcome, Failure> {
    let runs = Runs::open(&arguments.folder)?;
    let participants = runs.participants(&arguments.participants)?;
    let keys = match &arguments.secret {
        Some(path) => {
            let unreadable = |error: io::Error| Failure::Usage {
                error: format!("{} cannot be read: {error}", shown_path(path)),
                hint: "give a file with a secret, such as 32 random bytes".into(),
            };
            let secret = fs::read(path).map_err(unreadable)?;
            if secret.len() < SHORTEST_SECRET {
                return Err(Failure::Usage {
                    error: format!("the secret in {} is too short", shown_path(path)),
                    hint: format!("use at least {SHORTEST_SECRET} bytes, such as 32 random bytes"),
                });
            }
            Keys::of(&secret)
        }
        None => Keys::random()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(MOST_AT_WORK + 4)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let unheard = |error| Failure::Listen { address: arguments.listen, error };
        let listener = TcpListener::bind(arguments.listen).await.map_err(unheard)?;
        let address = listener.local_addr().map_err(unheard)?;
        let guard = Guard::new(address, &keys, &participants);
        introduce(address, &guard, &participants);
        let work = Arc::new(Semaphore::new(MOST_AT_WORK));
        listen(&listener, Arc::new(Server { runs, guard, work })).await
    })
}

/// Says where the pages are.
fn introduce(address: SocketAddr, guard: &Guard, participants: &[(usize, String)]) {
    if guard.is_open() {
        tell(&format!("the page is http://{address}/ (stop with Ctrl-C)"));
        return;
    }
    if !address.ip().is_loopback() {
        warn("nothing is encrypted: anyone who can listen on the network can read the pages");
    }
    let mut tokens = guard.tokens();
    let everything = tokens.next().unwrap_or_default();
    for ((_, name), token) in participants.iter().zip(tokens) {
        tell(&format!("for {}: http://{address}/own?token={token}", shown(name)));
    }
    tell(&format!(
        "the page is http://{address}/?token={everything} (anyone with this link sees everything; stop with Ctrl-C)"
    ));
}

/// Answers until the program is ended.
async fn listen(listener: &TcpListener, server: Arc<Server>) -> Result<Outcome, Failure> {
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let pages = answers::router(server);
    loop {
        let Ok(place) = Arc::clone(&connections).acquire_owned().await else {
            return Ok(Outcome::Done);
        };
        let Ok((stream, _)) = listener.accept().await else {
            // Such as too many open files: it passes when somebody goes.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let service = TowerToHyperService::new(pages.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let mut protocol = http1::Builder::new();
            protocol
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(LONGEST_HEAD);
            // A connection that breaks off concerns nobody else.
            let _ = protocol.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}
