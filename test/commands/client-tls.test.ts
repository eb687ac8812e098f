// A local service that answers over TLS is reached by the commands of its own machine, although its
// certificate names it otherwise; an address from elsewhere must prove who it is.

import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TOKEN } from '../admin-api/installation.ts';
import { makeCertificate } from '../support/make-certificate.ts';
import { makeCommandWorld } from './command-world.ts';

const { certificate: cert, key } = makeCertificate('turnpike.example.com');

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
  expect(stranger.exitCode).toBe(1);
  expect(stranger.error).toContain(`the certificate that ${url} shows is not accepted (`);
  expect(stranger.error).not.toContain('nothing answers');
});
