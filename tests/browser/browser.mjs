// A browser that listens: it starts Chromium, and complains of every error on the console, every
// exception, every failed request, and every request that leaves this machine. What is looked at is
// in the other scripts; each gets one JSON argument from tests/browser/main.rs.
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = process.env.COLDFRAME_BROWSER;
const installed = createRequire(join(folder, "node", "package.json"));
const { chromium } = installed("playwright-core");
const axe = readFileSync(installed.resolve("axe-core/axe.min.js"), "utf8");

export const given = JSON.parse(process.argv[2] ?? "{}");

const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
];

export function must(held, what) {
  if (!held) throw new Error(what);
}

export function same(seen, wanted, what) {
  const [a, b] = [JSON.stringify(seen), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: seen ${a}, wanted ${b}`);
}

/** Closes a page or a browser, and waits no longer than ten seconds: Chromium sometimes never answers. */
export async function shut(what) {
  await Promise.race([what.close(), new Promise((done) => setTimeout(done, 10_000))]);
}

/** A browser in a profile of its own. The first start on a machine may hang on a cold disk: asked again. */
async function launched(options, tries = 3) {
  for (let left = tries; ; left -= 1) {
    const profile = mkdtempSync(join(tmpdir(), "coldframe-browser-"));
    try {
      const context = await chromium.launchPersistentContext(profile, { ...options, timeout: 60_000 });
      return { context, profile };
    } catch (error) {
      rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
      if (left <= 1) throw error;
      console.error(`Chromium did not start, once more: ${error.message.split("\n")[0]}`);
    }
  }
}

/** Runs `walk({page, context, watch, shot})` in a new browser; fails on what the pages complained of. */
export async function browse(walk, options = {}) {
  const { context, profile } = await launched({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: FLAGS,
    viewport: { width: 1280, height: 800 },
    timezoneId: "UTC",
    locale: "en-GB",
    ...options,
  });
  context.setDefaultTimeout(15_000);
  const complaints = [];
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(`console: ${message.text()}`);
  });
  context.on("weberror", (error) => complaints.push(`exception: ${error.error()}`));
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.hostname !== "127.0.0.1") complaints.push(`it asked ${request.url()}`);
  });
  context.on("requestfailed", (request) => {
    // A page that loads itself anew, or that we leave, breaks off what was under way.
    const why = request.failure()?.errorText ?? "";
    if (why !== "net::ERR_ABORTED") complaints.push(`${request.url()}: ${why}`);
  });
  context.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const shot = async (name, whole = true) => {
    await page.mouse.move(0, 0);
    await page.screenshot({ path: join(folder, `${name}.png`), fullPage: whole });
  };
  // What was complained of so far; forgets it.
  const complained = () => complaints.splice(0);
  try {
    await walk({ page, context, shot, complained });
    same(complained(), [], "the pages complained");
  } catch (error) {
    await page.screenshot({ path: join(folder, "failure.png"), fullPage: true }).catch(() => {});
    throw new Error(`on ${page.url()} (see failure.png): ${error.message}; complaints: ${JSON.stringify(complained())}`, { cause: error });
  } finally {
    await shut(context);
    rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
    // A browser that did not go keeps this process no longer; Playwright takes it along.
    setTimeout(() => process.exit(), 3_000).unref();
  }
}

/** Elements that reach over the right edge and cannot be scrolled into view within their own box. */
export async function overflowing(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const scrolls = (element) => {
      for (let box = element.parentElement; box && box !== document.body; box = box.parentElement) {
        if (/auto|scroll|hidden/.test(getComputedStyle(box).overflowX)) return true;
      }
      return false;
    };
    const out = [];
    if (document.documentElement.scrollWidth > width) {
      out.push(`the page is ${document.documentElement.scrollWidth} px wide on ${width}`);
    }
    for (const element of document.body.querySelectorAll("*")) {
      const box = element.getBoundingClientRect();
      const style = getComputedStyle(element);
      const seen = box.width > 1 && style.visibility === "visible" && style.display !== "inline";
      if (seen && (box.right > width + 0.5 || box.left < -0.5) && !scrolls(element)) {
        out.push(`${element.tagName.toLowerCase()}.${element.className}: ${box.left}..${box.right}`);
      }
      // Text that is wider than the box that it is clipped to.
      if (seen && style.overflowX === "hidden" && element.scrollWidth > element.clientWidth + 1) {
        out.push(`cut: ${element.tagName.toLowerCase()}.${element.className} ${element.scrollWidth} > ${element.clientWidth}`);
      }
    }
    return out;
  });
}

/** Each text that stands on the page with less than 4.5:1 (3:1 when large) against its background. */
export async function faint(page) {
  return page.evaluate(() => {
    const parse = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
    const light = (rgb) => {
      const [r, g, b] = rgb.slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (element) => {
      for (let box = element; box; box = box.parentElement) {
        const colour = parse(getComputedStyle(box).backgroundColor);
        if (colour.length === 3 || colour[3] > 0.99) return colour;
      }
      return [255, 255, 255];
    };
    const out = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !element.checkVisibility({ checkVisibilityCSS: true })) continue;
      const style = getComputedStyle(element);
      const [one, two] = [light(parse(style.color)), light(ground(element))].sort((a, b) => b - a);
      const ratio = (one + 0.05) / (two + 0.05);
      const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
      if (ratio < (large ? 3 : 4.5)) {
        out.add(`${ratio.toFixed(2)} "${walker.currentNode.textContent.trim().slice(0, 30)}" ${style.color} on ${ground(element)}`);
      }
    }
    return [...out];
  });
}

/** What axe calls serious or critical, targets that are too small among it. */
export async function barriers(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const options = { preload: false, rules: { "target-size": { enabled: true } } };
    const { violations } = await globalThis.axe.run(document, options);
    const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).slice(0, 3).join(", ")}`);
  });
}

/** One page as everybody may meet it: nothing too faint, cut off or in the way, and a picture of it. */
export async function inspect(page, shot, name) {
  for (const [scheme, width] of [["light", 1280], ["dark", 1280], ["light", 390], ["dark", 390]]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: width < 500 ? 844 : 800 });
    const where = `${name}, ${scheme}, ${width} px`;
    same(await overflowing(page), [], `too wide: ${where}`);
    same(await faint(page), [], `too little contrast: ${where}`);
    same(await barriers(page), [], `barriers: ${where}`);
    if (scheme === "light" || width > 500) await shot(name + (scheme === "dark" ? "-dark" : "") + (width < 500 ? "-390" : ""));
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
}
