// Keeps "in 2 d 3 h" right, and the page up to date: rung by the bot, else every minute, it asks for the page anew and
// puts in what is different. What has the focus, is open or scrolled stays so. Everything works without it.
"use strict";
(() => {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const spell = (seconds) => {
    const first = units.findIndex(([size]) => seconds >= size);
    if (first < 0) return "0 s";
    const [size, unit] = units[first];
    const rest = units[first + 1];
    const more = rest ? Math.floor((seconds % size) / rest[0]) : 0;
    return `${Math.floor(seconds / size)} ${unit}` + (more > 0 ? ` ${more} ${rest[1]}` : "");
  };
  const show = () => {
    for (const place of document.querySelectorAll("time[datetime]:not([data-fixed])")) {
      const distance = Math.round((Date.parse(place.dateTime) - Date.now()) / 1000);
      const far = Math.abs(distance);
      const text = spell(far >= 60 ? far - (far % 60) : far);
      const says = distance < 0 ? `${text} ago` : distance === 0 ? "now" : `in ${text}`;
      if (place.textContent !== says) place.textContent = says;
    }
  };

  // What runs by itself, or was opened by whoever reads, is no difference.
  const bare = (part) => {
    const copy = part.cloneNode(true);
    for (const time of copy.querySelectorAll("time")) time.textContent = "";
    for (const fold of copy.querySelectorAll("details")) fold.removeAttribute("open");
    return copy.innerHTML;
  };
  const name = (element) =>
    element.dataset.key ?? element.closest("details")?.dataset.key ?? element.getAttribute("href") ?? element.textContent;
  const alike = (part, element) =>
    [...part.querySelectorAll(element.tagName)].filter((other) => name(other) === name(element));
  // How an element is found again after its part was replaced: by what it is and is called, and the how manieth.
  const mark = (part, element) => {
    const at = alike(part, element).indexOf(element);
    return () => alike(part, element)[at];
  };
  const replace = (part, fresh) => {
    if (bare(part) === bare(fresh)) return;
    const active = document.activeElement;
    const focused = part.contains(active) ? mark(part, active) : () => null;
    const folds = [...part.querySelectorAll("details")].map((fold) => [mark(part, fold), fold.open]);
    const boxes = [...part.querySelectorAll("pre")].map((box) => [mark(part, box), box.scrollTop, box.scrollLeft]);
    part.replaceChildren(...fresh.childNodes);
    for (const [find, open] of folds) {
      const fold = find();
      if (fold) fold.open = open;
    }
    for (const [find, ...at] of boxes) {
      const box = find();
      if (box) [box.scrollTop, box.scrollLeft] = at;
    }
    focused()?.focus({ preventScroll: true });
  };

  let timer;
  let asked = Date.now();
  let rang = false;
  const ask = async () => {
    rang = false;
    // Whoever copies something keeps it.
    if (!document.getSelection().isCollapsed) return later(5000);
    asked = Date.now();
    const stale = document.getElementById("stale");
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      // Whose sign-in has ended is led to the page for that.
      if (answer.redirected) return location.reload();
      if (!answer.ok) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const parts = [...fresh.querySelectorAll("[data-live]")];
      document.querySelectorAll("[data-live]").forEach((part, at) => parts[at] && replace(part, parts[at]));
      document.title = fresh.title;
      document.body.dataset.refresh = fresh.body.dataset.refresh;
      stale.hidden = true;
    } catch {
      stale.hidden = false;
    }
    show();
    later(document.body.dataset.refresh * 1000);
  };
  const later = (wait) => {
    clearTimeout(timer);
    timer = setTimeout(ask, wait);
  };

  let line;
  let last;
  const rung = ({ data }) => {
    // The first number says where we begin; many rings in a row are one.
    if (last !== undefined && data !== last && !rang) {
      rang = true;
      later(Math.max(300, asked + 2000 - Date.now()));
    }
    last = data;
  };
  const listen = () => {
    if (document.hidden) return line?.close();
    line = new EventSource(`${document.body.dataset.root}events`);
    line.addEventListener("view", rung);
  };

  // What is not asked for does not stand in the address.
  document.querySelector("form.filter")?.addEventListener("formdata", ({ formData }) => {
    for (const [field, value] of [...formData]) if (!value) formData.delete(field);
  });

  show();
  setInterval(show, 1000);
  later(document.body.dataset.refresh * 1000);
  listen();
  document.addEventListener("visibilitychange", () => {
    listen();
    if (!document.hidden) later(0);
  });
})();
