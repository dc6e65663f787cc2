import '../styles/site.css'

export default function App({ Component, pageProps }) {
  return <Component {...pageProps} />
}
