// What the GraphQL server reads: slug pointers from the routes table, as a deployed API would (the layout is at the top of
// functions/routing/src/store/mod.rs), and documents from Sanity's query API, never its CDN.

import { DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb'

const API_VERSION = 'v2025-02-19'

const EXPANDED = `{
  ...,
  "author": author->, "banner": banner->, "category": category->, "footer": footer->, "menu": menu->
}`
const LISTING = `*[_type in ["article", "category", "page", "product"] && defined(slug.current)] | order(slug.current) {
  "slug": select(string::startsWith(slug.current, "/") => slug.current, "/" + slug.current),
  title, "kind": _type, "banner": banner._ref
}`

export class Source {
  #lake
  #table

  /** @param {{url: string, dataset: string, token: string}} lake */
  constructor(lake) {
    this.#lake = lake
  }

  /** Says where the routes are. It is known only after the deployment, which has to know this server's address first. */
  routesAt({ endpoint, region, table, accessKeyId, secretAccessKey }) {
    const client = new DynamoDBClient({ endpoint, region, credentials: { accessKeyId, secretAccessKey } })
    this.#table = { client, name: table }
  }

  /** The document whose page is at `slug`, with what it shows; null if there is none. */
  async pageAt(slug) {
    const pointer = await this.#pointerAt(slug)
    if (!pointer) return null
    return this.#query(`*[_id == $id][0]${EXPANDED}`, { id: pointer.document_id.S })
  }

  listing() {
    return this.#query(LISTING, {})
  }

  async #pointerAt(slug) {
    if (!this.#table) throw new Error('no routes table yet')
    const answer = await this.#table.client.send(
      new QueryCommand({
        TableName: this.#table.name,
        KeyConditionExpression: 'pk = :slug',
        ExpressionAttributeValues: { ':slug': { S: `SLUG#${this.#lake.dataset}#${slug}` } },
        ConsistentRead: true,
      }),
    )
    // Two pages may hold a slug for a while: the later claim counts.
    return answer.Items.sort((one, other) => Number(other.source_second.N) - Number(one.source_second.N))[0]
  }

  async #query(query, params) {
    const answer = await fetch(`${this.#lake.url}/${API_VERSION}/data/query/${this.#lake.dataset}?perspective=published`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.#lake.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query, params }),
    })
    if (!answer.ok) throw new Error(`the content lake answered ${answer.status}`)
    return (await answer.json()).result
  }
}
