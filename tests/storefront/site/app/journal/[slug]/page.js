import { Article } from '../../../components/Article'

// None at build time; each is rendered at its first visit and kept.
export const generateStaticParams = () => []

export default async function Page({ params }) {
  const slug = `/journal/${decodeURIComponent((await params).slug)}`
  return <Article slug={slug} path={slug} />
}
