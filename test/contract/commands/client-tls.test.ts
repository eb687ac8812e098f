// Commands reach a TLS service on their own machine whatever the name in its certificate; a remote address needs a
// valid certificate.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeCertificate } from '../../support/make-certificate.ts';
import { TOKEN } from '../admin-api/installation.ts';
import { makeCommandWorld } from './command-world.ts';

const { certificate: cert, key } = makeCertificate('turnpike.example.com');

test('commands reach a local service over TLS, and trust no other certificate', async () => {
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
  const untrusted = await world.run('key', 'list', '--url', url, '--token', TOKEN);
  expect(untrusted.exitCode).toBe(1);
  expect(untrusted.error).toContain(`the certificate of ${url} is not trusted (`);
  expect(untrusted.error).not.toContain('cannot connect to');
});
