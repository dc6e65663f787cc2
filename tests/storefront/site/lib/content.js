// The page at a slug, as the GraphQL server (and the cache before it) answers it.

const QUERY = `
  query PageAt($slug: String!) {
    routing(slug: $slug) {
      slug
      page {
        __typename
        _id
        _rev
        title
        text
        banner { _id title text }
        menu { _id title items { label slug } }
        footer { _id title }
        ... on Article { author { _id title } }
        ... on Product { price category { _id title } }
      }
    }
  }
`

/** `options` go to `fetch`. Answers `{page, fromCache}`; `page` is null when there is none. */
export async function pageAt(slug, options = {}) {
  const { data, extensions } = await ask(QUERY, { slug }, options)
  return { page: data.routing.page, fromCache: extensions?.responseCache?.hit === true }
}

/** Every page there is, for the overview. */
export async function listing() {
  const { data } = await ask('{ listing { slug title kind banner } }', {})
  return data.listing
}

/** Throws when GraphQL has no answer: a page that cannot be rendered must not replace one that could. */
async function ask(query, variables, options) {
  const answer = await fetch(process.env.GRAPHQL_URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
    ...options,
  })
  const body = await answer.json()
  if (!answer.ok || body.errors) throw new Error(`GraphQL answered ${answer.status}: ${body.errors?.[0]?.message}`)
  return body
}
