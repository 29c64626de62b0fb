// The console's own script: keys, live pages, what is under the pointer of a chart. Everything works without it but these.
"use strict";
(() => {
  const $ = (query, within = document) => within.querySelector(query);
  const $$ = (query, within = document) => [...within.querySelectorAll(query)];

  document.documentElement.classList.add("scripted");

  // The reader's zone, for the next page; the server writes all times.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const secure = location.protocol === "https:" ? "; secure" : "";
  if (zone) document.cookie = `pusher_zone=${encodeURIComponent(zone)}; path=/console/; max-age=31536000; samesite=strict${secure}`;

  // Live pages: one stream a page, closed while nobody looks, so that many tabs stay cheap.
  const pulse = $("#pulse");
  const path = document.body.dataset.live;
  let source = null;
  let missed = false; // changes may have been missed while there was no stream

  function state(name) {
    if (!pulse || pulse.dataset.state === name) return;
    pulse.dataset.state = name;
    $("span", pulse).textContent = pulse.dataset[name] ?? "";
  }

  let fresh = new Set(); // ids to be lit after the next refresh

  // A part of the page is fetched again at most once in its own pace; the last news is never left out.
  const last = new Map(); // when, by the part's id
  const waiting = new Set();

  function refresh(id, pace) {
    if (waiting.has(id)) return;
    waiting.add(id);
    setTimeout(() => {
      waiting.delete(id);
      last.set(id, Date.now());
      const part = document.getElementById(id);
      if (part) window.htmx.trigger(part, "news");
    }, Math.max((last.get(id) ?? 0) + pace - Date.now(), 0));
  }

  function news(ids) {
    ids.forEach((id) => fresh.add(String(id)));
    $$('[hx-trigger="news"]').forEach((part) => {
      const only = part.dataset.delivery;
      if (!only || ids.length === 0 || fresh.has(only)) refresh(part.id, Number(part.dataset.pace));
    });
  }

  function connect() {
    if (source || !path || document.hidden) return;
    source = new EventSource(path);
    source.onopen = () => {
      state("live");
      if (missed) news([]);
      missed = false;
    };
    source.onerror = () => { missed = true; state("off"); };
    source.addEventListener("news", (event) => {
      const told = JSON.parse(event.data);
      state(told.away ? "away" : "live");
      if (!told.away) news(told.ids || []);
    });
  }

  function disconnect() {
    if (!source) return;
    source.close();
    source = null;
    missed = true;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
  addEventListener("load", connect);

  // A refresh must not take away what the reader is doing: a choice in a form, a marked text, the row under the cursor.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const part = event.target;
    if (event.detail.requestConfig?.triggeringEvent?.type !== "news") return;
    const marked = String(getSelection()) !== "" && part.contains(getSelection().anchorNode);
    const typing = part.contains(document.activeElement) && /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
    const reading = $("details[open]", part);
    if (!marked && !typing && !reading) return;
    event.preventDefault();
    refresh(part.id, Number(part.dataset.pace)); // later, then
  });
  let at = null; // id or place of the row under the cursor
  document.addEventListener("htmx:afterSwap", () => {
    $$("tr[data-id]").forEach((row) => { if (fresh.has(row.dataset.id)) row.classList.add("fresh"); });
    fresh = new Set();
    if (at !== null) { const row = $(`tr[data-id="${CSS.escape(at)}"]`); if (row) mark(row, false); }
  });

  // Keys.
  const rows = () => $$("tr[data-row]");

  function mark(row, scroll = true) {
    $$("tr.at").forEach((other) => { other.classList.remove("at"); other.removeAttribute("aria-selected"); });
    row.classList.add("at");
    row.setAttribute("aria-selected", "true");
    at = row.dataset.id ?? null;
    if (scroll) row.scrollIntoView({ block: "nearest" });
  }

  function move(step) {
    const list = rows();
    if (list.length === 0) return;
    const now = list.findIndex((row) => row.classList.contains("at"));
    mark(list[now < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(now + step, 0), list.length - 1)]);
  }

  function go(query) {
    const link = $(query);
    if (link) link.click();
  }

  const keys = {
    "/": () => { const q = $("#q"); if (q) { q.focus(); q.select(); } },
    j: () => move(1),
    k: () => move(-1),
    Enter: () => go("tr.at [data-open]"),
    o: () => go('header nav a[href="/console/"]'),
    d: () => go('header nav a[href="/console/deliveries"]'),
    a: () => go('header nav a[href="/console/actions"]'),
    u: () => go("[data-up]"),
    "?": () => $("#keys")?.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
    if (event.key === "Escape" && typing) event.target.blur();
    if (typing || $("dialog[open]")) return;
    if (event.key === "Enter" && event.target.closest("a, button, summary, label")) return; // they know what to do
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  $("#help")?.addEventListener("click", keys["?"]);

  // What is under the pointer of a chart.
  const tip = $("#tip");
  document.addEventListener("pointerover", (event) => {
    const text = event.target.dataset?.tip;
    tip.hidden = !text;
    if (text) tip.textContent = text;
  });
  document.addEventListener("pointermove", (event) => {
    if (tip.hidden) return;
    const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.left = `${Math.max(left, 8)}px`;
    tip.style.top = `${Math.max(event.clientY - tip.offsetHeight - 12, 8)}px`;
  });

  // A choice of language or looks comes back to the page as it is now, also after filters changed it in place.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a.pick[href^="/console/prefer?"]');
    if (!link) return;
    const to = new URL(link.href);
    to.searchParams.set("back", location.pathname + location.search);
    link.href = to;
  });

  // On a phone the fields of a filter wait behind a button.
  $("#more-filters")?.addEventListener("click", (event) => {
    const all = event.target.form.classList.toggle("all");
    event.target.setAttribute("aria-expanded", String(all));
  });

  // A form that is sent is not sent again by a second click.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    setTimeout(() => $$("button", event.target).forEach((button) => { button.disabled = true; }));
  });
  addEventListener("pageshow", () => $$("form button:disabled").forEach((button) => { button.disabled = false; }));
})();
