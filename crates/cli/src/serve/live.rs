//! A run as its page shows it, kept up with its record: read once for all who look at it, and
//! only when it has changed.
//!
//! Whoever follows a run gets the parts of the page that differ from what it has seen. A reader
//! that is slow misses what was in between and gets what is newest: nothing waits for it, and
//! nothing is kept for it but the one part that is on its way.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use axum::body::{Body, Bytes, HttpBody};
use fedcompetitors_report::html::{self, Page};
use fedcompetitors_runs::{self as runs, Stamp};
use hyper::body::Frame;
use tokio::{
    sync::{Mutex, mpsc, watch},
    time::{sleep, timeout},
};

use crate::commands::report::{audited, unaudited};

/// How often a run that somebody looks at is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// Reading a run takes at most this part of the time of one core while it is at work.
const PART: u32 = 40;

/// How long whoever opens a page waits for its audit.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a reader is told that there is nothing new, so that both know of each other.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// A reader that takes longer for one part is gone.
const SLOWEST: Duration = Duration::from_secs(60);

/// A part of a page that can be replaced.
#[derive(Clone)]
pub struct Part {
    hash: u64,
    /// The event that brings it.
    event: Bytes,
}

impl Part {
    pub fn new(markup: &str) -> Self {
        let mut event = String::with_capacity(markup.len() + 32);
        event.push_str("event: part\n");
        for line in markup.split(['\n', '\r']) {
            event.push_str("data: ");
            event.push_str(line);
            event.push('\n');
        }
        event.push('\n');
        let mut hasher = DefaultHasher::new();
        markup.hash(&mut hasher);
        Self { hash: hasher.finish(), event: event.into() }
    }
}

/// All parts of a page, as they are at a moment.
pub type Parts = Arc<[Part]>;

/// Which state it is: the same for the same parts.
pub fn version(parts: &Parts) -> String {
    let mut hasher = DefaultHasher::new();
    parts.iter().for_each(|part| part.hash.hash(&mut hasher));
    format!("{:016x}", hasher.finish())
}

/// A run as it was at a moment.
#[derive(Clone)]
pub struct Shown {
    /// What there is to see, or why there is nothing.
    pub page: Result<Arc<Page>, String>,
    /// The parts of its page.
    pub parts: Parts,
}

impl Shown {
    fn of(page: Page) -> Self {
        let mut parts = vec![Part::new(&html::header(&page).into_string())];
        parts.extend(html::sections(&page).iter().map(|part| Part::new(&part.markup.0)));
        Self { page: Ok(Arc::new(page)), parts: parts.into() }
    }

    fn is_final(&self) -> bool {
        !self.page.as_ref().is_ok_and(|page| page.is_unaudited())
    }
}

/// What the record was when it was last read.
#[derive(Default)]
struct Read {
    stamp: Option<Stamp>,
    at: Option<Instant>,
    took: Duration,
}

/// A run that somebody looks at.
pub struct Live {
    folder: PathBuf,
    shown: watch::Sender<Option<Shown>>,
    read: Mutex<Read>,
}

impl Live {
    /// From now on the run is looked at while somebody follows it.
    pub fn begin(folder: PathBuf) -> Arc<Self> {
        let live =
            Arc::new(Self { folder, shown: watch::Sender::new(None), read: Mutex::default() });
        let follower = Arc::clone(&live);
        tokio::spawn(async move {
            loop {
                sleep(EVERY).await;
                if follower.shown.receiver_count() > 0 {
                    follower.refresh().await;
                }
            }
        });
        live
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The run as it is now, or was as it was last read.
    pub async fn now(self: &Arc<Self>) -> Shown {
        let mut shown = self.shown.subscribe();
        self.refresh().await;
        let is_idle = !runs::is_at_work(&self.folder);
        let done = |shown: &Option<Shown>| {
            shown.as_ref().is_some_and(|shown| shown.is_final() || !is_idle)
        };
        let _ = timeout(PATIENCE, shown.wait_for(done)).await;
        let now = shown.borrow().clone();
        now.unwrap_or(Shown { page: Err("the run cannot be read".into()), parts: Arc::new([]) })
    }

    /// Reads the run, if it has changed. It is audited when nobody is at work on it.
    async fn refresh(self: &Arc<Self>) {
        let mut read = self.read.lock().await;
        let stamp = runs::stamp(&self.folder);
        let is_new = read.stamp.as_ref() != Some(&stamp);
        let is_early = read.at.is_some_and(|at| at.elapsed() < read.took * PART);
        if !is_new || (is_early && stamp.is_at_work) {
            return;
        }
        let start = Instant::now();
        let (folder, is_at_work) = (self.folder.clone(), stamp.is_at_work);
        let first = tokio::task::spawn_blocking(move || {
            let shown = runs::record(&folder)
                .map(|record| Shown::of(unaudited(&folder, record, is_at_work)));
            shown
                .unwrap_or_else(|error| Shown { page: Err(error.to_string()), parts: Arc::new([]) })
        });
        let Ok(first) = first.await else {
            return;
        };
        *read = Read { stamp: Some(stamp), at: Some(Instant::now()), took: start.elapsed() };
        let is_readable = first.page.is_ok();
        self.shown.send_replace(Some(first));
        if is_readable && !is_at_work {
            let live = Arc::clone(self);
            tokio::task::spawn_blocking(move || live.audit());
        }
    }

    /// Reads and audits a run on which nobody is at work.
    fn audit(&self) {
        let before = runs::stamp(&self.folder);
        let Ok(record) = runs::record(&self.folder) else {
            return;
        };
        let shown = Shown::of(audited(&self.folder, record, before.is_at_work));
        // Somebody has begun to work on it meanwhile: the next look sees that.
        if runs::stamp(&self.folder) == before {
            self.shown.send_replace(Some(shown));
        }
    }

    /// What follows the state that a reader has, as it comes.
    pub fn follow(
        self: &Arc<Self>,
        since: String,
        parts: impl Fn(&Shown) -> Parts + Send + 'static,
    ) -> Body {
        let mut shown = self.shown.subscribe();
        let (sender, events) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut seen: Option<Vec<u64>> = None;
            if send(&sender, Bytes::from_static(b"retry: 2000\n\n")).await.is_err() {
                return;
            }
            loop {
                let now = shown.borrow_and_update().as_ref().map(&parts);
                let next = now.as_ref().and_then(|now| {
                    let version = version(now);
                    let seen = seen.get_or_insert_with(|| {
                        let knows = |part: &Part| if version == since { part.hash } else { 0 };
                        now.iter().map(knows).collect()
                    });
                    seen.resize(now.len(), 0);
                    let at = (0..now.len()).find(|&at| seen[at] != now[at].hash)?;
                    seen[at] = now[at].hash;
                    // Only whoever has all parts can say later that it has this state.
                    let is_last = (0..now.len()).all(|at| seen[at] == now[at].hash);
                    let id = if is_last { format!("id: {version}\n") } else { String::new() };
                    Some([Bytes::from(id), now[at].event.clone()])
                });
                drop(now);
                let sent = match next {
                    Some([id, event]) => match send(&sender, id).await {
                        Ok(()) => send(&sender, event).await,
                        gone => gone,
                    },
                    None => match timeout(SIGN_OF_LIFE, shown.changed()).await {
                        Ok(Ok(())) => Ok(()),
                        Ok(Err(_)) => Err(()),
                        Err(_) => send(&sender, Bytes::from_static(b":\n\n")).await,
                    },
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Body::new(Events(events))
    }
}

async fn send(sender: &mpsc::Sender<Bytes>, bytes: Bytes) -> Result<(), ()> {
    if bytes.is_empty() {
        return Ok(());
    }
    timeout(SLOWEST, sender.send(bytes)).await.map_err(|_| ())?.map_err(|_| ())
}

/// Events as they come.
struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
    }
}
