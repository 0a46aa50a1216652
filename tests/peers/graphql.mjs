// Every GraphQL document of the bot against GitHub's published schema.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.COLDFRAME_NODE, "package.json"));
const { buildSchema, parse, validate } = require("graphql");

const schema = buildSchema(
  readFileSync(join(process.env.COLDFRAME_NODE, "node_modules/@octokit/graphql-schema/schema.graphql"), "utf8"),
  { assumeValidSDL: true }, // the published file defines two fields twice
);
const folder = "src/hub/queries";
const files = readdirSync(folder).filter((name) => name.endsWith(".graphql"));
let wrong = 0;
for (const name of files) {
  const document = parse(readFileSync(join(folder, name), "utf8"));
  for (const error of validate(schema, document)) {
    const at = error.locations?.[0];
    console.error(`${folder}/${name}:${at?.line}:${at?.column}: ${error.message}`);
    wrong += 1;
  }
}
if (files.length === 0) {
  console.error(`${folder} holds no GraphQL document: has it moved?`);
  wrong += 1;
}
console.log(`${files.length} GraphQL documents, ${wrong} errors`);
process.exit(wrong === 0 ? 0 : 1);
