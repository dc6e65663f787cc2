// The overview: every page as a tile with its number of renders. It asks again each second, so that a cascade is seen.
import Head from 'next/head'
import { useEffect, useState } from 'react'
import { listing } from '../lib/content'
import { renders } from '../lib/renders'

const SECOND = 1000
const JUST_NOW = 20 * SECOND

export async function getServerSideProps() {
  return { props: { pages: await listing(), known: renders() } }
}

export default function Overview({ pages, known }) {
  const [log, setLog] = useState(known)
  const [now, setNow] = useState(null)
  useEffect(() => {
    const timer = setInterval(async () => {
      const answer = await fetch('/api/renders').catch(() => null)
      if (answer?.ok) setLog((await answer.json()).renders)
      setNow(Date.now())
    }, SECOND)
    return () => clearInterval(timer)
  }, [])
  const latest = new Map(log.map((entry) => [entry.slug, entry]))
  const listed = new Set(pages.map(({ slug }) => slug))
  const gone = [...latest.values()].filter(({ slug, found }) => !listed.has(slug) && !found)
  return (
    <>
      <Head>
        <title>Overview</title>
      </Head>
      <header className="top">
        <span className="brand">Overview</span>
      </header>
      <main className="overview">
        <p className="text">
          One tile a page, with how often it was rendered. A tile lights up when its page was rebuilt just now; a red edge marks
          the pages that show the banner.
        </p>
        <ul className="tiles">
          {pages.map((page) => (
            <Tile key={page.slug} {...page} entry={latest.get(page.slug)} now={now} />
          ))}
          {gone.map((entry) => (
            <Tile key={entry.slug} slug={entry.slug} title="Gone" kind="404" entry={entry} now={now} />
          ))}
        </ul>
      </main>
    </>
  )
}

function Tile({ slug, title, kind, banner, entry, now }) {
  // The first render is a build, not a rebuild.
  const fresh = now !== null && entry?.count > 1 && now - Date.parse(entry.at) < JUST_NOW
  const classes = ['tile', banner && 'bannered', fresh && 'fresh', !entry && 'unseen'].filter(Boolean).join(' ')
  return (
    <li>
      <a className={classes} href={encodeURI(slug)} title={slug}>
        <b>{entry?.count ?? '–'}</b>
        <span>{title}</span>
        <small>{kind}</small>
      </a>
    </li>
  )
}
