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
})();
