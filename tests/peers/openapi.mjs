// Everything that the bot and a visitor say to the sandbox's GitHub, and everything that it answers, against
// GitHub's own OpenAPI description. Requests must fit strictly. Answers may differ only as
// known-differences.json says (COLDFRAME_BLESS=1 writes it anew: read what changed).
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

const node = process.env.COLDFRAME_NODE;
const require = createRequire(join(node, "package.json"));
const Ajv = require("ajv").default;
const KNOWN = "tests/peers/known-differences.json";
const hub = new URL(process.env.COLDFRAME_HUB);
const token = process.env.SANDBOX_TOKEN;
const repository = process.env.COLDFRAME_REPOSITORY;

// --- the description ------------------------------------------------------------------------------------

const description = JSON.parse(
  readFileSync(join(node, "node_modules/@octokit/openapi/generated/api.github.com.json"), "utf8"),
);

// `nullable` of OpenAPI 3.0 as JSON Schema says it; enums that forget their null get it.
function modern(part) {
  if (Array.isArray(part)) return part.map(modern);
  if (part === null || typeof part !== "object") return part;
  const { nullable, example, examples, discriminator, ...rest } = part;
  const schema = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, modern(value)]));
  if (nullable !== true) return schema;
  if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum = [...schema.enum, null];
  if (typeof schema.type === "string") return { ...schema, type: [schema.type, "null"] };
  return { anyOf: [{ type: "null" }, schema] };
}

const components = modern(description.components);
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, logger: false });
ajv.addSchema({ $id: "github", components });

function local(schema) {
  return JSON.parse(JSON.stringify(modern(schema)).replaceAll('"#/components/', '"github#/components/'));
}

const GREEDY = new Set(["ref", "path", "basehead", "branch"]);
const operations = Object.entries(description.paths).flatMap(([path, methods]) => {
  const parts = path.split(/(\{[^}]+\})/).map((part) => {
    const name = /^\{(.+)\}$/.exec(part)?.[1];
    if (name === undefined) return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return GREEDY.has(name) ? ".+" : "[^/]+";
  });
  const names = (path.match(/\{/g) ?? []).length;
  return Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path,
    names,
    operation,
    pattern: new RegExp(`^${parts.join("")}$`),
  }));
});
// Of several templates that fit, the one with the fewest holes is meant.
operations.sort((a, b) => a.names - b.names);

function operationFor(method, path) {
  return operations.find((known) => known.method === method && known.pattern.test(path));
}

function deref(part) {
  if (part?.$ref === undefined) return part;
  return part.$ref.split("/").slice(1).reduce((at, key) => at[key], description);
}

const compiled = new Map();
function faults(key, schema, value) {
  if (schema === undefined) return [];
  if (!compiled.has(key)) compiled.set(key, ajv.compile(local(schema)));
  const check = compiled.get(key);
  if (check(value)) return [];
  const said = check.errors
    // Alternatives that were not meant say nothing by themselves.
    .filter((error) => !/\/(anyOf|oneOf)\/\d+\//.test(error.schemaPath))
    .map((error) => `${error.instancePath.replace(/\/\d+(?=\/|$)/g, "/*") || "/"} ${error.message}`);
  return said.length > 0 ? said : ["fits no alternative"];
}

/** Keys of a request that the description does not know. */
function strangers(schema, value) {
  const known = deref(schema)?.properties;
  if (known === undefined || value === null || typeof value !== "object" || Array.isArray(value)) return [];
  return Object.keys(value).filter((key) => !(key in known)).map((key) => `sends \`${key}\`, which is not described`);
}

// --- a proxy that writes everything down -----------------------------------------------------------------

const exchanges = [];
const proxy = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const sent = Buffer.concat(chunks);
  const forward = http.request(
    { host: hub.hostname, port: hub.port, method: request.method, path: request.url, headers: request.headers },
    async (answer) => {
      const parts = [];
      for await (const part of answer) parts.push(part);
      const body = Buffer.concat(parts);
      if (request.url.startsWith("/api/v3/")) {
        exchanges.push({
          method: request.method,
          path: new URL(request.url, hub).pathname.slice("/api/v3".length),
          sent: parsed(sent),
          status: answer.statusCode,
          type: answer.headers["content-type"] ?? "",
          body: parsed(body),
        });
      }
      response.writeHead(answer.statusCode, answer.headers);
      response.end(body);
    },
  );
  forward.on("error", (error) => response.destroy(error));
  forward.end(sent);
});

function parsed(bytes) {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

async function visit(method, path, body) {
  const answer = await fetch(`http://127.0.0.1:${proxy.address().port}/api/v3${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, accept: "application/vnd.github+json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return answer.headers.get("content-type")?.includes("json") ? answer.json() : undefined;
}

function once(url) {
  const bot = spawn("target/debug/coldframe", ["once"], {
    env: { ...process.env, COLDFRAME_HUB: url, COLDFRAME_DATA: process.env.COLDFRAME_SCRATCH },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return new Promise((done) => bot.on("exit", done));
}

await new Promise((ready) => proxy.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${proxy.address().port}`;
for (let pass = 0; pass < 4; pass += 1) {
  const code = await once(url);
  if (code !== 0) {
    console.error(`coldframe once ended with ${code}`);
    process.exit(1);
  }
}
const repo = `/repos/${repository}`;
const pulls = await visit("GET", `${repo}/pulls?state=all&per_page=5`);
const number = pulls[0]?.number;
for (const path of ["", "/branches/main", "/git/ref/heads/main", "/commits/main", "/contents/coldframe.yaml"]) {
  await visit("GET", repo + path);
}
for (const path of ["", "/files", "/reviews", "/commits"]) await visit("GET", `${repo}/pulls/${number}${path}`);
await visit("GET", `${repo}/issues/${number}/comments`);
await visit("POST", `${repo}/issues/${number}/comments`, { body: "Looks good." });
await visit("POST", `${repo}/pulls/${number}/reviews`, { event: "APPROVE", body: "Yes." });
await visit("PUT", `${repo}/pulls/${number}/merge`, { sha: "0".repeat(40) });
await visit("GET", `${repo}/pulls/999999`);
await visit("GET", "/repos/acme/nothing-here");
proxy.close();

// --- judgement ------------------------------------------------------------------------------------------------

const found = {};
const errors = [];
let undocumented = 0;
for (const { method, path, sent, status, type, body } of exchanges) {
  const known = operationFor(method, path);
  if (known === undefined) {
    errors.push(`${method} ${path} is no operation of GitHub's`);
    continue;
  }
  const name = `${method} ${known.path}`;
  const wanted = deref(known.operation.requestBody)?.content?.["application/json"]?.schema;
  if (sent !== undefined) {
    const wrong = [...faults(`${name} request`, wanted, sent), ...strangers(wanted, sent)];
    for (const fault of wrong) errors.push(`${name}: the request ${fault}`);
  }
  const answer = deref(known.operation.responses[status]);
  if (answer === undefined) {
    undocumented += 1;
    (found[`${name} ${status}`] ??= new Set()).add("status is not described");
    continue;
  }
  const schema = answer.content?.["application/json"]?.schema;
  if (schema === undefined || !type.includes("json")) continue;
  const differences = (found[`${name} ${status}`] ??= new Set());
  for (const fault of faults(`${name} ${status}`, schema, body)) differences.add(fault);
}

// A checker that finds nothing wrong with a damaged answer would prove nothing.
const sample = exchanges.find(({ method, path, status }) => method === "GET" && /\/pulls\/\d+$/.test(path) && status === 200);
const { id, ...damaged } = sample?.body ?? {};
const schemaOfPull = description.paths["/repos/{owner}/{repo}/pulls/{pull_number}"].get.responses["200"].content["application/json"].schema;
if (faults("a damaged pull request", schemaOfPull, damaged).length === 0) errors.push("a pull request without id was taken for a good one");
if (exchanges.length < 50) errors.push(`only ${exchanges.length} exchanges: did the bot do anything?`);

const differences = Object.fromEntries(
  Object.entries(found)
    .map(([name, set]) => [name, [...set].sort()])
    .filter(([, list]) => list.length > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1)),
);
const text = `${JSON.stringify(differences, null, 2)}\n`;
if (process.env.COLDFRAME_BLESS) writeFileSync(KNOWN, text);
const accepted = existsSync(KNOWN) ? JSON.parse(readFileSync(KNOWN, "utf8")) : {};
for (const name of new Set([...Object.keys(accepted), ...Object.keys(differences)])) {
  const [was, is] = [new Set(accepted[name]), new Set(differences[name])];
  for (const item of is) if (!was.has(item)) errors.push(`${name}: new difference: ${item}`);
  // An answer that did not come up in this run proves nothing; one that came up and fits now does.
  for (const item of was) if (name in found && !is.has(item)) errors.push(`${name}: no longer differs, take it out: ${item}`);
}
for (const error of new Set(errors)) console.error(error);
const names = new Set(exchanges.map(({ method, path }) => operationFor(method, path)?.path));
console.log(
  `${exchanges.length} exchanges on ${names.size} paths, ${new Set(errors).size} errors, ` +
    `${Object.values(differences).flat().length} known differences, ${undocumented} answers with a status that is not described`,
);
process.exit(errors.length === 0 ? 0 : 1);
