import { expect, test } from 'vitest'
import { createSigner } from '../../../src/sinks/aws/signer.ts'
import { sentSignature, sha256, signatureOf } from '../../setup/aws-signature.ts'

const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}

test('the tests compute the signature that AWS publishes for its example get-vanilla', () => {
  const scope = 'AKIDEXAMPLE/20150830/us-east-1/service/aws4_request'
  const headers = {
    host: 'example.amazonaws.com',
    'x-amz-date': '20150830T123600Z',
    authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=x`,
  }
  const request = { method: 'GET', url: '/', headers }
  expect(signatureOf(request, Buffer.alloc(0), credentials.secretAccessKey)).toBe(
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  )
})

test.each([
  ['es', 'https://h.example/a/_bulk?filter_path=items.*._id,errors&pipeline=p%20q'],
  // A name that is encoded in the path is encoded once more to be signed.
  ['aoss', 'https://h.example:9200/logs-%C3%A4%20b/_bulk'],
])('a request is signed for %s: %s', async (service, address) => {
  const url = new URL(address)
  const body = Buffer.from('lines')
  const digest = Buffer.from(sha256(body), 'hex')
  const nowMs = Date.parse('2026-11-20T10:11:12Z')
  const sign = createSigner(service, 'eu-central-1')
  const { headers } = await sign({ method: 'POST', url: url.href, digest, nowMs }, credentials)
  const sent = { ...headers, host: url.host }
  expect(headers).toMatchObject({
    'x-amz-date': '20261120T101112Z',
    authorization: expect.stringContaining(`AKIDEXAMPLE/20261120/eu-central-1/${service}/aws4_request`),
  })
  const request = { method: 'POST', url: url.pathname + url.search, headers: sent }
  expect(sentSignature(request)).toBe(signatureOf(request, body, credentials.secretAccessKey))
})
