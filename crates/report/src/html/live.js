// Keeps a page up with its run: each part of it is replaced when it has changed, and what the
// reader has opened, scrolled to or stands on stays as it is.
"use strict";
(() => {
  const within = (root, what) => [...root.querySelectorAll(what)];

  // Takes a node out, and gives the one behind it.
  const gone = (node) => {
    const behind = node.nextSibling;
    node.remove();
    return behind;
  };

  // Makes `old` what `next` is and leaves alone whatever is the same in both, so that nothing is
  // drawn anew, folded or scrolled that has not changed. What has an id is the same thing
  // wherever it stands. What the reader has opened stays open.
  const become = (old, next) => {
    if (old.isEqualNode(next)) return;
    if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== next.nodeName || old.id !== next.id) {
      old.replaceWith(next);
      return;
    }
    const isOpened = (name) => name === "open" && old.nodeName === "DETAILS";
    for (const { name } of [...old.attributes]) {
      if (!next.hasAttribute(name) && !isOpened(name)) old.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      if (old.getAttribute(name) !== value && !isOpened(name)) old.setAttribute(name, value);
    }
    const known = new Map([...old.children].filter((one) => one.id).map((one) => [one.id, one]));
    const wanted = new Set([...next.children].map((one) => one.id));
    let at = old.firstChild;
    for (const one of [...next.childNodes]) {
      const same = known.get(one.id);
      const fits = (it) =>
        same ? it === same : !one.id && !it.id && it.nodeName === one.nodeName;
      // What is skipped on the way to one that fits is gone; what is wanted later is not skipped.
      let place = at;
      while (place && !fits(place) && !(place.id && wanted.has(place.id))) {
        place = place.nextSibling;
      }
      if (place && fits(place)) {
        while (at !== place) at = gone(at);
        at = at.nextSibling;
        become(place, one);
      } else if (same) {
        old.insertBefore(same, at);
        become(same, one);
      } else {
        old.insertBefore(one, at);
      }
    }
    while (at) at = gone(at);
  };

  const live = document.getElementById("live");
  if (live) {
    const say = (words, state) => {
      if (live.textContent !== words) live.textContent = words;
      live.className = state;
    };
    say("Connecting to the run.", "quiet");
    const source = new EventSource(
      live.dataset.events + "?since=" + encodeURIComponent(live.dataset.version));
    source.addEventListener("open", () => say("This page follows the run.", "quiet now"));
    source.addEventListener("error", () => say("The connection is lost; trying again.", "lost"));
    source.addEventListener("part", (event) => {
      const parsed = new DOMParser().parseFromString(event.data, "text/html");
      const next = parsed.body.firstElementChild;
      const old = next && document.getElementById(next.id);
      if (old) become(old, next);
    });
  }

  // Questions are answered in place: the address still holds the whole of them, and without this
  // script the browser goes there by itself.
  let asked = 0;
  let answered = location.href.split("#")[0];
  const ask = async (address, isNew) => {
    const mine = ++asked;
    const main = document.getElementById("main");
    const focus = document.activeElement?.id;
    const isEdge = Boolean(document.activeElement?.closest("svg"));
    main.classList.add("waits");
    try {
      const answer = await fetch(address, { credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== asked) return;
      const next = page.getElementById("main");
      // What is chosen or typed is not in what a page says of itself.
      const fields = within(next, "input[id], select").map((one) => {
        const mine = "keeps" in one.dataset && document.getElementById(one.id);
        return [one.id, mine ? mine.value : one.value];
      });
      become(main, next);
      for (const [id, value] of fields) {
        const field = document.getElementById(id);
        field.value = value;
        // A newcomer was chosen that is no more.
        if (field.selectedIndex < 0) field.selectedIndex = 0;
      }
      if (isNew) history.pushState(null, "", answer.url);
      answered = answer.url;
      const stay = focus && document.getElementById(focus);
      const to = stay || (isEdge && main.querySelector("#answer-title")) || main.querySelector("h2");
      if (to.tabIndex < 0) to.tabIndex = -1;
      if (to !== document.activeElement) to.focus({ preventScroll: Boolean(stay) });
    } catch {
      location.assign(address);
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-swap]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    ask(new URL(link.getAttribute("href"), location.href).href, true);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-swap]");
    if (!form) return;
    event.preventDefault();
    const address = new URL(form.getAttribute("action"), location.href);
    address.search = new URLSearchParams(new FormData(form, event.submitter)).toString();
    ask(address.href, true);
  });
  if (document.querySelector("form[data-swap]")) {
    window.addEventListener("popstate", () => {
      // A link to a place on the page is no other question.
      if (location.href.split("#")[0] !== answered) ask(location.href, false);
    });
  }
})();
