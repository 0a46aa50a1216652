// The dashboard and the page of a wave: what stands there, wide and narrow, light and dark.
import { barriers, browse, faint, given, must, overflowing, same } from "./browser.mjs";

const texts = (page, selector) => page.locator(selector).allInnerTexts();

// The pages load themselves anew every few seconds; what is looked at must be one load.
async function open(page, address) {
  const response = await page.goto(address, { waitUntil: "load" });
  must(response.ok(), `${address}: ${response.status()}`);
  await page.locator("body > *").first().waitFor();
  return response;
}

await browse(async ({ page, shot }) => {
  const response = await open(page, given.dashboard);
  const policy = response.headers()["content-security-policy"] ?? "";
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
    must(policy.includes(part), `the policy lacks ${part}: ${policy}`);
  }
  must(!policy.includes("unsafe"), `the policy lets inline content in: ${policy}`);

  same((await texts(page, ".board thead th")).slice(1), given.tiers, "columns");
  same((await texts(page, ".board tbody th")).sort(), given.plugins, "rows");
  same((await texts(page, ".board tbody th"))[0], given.held, "what is held stands first");
  same(await page.locator(".board td > a").count(), given.plugins.length * given.tiers.length, "cells");
  // Colour never alone: each cell has a mark and a word.
  for (const state of await texts(page, ".board .state")) must(/\S+\s+\S+/.test(state), `a state without a word: ${state}`);
  const tiles = Object.fromEntries(
    (await texts(page, ".tile")).map((text) => text.toLowerCase().split(/\n+/)).map(([name, value]) => [name, value]),
  );
  must(Number(tiles["open approvals"]) >= 1, `open approvals: ${JSON.stringify(tiles)}`);
  must(Number(tiles.stopped) >= 1, `stopped: ${JSON.stringify(tiles)}`);
  // The script keeps the distances right.
  const away = (await texts(page, "time")).filter((text) => !/(ago|^in |^now$|\d{2}:\d{2})/.test(text));
  same(away, [], "times without a distance");
  same(await faint(page), [], "too little contrast");
  same(await barriers(page), [], "barriers");
  await shot("dashboard");
  await page.emulateMedia({ colorScheme: "dark" });
  same(await faint(page), [], "too little contrast in the dark");
  await shot("dashboard-dark");
  await page.emulateMedia({ colorScheme: "light" });

  // A cell opens its wave.
  const cell = page.locator(`.board td > a[href*="plugin=${given.held}"][href*="tier=${given.where}"]`);
  await cell.click();
  await page.waitForURL(/\/wave\?/);
  const heading = await page.locator("h1").innerText();
  must(heading.includes(given.held) && heading.includes(given.where), `the wave's heading: ${heading}`);
  must((await page.locator(".alert").innerText()).includes(given.ill), "the wave says which cluster it is");
  must((await page.locator(".gates tbody tr").count()) >= 1, "the gate that holds it");
  same(await page.locator(".grid li").count(), given.clusters, "clusters");
  // By keyboard: the name of a square shows when it has the focus.
  const square = page.locator(".grid li").last();
  await square.focus();
  must(await square.locator(".name").isVisible(), "a focused cluster shows its name");
  must((await page.locator(".troubled").innerText()).includes(given.ill), "the troubled cluster has its evidence");
  same(await faint(page), [], "too little contrast on the wave");
  same(await barriers(page), [], "barriers on the wave");
  await shot("wave");

  // Back by the name of the product, as the links are relative.
  await page.locator(".brand").click();
  await page.waitForURL((url) => url.pathname === "/");

  // What waits for a person shows every gate, passed ones too.
  await page.locator(`.board td.attention > a[href*="tier=${given.waits}"]`).first().click();
  await page.waitForURL(/\/wave\?/);
  const verdicts = await texts(page, ".gates .verdict");
  must(verdicts.length >= 9 && verdicts.some((verdict) => verdict.includes("pass")), `the gates: ${verdicts}`);
  must((await page.locator(".gates tr.attention").innerText()).includes("@acme/platform"), "who can unblock it");
  same(await faint(page), [], "too little contrast on an open wave");
  await shot("wave-open");

  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, given.dashboard);
  same(await overflowing(page), [], "the dashboard on a phone");
  same(await barriers(page), [], "barriers on a phone");
  // It loads itself anew, a minute later at the longest, and not while somebody reads by keyboard.
  await page.waitForEvent("load", { timeout: 75_000 });
  await shot("dashboard-390");
  await cell.click();
  await page.waitForURL(/\/wave\?/);
  same(await overflowing(page), [], "the wave on a phone");
  await shot("wave-390");
  for (let number = 0; number < given.clusters; number++) {
    await page.locator(".grid li").nth(number).focus();
    same(await overflowing(page), [], `the name of cluster ${number + 1} on a phone`);
  }

  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 800, height: 1100 });
  await open(page, given.dashboard);
  same(await overflowing(page), [], "the dashboard on paper");
  await shot("dashboard-print");
});
