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


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)


def documents(commit, path):
    shown = git("show", f"{commit}:{path}")
    try:
        found = list(yaml.load_all(shown.stdout, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError:
        return []
    return [document for document in found if isinstance(document, dict)]


def at(value, *keys):
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def repositories(commit):
    """Flux's repositories by kind and name: their address, and the tag where they have one."""
    listed = git("grep", "-lE", "^kind: *[\"']?(HelmRepository|OCIRepository)", commit, "--", "*.yaml", "*.yml").stdout
    found = {}
    for line in listed.splitlines():
        for document in documents(commit, line.split(":", 1)[1]):
            kind, name, url = document.get("kind"), at(document, "metadata", "name"), at(document, "spec", "url")
            if kind in ("HelmRepository", "OCIRepository") and isinstance(url, str):
                found[kind, name] = url, at(document, "spec", "ref", "tag")
    return found


def release(document, known):
    """Where a chart comes from, its version, and the values that the document gives it; None where nobody can tell."""
    kind, spec = document.get("kind"), document.get("spec") or {}
    if kind == "HelmRelease":
        chart = at(spec, "chart", "spec") or {}
        if name := at(spec, "chartRef", "name"):
            url, tag = known.get((at(spec, "chartRef", "kind"), name), (None, None))
            return url and (url, None, tag, spec.get("values"))
        url, _ = known.get((at(chart, "sourceRef", "kind"), at(chart, "sourceRef", "name")), (None, None))
        return url and (url, chart.get("chart"), chart.get("version"), spec.get("values"))
    if kind == "Application":
        source = spec.get("source") or {}
        helm = source.get("helm") or {}
        values = helm.get("valuesObject") or yaml.safe_load(helm.get("values") or "{}")
        url = source.get("repoURL")
        if not (url and source.get("chart")):
            return None
        url = url if "://" in url else f"oci://{url}"
        return url, source["chart"], source.get("targetRevision"), values
    if kind == "HelmChart" and str(document.get("apiVersion")).startswith("helm.cattle.io/"):
        values = yaml.safe_load(spec.get("valuesContent") or "{}")
        return spec.get("repo") and (spec["repo"], spec.get("chart"), spec.get("version"), values)
    return None


def masked(text):
    """Rendered manifests in which no Secret says what it holds."""
    shown = []
    for part in re.split(r"^---.*$", text, flags=re.MULTILINE):
        if not part.strip():
            continue
        # Whatever may be a Secret to some reader is read, and what cannot be read is left out.
        if re.search(r"Secret|\bList\b", part):
            try:
                read = yaml.safe_load(part)
            except yaml.YAMLError:
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
            for name, held in (value.get(key) or {}).items():
                digest = hmac.new(KEY, str(held).encode(), hashlib.sha256).hexdigest()
                value[key][name] = f"masked {digest[:8]}"
        if at(value, "metadata", "annotations"):
            value["metadata"]["annotations"] = {name: "masked" for name in value["metadata"]["annotations"]}
    for below in value.values():
        hide(below)


def rendered(name, namespace, found, cache):
    url, chart, version, values = found
    given = yaml.safe_dump(values or {}, sort_keys=True)
    key = name, namespace, url, chart, version, given
    if key not in cache:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(given)
            file.flush()
            oci = url.startswith("oci://")
            what = [url if chart is None else f"{url.rstrip('/')}/{chart}"] if oci else [chart, "--repo", url]
            command = ["helm", "template", name, *what, "--version", str(version), "--namespace", namespace]
            done = subprocess.run([*command, "--values", file.name, "--skip-tests"], capture_output=True, text=True, check=False)
        cache[key] = (masked(done.stdout), None) if done.returncode == 0 else ("", done.stderr.strip()[:2_000])
    return cache[key]


def places(commit, paths):
    known, found = repositories(commit), {}
    for path in paths:
        for document in documents(commit, path):
            if made := release(document, known):
                name = at(document, "metadata", "name") or "release"
                namespace = at(document, "spec", "targetNamespace") or at(document, "spec", "destination", "namespace")
                namespace = namespace or at(document, "metadata", "namespace") or "default"
                found[path, document["kind"], name] = (name, str(namespace), made)
    return found


def fenced(text, kind):
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    if len(text) > LONGEST:
        text = text[:LONGEST].rsplit("\n", 1)[0] + "\n… cut here"
    return f"{fence}{kind}\n{text}\n{fence}\n"


def escaped(text):
    return re.sub(r"[&<>`*_\[\]|\\@#]", lambda found: f"&#{ord(found.group())};", text)


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
        one_line = why.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        print(f"::error file={keys[0][0]},title=Coldframe::{one_line}")
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
