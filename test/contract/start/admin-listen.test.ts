// The admin API on a port of its own: by flag, variable and setting. Commands find it there, the port of messages no
// longer answers it, and an unavailable port changes nothing.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { makeCertificate } from '../../support/make-certificate.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { spawnTurnpike, startOwnTurnpike, startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

interface Operator {
  url: string;
  token: string;
}

const operatorOf = ({ dataDirectory }: Turnpike) =>
  JSON.parse(readFileSync(join(dataDirectory, 'operator.json'), 'utf8')) as Operator;

const apply = (turnpike: Turnpike, settings: object, more: object = {}) =>
  turnpike.admin('POST', '/apply', { document: { settings }, ...more });

/** The status of each route at an address: a message, the admin API, the console, the metrics, a probe, another path. */
async function statusesAt(url: string, { key, ...turnpike }: Turnpike, token = operatorOf({ key, ...turnpike }).token) {
  const headers = { authorization: `Bearer ${token}` };
  const statusOf = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(url + path, { ...init, tls: { rejectUnauthorized: false } });
    await response.text();
    return response.status;
  };
  return {
    message: await statusOf('/v1/models', { headers: { 'x-api-key': key } }),
    admin: await statusOf('/api/v1/accounts', { headers }),
    console: await statusOf('/console/'),
    metrics: await statusOf('/metrics', { headers }),
    probe: await statusOf('/readyz'),
    other: await statusOf('/nothing'),
  };
}

const ALL = { message: 200, admin: 200, console: 200, metrics: 200, probe: 200, other: 404 };
const MESSAGES_ONLY = { ...ALL, admin: 404, console: 404, metrics: 404 };
const ADMIN_ONLY = { ...ALL, message: 404 };

test('by default the admin API has the address of the messages', async () => {
  await using turnpike = await startOwnTurnpike('it moves the admin API');
  expect(operatorOf(turnpike).url).toBe(turnpike.url);
  expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
});

test('a variable moves the admin API to a port of its own, the only one that answers it', async () => {
  await using turnpike = await startTurnpike(undefined, { TURNPIKE_ADMIN_LISTEN: '127.0.0.1:0' });
  const { url } = operatorOf(turnpike);
  expect(url).not.toBe(turnpike.url);
  expect(await statusesAt(turnpike.url, turnpike)).toEqual(MESSAGES_ONLY);
  expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);
  for (const path of ['/api/v1/accounts', '/console/', '/metrics', '/webhooks/stripe', '/unsubscribe']) {
    const refused = await fetch(turnpike.url + path);
    expect(await refused.json()).toMatchObject({ error: { code: 'route_not_found' } });
  }
});

describe('the setting', () => {
  test('moves the admin API at once: the request that changed it is answered, and commands find the new port', async () => {
    await using turnpike = await startOwnTurnpike('it moves the admin API');
    const listen = `127.0.0.1:${freePort()}`;
    expect(await apply(turnpike, { admin_listen: listen })).toMatchObject({ changes: [{ kind: 'settings' }] });
    const { url } = operatorOf(turnpike);
    expect(url).toBe(`http://${listen}`);
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(MESSAGES_ONLY);
    expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);

    const other = `127.0.0.1:${freePort()}`;
    await apply(turnpike, { admin_listen: other });
    expect(operatorOf(turnpike).url).toBe(`http://${other}`);
    await expect(fetch(`${url}/readyz`, { keepalive: false })).rejects.toThrow();
    expect(await statusesAt(`http://${other}`, turnpike)).toEqual(ADMIN_ONLY);

    await apply(turnpike, { drain_seconds: 5 }); // the settings are replaced as a whole: omitted ones return to their defaults
    expect(operatorOf(turnpike).url).toBe(turnpike.url);
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
    await expect(fetch(`http://${other}/readyz`, { keepalive: false })).rejects.toThrow();
  });

  test('with an unavailable port is a fault, and changes nothing', async () => {
    await using turnpike = await startOwnTurnpike('it moves the admin API');
    const otherServer = createServer();
    await new Promise<void>((resolve) => otherServer.listen(0, '127.0.0.1', resolve));
    const { port } = otherServer.address() as { port: number };
    for (const [listen, words] of [
      [`127.0.0.1:${port}`, 'another program is using this port'],
      ['192.0.2.1:8081', 'the address does not belong to this machine'],
      [new URL(turnpike.url).host, 'messages are served at this address'],
    ])
      for (const dry_run of [false, true])
        await expect(apply(turnpike, { admin_listen: listen, drain_seconds: 7 }, { dry_run })).rejects.toThrow(
          new RegExp(`400 .*"path":\\["settings","admin_listen"\\],"message":"[^"]*${words}`),
        );
    otherServer.close();
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
    const { changes } = await apply(turnpike, { drain_seconds: 7 }, { dry_run: true });
    expect(changes).toMatchObject([{ action: 'create', kind: 'settings' }]);
  });

  test('is validated by a dry run without effect', async () => {
    await using turnpike = await startOwnTurnpike('it moves the admin API');
    const listen = `127.0.0.1:${freePort()}`;
    await apply(turnpike, { admin_listen: listen }, { dry_run: true });
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
    await apply(turnpike, { admin_listen: listen }); // the port is free again
    expect(await statusesAt(`http://${listen}`, turnpike)).toEqual(ADMIN_ONLY);
  });

  test('yields to the flag or variable', async () => {
    await using turnpike = await startTurnpike(undefined, { TURNPIKE_ADMIN_LISTEN: '127.0.0.1:0' });
    const { url } = operatorOf(turnpike);
    await apply(turnpike, { admin_listen: `127.0.0.1:${freePort()}` });
    expect(operatorOf(turnpike).url).toBe(url);
    expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);
  });
});

describe('the admin API of a service process', () => {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-admin-listen-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('prints its address at the start and has the same TLS, and the setting survives a restart', async () => {
    const { certificate, key } = makeCertificate('admin');
    const [certificatePath, keyPath] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
    await Bun.write(certificatePath, certificate);
    await Bun.write(keyPath, key);
    const data = join(directory, 'data');
    const flags = ['--tls-certificate', certificatePath, '--tls-key', keyPath];
    const listen = `127.0.0.1:${freePort()}`;
    {
      await using turnpike = await spawnTurnpike(data, {}, [...flags, '--admin-listen', '127.0.0.1:0']);
      const { url } = operatorOf(turnpike);
      expect(url).toStartWith('https://127.0.0.1:');
      expect(await statusesAt(turnpike.url, turnpike)).toEqual(MESSAGES_ONLY);
      expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);
      await apply(turnpike, { admin_listen: listen }); // the flag still applies
      expect(operatorOf(turnpike).url).toBe(url);
    }
    {
      await using turnpike = await spawnTurnpike(data, {}, flags);
      expect(operatorOf(turnpike).url).toBe(`https://${listen}`);
      const listed = await runTurnpike(['account', 'list', '--json', '--data', data]);
      expect([listed.exitCode, JSON.parse(listed.out)]).toEqual([0, [expect.objectContaining({ name: 'demo' })]]);
    }
  });

  test('reports an unavailable port at the start with its flag, variable or setting', async () => {
    const otherServer = createServer();
    await new Promise<void>((resolve) => otherServer.listen(0, '127.0.0.1', resolve));
    const taken = `127.0.0.1:${(otherServer.address() as { port: number }).port}`;
    const serve = ['serve', '--listen', '127.0.0.1:0', '--data', join(directory, 'other')];
    const ran = await runTurnpike([...serve, '--admin-listen', taken]);
    expect([ran.exitCode, ran.error]).toEqual([
      1,
      expect.stringContaining(`--admin-listen: cannot listen on ${taken}`),
    ]);
    const wrong = await runTurnpike([...serve, '--admin-listen', '8081']);
    expect([wrong.exitCode, wrong.error]).toEqual([2, expect.stringContaining('--admin-listen: must be ADDRESS:PORT')]);
    otherServer.close();
  });
});
