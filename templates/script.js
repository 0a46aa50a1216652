// Keeps "in 2 d 3 h" right between two loads of the page, and loads it anew while nobody is busy with it. Everything
// works without it.
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
      place.textContent = distance < 0 ? `${text} ago` : distance === 0 ? "now" : `in ${text}`;
    }
  };
  show();
  setInterval(show, 1000);
  const busy = () => document.activeElement !== document.body || !document.getSelection().isCollapsed;
  const anew = () => (busy() ? setTimeout(anew, 5000) : location.reload());
  setTimeout(anew, Number(document.body.dataset.refresh) * 1000);
})();
