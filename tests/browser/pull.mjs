// A pull request on the sandbox's pages, as a person meets it: reads it, says who they are, presses a
// button.
import { barriers, browse, faint, given, must, overflowing, same, shut } from "./browser.mjs";

await browse(async ({ page, context, shot, complained }) => {
  await page.goto(given.pull);
  const body = page.locator(".markdown").first();
  const text = await body.innerText();
  must((await page.locator("h1").innerText()).startsWith(given.title), `title: ${await page.locator("h1").innerText()}`);
  const [what, climb] = [body.locator("table").nth(0), body.locator("table").nth(1)];
  same(await what.locator("thead th").allInnerTexts(), ["plugin", "from", "to", `clusters in ${given.tier}`], "the table's head");
  same((await what.locator("tbody td").allInnerTexts()).slice(0, 3), given.row, "the table's row");
  const rungs = await climb.locator("tbody tr td:first-child").allInnerTexts();
  same(rungs, given.tiers, "the climb");
  must(/the climb of/i.test(text) && text.includes("If something is wrong"), `the text: ${text}`);
  const check = page.locator(".check").first();
  must((await check.locator("summary").first().innerText()).includes("coldframe"), "the check");
  must((await check.locator("table").count()) >= 1, "the check has its table of gates");
  same(await page.locator(".diff").count(), given.files, "files changed");
  same(await page.evaluate(() => [globalThis.pwned, document.querySelectorAll("main script, main img, main iframe").length]), [null, 0].map((x) => x ?? undefined), "what the notes left");
  same(await faint(page), [], "too little contrast");
  same(await barriers(page), [], "barriers");
  await shot(`pull-${given.shot}`);
  // Folded parts can be opened, and what the chart's author wrote lies there as text.
  for (const fold of await body.locator("details > summary").all()) await fold.click();
  const notes = await body.locator("details").allInnerTexts();
  must(given.notes.every((note) => notes.join("\n").includes(note)), `the notes: ${notes}`);
  await page.emulateMedia({ colorScheme: "dark" });
  same(await faint(page), [], "too little contrast in the dark");
  await shot(`pull-${given.shot}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 390, height: 844 });
  same(await overflowing(page), [], "the pull request on a phone");
  await shot(`pull-${given.shot}-390`);
  await page.setViewportSize({ width: 1280, height: 800 });

  // Nobody may act before they said who they are.
  same(await page.locator("form.acts").count(), 0, "buttons for nobody");
  await page.locator(".who select").selectOption(given.who);
  await page.getByRole("button", { name: "Choose" }).click();
  await page.locator("form.acts").waitFor();
  const cookie = (await context.cookies())[0];
  same([cookie.sameSite, cookie.httpOnly], ["Strict", true], "the cookie");

  // A stranger's page cannot press the button for them.
  const stranger = await context.newPage();
  await stranger.setContent(`<form method="post" action="${given.pull}/act"><input name="act" value="approve"><button>Win</button></form>`);
  const [answer] = await Promise.all([stranger.waitForResponse(/\/act$/), stranger.getByRole("button").click()]);
  same(answer.status(), 403, "a form from elsewhere");
  // Chromium may never close a page whose navigation is still under way.
  await stranger.waitForLoadState("load");
  await shut(stranger);
  same(complained().filter((line) => !line.includes("403")), [], "complaints before the button");

  await page.goto(given.pull);
  if (given.text) await page.locator("#text").fill(given.text);
  await page.getByRole("button", { name: given.button }).click();
  await page.locator(".event, .card.approved").filter({ hasText: given.said }).first().waitFor();
  same(new URL(page.url()).pathname, new URL(given.pull).pathname, "where the button leads");
  await shot(`pull-${given.shot}-after`);
});
