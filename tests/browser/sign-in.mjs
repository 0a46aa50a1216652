// The sign-in before the dashboard: a stranger and an owner come by way of GitHub, and each sees what they may read.
import { browse, given, inspect, must, same } from "./browser.mjs";

const at = (path) => new URL(path, given.dashboard).href;
const heading = (page) => page.locator("h1").first().innerText();

/** From the page to sign in to where somebody was going, over the one of GitHub. */
async function signIn(page, who, button = /^Authorize/) {
  await page.getByRole("link", { name: "Sign in with GitHub" }).click();
  await page.waitForURL((url) => url.href.startsWith(`${given.hub}/login/oauth/authorize?`));
  await page.locator(".who select").selectOption(who);
  await page.getByRole("button", { name: "Choose" }).click();
  await page.getByText(`know that you are ${who}`).waitFor();
  await page.getByRole("button", { name: button }).click();
  await page.waitForURL((url) => url.href.startsWith(given.dashboard));
}

await browse(async ({ page, context, shot, complained }) => {
  const plugin = `${given.repository}/plugins/${given.plugin}`;
  await page.goto(at(plugin));
  same(await heading(page), "Sign in", "without a session");
  same(new URL(page.url()).pathname, "/sign-in", "one page for all");
  must(!(await page.locator("main").innerText()).includes("acme"), "there is no name on it");
  await inspect(page, shot, "sign-in");

  // By keyboard, and then she does not agree.
  await page.keyboard.press("Tab");
  same(await page.locator(":focus").innerText(), "Sign in with GitHub", "the first stop");
  await signIn(page, given.owner, "Cancel");
  must((await page.getByRole("alert").innerText()).includes("You did not agree on GitHub"), "it says why");
  same(complained().filter((one) => !one.includes("403")), [], "nothing else is wrong");
  await inspect(page, shot, "sign-in-refused");

  await page.goto(at("/"));
  await signIn(page, given.stranger);
  same(new URL(page.url()).pathname, "/", "where they were going");
  must((await page.locator(".person").innerText()).includes(`Signed in as ${given.stranger}`), "who it is");
  const shown = await page.locator("main").innerText();
  must(shown.includes("No repository that you can read") && !shown.includes(given.repository), `a stranger sees: ${shown}`);
  await inspect(page, shot, "signed-in-stranger");
  const hidden = await page.goto(at(plugin));
  same(hidden.status(), 404, "what they may not read");
  const page404 = await page.locator("body").innerText();
  const nothing = await page.goto(at(plugin.replace(given.repository, "acme/nothing")));
  same([nothing.status(), await page.locator("body").innerText()], [404, page404], "what is not there");
  complained();
  await page.goto(at("/"));
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/\/sign-in$/);

  await page.goto(at(plugin));
  await signIn(page, given.owner);
  same(new URL(page.url()).pathname, `/${plugin}`, "where she was going");
  await page.locator(".brand").click();
  await page.locator(".board tbody th").first().waitFor();
  must((await page.locator(".ladder h1").innerText()).includes(given.repository), "the owner sees it");
  await inspect(page, shot, "signed-in");
  for (const cookie of await context.cookies(given.dashboard)) {
    if (cookie.name.startsWith("coldframe")) must(cookie.httpOnly && cookie.sameSite === "Lax", JSON.stringify(cookie));
  }

  // She chooses a version: the pull request is hers.
  await page.goto(at(`${plugin}/tiers/gold`));
  await inspect(page, shot, "choice");
  const box = page.getByLabel(`${given.plugin} on gold`);
  const offered = await box.locator("option").allInnerTexts();
  must(offered[0].startsWith("stays on ") && offered.at(-1) === "takes every accepted version", JSON.stringify(offered));
  await box.selectOption({ index: 0 });
  await page.getByRole("button", { name: "Open a pull request" }).click();
  const opened = page.getByRole("link", { name: /^pull request #\d+$/ });
  await opened.waitFor();
  await inspect(page, shot, "chosen");
  const there = await opened.getAttribute("href");
  await page.getByRole("link", { name: "Back" }).click();
  await page.waitForURL((url) => url.pathname.endsWith("/tiers/gold"));
  await page.goto(there);
  must((await page.locator("body").innerText()).includes(given.owner), "it is by her");
  await page.goto(at("/"));

  // She signs out in another tab: the open page leads to the sign-in by itself, and shows nothing old.
  const other = await context.newPage();
  await other.goto(at("/"));
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.waitForURL(/\/sign-in$/);
  await other.close();
  await page.bringToFront();
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.waitForURL(/\/sign-in\?to=/);
  same(complained().filter((one) => !/events|401/.test(one)), [], "but for the line of news, which ended");
});
