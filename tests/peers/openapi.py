"""Holds exchanges against GitHub's OpenAPI description. On stdin {"description": file, "what": "answers" or
"requests", "exchanges": [{method, path, status, request, answer}]}; on stdout, for each exchange, a list of
differences, [operation, place in the body, what]. Places in lists are written `*`."""

import json
import re
import sys

from jsonschema import Draft202012Validator, FormatChecker

# Placeholders that GitHub lets span several segments; a path may also be the root.
WIDE = {"ref": ".+", "path": ".*", "basehead": ".+", "branch": ".+"}
COMPONENTS = "#/components/schemas/"


def converted(schema, closed):
    """OpenAPI 3.0 as JSON Schema: nullable becomes null, `oneOf` becomes `anyOf` (several of the
    description's alternatives often fit at once). Where `closed`, unknown properties are refused."""
    if isinstance(schema, list):
        return [converted(one, closed) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    out = {}
    for key, value in schema.items():
        if key in ("example", "examples", "discriminator", "deprecated", "externalDocs", "xml", "nullable", "description", "title", "default"):
            continue
        if key in ("properties", "patternProperties"):
            out[key] = {name: converted(one, closed) for name, one in value.items()}
        elif key == "oneOf":
            out.setdefault("allOf", []).append({"anyOf": converted(value, closed)})
        elif key == "allOf":
            out.setdefault("allOf", []).extend(converted(value, closed))
        elif key in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
            if value:
                out[key] = schema["minimum" if key == "exclusiveMinimum" else "maximum"]
        elif key == "enum":
            out[key] = value
        else:
            out[key] = converted(value, closed)
    if closed and "properties" in out and "additionalProperties" not in out:
        out["unevaluatedProperties"] = False
    return {"anyOf": [out, {"type": "null"}]} if schema.get("nullable") else out


def is_null(schema):
    return schema == {"type": "null"}


def leaves(errors):
    """The errors that say something: of alternatives, those of the one that fits best."""
    for error in errors:
        if error.validator != "anyOf":
            yield error
            continue
        branches = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        real = [list(leaves(inner)) for at, inner in branches.items() if not is_null(error.validator_value[at])]
        yield from min(real, key=len) if real else [error]


def place(path):
    return "".join("/" + ("*" if isinstance(part, int) else str(part)) for part in path) or "/"


def named(error):
    """(place, what) of one error."""
    at, value = list(error.absolute_path), error.validator_value
    if error.validator == "required":
        for name in value:
            if name not in error.instance:
                yield place(at + [name]), "missing"
    elif error.validator in ("additionalProperties", "unevaluatedProperties"):
        yield place(at), error.message
    elif error.validator == "type":
        got = "null" if error.instance is None else type(error.instance).__name__
        yield place(at), f"is {got}, not {value}"
    elif error.validator == "enum":
        yield place(at), f"is {json.dumps(error.instance)}, which is not in its list"
    else:
        yield place(at), f"{error.validator} {json.dumps(value)[:60]}"


class Description:
    def __init__(self, file, closed):
        with open(file, encoding="utf-8") as text:
            self.raw = json.load(text)
        self.closed = closed
        self.schemas = {}
        self.routes = []
        for template, methods in self.raw["paths"].items():
            parts = re.split(r"\{([^}]+)\}", template)
            pattern = "".join(
                re.escape(part) if at % 2 == 0 else WIDE.get(part, "[^/]+") for at, part in enumerate(parts)
            )
            literal = sum(1 for part in template.split("/") if "{" not in part)
            wide = sum(1 for part in parts[1::2] if part in WIDE)
            for method, operation in methods.items():
                self.routes.append((-literal, wide, method.upper(), re.compile(pattern), operation))
        self.routes.sort(key=lambda route: route[:2])

    def operation(self, method, path):
        for _, _, verb, pattern, operation in self.routes:
            if verb == method and pattern.fullmatch(path):
                return operation
        return None

    def validator(self, schema):
        """Only the components that this schema reaches go into it."""
        reached, todo = {}, [schema]
        while todo:
            one = todo.pop()
            if isinstance(one, list):
                todo.extend(one)
            elif isinstance(one, dict):
                target = one.get("$ref")
                if isinstance(target, str) and target.startswith(COMPONENTS):
                    name = target[len(COMPONENTS):]
                    if name not in reached:
                        if name not in self.schemas:
                            self.schemas[name] = converted(self.raw["components"]["schemas"][name], self.closed)
                        reached[name] = self.schemas[name]
                        todo.append(reached[name])
                else:
                    todo.extend(one.values())
        whole = {"allOf": [schema], "components": {"schemas": reached}}
        return Draft202012Validator(whole, format_checker=FormatChecker())

    def follow(self, thing):
        while "$ref" in thing:
            found = self.raw
            for part in thing["$ref"][2:].split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            thing = found
        return thing

    def wrong(self, schema, body):
        schema = converted(schema, self.closed)
        for error in leaves(self.validator(schema).iter_errors(body)):
            yield from named(error)

    def unknown(self, schemas, body, at):
        """Properties that no alternative names."""
        flat, todo = [], list(schemas)
        while todo:
            one = self.follow(todo.pop())
            flat.append(one)
            for key in ("allOf", "anyOf", "oneOf"):
                todo.extend(one.get(key, []))
        if isinstance(body, list):
            items = [one["items"] for one in flat if "items" in one]
            for inner in body:
                yield from self.unknown(items, inner, at + [0])
        if isinstance(body, dict):
            is_open = any(one.get("additionalProperties") for one in flat) or not any("properties" in one for one in flat)
            for key, value in body.items():
                inner = [one["properties"][key] for one in flat if key in one.get("properties", {})]
                if inner:
                    yield from self.unknown(inner, value, at + [key])
                elif not is_open:
                    yield place(at + [key]), "unknown"


def schema_of(content):
    kinds = [kind for kind in content if kind == "application/json"] or [kind for kind in content if "json" in kind]
    return content[kinds[0]].get("schema") if kinds else None


def answer(description, operation, exchange):
    status = str(exchange["status"])
    response = operation["responses"].get(status) or operation["responses"].get("default")
    if response is None:
        yield "/", f"status {status}"
        return
    schema = schema_of(description.follow(response).get("content", {}))
    body = exchange["answer"]
    if schema is None:
        if body is not None:
            yield "/", f"a body with {status}"
    else:
        yield from description.wrong(schema, body)
        yield from description.unknown([schema], body, [])


def request(description, operation, exchange):
    content = description.follow(operation.get("requestBody", {})).get("content", {})
    schema, body = schema_of(content), exchange["request"]
    if schema is None:
        if body is not None:
            yield "/", "a body where none is asked for"
    elif body is not None or operation["requestBody"].get("required"):
        yield from description.wrong(schema, body)


def main():
    asked = json.load(sys.stdin)
    check = {"answers": answer, "requests": request}[asked["what"]]
    description = Description(asked["description"], closed=asked["what"] == "requests")
    json.dump([sorted(differences(description, check, one)) for one in asked["exchanges"]], sys.stdout)


def differences(description, check, exchange):
    operation = description.operation(exchange["method"], exchange["path"])
    if operation is None:
        return {(f"{exchange['method']} {exchange['path']}", "/", "no such operation")}
    return {(operation["operationId"], at, what) for at, what in check(description, operation, exchange)}


main()
