// Copy to `pages/api/revalidate.js` of a Next.js storefront with the Pages Router.
//
// Answers POST {"slugs": ["/a", "/b"]} with one result a slug, so that one page that cannot be built holds up no other:
//   200 {"revalidated": false, "results": [{"slug": "/a", "revalidated": true},
//                                          {"slug": "/b", "revalidated": false, "status": 500, "error": "..."}]}
// The secret comes as `authorization: Bearer <secret>`, or as the query parameter `secret`. Set REVALIDATE_SECRET (at least
// 16 characters) to the `storefront_secret` of the targets' secret. While two secrets are live, put the old one into
// REVALIDATE_SECRET_PREVIOUS.
import { createHash, timingSafeEqual } from 'node:crypto'

// Pages rendered at the same time. Each is a full render; a small number keeps the storefront answering its visitors.
const AT_ONCE = 4

export default async function handler(req, res) {
  res.setHeader('Cache-Control', 'no-store')
  if (req.method !== 'POST') {
    res.setHeader('Allow', 'POST')
    return res.status(405).json({ message: 'Use POST.' })
  }
  const secrets = [process.env.REVALIDATE_SECRET, process.env.REVALIDATE_SECRET_PREVIOUS].filter(
    (secret) => typeof secret === 'string' && secret.length >= 16,
  )
  // 503: a fault of the storefront, which the sender waits out. 401 would blame the sender.
  if (secrets.length === 0) return res.status(503).json({ message: 'REVALIDATE_SECRET is not set.' })
  if (!secrets.some((secret) => equal(secret, given(req)))) return res.status(401).json({ message: 'Wrong secret.' })

  const slugs = req.body?.slugs
  if (!Array.isArray(slugs) || slugs.length === 0 || !slugs.every((slug) => typeof slug === 'string')) {
    return res.status(400).json({ message: 'Send {"slugs": ["/path", ...]}, with at least one path.' })
  }

  const results = new Array(slugs.length)
  let next = 0
  const work = async () => {
    while (next < slugs.length) {
      const index = next++
      results[index] = await revalidate(res, slugs[index])
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, slugs.length) }, work))
  return res.status(200).json({ revalidated: results.every((result) => result.revalidated), results })
}

// A page that has become a 404 counts as revalidated: Next.js goes by its cache header, not by the status, and the old page
// is gone. Only what throws has failed. On Vercel the path must be the one that visitors ask for, with basePath, locale and
// trailing slash; Cascata adds them when it is configured so.
//
// Next.js wants the path percent-encoded, or "/100%" fails. It is encoded here, once, so leave Cascata's own encoding off.
async function revalidate(res, slug) {
  try {
    await res.revalidate(encodeURI(slug).replace(/[?#]/g, encodeURIComponent))
    return { slug, revalidated: true }
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown error'
    const status = Number(/Invalid response (\d{3})$/.exec(message)?.[1])
    return { slug, revalidated: false, ...(status ? { status } : {}), error: message.slice(0, 200) }
  }
}

function given(req) {
  const bearer = /^Bearer (.+)$/i.exec(req.headers.authorization ?? '')?.[1]
  return bearer ?? (typeof req.query.secret === 'string' ? req.query.secret : '')
}

// Constant time: hashes of equal length are compared, whatever was given.
function equal(secret, other) {
  const hash = (text) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(secret), hash(other))
}
