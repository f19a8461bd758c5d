//! What is answered at which address.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    middleware,
    response::{IntoResponse, Response},
    routing::get,
};
use fedcompetitors_report::html::{LIVE_ICON, LIVE_SCRIPT, LIVE_STYLE, list_page, live_page};
use fedcompetitors_runs::{self as runs, RunError};

use super::{
    Server, guard,
    guard::{encoded, told},
    live::{Live, version},
    own, what_if,
};

/// All addresses.
pub fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/style.css", get(|| async { file("text/css; charset=utf-8", LIVE_STYLE) }))
        .route("/live.js", get(|| async { file("text/javascript; charset=utf-8", LIVE_SCRIPT) }))
        .route("/icon.svg", get(|| async { file("image/svg+xml", LIVE_ICON) }))
        .route("/own", get(own::page))
        .route("/own/events", get(own::events))
        .route("/run/{name}/", get(page))
        .route("/run/{name}/events", get(events))
        .route("/run/{name}/what-if", get(what_if::what_if))
        .route("/run/{name}/plan.json", get(plan))
        .route("/run/{name}/certificate.json", get(certificate))
        .route("/run/{name}/metrics.csv", get(metrics))
        .fallback(|| async { not_here() })
        .layer(middleware::from_fn_with_state(Arc::clone(&server), guard::check))
        .with_state(server)
}

fn file(kind: &'static str, text: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], text.into()).into_response()
}

pub fn html(page: String) -> Response {
    file("text/html; charset=utf-8", page)
}

pub fn not_here() -> Response {
    told(StatusCode::NOT_FOUND, "Not found", "There is nothing at this address.")
}

pub fn busy() -> Response {
    let mut response =
        told(StatusCode::SERVICE_UNAVAILABLE, "Busy", "The server is busy; try again in a moment.");
    response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    response
}

/// Does what costs something, if not too many others do; elsewhere, so that nobody waits for it.
pub async fn at_work(
    server: &Server,
    work: impl FnOnce() -> Response + Send + 'static,
) -> Response {
    let Ok(permit) = Arc::clone(&server.work).try_acquire_owned() else {
        return busy();
    };
    let done = tokio::task::spawn_blocking(move || {
        let response = work();
        drop(permit);
        response
    });
    done.await.unwrap_or_else(|_| {
        told(StatusCode::INTERNAL_SERVER_ERROR, "Internal error", "This is a bug in the program.")
    })
}

/// The list of runs; of a single one, its page.
async fn list(State(server): State<Arc<Server>>) -> Response {
    if let Some(name) = server.runs.single() {
        let address = format!("/run/{}/", encoded(name));
        return (StatusCode::SEE_OTHER, [(header::LOCATION, address)]).into_response();
    }
    let shared = Arc::clone(&server);
    at_work(&server, move || {
        let (runs, unlisted) = shared.runs.listed();
        html(list_page(&shared.runs.title(), &runs, unlisted))
    })
    .await
}

/// The page of a run.
async fn page(State(server): State<Arc<Server>>, Path(name): Path<String>) -> Response {
    let Some(live) = server.runs.find(&name) else {
        return not_here();
    };
    let shown = live.now().await;
    match &shown.page {
        Ok(page) => html(live_page(page, &version(&shown.parts), server.runs.single().is_none())),
        Err(why) => unreadable(why),
    }
}

pub fn unreadable(why: &str) -> Response {
    told(StatusCode::INTERNAL_SERVER_ERROR, "This run cannot be read", &format!("Reason: {why}."))
}

/// What changes on the page of a run, as it does.
async fn events(
    State(server): State<Arc<Server>>,
    Path(name): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Some(live) = server.runs.find(&name) else {
        return not_here();
    };
    let since = since(query.as_deref(), &headers);
    stream(live.follow(since, |shown| Arc::clone(&shown.parts)))
}

/// Which state a reader has: by what it has got last, or else by its page.
pub fn since(query: Option<&str>, headers: &HeaderMap) -> String {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let asked = || {
        let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        pairs.find(|(key, _)| key == "since").map(|(_, value)| value.into_owned())
    };
    last.or_else(asked).unwrap_or_default()
}

pub fn stream(body: axum::body::Body) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn plan(State(server): State<Arc<Server>>, Path(name): Path<String>) -> Response {
    download(&server, &name, "plan.json", "application/json", |live| {
        Ok(runs::proof(live.folder())?.map(|proof| proof.plan.into_bytes()))
    })
    .await
}

async fn certificate(State(server): State<Arc<Server>>, Path(name): Path<String>) -> Response {
    download(&server, &name, "certificate.json", "application/json", |live| {
        Ok(runs::proof(live.folder())?.map(|proof| proof.certificate.into_bytes()))
    })
    .await
}

async fn metrics(State(server): State<Arc<Server>>, Path(name): Path<String>) -> Response {
    download(&server, &name, "metrics.csv", "text/csv; charset=utf-8", |live| {
        let mut table = Vec::new();
        // Writing to memory does not fail.
        let _ = runs::write_metrics(live.folder(), &mut table)?;
        Ok(Some(table))
    })
    .await
}

/// A file made of a run.
async fn download(
    server: &Server,
    name: &str,
    title: &'static str,
    kind: &'static str,
    make: impl FnOnce(&Live) -> Result<Option<Vec<u8>>, RunError> + Send + 'static,
) -> Response {
    let Some(live) = server.runs.find(name) else {
        return not_here();
    };
    at_work(server, move || match make(&live) {
        Ok(Some(text)) => {
            let as_file = format!("attachment; filename=\"{title}\"");
            ([(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, &as_file)], text)
                .into_response()
        }
        Ok(None) => told(StatusCode::NOT_FOUND, "Not yet", "This run has no plan yet."),
        Err(error) => unreadable(&error.what()),
    })
    .await
}
