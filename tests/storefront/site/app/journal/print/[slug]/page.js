// An article to print: no route of Cascata's names this path, so only the tag of its data refreshes it.
import { Article } from '../../../../components/Article'

export const generateStaticParams = () => []

export default async function Print({ params }) {
  const name = decodeURIComponent((await params).slug)
  return <Article slug={`/journal/${name}`} path={`/journal/print/${name}`} />
}
