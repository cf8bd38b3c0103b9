// The page works without this script. It adds live text, settles calls in place, shows times of this time zone, and has a key to send.
"use strict";
(() => {
  // Only fragments that this server has sent become markup. The browser refuses all others: see the header Content-Security-Policy.
  const policy = window.trustedTypes ? trustedTypes.createPolicy("fragment", { createHTML: (html) => html }) : { createHTML: (html) => html };
  const parse = (html) => {
    const t = document.createElement("template");
    t.innerHTML = policy.createHTML(html);
    return t.content.firstElementChild;
  };
  const $ = (id) => document.getElementById(id);
  const alert = (text) => { $("alert").textContent = text; };

  const localTimes = (root) => {
    for (const t of root.querySelectorAll("time")) {
      const at = new Date(t.dateTime);
      if (!isNaN(at)) t.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    }
  };
  localTimes(document);

  // The number of messages that have come since the page was loaded. Each takes one from the queue.
  let messages = 0;

  // Forms that change this page are sent without leaving it.
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (!form.matches("form[data-live]")) return;
    e.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    const buttons = [...form.querySelectorAll("button")];
    const body = new URLSearchParams(new FormData(form, e.submitter));
    buttons.forEach((b) => { b.disabled = true; });
    let problem = "";
    let answer = {};
    const taken = messages;
    const text = form.elements.text?.value;
    try {
      const r = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { Accept: "application/json" }, redirect: "error" });
      answer = await r.json();
      if (!r.ok) problem = answer.error || "The server has refused the form.";
    } catch {
      problem = "The server does not answer. Send the form again: it has effect only once.";
    }
    form.ariaBusy = "false";
    buttons.forEach((b) => { b.disabled = false; });
    alert(problem);
    if (problem || !form.isConnected) return;
    // A button that is disabled has lost the focus to the body. A person who has gone on stays there.
    const stayed = document.activeElement === document.body || form.contains(document.activeElement);
    if (form.id === "compose") {
      if (form.elements.text.value === text) form.elements.text.value = ""; // else somebody goes on typing
      form.elements.steer.checked = false;
      form.elements.message_id.value = answer.message_id;
      if (stayed) form.elements.text.focus();
      if (answer.queued && taken === messages) {
        const note = document.createElement("p");
        note.className = "queued";
        note.dir = "auto";
        note.textContent = "Queued: " + answer.queued;
        $("queue").append(note);
      }
      follow();
    } else if (form.classList.contains("decide")) {
      const note = document.createElement("p");
      note.className = "meta";
      note.tabIndex = -1;
      note.textContent = "Sent.";
      note.setAttribute("role", "status");
      form.replaceWith(note);
      if (stayed) note.focus();
    }
  });

  document.addEventListener("keydown", (e) => {
    const form = e.target.form;
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.matches("textarea") && form) {
      e.preventDefault();
      form.requestSubmit();
    }
  });

  // Live events.
  const at = $("source");
  let source = null;
  let last = at ? at.dataset.after : "";
  const title = document.title;
  const nearEnd = () => innerHeight + scrollY > document.documentElement.scrollHeight - 160;
  const keepEnd = (change) => {
    const stay = nearEnd() && !document.activeElement?.matches(".decide *");
    change();
    if (stay) scrollTo(0, document.documentElement.scrollHeight);
  };
  const setStatus = () => {
    const line = $("status-line");
    if (!line) return;
    document.body.dataset.status = line.dataset.status;
    document.title = (document.querySelector("[data-wait]") ? "(!) " : "") + title;
  };
  const place = (d) => {
    const fresh = parse(d.html);
    const old = $(d.id);
    localTimes(fresh);
    if (!old) {
      $(d.in)?.append(fresh);
      if (fresh.matches(".user")) {
        messages++;
        $("queue")?.firstElementChild?.remove();
      }
      return;
    }
    if (old.matches("details") && old.open) fresh.open = true;
    if (old.isEqualNode(fresh)) return; // what a person is typing stays
    if (old.hasAttribute("data-keep")) {
      old.dataset.status = fresh.dataset.status;
      for (const part of fresh.querySelectorAll("[id]")) {
        const was = $(part.id);
        if (was && was.innerHTML !== part.innerHTML) was.replaceChildren(...part.childNodes);
      }
      return;
    }
    const focused = old.contains(document.activeElement);
    old.replaceWith(fresh);
    if (focused) (fresh.querySelector("summary") || fresh).focus();
  };
  let pause = 1000; // before the next try to connect, in milliseconds
  const speak = (text, reset) => {
    const live = $("live");
    if (reset) live.textContent = "";
    live.append(text);
    live.normalize();
    live.hidden = live.textContent === "";
  };
  const follow = () => {
    if (!at || source) return;
    source = new EventSource(at.dataset.src + "?after=" + encodeURIComponent(last));
    const on = (name, act) => source.addEventListener(name, (e) => {
      if (e.lastEventId) last = e.lastEventId;
      keepEnd(() => act(JSON.parse(e.data)));
      setStatus();
    });
    // The browser connects again by itself, unless a proxy has answered with an error.
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return;
      source = null;
      setTimeout(follow, pause);
      pause = Math.min(2 * pause, 60000);
    });
    source.addEventListener("open", () => {
      pause = 1000;
      speak("", true); // what the model says comes again
    });
    on("block", place);
    on("live", (d) => speak(d.text, d.reset));
    on("waits", (d) => {
      for (const w of [...$("waits").children]) if (!d.ids.includes(w.id)) w.remove();
    });
    on("reload", () => location.reload());
    on("end", (d) => {
      source.close();
      source = null;
      if (d.problem) alert(d.problem);
    });
  };
  if (at && !at.dataset.ended) follow();
  if ($("compose")) scrollTo(0, document.documentElement.scrollHeight);
  setStatus();
})();
