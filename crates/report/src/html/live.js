// Keeps a page up with its run: each part of it is replaced when it has changed, and what the
// reader has opened, scrolled to or stands on stays as it is.
"use strict";
(() => {
  const within = (root, what) => [...root.querySelectorAll(what)];
  const FOCUS = "a[href], button, input, select, summary, [tabindex]";

  // Puts `next` in the place of `old`, which has the same id.
  const replace = (old, next) => {
    const folded = within(next, "details");
    within(old, "details").forEach((one, at) => {
      if (folded[at]) folded[at].open = one.open;
    });
    const scrolled = within(old, ".scroll, pre").map((one) => [one.scrollLeft, one.scrollTop]);
    const place = within(old, FOCUS).indexOf(document.activeElement);
    old.replaceWith(next);
    within(next, ".scroll, pre").forEach((one, at) => {
      if (scrolled[at]) [one.scrollLeft, one.scrollTop] = scrolled[at];
    });
    if (place >= 0) within(next, FOCUS)[place]?.focus({ preventScroll: true });
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
      if (old) replace(old, document.adoptNode(next));
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
      const open = within(main, "details").map((one) => one.open);
      main.replaceWith(document.adoptNode(page.getElementById("main")));
      const now = document.getElementById("main");
      const folded = within(now, "details");
      if (folded.length === open.length) folded.forEach((one, at) => { one.open = open[at]; });
      if (isNew) history.pushState(null, "", answer.url);
      answered = answer.url;
      const next = (focus && document.getElementById(focus))
        || (isEdge && now.querySelector("#answer-title")) || now.querySelector("h2");
      if (next.tabIndex < 0) next.tabIndex = -1;
      next.focus({ preventScroll: Boolean(focus) });
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
