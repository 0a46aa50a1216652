// Signs what lies in a registry without a key, as cosign does: with Sigstore's own client for JavaScript, and with its
// stand-ins for the authority and the logs; by a key where a step says so. A list of steps as JSON on stdin, the root of
// trust and the key on stdout.

import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'

// Beside this file nothing is installed.
const from = createRequire(join(process.env.NODE_PATH, '@sigstore', 'mock', 'package.json'))
const { fulcioHandler, initializeCA, initializeCTLog, initializeTLog } = from('@sigstore/mock')
const { DSSEBundleBuilder, FulcioSigner, MessageSignatureBundleBuilder, RekorWitness } = from('@sigstore/sign')
const { bundleToJSON } = from('@sigstore/bundle')
const nock = from('nock')

const AUTHORITY = 'https://fulcio.example'
const LOG = 'https://rekor.example'
const SIGN = 'https://sigstore.dev/cosign/sign/v1'
const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const BUNDLE = 'application/vnd.dev.sigstore.bundle.v0.3+json'

const key = (curve) => generateKeyPairSync('ec', { namedCurve: curve })
const sha256 = (data) => createHash('sha256').update(data).digest('hex')

const ctlog = await initializeCTLog(key('P-256'))
const root = key('P-384')
const authorities = {
    ours: await initializeCA(root, ctlog),
    strange: await initializeCA(key('P-384'), ctlog),
}
const log = await initializeTLog(LOG, key('P-256'))
const own = key('P-256')

// What Rekor keeps of an envelope is hashes; the stand-in would keep what was proposed.
function kept(entry) {
    if (entry.kind !== 'dsse') return entry
    const { envelope, verifiers } = entry.spec.proposedContent
    const { payload, signatures } = JSON.parse(envelope)
    const hash = (data) => ({ algorithm: 'sha256', value: sha256(data) })
    const signed = signatures.map(({ sig }, at) => ({ signature: sig, verifier: verifiers[at] }))
    const spec = { envelopeHash: hash(envelope), payloadHash: hash(Buffer.from(payload, 'base64')), signatures: signed }
    return { apiVersion: entry.apiVersion, kind: entry.kind, spec }
}

async function answers(authority) {
    nock.cleanAll()
    const issue = fulcioHandler(authority, { subjectClaim: 'workflow_ref' })
    nock(AUTHORITY).post(issue.path).reply(async (_, body) => {
        const { statusCode, response } = await issue.fn(JSON.stringify(body))
        return [statusCode, response, { 'content-type': 'application/json' }]
    })
    nock(LOG).post('/api/v1/log/entries').reply(async (_, body) => [201, await log.log(kept(body)), { 'content-type': 'application/json' }])
}

function options({ identity, issuer, by, logged }) {
    if (by === 'key') {
        const publicKey = own.publicKey.export({ format: 'pem', type: 'spki' })
        const signature = (data) => sign('sha256', data, own.privateKey)
        const signer = { sign: async (data) => ({ signature: signature(data), key: { $case: 'publicKey', publicKey, hint: 'own' } }) }
        return { signer, witnesses: logged ? [new RekorWitness({ rekorBaseURL: LOG, entryType: 'dsse' })] : [] }
    }
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const token = `${part({ alg: 'none' })}.${part({ sub: identity, workflow_ref: identity, iss: issuer })}.x`
    const signer = new FulcioSigner({ fulcioBaseURL: AUTHORITY, identityProvider: { getToken: async () => token } })
    return { signer, witnesses: [new RekorWitness({ rekorBaseURL: LOG, entryType: 'dsse' })] }
}

async function put(url, data, type) {
    const done = await fetch(url, { method: 'PUT', body: data, headers: { 'content-type': type } })
    if (!done.ok) throw new Error(`${url}: ${done.status} ${await done.text()}`)
}

async function blob(base, data) {
    const digest = `sha256:${sha256(data)}`
    const begun = await fetch(`${base}/blobs/uploads/`, { method: 'POST' })
    const where = new URL(begun.headers.get('location'), base)
    where.searchParams.set('digest', digest)
    await put(where, data, 'application/octet-stream')
    return { digest, size: data.length }
}

async function bundle(step, base) {
    const subject = [{ digest: { sha256: (step.about ?? step.digest).replace('sha256:', '') } }]
    const statement = { _type: 'https://in-toto.io/Statement/v1', subject, predicateType: step.statement ?? SIGN, predicate: {} }
    const data = Buffer.from(JSON.stringify(statement))
    const made = await new DSSEBundleBuilder(options(step)).create({ data, type: 'application/vnd.in-toto+json' })
    const layer = { mediaType: BUNDLE, ...(await blob(base, Buffer.from(JSON.stringify(bundleToJSON(made))))) }
    const config = { mediaType: 'application/vnd.oci.empty.v1+json', ...(await blob(base, Buffer.from('{}'))) }
    const manifest = Buffer.from(JSON.stringify({
        schemaVersion: 2, mediaType: MANIFEST, artifactType: BUNDLE, config, layers: [layer],
        subject: { mediaType: MANIFEST, digest: step.digest, size: 2 },
    }))
    const digest = `sha256:${sha256(manifest)}`
    await put(`${base}/manifests/${digest}`, manifest, MANIFEST)
    return { mediaType: MANIFEST, digest, size: manifest.length, artifactType: BUNDLE }
}

async function simple(step, base) {
    const image = { 'docker-manifest-digest': step.about ?? step.digest }
    const says = { critical: { identity: { 'docker-reference': base }, image, type: 'cosign container image signature' }, optional: null }
    const data = Buffer.from(JSON.stringify(says))
    const made = bundleToJSON(await new MessageSignatureBundleBuilder(options(step)).create({ data }))
    const { certificate, x509CertificateChain: chain, tlogEntries: [entry] } = made.verificationMaterial
    const { rawBytes } = certificate ?? chain.certificates[0]
    const log = {
        SignedEntryTimestamp: entry.inclusionPromise.signedEntryTimestamp,
        Payload: {
            body: entry.canonicalizedBody, integratedTime: Number(entry.integratedTime), logIndex: Number(entry.logIndex),
            logID: Buffer.from(entry.logId.keyId, 'base64').toString('hex'),
        },
    }
    const annotations = {
        'dev.cosignproject.cosign/signature': made.messageSignature.signature,
        'dev.sigstore.cosign/certificate': `-----BEGIN CERTIFICATE-----\n${rawBytes}\n-----END CERTIFICATE-----\n`,
        'dev.sigstore.cosign/bundle': JSON.stringify(log),
    }
    const layer = { mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json', ...(await blob(base, data)), annotations }
    const config = { mediaType: 'application/vnd.oci.image.config.v1+json', ...(await blob(base, Buffer.from('{}'))) }
    const manifest = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers: [layer] })
    await put(`${base}/manifests/${step.digest.replace(':', '-')}.sig`, manifest, MANIFEST)
}

for (const step of JSON.parse(await text(process.stdin))) {
    const base = `http://${step.host}/v2/${step.repository}`
    // A certificate is good for ten minutes.
    const expired = new Date(Date.now() - 3_600_000)
    await answers(step.by === 'expired' ? await initializeCA(root, ctlog, expired) : authorities[step.by] ?? authorities.ours)
    if (step.form === 'simple') {
        await simple(step, base)
    } else {
        const manifests = [await bundle(step, base)]
        const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests }
        await put(`${base}/manifests/${step.digest.replace(':', '-')}`, JSON.stringify(index), index.mediaType)
    }
}

const since = { start: '2020-01-01T00:00:00Z' }
const base64 = (data) => Buffer.from(data).toString('base64')
const instance = (url, known, id) => ({
    baseUrl: url, hashAlgorithm: 'SHA2_256', logId: { keyId: base64(id) },
    publicKey: { rawBytes: base64(known), keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor: since },
})
const trusted = {
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [instance(LOG, log.publicKey, createHash('sha256').update(log.publicKey).digest())],
    ctlogs: [instance('https://ctfe.example', ctlog.publicKey, Buffer.from(ctlog.logID.buffer ?? ctlog.logID))],
    certificateAuthorities: [{
        subject: { organization: 'sigstore.mock', commonName: 'sigstore' }, uri: AUTHORITY, validFor: since,
        certChain: { certificates: [{ rawBytes: base64(authorities.ours.rootCertificate) }] },
    }],
    timestampAuthorities: [],
}
console.log(JSON.stringify({ root: trusted, key: own.publicKey.export({ format: 'pem', type: 'spki' }) }))
