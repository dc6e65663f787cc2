// GraphQL with a response cache, and the purging API of the CDN that Cascata takes it for.
//
//   POST /graphql   GraphQL Yoga; its response cache keeps an answer until an object in it is purged, for ever if none is
//   POST /cascata   Stellate's purge mutations (tests/stack/neighbours/purging.mjs), carried out on that cache
//
// Beside the control verbs of the purging API (see purging.mjs and serve.mjs):
//   routes  {endpoint, region, table, accessKeyId, secretAccessKey}: where the routes table is

import { createInMemoryCache, useResponseCache } from '@graphql-yoga/plugin-response-cache'
import { createSchema, createYoga } from 'graphql-yoga'
import { readFileSync } from 'node:fs'
import { purging } from '../../stack/neighbours/purging.mjs'
import { Answer, serve } from '../../stack/neighbours/serve.mjs'
import { Source } from './source.mjs'

const { LAKE_URL, LAKE_TOKEN, DATASET = 'production' } = process.env
const source = new Source({ url: LAKE_URL, token: LAKE_TOKEN, dataset: DATASET })
const cache = createInMemoryCache({ max: 10_000 })
const typeDefs = readFileSync(new URL('schema.graphql', import.meta.url), 'utf8')

const schema = createSchema({
  typeDefs,
  resolvers: {
    Query: {
      routing: async (_, { slug }) => ({ slug, page: await source.pageAt(slug) }),
      listing: () => source.listing(),
    },
    Document: { __resolveType: ({ _type }) => _type[0].toUpperCase() + _type.slice(1) },
  },
})

const yoga = createYoga({
  schema,
  logging: false,
  plugins: [
    useResponseCache({
      cache,
      session: () => null,
      // As in the configuration of a Stellate service: Routing by its slug, every other type by its _id.
      idFields: ['_id', 'slug'],
      // The overview shows what there is, at any moment.
      ttlPerSchemaCoordinate: { 'Query.listing': 0 },
      includeExtensionMetadata: true,
    }),
  ],
})

/** Carries out one purge. A soft one is carried out like a hard one. */
function carryOut({ type, value }) {
  const types = type === '*' ? Object.keys(schema.getTypeMap()) : [type]
  cache.invalidate(types.map((typename) => ({ typename, id: value })))
}

const purge = purging(carryOut)

async function graphql({ method, url, headers, text }) {
  const answer = await yoga.fetch(`http://graphql${url}`, { method, headers, body: method === 'GET' ? undefined : text })
  return new Answer(answer.status, await answer.text(), { 'content-type': answer.headers.get('content-type') })
}

serve({
  handle: (request, entry) => (request.path === '/graphql' ? graphql(request) : purge.handle(request, entry)),
  verbs: { ...purge.verbs, routes: (place) => source.routesAt(place) },
})
