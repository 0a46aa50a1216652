// Runs the demo in a terminal of its own, keeps the frame in which most is going on, and photographs
// the dashboard at such a moment. Called by make.sh.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [program, folder] = process.argv.slice(2);
const [COLUMNS, LINES] = [122, 30];
const { chromium } = createRequire(join(process.env.COLDFRAME_BROWSER, "node", "package.json"))("playwright-core");

/** The demo as its terminal gets it. */
function demo() {
  const quoted = `'${program.replaceAll("'", "'\\''")}'`;
  const line = `stty cols ${COLUMNS} rows ${LINES} && exec ${quoted} demo --once`;
  const child = spawn("script", ["-qefc", line, "/dev/null"], {
    env: { ...process.env, TERM: "xterm-256color", COLDFRAME_LOG: "off", NO_COLOR: undefined, CI: undefined },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (more) => (text += more));
  const ended = new Promise((done) => child.on("close", done));
  return { text: () => text, ended, child };
}

/** Each drawing of the board: what stands between going back up and clearing what is below. */
const frames = (text) => text.split(/\x1b\[\d+F/).slice(1).map((part) => part.split("\x1b[J")[0].replaceAll("\r", ""));

/** How much there is to see: something held, something on its way, a force that is near. */
function worth(frame) {
  const plain = frame.replace(/\x1b\[[\d;]*[A-Za-z]/g, "");
  const some = (pattern) => (pattern.test(plain) ? 1 : 0);
  return 8 * some(/✖ \S+ failed/) + 4 * some(/force in/) + 2 * some(/◐/) + some(/● \S+ → /) + some(/waits for review/);
}

/** The text of a board as an SVG: one `text` per run of a colour, held to its columns. */
function svg(lines) {
  const colours = { 31: "#ff7b72", 32: "#56d364", 33: "#e3b341", 34: "#79c0ff" };
  const [wide, high, edge] = [8.4, 19, 16];
  const [width, height] = [COLUMNS * wide + 2 * edge, lines.length * high + 2 * edge];
  const safe = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const out = [];
  lines.forEach((line, row) => {
    let [column, colour, bold, dim] = [0, "#e6edf3", false, false];
    for (const part of line.split(/(\x1b\[[\d;]*[A-Za-z])/)) {
      const code = /^\x1b\[([\d;]*)m$/.exec(part);
      if (code) {
        for (const number of code[1].split(";").map(Number)) {
          if (number === 0) [colour, bold, dim] = ["#e6edf3", false, false];
          else if (number === 1) bold = true;
          else if (number === 2) dim = true;
          else if (colours[number]) colour = colours[number];
        }
      } else if (!part.startsWith("\x1b")) {
        for (const word of part.matchAll(/\S+(?: \S+)*/g)) {
          const [x, long] = [edge + (column + [...part.slice(0, word.index)].length) * wide, [...word[0]].length * wide];
          const weight = bold ? ' font-weight="700"' : "";
          const y = edge + row * high + 14;
          out.push(`<text x="${x.toFixed(1)}" y="${y}" textLength="${long.toFixed(1)}" fill="${dim ? "#9198a1" : colour}"${weight}>${safe(word[0])}</text>`);
        }
        column += [...part].length;
      }
    }
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width.toFixed(0)} ${height}" width="${width.toFixed(0)}" height="${height}" role="img">
<title>coldframe demo: five plugins climb through four tiers</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', Consolas, monospace" font-size="14" xml:space="preserve">
${out.join("\n")}
</g>
</svg>
`;
}

const profile = mkdtempSync(join(tmpdir(), "coldframe-picture-"));
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars"];
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: flags,
  viewport: { width: 1180, height: 600 }, timezoneId: "UTC", colorScheme: "light",
});
const page = context.pages()[0] ?? (await context.newPage());
const run = demo();
let over = false;
run.ended.then(() => (over = true));
let best = [-1, null];
while (!over) {
  const dashboard = /Dashboard\s+(?:\x1b\[[\d;]*m)*\s*(http:\/\/127\.0\.0\.1:\d+)/.exec(run.text())?.[1];
  if (dashboard) {
    try {
      await page.goto(dashboard);
      const seen = await page.evaluate(() => ({
        held: document.querySelectorAll(".board td.bad").length, asks: document.querySelectorAll(".board td.attention").length,
        bars: document.querySelectorAll(".board progress").length, moves: document.querySelectorAll(".board td.moving").length,
        bottom: Math.ceil(document.querySelector(".ladder")?.getBoundingClientRect().bottom ?? 0),
      }));
      const score = 8 * Math.min(seen.held, 1) + 4 * Math.min(seen.bars, 1) + 2 * Math.min(seen.asks, 2) + Math.min(seen.moves, 2);
      if (seen.bottom > 0 && score > best[0]) {
        best = [score, await page.screenshot({ clip: { x: 0, y: 0, width: 1180, height: seen.bottom + 24 }, fullPage: true })];
      }
    } catch (error) {
      if (!over) console.error(`not now: ${error.message.split("\n")[0]}`);
    }
  }
  await new Promise((done) => setTimeout(done, 700));
}
const status = await run.ended;
const drawn = frames(run.text());
const worths = drawn.map(worth);
const most = Math.max(...worths);
// The last of the best: more has happened by then.
const frame = drawn[worths.lastIndexOf(most)].split("\n").map((line) => line.replace("\x1b[K", ""));
while (frame.at(-1).trim() === "") frame.pop();
writeFileSync(join(folder, "demo.svg"), svg(frame));
writeFileSync(join(folder, "dashboard.png"), best[1]);
// The SVG as a browser draws it, to look at.
await page.setContent(`<body style="margin:0;background:#fff">${svg(frame)}`);
await page.locator("svg").screenshot({ path: join(process.env.COLDFRAME_BROWSER, "demo.png") });
await context.close();
rmSync(profile, { recursive: true, force: true });
console.log(`terminal ${most} of 16 points, dashboard ${best[0]} of 18; the story ended with ${status}`);
if (most < 13 || best[0] < 12) {
  console.error("too little was going on in them; is this machine busy?");
  process.exitCode = 1;
}
