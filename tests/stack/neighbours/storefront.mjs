// A stand-in for a Next.js storefront's `POST /api/revalidate {"slugs": [...]}`.
//
// The secret comes as a bearer token or as `?secret=`, as settings say. Control verbs (see serve.mjs for faults and log):
//   settings      {secret?, secret_in?: "header" | "query", results?, revalidated?, broken?: [slug]}
//                 results      whether the answer lists each slug
//                 revalidated  false: answers 200 {"revalidated": false} and does nothing
//                 broken       slugs that fail: named in the list, or, without a list, with a 500 for their whole batch
//   revalidations {since?} → {revalidations: [{seq, at, slug}]}: each slug that was really revalidated

import { Answer, serve } from './serve.mjs'

const settings = { secret: 'storefront-secret', secret_in: 'header', results: false, revalidated: true, broken: [] }
const revalidations = []

function authorized(request) {
  if (settings.secret_in === 'query') return request.query.get('secret') === settings.secret
  return request.headers.authorization === `Bearer ${settings.secret}`
}

async function handle(request, entry) {
  if (request.path !== '/api/revalidate') return new Answer(404, 'This page could not be found')
  if (request.method !== 'POST') return new Answer(405, { message: 'Method Not Allowed' }, { allow: 'POST' })
  if (!authorized(request)) return new Answer(401, { message: 'Invalid token' })
  let slugs
  try {
    slugs = JSON.parse(request.text).slugs
  } catch {
    return new Answer(400, { message: 'Invalid body' })
  }
  if (!Array.isArray(slugs) || slugs.length === 0) return new Answer(400, { revalidated: false, message: 'Missing slugs' })
  entry.slugs = slugs
  if (!settings.revalidated) return new Answer(200, { revalidated: false, message: 'Missing path to revalidate' })
  const failing = slugs.filter((slug) => settings.broken.includes(slug))
  if (failing.length > 0 && !settings.results) return new Answer(500, 'Error revalidating')
  for (const slug of slugs) {
    if (!failing.includes(slug)) revalidations.push({ seq: revalidations.length + 1, at: new Date().toISOString(), slug })
  }
  if (!settings.results) return new Answer(200, { revalidated: true })
  const results = slugs.map((slug) =>
    failing.includes(slug) ? { slug, revalidated: false, error: 'Error revalidating' } : { slug, revalidated: true },
  )
  return new Answer(200, { revalidated: failing.length === 0, results })
}

serve({
  handle,
  verbs: {
    settings: (given) => Object.assign(settings, given),
    revalidations: ({ since = 0 }) => ({
      revalidations: revalidations.filter(({ seq }) => seq > since),
      last: revalidations.length,
    }),
  },
})
