// Validates GraphQL operations against GitHub's schema. In: [{name, query, variables?}]; out: what is
// wrong, one sentence each.
const { readFileSync } = require("fs");
const { buildSchema, parse, validate } = require("graphql");
const { getVariableValues } = require("graphql/execution/values");

const schema = buildSchema(readFileSync(process.env.SCHEMA, "utf8"), { assumeValidSDL: true }); // it defines two fields twice
const wrong = [];
for (const { name, query, variables, operation } of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const document = parse(query);
    const found = validate(schema, document).map((error) => error.message);
    if (variables && !found.length) {
      const operations = document.definitions.filter((one) => one.kind === "OperationDefinition");
      const chosen = operations.find((one) => !operation || one.name?.value === operation);
      if (!chosen || (!operation && operations.length > 1)) found.push("it does not say which operation is meant");
      else for (const error of getVariableValues(schema, chosen.variableDefinitions ?? [], variables).errors ?? [])
        found.push(error.message);
    }
    for (const message of found) wrong.push(`${name}: ${message}`);
  } catch (error) {
    wrong.push(`${name}: ${error.message}`);
  }
}
console.log(JSON.stringify(wrong));
