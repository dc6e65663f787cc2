// An article of the journal, as the App Router renders it. Its data carries the tag `slug:<slug of the article>`, which the
// App Router's revalidation route expires, on whatever page it is shown.
import { notFound } from 'next/navigation'
import { pageAt } from '../lib/content'
import { rendered } from '../lib/renders'
import { Sheet } from './Sheet'

/** Shows the article at `slug` on the page at `path`. */
export async function Article({ slug, path }) {
  const { page, fromCache } = await pageAt(slug, { cache: 'force-cache', next: { tags: [`slug:${slug}`] } })
  const { count, at } = rendered(path, 'app', page !== null)
  if (page === null) notFound()
  return <Sheet slug={path} page={page} build={{ count, at, fromCache, router: 'App Router' }} />
}
