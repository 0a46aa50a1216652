// Starts a GitHub that others wrote (npm `emulate`) on loopback and says where. JSON comes as the one argument:
// the port, the App with its key and installation, where webhooks go.
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const given = JSON.parse(process.argv[2])

// It would listen on every interface.
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (port, ...rest) {
  const options = typeof port === 'object' ? { ...port, host: '127.0.0.1' } : { port, host: '127.0.0.1' }
  return listen.call(this, options, rest.find((one) => typeof one === 'function'))
}

// It has the paths of api.github.com; the bot asks a host of one's own below /api/v3.
const emit = http.Server.prototype.emit
http.Server.prototype.emit = function (event, request, ...rest) {
  if (event === 'request') request.url = request.url.replace(/^\/api(\/v3)?/, '')
  return emit.call(this, event, request, ...rest)
}

const { createEmulator } = await import(pathToFileURL(join(process.env.NODE_PATH, 'emulate/dist/api.js')))
const permissions = { metadata: 'read', members: 'read' }
for (const name of ['actions', 'checks', 'contents', 'issues', 'pull_requests', 'statuses']) permissions[name] = 'write'
await createEmulator({
  service: 'github',
  port: given.port,
  seed: {
    tokens: Object.fromEntries(given.people.map((login) => [`of-${login}`, { login, scopes: ['repo', 'user'] }])),
    github: {
      users: given.people.map((login) => ({ login })),
      orgs: [{ login: 'acme', members: given.people.map((login) => ({ login, role: 'admin' })) }],
      repos: [{ owner: 'acme', name: 'config', auto_init: true }],
      apps: [
        {
          app_id: given.app,
          slug: 'coldframe',
          name: 'Coldframe',
          private_key: given.key,
          permissions,
          events: ['check_run', 'issue_comment', 'pull_request', 'pull_request_review', 'push'],
          webhook_url: given.webhook,
          webhook_secret: given.secret,
          installations: [{ installation_id: given.installation, account: 'acme', repository_selection: 'all' }],
        },
      ],
    },
  },
})
