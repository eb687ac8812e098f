// A local service that answers over TLS is reached by the commands of its own machine, although its
// certificate names it otherwise; an address from elsewhere must prove who it is.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN } from '../admin-api/installation.ts';
import { makeCommandWorld } from './command-world.ts';

// Made for this test, opens nothing.
const cert = `-----BEGIN CERTIFICATE-----
MIIBkjCCATmgAwIBAgIUKgntu/r/BE3UIUTZ/wgkdevycVwwCgYIKoZIzj0EAwIw
HzEdMBsGA1UEAwwUdHVybnBpa2UuZXhhbXBsZS5jb20wHhcNMjYxMTIwMTEwNzI3
WhcNMjYxMjIwMTEwNzI3WjAfMR0wGwYDVQQDDBR0dXJucGlrZS5leGFtcGxlLmNv
bTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABC8q95GNaiYXcR47OU3o2kGo2URr
B4aDGt4NhGurvcGhnFkUe91lHZrLENz4IpB+MVigQnB192zrIKF8zzLvkYijUzBR
MB0GA1UdDgQWBBSnziew9k5d1/LufjeYvJYHRTL8FDAfBgNVHSMEGDAWgBSnziew
9k5d1/LufjeYvJYHRTL8FDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cA
MEQCICcI8trT6CmhGStUL5oowR5A/KoC9oAixfDyFCVZ5XIxAiA3KeWCMltgcUM0
ziDVnFfyKfA3pb+/fU4h5FNitOjB1w==
-----END CERTIFICATE-----
`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCfYsBtiMD7rghcjZ
eUipQTGe2XddYL7o/x66u5BZXguhRANCAAQvKveRjWomF3EeOzlN6NpBqNlEaweG
gxreDYRrq73BoZxZFHvdZR2ayxDc+CKQfjFYoEJwdfds6yChfM8y75GI
-----END PRIVATE KEY-----
`;

test('commands reach a local service over TLS, and trust no stranger', async () => {
  using world = await makeCommandWorld();
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: { cert, key },
    fetch: (request) => world.installation.api.fetch(request, '127.0.0.1'),
  });
  const url = `https://127.0.0.1:${server.port}`;
  writeFileSync(join(world.directory, 'operator.json'), JSON.stringify({ url, token: TOKEN }));
  expect(await world.run('key', 'list')).toEqual({ exitCode: 0, out: '', error: 'There are no keys.\n' });
  const stranger = await world.run('key', 'list', '--url', url, '--token', TOKEN);
  expect([stranger.exitCode, stranger.error.includes('certificate')]).toEqual([1, true]);
});
