// What the three stand-ins share: a server on loopback, a log of what it was asked, and faults it is told to show.
//
//   GET    /__log?since=N        entries with a sequence number above N
//   DELETE /__log                forgets them
//   POST   /__control/faults     adds a fault (see `Fault` below)
//   DELETE /__control/faults     takes all of them back and lets go of every answer held
//   POST   /__control/release    lets go of every answer held
//   POST   /__control/NAME       the neighbour's own verbs
//
// A fault is taken by the next request whose URL or body holds `match` (any, when absent), `times` times (1 by default;
// 0 is until taken back):
//   status, headers, body   answer so instead; a string body is sent as it is, so it need not be JSON
//   effect                  true: the request is carried out all the same, and only the answer is the fault's
//   hold_ms                 the answer waits so long, after the effect; -1: until released. With nothing else it is the
//                           true answer that waits
//   destroy                 the connection is cut instead of an answer

import { createServer } from 'node:http'

export const LOOPBACK = '127.0.0.1'

export class Answer {
  constructor(status, body, headers = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** Starts a neighbour. `handle(request, entry)` answers an `Answer` and may add to its log entry; `verbs` are its controls. */
export function serve({ handle, verbs }) {
  const log = []
  let sequence = 0
  let faults = []
  let held = []

  const release = () => {
    held.forEach((go) => go())
    held = []
  }
  const hold = (milliseconds) =>
    new Promise((go) => {
      held.push(go)
      if (milliseconds >= 0) setTimeout(go, milliseconds)
    })

  const control = async (request) => {
    const { method, path } = request
    if (path === '/__log' && method === 'GET') {
      const since = Number(request.query.get('since') ?? 0)
      return new Answer(200, { entries: log.filter((entry) => entry.seq > since), last: sequence })
    }
    if (path === '/__log' && method === 'DELETE') {
      log.length = 0
      return new Answer(200, {})
    }
    const name = path.slice('/__control/'.length)
    if (name === 'faults' && method === 'POST') {
      const fault = JSON.parse(request.text)
      faults.push({ times: 1, ...fault, left: fault.times ?? 1 })
      return new Answer(200, {})
    }
    if (name === 'faults' && method === 'DELETE') {
      faults = []
      release()
      return new Answer(200, {})
    }
    if (name === 'release' && method === 'POST') {
      release()
      return new Answer(200, {})
    }
    if (name in verbs && method === 'POST') {
      const answer = await verbs[name](request.text ? JSON.parse(request.text) : {})
      return answer instanceof Answer ? answer : new Answer(200, answer ?? {})
    }
    return new Answer(404, { error: `no such control: ${method} ${path}` })
  }

  const takeFault = (request) => {
    const where = `${request.url} ${request.text}`
    const fault = faults.find(
      (candidate) => (candidate.times === 0 || candidate.left > 0) && (!candidate.match || where.includes(candidate.match)),
    )
    if (fault) fault.left -= 1
    return fault
  }

  const asked = async (request, response) => {
    const entry = { seq: ++sequence, at: new Date().toISOString(), method: request.method, path: request.path }
    log.push(entry)
    const fault = takeFault(request)
    const answersItself = fault && (fault.status !== undefined || fault.body !== undefined || fault.destroy)
    let answer
    if (!answersItself || fault.effect) answer = await handle(request, entry)
    entry.carried_out = answer !== undefined && answer.status < 300
    if (fault?.hold_ms) {
      entry.held = true
      await hold(fault.hold_ms)
    }
    entry.answered_at = new Date().toISOString()
    if (fault?.destroy) {
      entry.status = 0
      response.destroy()
      return
    }
    if (answersItself) answer = new Answer(fault.status ?? 200, fault.body ?? '', fault.headers)
    entry.status = answer.status
    send(response, answer)
  }

  const server = createServer(async (incoming, response) => {
    try {
      const request = await read(incoming)
      const own = request.path.startsWith('/__')
      if (own) send(response, await control(request))
      else await asked(request, response)
    } catch (error) {
      send(response, new Answer(error.status ?? 500, { error: String(error.message ?? error) }))
    }
  })
  server.listen(Number(process.env.PORT ?? 0), LOOPBACK, () => {
    process.stdout.write(`${JSON.stringify({ listening: server.address().port })}\n`)
  })
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      release()
      server.close()
      server.closeAllConnections()
      process.exit(0)
    })
  }
}

async function read(incoming) {
  const chunks = []
  for await (const chunk of incoming) chunks.push(chunk)
  const url = new URL(incoming.url, `http://${LOOPBACK}`)
  return {
    method: incoming.method,
    url: incoming.url,
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    text: Buffer.concat(chunks).toString('utf8'),
  }
}

function send(response, { status, body, headers = {} }) {
  if (response.destroyed) return
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/html; charset=utf-8' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  response.end(text)
}
