// Copy to `app/api/revalidate/route.js` of a Next.js storefront with the App Router (Next.js 16; in 15 and before write
// `revalidateTag(tag)`, which takes no second argument).
//
// Answers POST {"slugs": ["/a", "/b"]} with one result a slug, so that one bad path holds up no other:
//   200 {"revalidated": true, "results": [{"slug": "/a", "revalidated": true}, ...]}
// The secret comes as `authorization: Bearer <secret>`, or as the query parameter `secret`. Set REVALIDATE_SECRET (at least
// 16 characters) to the `storefront_secret` of the targets' secret. While two secrets are live, put the old one into
// REVALIDATE_SECRET_PREVIOUS.
//
// Several instances of a self-hosted storefront need a shared cache handler: a revalidation is known only to the instance
// that received it.
import { createHash, timingSafeEqual } from 'node:crypto'
import { revalidatePath, revalidateTag } from 'next/cache'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

// Next.js ignores longer ones without an error.
const LONGEST_PATH = 1024
const LONGEST_TAG = 256

export async function POST(request) {
  const secrets = [process.env.REVALIDATE_SECRET, process.env.REVALIDATE_SECRET_PREVIOUS].filter(
    (secret) => typeof secret === 'string' && secret.length >= 16,
  )
  // 503: a fault of the storefront, which the sender waits out. 401 would blame the sender.
  if (secrets.length === 0) return answer(503, { message: 'REVALIDATE_SECRET is not set.' })
  if (!secrets.some((secret) => equal(secret, given(request)))) return answer(401, { message: 'Wrong secret.' })

  const body = await request.json().catch(() => null)
  const slugs = body?.slugs
  if (!Array.isArray(slugs) || slugs.length === 0 || !slugs.every((slug) => typeof slug === 'string')) {
    return answer(400, { message: 'Send {"slugs": ["/path", ...]}, with at least one path.' })
  }
  const results = slugs.map(revalidate)
  return answer(200, { revalidated: results.every((result) => result.revalidated), results })
}

// The page is rebuilt by its next visitor, who waits for it. `revalidatePath` wants the path as it is, not percent-encoded
// (but for ?, # and \, which would end it), without basePath, and with a rewrite the path it leads to. The tag is for data fetched with `next: { tags: ['slug:/a'] }`; `{ expire: 0 }` makes the next
// request wait for fresh data, where 'max' would show it the old ones once more.
function revalidate(slug) {
  if (!slug.startsWith('/')) return { slug, revalidated: false, status: 400, error: 'a path starts with /' }
  if (slug.length > LONGEST_PATH) return { slug, revalidated: false, status: 400, error: 'the path is too long' }
  try {
    revalidatePath(slug.replace(/[?#\\]/g, encodeURIComponent))
    const tag = `slug:${slug}`
    if (tag.length <= LONGEST_TAG) revalidateTag(tag, { expire: 0 })
    return { slug, revalidated: true }
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown error'
    return { slug, revalidated: false, error: message.slice(0, 200) }
  }
}

function given(request) {
  const bearer = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  return bearer ?? new URL(request.url).searchParams.get('secret') ?? ''
}

// Constant time: hashes of equal length are compared, whatever was given.
function equal(secret, other) {
  const hash = (text) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(secret), hash(other))
}

function answer(status, body) {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } })
}
