// Which versions and ciphers of TLS the listener accepts, also after its certificate was replaced.

import { expect, test } from 'bun:test';
import { serveHttp } from '../../../src/http/http.ts';
import { makeCertificate } from '../../support/make-certificate.ts';
import { goodOffers, negotiateTls, weakOffers } from '../../support/negotiate-tls.ts';

const handle = () => new Response('hello');

for (const [kind, key] of [
  ['ECDSA', 'ec'],
  ['RSA', 'rsa'],
] as const)
  test(`with a certificate for ${kind}, only TLS 1.2 and later with forward secrecy and authenticated encryption is accepted`, async () => {
    const server = serveHttp({ hostname: '127.0.0.1', port: 0, tls: makeCertificate('one', undefined, key), handle });
    try {
      await expectOnlyGood(server.port, kind);
      await server.replaceTls(makeCertificate('two', undefined, key));
      await expectOnlyGood(server.port, kind);
    } finally {
      await server.stop(false);
    }
  });

async function expectOnlyGood(port: number, kind: 'ECDSA' | 'RSA'): Promise<void> {
  for (const [offer, cipher] of goodOffers(kind)) expect(await negotiateTls(port, offer)).toStartWith(cipher);
  for (const offer of weakOffers) expect([offer, await negotiateTls(port, offer)]).toEqual([offer, null]);
}
