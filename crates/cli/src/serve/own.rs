//! A participant's own page, at an address that says nothing of who it is: the token does.

use std::sync::Arc;

use axum::{
    Extension,
    extract::{RawQuery, State},
    http::HeaderMap,
    response::Response,
};
use fedcompetitors_report::html::{own_page, own_part};

use super::{
    Server,
    answers::{html, not_here, since, stream, unreadable},
    guard::Role,
    live::{Live, Part, Parts, Shown, version},
};

/// The run and the participant, if it is one who asks.
fn whose(server: &Server, role: Role) -> Option<(Arc<Live>, usize)> {
    let Role::Participant(participant) = role else {
        return None;
    };
    Some((server.runs.find(server.runs.single()?)?, participant))
}

fn parts(shown: &Shown, participant: usize) -> Parts {
    match &shown.page {
        Ok(page) if participant < page.record.summary.participants.len() => {
            Arc::new([Part::new(&own_part(page, participant).into_string())])
        }
        _ => Arc::new([]),
    }
}

pub async fn page(State(server): State<Arc<Server>>, Extension(role): Extension<Role>) -> Response {
    let Some((live, participant)) = whose(&server, role) else {
        return not_here();
    };
    let shown = live.now().await;
    match &shown.page {
        Ok(page) if participant < page.record.summary.participants.len() => {
            html(own_page(page, participant, &version(&parts(&shown, participant))))
        }
        // What is wrong with a record may tell of others.
        _ => unreadable("only the operator of the federation can see it"),
    }
}

pub async fn events(
    State(server): State<Arc<Server>>,
    Extension(role): Extension<Role>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Some((live, participant)) = whose(&server, role) else {
        return not_here();
    };
    let since = since(query.as_deref(), &headers);
    stream(live.follow(since, move |shown| parts(shown, participant)))
}
