// The pages of the dashboard: what stands there, wide and narrow, light and dark, by keyboard, as it changes, and
// without a script.
import { browse, given, inspect, must, overflowing, same, shut } from "./browser.mjs";

const texts = (page, selector) => page.locator(selector).allInnerTexts();
const at = (path) => new URL(path, given.dashboard).href;
const repository = "acme/fleet";

async function open(page, address) {
  const response = await page.goto(address, { waitUntil: "load" });
  must(response.ok(), `${address}: ${response.status()}`);
  await page.locator("main").waitFor();
  return response;
}

await browse(async ({ page, context, shot, complained }) => {
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
  const states = await page.locator(".board i").evaluateAll((all) => all.map((one) => [one.dataset.mark, one.textContent]));
  same(states.filter(([mark, word]) => !mark || !word), [], "states without a mark or a word");
  const tiles = Object.fromEntries(
    (await texts(page, ".tile")).map((text) => text.toLowerCase().split(/\n+/)).map(([name, value]) => [name, value]),
  );
  must(Number(tiles["open approvals"]) >= 1, `open approvals: ${JSON.stringify(tiles)}`);
  must(Number(tiles.stopped) >= 1, `stopped: ${JSON.stringify(tiles)}`);
  // The script keeps the distances right.
  const away = (await texts(page, "time")).filter((text) => !/(ago|^in |^now$|\d{2}:\d{2})/.test(text));
  same(away, [], "times without a distance");
  await inspect(page, shot, "dashboard");

  // The first stop of the keyboard leads past what stands on every page.
  await open(page, given.dashboard);
  await page.keyboard.press("Tab");
  same(await page.locator(":focus").innerText(), "Skip to the content", "the first stop");
  must((await page.locator(":focus").boundingBox()).y >= 0, "the skip link is seen when it has the focus");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  same(await page.locator(":focus").getAttribute("name"), "q", "the stop after it");
  const outline = await page.locator(":focus").evaluate((one) => getComputedStyle(one).outlineStyle);
  must(outline !== "none", "the focus is seen");

  // A filter is an address.
  await page.locator("input[name=q]").fill(given.held);
  await page.locator("select[name=state]").selectOption("failed");
  await page.keyboard.press("Enter");
  await page.waitForURL(/state=failed/);
  same(await texts(page, ".board tbody th"), [given.held], "what the filter leaves");
  same(await page.locator("select[name=state]").inputValue(), "failed", "what was chosen stays chosen");
  await inspect(page, shot, "filtered");
  await page.getByRole("link", { name: "Show all" }).click();
  await page.waitForURL((url) => url.search === "");
  await page.locator("input[name=needs]").check();
  await page.locator("select[name=tier]").selectOption(given.tiers.at(-1));
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/needs=person/);
  must((await page.locator("main").innerText()).includes("Nothing is like that now"), "no person is needed on the highest tier");
  await page.locator("select[name=tier]").selectOption(given.where);
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(new RegExp(`tier=${given.where}`));
  same(await texts(page, ".board tbody th"), [given.held], "who needs a person on that tier");

  // A cell opens its wave.
  await open(page, given.dashboard);
  await page.locator(`.board td > a[href$="/${given.held}/tiers/${given.where}"]`).click();
  await page.waitForURL(new RegExp(`${repository}/plugins/${given.held}/tiers/${given.where}$`));
  const heading = await page.locator("h1").innerText();
  must(heading.includes(given.held) && heading.includes(given.where), `the wave's heading: ${heading}`);
  must((await page.locator(".alert:visible").innerText()).includes(given.ill), "the wave says which cluster it is");
  must((await page.locator(".gates tbody tr").count()) >= 1, "the gate that holds it");
  same(await page.locator(".grid li").count(), given.clusters, "clusters");
  must((await page.locator(".troubled").innerText()).includes(given.ill), "the troubled cluster has its evidence");
  await inspect(page, shot, "wave");

  // From there to its tier, whose clusters stand by their states.
  await page.locator("h1").getByRole("link", { name: given.where }).click();
  await page.waitForURL(new RegExp(`${repository}/tiers/${given.where}$`));
  same(await page.locator(".grid li").count(), given.clusters, "clusters of the tier");
  const legend = await texts(page, ".group > summary");
  must(legend.length >= 2 && legend.every((text) => /^\S+ \d+ [a-z]+ [a-z]/.test(text)), `a mark, a number and words: ${legend}`);
  await inspect(page, shot, "tier");
  await page.locator("select[name=state]").selectOption("healthy");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/state=healthy/);
  same(await page.locator(".group").count(), 1, "one state alone");

  // The plugin, its releases, and what happened.
  await open(page, at(`${repository}/plugins/${given.held}`));
  same(await texts(page, ".releases thead th"), ["release", "first seen", ...given.tiers], "the releases' columns");
  const story = await page.locator(".moments").innerText();
  for (const part of ["first seen at its source", "was opened", "it landed on the base branch", "it finished this tier", "it failed"]) {
    must(story.includes(part), `the story lacks "${part}": ${story}`);
  }
  await inspect(page, shot, "plugin");
  await page.locator(".releases tbody a").first().click();
  await page.waitForURL(/\/releases\//);
  same(await texts(page, ".rungs tbody th"), given.tiers, "where the release is");
  await inspect(page, shot, "release");

  // Back by the name of the product, as the links are relative.
  await page.locator(".brand").click();
  await page.waitForURL((url) => url.pathname === "/");

  // What waits for a person shows every gate, passed ones too.
  await page.locator(`.board td.attention > a[href$="/${given.waiting}/tiers/${given.waits}"]`).first().click();
  await page.waitForURL(/\/tiers\//);
  const verdicts = await texts(page, ".gates .verdict");
  must(verdicts.length >= 9 && verdicts.some((verdict) => verdict.includes("pass")), `the gates: ${verdicts}`);
  must((await page.locator(".gates tr.attention").innerText()).includes("@acme/platform"), "who can unblock it");
  await inspect(page, shot, "wave-open");

  // Somebody approves elsewhere: the open page follows by itself, and whoever reads it is not disturbed.
  await open(page, at(`${repository}/plugins/${given.waiting}`));
  await page.evaluate(() => { globalThis.untouched = true; });
  const fold = page.locator("details[data-key^=gates]").first();
  await fold.locator("summary").click();
  const folded = await fold.evaluate((one) => one.open);
  const link = page.locator(`.board td > a[href$="/tiers/${given.tiers.at(-1)}"]`);
  await link.focus();
  await page.evaluate(() => scrollTo(0, 60));
  const owner = await context.newPage();
  await owner.goto(given.pull);
  await owner.locator(".who select").selectOption(given.who);
  await owner.getByRole("button", { name: "Choose" }).click();
  await owner.locator("form.acts").waitFor();
  await owner.getByRole("button", { name: "Approve" }).click();
  await owner.locator(".event, .card.approved").filter({ hasText: "approved" }).first().waitFor();
  await shut(owner);
  const landed = page.locator(".moments li", { hasText: `on ${given.waits}: it landed on the base branch` });
  await landed.waitFor({ timeout: 60_000 });
  const now = await page.evaluate(() => [globalThis.untouched, document.activeElement.getAttribute("href"), scrollY]);
  same(now, [true, await link.getAttribute("href"), 60], "no load, the focus and the place on the page");
  same(await fold.evaluate((one) => one.open), folded, "what was folded stays folded");
  must(await page.locator("#stale").isHidden(), "it is up to date");

  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 800, height: 1100 });
  await open(page, given.dashboard);
  same(await overflowing(page), [], "the dashboard on paper");
  await shot("dashboard-print");
  same(complained(), [], "complaints");
});

// Without a script everything is there, and filters work.
await browse(async ({ page }) => {
  await open(page, given.dashboard);
  same((await texts(page, ".board tbody th")).sort(), given.plugins, "rows without a script");
  await page.locator('input[name="q"]').fill(given.held);
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/q=/);
  same(await texts(page, ".board tbody th"), [given.held], "what the filter leaves without a script");
  await page.locator(".board tbody th a").click();
  await page.waitForURL(/\/plugins\//);
  must((await page.locator("noscript").count()) === 1, "and it loads itself anew");
}, { javaScriptEnabled: false });
