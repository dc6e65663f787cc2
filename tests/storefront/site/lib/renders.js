// How often each page was rendered, and when: what a test looks at to see what was rebuilt, and what was left alone.
//
// Kept on the process: both routers run in one, but each route has modules of its own.

const book = (globalThis.rendersOfThisProcess ??= { log: [], counts: new Map() })

/** Notes one render. `cause` is Next.js' own word, `on-demand` for a revalidation and `stale` for a visit, or `app`: there it says none. */
export function rendered(slug, cause, found) {
  const count = (book.counts.get(slug) ?? 0) + 1
  const entry = { seq: book.log.length + 1, at: new Date().toISOString(), slug, cause, found, count }
  book.counts.set(slug, count)
  book.log.push(entry)
  return entry
}

/** The renders after number `since`, oldest first. */
export const renders = (since = 0) => book.log.slice(since)
