// Stellate's purging API: POST /SERVICE with a GraphQL mutation and the header `stellate-token`.
//
// Mutations are executed by `graphql` against the documented schema, so aliases and variables mean what they mean there.
// Everything purged is kept, key by key; a purge without key fields is kept as what it is there: of the whole type. What a
// purge does beyond that is the caller's: `carryOut({type, name, value, soft, whole_type})`, type `*` being everything.
// Control verbs (see serve.mjs for faults and the log):
//   settings  {service?, token?, refuse?: [{type?, value?, message?}]}: purges of these keys end in an error with a path
//   purges    {since?} → {purges: [{seq, at, type, name, value, soft, whole_type}]}

import { buildSchema, execute, parse, validate } from 'graphql'
import { Answer } from './serve.mjs'

const schema = buildSchema(`
  input KeyFieldInput { name: String!, value: String! }
  type Query { _unused: Boolean }
  type Mutation {
    _purgeType(type: String!, keyFields: [KeyFieldInput!], soft: Boolean): Boolean
    _purgeAll(soft: Boolean): Boolean
    _purgeQuery(queries: [String!]!, soft: Boolean): Boolean
    _purgeOperationName(names: [String!]!, soft: Boolean): Boolean
  }
`)

const errors = (...messages) => new Answer(200, { errors: messages.map((message) => ({ message })) })

/** The API's `handle` and `verbs`, for `serve`. */
export function purging(carryOut = () => {}) {
  const settings = { service: 'cascata', token: 'stellate-token', refuse: [] }
  const purges = []

  function record(purge) {
    purges.push({ seq: purges.length + 1, at: new Date().toISOString(), ...purge })
    carryOut(purge)
  }

  /** One mutation field. Nothing is purged of a field that ends in an error. */
  function purgeType({ type, keyFields, soft = false }) {
    const keys = keyFields ?? []
    const refusal = settings.refuse.find(
      (rule) => (rule.type ?? type) === type && (rule.value === undefined || keys.some(({ value }) => value === rule.value)),
    )
    if (refusal) throw new Error(refusal.message ?? 'Purging failed')
    if (keys.length === 0) record({ type, soft, whole_type: true })
    for (const { name, value } of keys) record({ type, name, value, soft, whole_type: false })
    return true
  }

  const root = {
    _purgeType: purgeType,
    _purgeAll({ soft = false }) {
      record({ type: '*', soft, whole_type: true })
      return true
    },
    _purgeQuery: () => true,
    _purgeOperationName: () => true,
  }

  async function handle(request, entry) {
    if (request.method !== 'POST') return new Answer(405, 'Method Not Allowed')
    if (request.path !== `/${settings.service}`) return new Answer(404, 'Not Found')
    if (request.headers['stellate-token'] !== settings.token) return new Answer(401, { errors: [{ message: 'Unauthorized' }] })
    if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) return new Answer(415, 'Unsupported Media Type')
    let asked
    try {
      asked = JSON.parse(request.text)
    } catch {
      return new Answer(400, 'Bad Request')
    }
    Object.assign(entry, { query: asked.query, variables: asked.variables ?? {} })
    let document
    try {
      document = parse(String(asked.query))
    } catch (error) {
      return errors(error.message)
    }
    const problems = validate(schema, document)
    if (problems.length > 0) return errors(...problems.map(({ message }) => message))
    const before = purges.length
    const result = await execute({ schema, document, rootValue: root, variableValues: asked.variables })
    entry.purges = purges.slice(before)
    return new Answer(200, result)
  }

  const verbs = {
    settings: (given) => Object.assign(settings, given),
    purges: ({ since = 0 }) => ({ purges: purges.filter(({ seq }) => seq > since), last: purges.length }),
  }
  return { handle, verbs }
}
