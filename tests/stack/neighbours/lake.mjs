// A content lake: real GROQ (groq-js) over documents in memory, behind the shapes of Sanity's query API.
//
//   GET  /vYYYY-MM-DD/data/query/DATASET?query=..&$name=JSON&perspective=..
//   POST the same, {"query", "params"} in the body, everything else in the URL
//
// The index lags as it is told: a query sees a mutation `lag_ms` after it, measured at the query, so that taking the lag
// back shows everything at once. Control verbs (see serve.mjs for faults and the log):
//   mutate    {dataset, mutations: [{create|createOrReplace: doc} | {patch: {id, set, unset}} | {delete: {id}}],
//             transaction_id?, updated_at?} → {transaction_id, transaction_time, results: [{id, at, operation, before, after}]}
//   settings  {lag_ms?, lags?: {id: ms | null}, token?, private?}
//   document  {dataset, id} → what a query would see once the index is level
//   project   {projection, before, after, project, dataset} → the projection's result, as a webhook's body has it

import { evaluate, parse } from 'groq-js'
import { randomBytes } from 'node:crypto'
import { Answer, serve } from './serve.mjs'

const MAX_GET_CHARACTERS = 11_264
const PUBLISHED_BY_DEFAULT_SINCE = '2025-02-19'
const CDN_HOST = /(^|\.)apicdn\./

const datasets = new Map()
const settings = { lag_ms: 0, lags: {}, token: null, private: false }

class Refusal extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

function documents(dataset) {
  if (!datasets.has(dataset)) datasets.set(dataset, new Map())
  return datasets.get(dataset)
}

/** The newest version, whatever the index shows. */
const newest = (versions) => versions?.at(-1)?.document ?? null

function visible(dataset, now) {
  const found = []
  for (const [id, versions] of documents(dataset)) {
    const lag = settings.lags[id] ?? settings.lag_ms
    const version = versions.findLast(({ at }) => at + lag <= now)
    if (version?.document) found.push(version.document)
  }
  return found
}

/** Like Sanity's: 22 letters and digits, at once the transaction's id and the document's revision. */
const newTransaction = () => randomBytes(40).toString('base64').replaceAll(/[^A-Za-z0-9]/g, '').slice(0, 22)

const seconds = (date) => `${date.toISOString().slice(0, 19)}Z`

function applied(store, mutation, transaction, updatedAt) {
  const [kind] = Object.keys(mutation)
  const given = mutation[kind]
  const id = kind === 'patch' || kind === 'delete' ? given.id : given._id
  const before = newest(store.get(id))
  if (kind === 'create' && before) throw new Refusal(409, `Document by ID "${id}" already exists`)
  if ((kind === 'patch' || kind === 'delete') && !before) throw new Refusal(404, `The document with the ID "${id}" was not found`)
  let after = null
  if (kind === 'create' || kind === 'createOrReplace') after = { ...given }
  else if (kind === 'patch') {
    after = { ...before, ...given.set }
    for (const key of given.unset ?? []) delete after[key]
  } else if (kind !== 'delete') throw new Refusal(400, `Unknown mutation: ${kind}`)
  if (after) {
    after = { ...after, _rev: transaction, _createdAt: before?._createdAt ?? updatedAt, _updatedAt: updatedAt }
  }
  if (!store.has(id)) store.set(id, [])
  const at = Date.now()
  store.get(id).push({ at, document: after })
  return { id, at: new Date(at).toISOString(), operation: after ? (before ? 'update' : 'create') : 'delete', before, after }
}

const verbs = {
  mutate({ dataset = 'production', mutations, transaction_id, updated_at }) {
    const transaction = transaction_id ?? newTransaction()
    const time = updated_at ?? seconds(new Date())
    try {
      const results = mutations.map((mutation) => applied(documents(dataset), mutation, transaction, time))
      return { transaction_id: transaction, transaction_time: time, results }
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal
      return new Answer(refusal.status, { error: refusal.message })
    }
  },
  settings(given) {
    Object.assign(settings, given, { lags: { ...settings.lags, ...given.lags } })
    return settings
  },
  document: ({ dataset = 'production', id }) => ({ document: newest(documents(dataset).get(id)) }),
  async project({ projection, before = null, after = null, project, dataset = 'production' }) {
    const tree = parse(projection, { mode: 'delta' })
    const value = await evaluate(tree, { before, after, root: after ?? before, sanity: { projectId: project, dataset } })
    return { result: await value.get() }
  },
}

const gatewayError = (statusCode, error, message) => new Answer(statusCode, { statusCode, error, message })
const queryError = (error) => new Answer(400, { error })

async function handle(request, entry) {
  const match = /^\/v(\d{4}-\d{2}-\d{2})\/data\/query\/([a-z0-9~][a-z0-9_-]*)$/.exec(request.path)
  entry.host = request.headers.host
  if (CDN_HOST.test(request.headers.host)) return gatewayError(421, 'Misdirected Request', 'this is the API, not its CDN')
  if (!match) return gatewayError(404, 'Not Found', 'Not Found')
  const [, version, dataset] = match
  if (!datasets.has(dataset)) return gatewayError(404, 'Not Found', `Dataset not found - Dataset "${dataset}" not found for project`)

  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]
  entry.authorized = bearer !== undefined && bearer === settings.token
  if (bearer !== undefined && !entry.authorized) return gatewayError(401, 'Unauthorized', 'Unauthorized - Session not found')
  if (settings.private && !entry.authorized) return gatewayError(401, 'Unauthorized', 'Unauthorized - private dataset')

  const asked = request.method === 'GET' ? fromUrl(request) : request.method === 'POST' ? fromBody(request) : null
  if (asked === null) return gatewayError(405, 'Method Not Allowed', 'Method Not Allowed')
  if (asked instanceof Answer) return asked
  const perspective = request.query.get('perspective') ?? (version >= PUBLISHED_BY_DEFAULT_SINCE ? 'published' : 'raw')
  Object.assign(entry, { dataset, version, perspective, ...asked })
  return answer({ dataset, perspective, authorized: entry.authorized, echo: request.query.get('returnQuery') !== 'false', ...asked })
}

function fromUrl(request) {
  if (request.url.length > MAX_GET_CHARACTERS) return gatewayError(414, 'URI Too Long', 'use POST for a query this long')
  const params = {}
  for (const [name, text] of request.query) {
    if (!name.startsWith('$')) continue
    try {
      params[name.slice(1)] = JSON.parse(text)
    } catch {
      return queryError({ description: `unable to parse parameter ${name}: not JSON` })
    }
  }
  return { query: request.query.get('query') ?? '', params }
}

function fromBody(request) {
  let body
  try {
    body = JSON.parse(request.text)
  } catch {
    return gatewayError(400, 'Bad Request', 'the body is not JSON')
  }
  const params = body.params ?? {}
  const dollar = Object.keys(params).find((name) => name.startsWith('$'))
  if (dollar) return queryError({ description: `invalid parameter name ${dollar}` })
  return { query: body.query ?? '', params }
}

async function answer({ dataset, query, params, perspective, authorized, echo }) {
  const started = performance.now()
  let tree
  try {
    tree = parse(query, { params })
  } catch (error) {
    const position = error.position ?? 0
    return queryError({ type: 'queryParseError', description: error.message, query, start: position, end: position + 1 })
  }
  const missing = parametersIn(tree).find((name) => !(name in params))
  if (missing) return queryError({ type: 'queryParseError', description: `param $${missing} referenced, but not provided`, query })
  const seen = inPerspective(visible(dataset, Date.now()), perspective, authorized)
  if (seen === null) return queryError({ description: `perspective ${perspective} is not known here` })
  const value = await evaluate(tree, { dataset: seen, params })
  const result = await value.get()
  const ms = Math.round(performance.now() - started)
  return new Answer(200, { ...(echo && { query }), result, syncTags: ['s1:local'], ms })
}

const isDraft = ({ _id }) => _id.startsWith('drafts.')
const isVersion = ({ _id }) => _id.startsWith('versions.')

function inPerspective(all, perspective, authorized) {
  // Ids with a dot are invisible without a token.
  const readable = authorized ? all : all.filter(({ _id }) => !_id.includes('.'))
  if (perspective === 'raw') return readable
  if (perspective === 'published') return readable.filter((one) => !isDraft(one) && !isVersion(one))
  if (perspective !== 'drafts' && perspective !== 'previewDrafts') return null
  const drafts = new Map(readable.filter(isDraft).map((one) => [one._id.slice('drafts.'.length), one]))
  const published = readable.filter((one) => !isDraft(one) && !isVersion(one) && !drafts.has(one._id))
  return [...published, ...[...drafts].map(([_id, one]) => ({ ...one, _id, _originalId: one._id }))]
}

function parametersIn(node) {
  if (Array.isArray(node)) return node.flatMap(parametersIn)
  if (node === null || typeof node !== 'object') return []
  if (node.type === 'Parameter') return [node.name]
  return Object.values(node).flatMap(parametersIn)
}

serve({ handle, verbs })
