"""Signs what lies in a registry in the documented form of cosign (specs/SIGNATURE_SPEC.md), with keys of its own: a list of
steps as JSON on stdin, the public keys on stdout. Another implementation than the one that is tested."""

import base64
import hashlib
import json
import sys
import urllib.request

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

SIGNATURE = "dev.cosignproject.cosign/signature"


def put(url, data, kind):
    request = urllib.request.Request(url, data=data, method="PUT", headers={"Content-Type": kind})
    urllib.request.urlopen(request).read()


def blob(base, data):
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    begun = urllib.request.urlopen(urllib.request.Request(f"{base}/blobs/uploads/", data=b"", method="POST"))
    where = begun.headers["Location"]
    put(f"{where}{'&' if '?' in where else '?'}digest={digest}", data, "application/octet-stream")
    return {"digest": digest, "size": len(data)}


def sign(step, keys):
    base, digest = f"http://{step['host']}/v2/{step['repository']}", step["digest"]
    says = {"critical": {"identity": {"docker-reference": f"{step['host']}/{step['repository']}"},
                         "image": {"docker-manifest-digest": step.get("about", digest)},
                         "type": "cosign container image signature"}, "optional": None}
    payload = json.dumps(says, separators=(",", ":")).encode()
    layers = []
    for name in step["keys"]:
        key = keys.setdefault(name, ec.generate_private_key(ec.SECP256R1()))
        signature = base64.b64encode(key.sign(payload, ec.ECDSA(hashes.SHA256()))).decode()
        layers.append({"mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", **blob(base, payload),
                       "annotations": {SIGNATURE: signature}})
    config = {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(base, b"{}")}
    kind = "application/vnd.oci.image.manifest.v1+json"
    manifest = {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers}
    put(f"{base}/manifests/{digest.replace(':', '-')}.sig", json.dumps(manifest).encode(), kind)


keys = {}
for step in json.load(sys.stdin):
    sign(step, keys)
form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
json.dump({name: key.public_key().public_bytes(*form).decode() for name, key in keys.items()}, sys.stdout)
