//! Who gets an answer, and what every answer says about itself.
//!
//! On this machine alone pages need no token; that the browser was told to come to this machine
//! and not somewhere else is told by the address that it names, so a foreign page cannot reach
//! them under a name of its own. Anywhere else everything needs a token. It comes in a link,
//! is put into a cookie that no script can read, and leaves the address.

use std::{fmt::Write, net::SocketAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use fedcompetitors_report::html::message_page;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::Server;
use crate::Failure;

/// Bytes of an address. A longer question is none that a person has asked.
pub const LONGEST_ADDRESS: usize = 8 * 1024;

/// Nothing but our own style sheet, script and mark, and no way into somebody else's frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
    img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What every answer carries.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// What tokens are made of.
pub struct Keys(Hmac<Sha256>);

impl Keys {
    /// New ones, from the operating system.
    ///
    /// # Errors
    /// If it has no randomness.
    pub fn random() -> Result<Self, Failure> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(std::io::Error::from)?;
        Ok(Self::of(&secret))
    }

    /// The same for the same secret.
    pub fn of(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    /// The token for a purpose.
    fn token(&self, purpose: &str) -> String {
        let code = self.0.clone().chain_update(purpose).finalize().into_bytes();
        code.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Somebody who may see everything.
    Everything,
    /// A participant, who may see its own page.
    Participant(usize),
}

/// What a participant's page is made of.
const OWN: [&str; 5] = ["/own", "/own/events", "/style.css", "/live.js", "/icon.svg"];

impl Role {
    fn may_see(self, path: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Participant(_) => OWN.contains(&path),
        }
    }
}

/// Decides who gets an answer.
pub struct Guard {
    port: u16,
    is_loopback: bool,
    needs_token: bool,
    tokens: Vec<(String, Role)>,
}

impl Guard {
    /// For those who may see everything and these participants. Where there are such, everything
    /// needs a token even on this machine: theirs would mean nothing else.
    pub fn new(address: SocketAddr, keys: &Keys, participants: &[(usize, String)]) -> Self {
        let is_loopback = address.ip().is_loopback();
        let mut tokens = vec![(keys.token("everything"), Role::Everything)];
        tokens.extend(participants.iter().map(|(participant, name)| {
            (keys.token(&format!("participant {name}")), Role::Participant(*participant))
        }));
        let needs_token = !is_loopback || tokens.len() > 1;
        Self { port: address.port(), is_loopback, needs_token, tokens }
    }

    /// Does nobody need a token?
    pub fn is_open(&self) -> bool {
        !self.needs_token
    }

    /// The token for everything, then one for each participant in the order in which they were
    /// given.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(|(token, _)| token.as_str())
    }

    /// Whose token it is. All are compared, each in a time that does not depend on the text.
    fn role(&self, token: &str) -> Option<Role> {
        let mut found = None;
        for (known, role) in &self.tokens {
            if bool::from(known.as_bytes().ct_eq(token.as_bytes())) {
                found = Some(*role);
            }
        }
        found
    }

    /// Was the browser told to come to this machine? A page from elsewhere whose name was made to
    /// lead here would give its own.
    fn is_for_us(&self, headers: &HeaderMap) -> bool {
        if !self.is_loopback {
            return true;
        }
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
            let rest = host.to_ascii_lowercase();
            rest.strip_prefix(name).is_some_and(|rest| {
                rest == format!(":{}", self.port) || (rest.is_empty() && self.port == 80)
            })
        })
    }

    /// The cookie's name. Browsers keep cookies by machine, not by port.
    fn cookie(&self) -> String {
        format!("fedcompetitors-{}", self.port)
    }

    fn role_of_cookie(&self, headers: &HeaderMap) -> Option<Role> {
        let name = self.cookie();
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='))
            .filter(|(key, _)| *key == name)
            .find_map(|(_, token)| self.role(token))
    }

    /// An answer to a request that gets no other; nothing, if it may go on.
    fn refusal(&self, request: &Request) -> Option<Response> {
        if !self.is_for_us(request.headers()) {
            return Some(told(
                StatusCode::MISDIRECTED_REQUEST,
                "Wrong address",
                "Use the address that the program has printed.",
            ));
        }
        if request.uri().to_string().len() > LONGEST_ADDRESS {
            return Some(told(StatusCode::URI_TOO_LONG, "Too long", "This address is too long."));
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Some(told(
                StatusCode::METHOD_NOT_ALLOWED,
                "Read only",
                "Nothing can be changed here.",
            ));
        }
        let has_body = |key| request.headers().get(key).is_some_and(|value| value != "0");
        if has_body(header::CONTENT_LENGTH) || has_body(header::TRANSFER_ENCODING) {
            return Some(told(
                StatusCode::PAYLOAD_TOO_LARGE,
                "Too large",
                "Requests must not have a body.",
            ));
        }
        None
    }

    /// Takes a token out of the address and into a cookie.
    fn entry(&self, uri: &Uri) -> Option<Response> {
        let pairs = form_urlencoded::parse(uri.query()?.as_bytes());
        let (tokens, rest): (Vec<_>, Vec<_>) = pairs.partition(|(key, _)| key == "token");
        let (_, token) = tokens.first()?;
        if self.role(token).is_none() {
            return Some(told(
                StatusCode::FORBIDDEN,
                "Invalid link",
                "This link is not valid. The program may have been restarted and have printed a new link.",
            ));
        }
        let mut address = local_path(uri.path());
        if !rest.is_empty() {
            address.push('?');
            address.push_str(
                &form_urlencoded::Serializer::new(String::new()).extend_pairs(rest).finish(),
            );
        }
        let cookie = format!("{}={token}; HttpOnly; SameSite=Strict; Path=/", self.cookie());
        Some(
            (StatusCode::SEE_OTHER, [(header::LOCATION, address), (header::SET_COOKIE, cookie)])
                .into_response(),
        )
    }
}

/// A path on this machine: one that begins with two slashes would name another.
fn local_path(path: &str) -> String {
    format!("/{}", path.trim_start_matches(['/', '\\']))
}

/// Lets through whom the guard lets through, and says what every answer says.
pub async fn check(
    State(server): State<Arc<Server>>,
    mut request: Request,
    next: Next,
) -> Response {
    let guard = &server.guard;
    let refusal = guard
        .refusal(&request)
        .or_else(|| if guard.is_open() { None } else { guard.entry(request.uri()) });
    let mut response = match refusal {
        Some(refusal) => refusal,
        None if guard.is_open() => {
            request.extensions_mut().insert(Role::Everything);
            next.run(request).await
        }
        None => match guard.role_of_cookie(request.headers()) {
            Some(role) if !role.may_see(request.uri().path()) => {
                told(StatusCode::FORBIDDEN, "Not allowed", "Your link opens only your own page.")
            }
            Some(role) => {
                request.extensions_mut().insert(role);
                next.run(request).await
            }
            None => told(
                StatusCode::UNAUTHORIZED,
                "Link required",
                "Open the link that the program has printed; it contains a token.",
            ),
        },
    };
    for (key, value) in HEADERS {
        response.headers_mut().insert(key, HeaderValue::from_static(value));
    }
    response
}

/// A page that says why there is no other.
pub fn told(status: StatusCode, title: &str, text: &str) -> Response {
    let page = message_page(title, text, "/");
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

/// A name as a part of an address.
pub fn encoded(name: &str) -> String {
    form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20")
}
