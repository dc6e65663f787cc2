import { fileURLToPath } from 'node:url'

/** @type {import('next').NextConfig} */
export default {
  // The build lies in .local/ and finds its packages in tests/storefront: both are below the project.
  turbopack: { root: fileURLToPath(new URL('../../..', import.meta.url)) },
  // Pages are kept in memory: a start begins with empty caches, and several starts share one build.
  experimental: { isrFlushToDisk: false },
  poweredByHeader: false,
}
