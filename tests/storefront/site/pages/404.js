import Head from 'next/head'
import { Missing } from '../components/Missing'

export default function NotFound() {
  return (
    <>
      <Head>
        <title>Not found</title>
      </Head>
      <Missing />
    </>
  )
}
