// The admin API on a port of its own: by flag, by variable and by setting. There it is found by commands,
// beside messages it is not, and a port that cannot be had changes nothing.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../support/make-certificate.ts';
import { runTurnpike } from '../support/run-turnpike.ts';
import { spawnTurnpike, startTurnpike, type Turnpike } from '../support/start-turnpike.ts';

interface Operator {
  url: string;
  token: string;
}

const operatorOf = ({ dataDirectory }: Turnpike) =>
  JSON.parse(readFileSync(join(dataDirectory, 'operator.json'), 'utf8')) as Operator;

const apply = (turnpike: Turnpike, settings: object, more: object = {}) =>
  turnpike.admin('POST', '/apply', { document: { settings }, ...more });

/** A port that nobody has. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** What each address answers to, as statuses: a message, the admin API, the metrics, a probe, anything else. */
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
    metrics: await statusOf('/metrics', { headers }),
    probe: await statusOf('/readyz'),
    other: await statusOf('/nothing'),
  };
}

const ALL = { message: 200, admin: 200, metrics: 200, probe: 200, other: 404 };
const MESSAGES_ONLY = { ...ALL, admin: 404, metrics: 404 };
const ADMIN_ONLY = { ...ALL, message: 404 };

test('by itself it answers where messages are answered', async () => {
  await using turnpike = await startTurnpike();
  expect(operatorOf(turnpike).url).toBe(turnpike.url);
  expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
});

test('a variable gives it a port of its own, and there alone it answers', async () => {
  await using turnpike = await startTurnpike(undefined, { TURNPIKE_ADMIN_LISTEN: '127.0.0.1:0' });
  const { url } = operatorOf(turnpike);
  expect(url).not.toBe(turnpike.url);
  expect(await statusesAt(turnpike.url, turnpike)).toEqual(MESSAGES_ONLY);
  expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);
  const refused = await fetch(`${turnpike.url}/api/v1/accounts`);
  expect(await refused.json()).toMatchObject({ error: { code: 'route_not_found' } });
});

describe('the setting', () => {
  test('moves it at once, the one who asked is answered, and commands find it', async () => {
    await using turnpike = await startTurnpike();
    const listen = `127.0.0.1:${await freePort()}`;
    expect(await apply(turnpike, { admin_listen: listen })).toMatchObject({ changes: [{ kind: 'settings' }] });
    const { url } = operatorOf(turnpike);
    expect(url).toBe(`http://${listen}`);
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(MESSAGES_ONLY);
    expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);

    const other = `127.0.0.1:${await freePort()}`;
    await apply(turnpike, { admin_listen: other });
    expect(operatorOf(turnpike).url).toBe(`http://${other}`);
    await expect(fetch(`${url}/readyz`, { keepalive: false })).rejects.toThrow();
    expect(await statusesAt(`http://${other}`, turnpike)).toEqual(ADMIN_ONLY);

    await apply(turnpike, { drain_seconds: 5 }); // whole settings: what is left out goes back to its default
    expect(operatorOf(turnpike).url).toBe(turnpike.url);
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
    await expect(fetch(`http://${other}/readyz`, { keepalive: false })).rejects.toThrow();
  });

  test('that names a port that cannot be had is a fault, and changes nothing', async () => {
    await using turnpike = await startTurnpike();
    const stranger = createServer();
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const { port } = stranger.address() as { port: number };
    for (const [listen, words] of [
      [`127.0.0.1:${port}`, 'another program has this port'],
      ['192.0.2.1:8081', 'this machine has no such address'],
      [new URL(turnpike.url).host, 'messages are answered there'],
    ])
      for (const dry_run of [false, true])
        await expect(apply(turnpike, { admin_listen: listen, drain_seconds: 7 }, { dry_run })).rejects.toThrow(
          new RegExp(`400 .*"path":\\["settings","admin_listen"\\],"message":"[^"]*${words}`),
        );
    stranger.close();
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
    const { changes } = await apply(turnpike, { drain_seconds: 7 }, { dry_run: true });
    expect(changes).toMatchObject([{ action: 'create', kind: 'settings' }]);
  });

  test('is tried by a dry run, and not put in force', async () => {
    await using turnpike = await startTurnpike();
    const listen = `127.0.0.1:${await freePort()}`;
    await apply(turnpike, { admin_listen: listen }, { dry_run: true });
    expect(await statusesAt(turnpike.url, turnpike)).toEqual(ALL);
    await apply(turnpike, { admin_listen: listen }); // the port is free again
    expect(await statusesAt(`http://${listen}`, turnpike)).toEqual(ADMIN_ONLY);
  });

  test('gives way to the flag or variable', async () => {
    await using turnpike = await startTurnpike(undefined, { TURNPIKE_ADMIN_LISTEN: '127.0.0.1:0' });
    const { url } = operatorOf(turnpike);
    await apply(turnpike, { admin_listen: `127.0.0.1:${await freePort()}` });
    expect(operatorOf(turnpike).url).toBe(url);
    expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);
  });
});

describe('as a process', () => {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-admin-listen-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('it is told of at the start, has the same TLS, and the setting holds over a new start', async () => {
    const { certificate, key } = makeCertificate('admin');
    const [certificatePath, keyPath] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
    await Bun.write(certificatePath, certificate);
    await Bun.write(keyPath, key);
    const data = join(directory, 'data');
    const flags = ['--tls-certificate', certificatePath, '--tls-key', keyPath];
    const listen = `127.0.0.1:${await freePort()}`;
    {
      await using turnpike = await spawnTurnpike(data, {}, [...flags, '--admin-listen', '127.0.0.1:0']);
      const { url } = operatorOf(turnpike);
      expect(url).toStartWith('https://127.0.0.1:');
      expect(await statusesAt(turnpike.url, turnpike)).toEqual(MESSAGES_ONLY);
      expect(await statusesAt(url, turnpike)).toEqual(ADMIN_ONLY);
      await apply(turnpike, { admin_listen: listen }); // the flag still stands
      expect(operatorOf(turnpike).url).toBe(url);
    }
    {
      await using turnpike = await spawnTurnpike(data, {}, flags);
      expect(operatorOf(turnpike).url).toBe(`https://${listen}`);
      const listed = await runTurnpike(['account', 'list', '--json', '--data', data]);
      expect([listed.exitCode, JSON.parse(listed.out)]).toEqual([0, [expect.objectContaining({ name: 'demo' })]]);
    }
  });

  test('a port that cannot be had at the start is told by what wanted it', async () => {
    const stranger = createServer();
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const taken = `127.0.0.1:${(stranger.address() as { port: number }).port}`;
    const serve = ['serve', '--listen', '127.0.0.1:0', '--data', join(directory, 'other')];
    const ran = await runTurnpike([...serve, '--admin-listen', taken]);
    expect([ran.exitCode, ran.error]).toEqual([
      1,
      expect.stringContaining(`--admin-listen: cannot listen on ${taken}`),
    ]);
    const wrong = await runTurnpike([...serve, '--admin-listen', '8081']);
    expect([wrong.exitCode, wrong.error]).toEqual([2, expect.stringContaining('--admin-listen: must be ADDRESS:PORT')]);
    stranger.close();
  });
});
