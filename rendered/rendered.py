"""What differs in what Helm renders between two commits of a config repository, as a summary of the job.

  rendered.py BASE HEAD

Reads HelmReleases of Flux, Applications of Argo CD and HelmCharts of K3s in the files that differ, and runs `helm template` for
each of them before and after. Secrets are masked. Values that come from elsewhere (valuesFrom, valueFiles) are not seen.
Ends with 1 where something cannot be rendered."""

import difflib
import hashlib
import hmac
import os
import re
import subprocess
import sys
import tempfile

import yaml

# GitHub takes a summary of one MiB.
MOST = 900_000
# Characters of one difference.
LONGEST = 60_000
# A masked value is the same before and after where the value is, and cannot be guessed from outside of this run.
KEY = os.urandom(32)
# What PyYAML raises: of a number that is no date, ValueError; of a thousand brackets, RecursionError.
UNREADABLE = (yaml.YAMLError, ValueError, RecursionError)


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)


def documents(commit, path):
    shown = git("show", f"{commit}:{path}")
    try:
        found = list(yaml.load_all(shown.stdout, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except UNREADABLE:
        return []
    return [document for document in found if isinstance(document, dict)]


def at(value, *keys):
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value, *keys):
    """What stands there, where it is a text: what Helm is given was written by whoever opened the pull request."""
    found = at(value, *keys)
    return found if isinstance(found, str) else None


def repositories(commit):
    """Flux's repositories by kind and name: their address, and the tag where they have one."""
    listed = git("grep", "-lE", "^kind: *[\"']?(HelmRepository|OCIRepository)", commit, "--", "*.yaml", "*.yml").stdout
    found = {}
    for line in listed.splitlines():
        for document in documents(commit, line.split(":", 1)[1]):
            kind, name = document.get("kind"), text_at(document, "metadata", "name")
            url = text_at(document, "spec", "url")
            if kind in ("HelmRepository", "OCIRepository") and url:
                found[kind, name] = url, at(document, "spec", "ref", "tag")
    return found


def release(document, known):
    """Where a chart comes from, its version, and the values that the document gives it; None where nobody can tell."""
    kind = document.get("kind")
    if kind == "HelmRelease":
        values = at(document, "spec", "values")
        if at(document, "spec", "chartRef"):
            source = text_at(document, "spec", "chartRef", "kind"), text_at(document, "spec", "chartRef", "name")
            url, tag = known.get(source, (None, None))
            return (url, None, str(tag), values) if url and url.startswith("oci://") else None
        chart = at(document, "spec", "chart", "spec")
        source = text_at(chart, "sourceRef", "kind"), text_at(chart, "sourceRef", "name")
        url, chart, version = known.get(source, (None,))[0], text_at(chart, "chart"), at(chart, "version")
    elif kind == "Application":
        source = at(document, "spec", "source")
        url, chart, version = text_at(source, "repoURL"), text_at(source, "chart"), at(source, "targetRevision")
        url = url if not url or "://" in url else f"oci://{url}"
        values = at(source, "helm", "valuesObject") or text_at(source, "helm", "values")
    elif kind == "HelmChart" and str(document.get("apiVersion")).startswith("helm.cattle.io/"):
        spec = document.get("spec")
        url, chart, version = text_at(spec, "repo"), text_at(spec, "chart"), at(spec, "version")
        values = text_at(spec, "valuesContent")
    else:
        return None
    return (url, chart, str(version), values) if url and chart else None


def masked(text):
    """Rendered manifests in which no Secret says what it holds."""
    shown = []
    for part in re.split(r"^---.*$", text, flags=re.MULTILINE):
        if not part.strip():
            continue
        # Whatever may be a Secret to some reader is read, and what cannot be read is left out.
        if re.search(r"Secret|\bList\b|\\", part):
            try:
                read = yaml.safe_load(part)
            except UNREADABLE:
                shown.append("# a manifest that may hold a Secret, and cannot be read\n")
                continue
            if holds_secret(read):
                hide(read)
                part = yaml.safe_dump(read, sort_keys=False)
        shown.append(part.strip("\n") + "\n")
    return "---\n".join(sorted(shown))


def holds_secret(value):
    if isinstance(value, dict):
        return value.get("kind") == "Secret" or any(holds_secret(below) for below in value.values())
    return isinstance(value, list) and any(holds_secret(below) for below in value)


def hide(value):
    if isinstance(value, list):
        for below in value:
            hide(below)
    if not isinstance(value, dict):
        return
    if value.get("kind") == "Secret":
        for key in ("data", "stringData"):
            if key in value:
                value[key] = unsaid(value[key])
        if at(value, "metadata", "annotations"):
            value["metadata"]["annotations"] = unsaid(value["metadata"]["annotations"])
    for below in value.values():
        hide(below)


def unsaid(held):
    """What tells whether it differs, and nothing else."""
    if isinstance(held, dict):
        return {name: unsaid(below) for name, below in held.items()}
    return f"masked {hmac.new(KEY, str(held).encode(), hashlib.sha256).hexdigest()[:8]}"


def rendered(name, namespace, found, cache):
    url, chart, version, values = found
    # Values that are a text already go to Helm as they are.
    given = values if isinstance(values, str) else yaml.safe_dump(values or {}, sort_keys=True)
    key = name, namespace, url, chart, version, given
    if key not in cache:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(given)
            file.flush()
            oci = url.startswith("oci://")
            what = chart if not oci else url if chart is None else f"{url.rstrip('/')}/{chart}"
            options = [f"--version={version}", f"--namespace={namespace}", f"--values={file.name}", "--skip-tests"]
            if not oci:
                options.append(f"--repo={url}")
            # Behind `--` a name stays a name: as an option it could name a program to run (`--post-renderer`).
            command = ["helm", "template", *options, "--", name, what]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        cache[key] = (masked(done.stdout), None) if done.returncode == 0 else ("", done.stderr.strip()[:2_000])
    return cache[key]


def places(commit, paths):
    known, found = repositories(commit), {}
    for path in paths:
        for document in documents(commit, path):
            if made := release(document, known):
                name = text_at(document, "metadata", "name") or "release"
                namespace = text_at(document, "spec", "targetNamespace")
                namespace = namespace or text_at(document, "spec", "destination", "namespace")
                namespace = namespace or text_at(document, "metadata", "namespace") or "default"
                found[path, document["kind"], name] = (name, namespace, made)
    return found


def fenced(text, kind):
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit("\n", 1)[0] + "\n… cut here"
    return f"{fence}{kind}\n{text}\n{fence}\n"


def escaped(text):
    return re.sub(r"[&<>`*_\[\]|\\@#\r\n]", lambda found: f"&#{ord(found.group())};", text)


def annotation(path, message):
    """A command to the runner, which neither a path nor a message can end or add to."""
    message = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    path = path.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A").replace(":", "%3A").replace(",", "%2C")
    return f"::error file={path},title=Coldframe::{message}"


def main(base, head):
    for commit in (base, head):
        if commit.startswith("-") or git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").returncode:
            sys.exit(f"::error title=Coldframe::There is no commit {commit!r}; check out with fetch-depth 2")
    changed = git("diff", "--name-only", "-z", base, head, "--", "*.yaml", "*.yml").stdout.split("\0")
    changed = [path for path in changed if path]
    before, after = places(base, changed), places(head, changed)
    cache, groups, failures = {}, {}, {}
    for key in sorted(before.keys() & after.keys()):
        if before[key] == after[key]:
            continue
        (old, why_old), (new, why_new) = (rendered(*side[key], cache) for side in (before, after))
        if why := why_new or why_old:
            failures.setdefault(why, []).append(key)
            continue
        lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "before", "after", lineterm="")
        groups.setdefault("\n".join(lines), []).append(key)
    out = ["## What Helm renders\n"]
    if not groups and not failures:
        out.append("No chart's version or values differ.\n")
    for diff, keys in sorted(groups.items(), key=lambda group: -len(group[1])):
        names = ", ".join(f"<code>{escaped(path)}</code>" for path, _, _ in keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
        if not diff:
            out.append(f"Nothing differs in {names}.\n")
            continue
        count = sum(1 for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))
        lines = "1 line" if count == 1 else f"{count} lines"
        out.append(f"<details><summary>{lines} in {names}</summary>\n\n{fenced(diff, 'diff')}\n</details>\n")
    for why, keys in failures.items():
        names = ", ".join(f"<code>{escaped(path)}</code>" for path, _, _ in keys[:5])
        out.append(f"**Helm renders nothing** for {names}:\n\n{fenced(why, 'text')}")
        print(annotation(keys[0][0], why))
    text = "\n".join(out)
    if len(text.encode()) > MOST:
        text = text.encode()[:MOST].decode(errors="ignore").rsplit("\n<details>", 1)[0] + "\n*The rest is too long to be shown.*\n"
    with open(os.environ.get("GITHUB_STEP_SUMMARY", os.devnull), "a", encoding="utf-8") as summary:
        summary.write(text)
    print(f"{len(cache)} renderings, {sum(map(len, groups.values()))} places compared, {sum(map(len, failures.values()))} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
