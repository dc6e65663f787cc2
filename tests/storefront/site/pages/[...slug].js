// Every page but those of the journal: rendered at the first visit, kept until it is revalidated on demand.
import Head from 'next/head'
import { Sheet } from '../components/Sheet'
import { pageAt } from '../lib/content'
import { rendered } from '../lib/renders'

export const getStaticPaths = () => ({ paths: [], fallback: 'blocking' })

export async function getStaticProps({ params, revalidateReason }) {
  const slug = `/${params.slug.join('/')}`
  const { page, fromCache } = await pageAt(slug)
  const { count, at } = rendered(slug, revalidateReason, page !== null)
  if (page === null) return { notFound: true }
  return { props: { slug, page, build: { count, at, fromCache, router: 'Pages Router' } } }
}

export default function Slug({ slug, page, build }) {
  return (
    <>
      <Head>
        <title>{page.title}</title>
      </Head>
      <Sheet slug={slug} page={page} build={build} />
    </>
  )
}
