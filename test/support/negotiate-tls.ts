// Negotiates with a TLS server, for tests of the versions and ciphers that it accepts.

import { type ConnectionOptions, connect } from 'node:tls';

/** The cipher, or null if the server refuses the handshake. */
export function negotiateTls(port: number, offer: ConnectionOptions): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...offer }, () => {
      resolve(socket.getCipher().name);
      socket.destroy();
    });
    socket.on('error', (failure) => {
      if (/HANDSHAKE_FAILURE|PROTOCOL_VERSION/i.test(failure.message)) resolve(null);
      else reject(failure);
    });
  });
}

/** Offers that are refused: old versions, ciphers without forward secrecy, and ciphers without authenticated encryption. */
export const weakOffers: readonly ConnectionOptions[] = [
  { minVersion: 'TLSv1', maxVersion: 'TLSv1' },
  { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' },
  ...[
    'AES128-SHA',
    'AES256-SHA',
    'AES128-GCM-SHA256',
    'AES256-GCM-SHA384',
    'ECDHE-ECDSA-AES128-SHA',
    'ECDHE-RSA-AES128-SHA',
  ].map((ciphers): ConnectionOptions => ({ ciphers, maxVersion: 'TLSv1.2' })),
];

/** Offers of which the first, for a certificate of this kind of key, is accepted with this cipher. */
export const goodOffers = (kind: 'ECDSA' | 'RSA'): readonly [ConnectionOptions, string][] => [
  [{}, 'TLS_AES'],
  ...[`ECDHE-${kind}-AES128-GCM-SHA256`, `ECDHE-${kind}-AES256-GCM-SHA384`, `ECDHE-${kind}-CHACHA20-POLY1305`].map(
    (ciphers): [ConnectionOptions, string] => [{ ciphers, maxVersion: 'TLSv1.2' }, ciphers],
  ),
];
