// Sends webhooks as Sanity does: signed by @sanity/webhook, with every header of Sanity's, one after the other.
//
// Reads one JSON object from standard input and prints one:
//   {url, secret?, concurrent?, deliveries: [{body, headers, timestamp?, secret?, method?}]}
//   → {answers: [{status, body, headers, sent_at, answered_at, signature}]}
// `body` is sent byte by byte as given. A delivery without any secret is sent unsigned. `timestamp` is milliseconds.

import { encodeSignatureHeader, SIGNATURE_HEADER_NAME } from '@sanity/webhook'
import { request } from 'node:http'

async function deliver(url, secret, delivery) {
  const headers = { ...delivery.headers }
  const key = delivery.secret ?? secret
  if (key) headers[SIGNATURE_HEADER_NAME] = await encodeSignatureHeader(delivery.body, delivery.timestamp ?? Date.now(), key)
  const sent_at = new Date().toISOString()
  const answer = await post(url, delivery.method ?? 'POST', headers, delivery.body)
  return { ...answer, sent_at, answered_at: new Date().toISOString(), signature: headers[SIGNATURE_HEADER_NAME] ?? null }
}

function post(url, method, headers, body) {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers: { ...headers, 'content-length': Buffer.byteLength(body) } }, (answer) => {
      const chunks = []
      answer.on('data', (chunk) => chunks.push(chunk))
      answer.on('end', () =>
        resolve({ status: answer.statusCode, body: Buffer.concat(chunks).toString('utf8'), headers: answer.headers }),
      )
    })
    outgoing.setTimeout(30_000, () => outgoing.destroy(new Error('no answer within 30 s')))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

let text = ''
for await (const chunk of process.stdin) text += chunk
const { url, secret, concurrent = false, deliveries } = JSON.parse(text)
const answers = []
if (concurrent) answers.push(...(await Promise.all(deliveries.map((one) => deliver(url, secret, one)))))
else for (const one of deliveries) answers.push(await deliver(url, secret, one))
process.stdout.write(JSON.stringify({ answers }))
