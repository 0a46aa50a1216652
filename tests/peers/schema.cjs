// Holds the sandbox's own list of types (src/demo/github/graphql/schema.txt, on stdin as a JSON string)
// against GitHub's schema: it may be smaller, not other. Out: what GitHub does not have, one sentence each.
const { readFileSync } = require("fs");
const { buildSchema, getNamedType, isAbstractType } = require("graphql");

const github = buildSchema(readFileSync(process.env.SCHEMA, "utf8"), { assumeValidSDL: true });
const wrong = [];
let type;
for (const line of JSON.parse(readFileSync(0, "utf8")).split("\n")) {
  if (!line.trim() || line.startsWith("#")) continue;
  const abstract = line.match(/^abstract (\S+) = (.+)$/);
  const field = line.match(/^ (\w+)(?:\(([^)]*)\))? (\S+)$/);
  if (abstract) {
    const known = github.getType(abstract[1]);
    if (!known || !isAbstractType(known)) wrong.push(`${abstract[1]} is no interface or union`);
    else
      for (const member of abstract[2].split(" "))
        if (!github.getPossibleTypes(known).some((one) => one.name === member)) wrong.push(`${member} is no ${abstract[1]}`);
  } else if (line.startsWith("type ")) {
    type = line.slice(5).split(" ")[0];
    if (!github.getType(type)) wrong.push(`no type ${type}`);
  } else if (field && github.getType(type) && !type.startsWith("__")) {
    const [, name, takes, gives] = field;
    if (name.startsWith("__")) continue; // introspection is in every schema and stands in none
    const known = github.getType(type).getFields?.()[name];
    if (!known) {
      wrong.push(`${type} has no ${name}`);
      continue;
    }
    if (getNamedType(known.type).name !== gives) wrong.push(`${type}.${name} gives ${getNamedType(known.type).name}, not ${gives}`);
    for (const one of takes?.split(" ") ?? [])
      if (!known.args.some((argument) => argument.name === one)) wrong.push(`${type}.${name} takes no ${one}`);
  } else if (!field) wrong.push(`not understood: ${line}`);
}
console.log(JSON.stringify(wrong));
