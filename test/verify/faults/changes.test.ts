// Changes over the admin API while the disk cannot be written: each is refused without any effect, and a retry counts
// once.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Turnpike } from '../../support/start-turnpike.ts';
import { cannotFault, type Fault, startOnDisk } from './faulty-disk.ts';
import { type Row, readAll, send } from './witnesses.ts';

const directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Change {
  method: 'POST' | 'PATCH';
  path: string;
  body: object;
  idempotencyKey?: string;
}

async function ask({ dataDirectory }: Turnpike, { method, path, body, idempotencyKey }: Change) {
  const { url, token } = JSON.parse(readFileSync(join(dataDirectory, 'operator.json'), 'utf8'));
  const again: Record<string, string> = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...again },
    body: JSON.stringify(body),
  });
  return { status: response.status, answer: (await response.json()) as Row };
}

/** Reads the complete state of an installation that these changes can affect. */
async function readState(turnpike: Turnpike, account: string) {
  const paths = ['/accounts?', '/keys?', '/tokens?', `/accounts/${account}/entries?`, '/audit?'];
  const lists = await Promise.all(paths.map((path) => readAll(turnpike, path)));
  return { lists, models: (await turnpike.admin('GET', '/models'))['data'] };
}

function changesOf(account: string, key: string): Change[] {
  return [
    { method: 'POST', path: `/accounts/${account}/credits`, body: { amount: '3.00', reference: 'invoice 1' } },
    { method: 'POST', path: `/accounts/${account}/credits`, body: { amount: '-1.00', reference: 'correction 1' } },
    { method: 'POST', path: '/accounts', body: { name: 'new', credit: '1.00' }, idempotencyKey: 'account-1' },
    { method: 'POST', path: '/keys', body: { account }, idempotencyKey: 'key-1' },
    { method: 'POST', path: '/tokens', body: { role: 'viewer' }, idempotencyKey: 'token-1' },
    { method: 'PATCH', path: `/keys/${key}`, body: { quota: '7.00' } },
    { method: 'POST', path: '/apply', body: { document: { groups: { another: { models: ['*'] } } } } },
    { method: 'POST', path: `/keys/${key}/revoke`, body: {} },
  ];
}

const FAULTS: Fault[] = ['full', 'read-only', 'sync-fails', 'sync-loses'];

describe.skipIf(cannotFault)('a change on a disk that cannot be written', () => {
  for (const fault of FAULTS) {
    test.concurrent(`(${fault}) gets 503 and has no effect, and a retry on the recovered disk applies it once`, async () => {
      await using turnpike = await startOnDisk();
      const { account, key, secret } = await turnpike.makeKey();
      const changes = changesOf(account, key);
      const before = await readState(turnpike, account);
      turnpike.disk.set(fault);
      for (const change of [...changes, ...changes]) {
        const { status, answer } = await ask(turnpike, change);
        expect([change.path, status, (answer['error'] as Row)['code']]).toEqual([
          change.path,
          503,
          'store_unavailable',
        ]);
      }
      expect(await readState(turnpike, account)).toEqual(before);
      turnpike.disk.set('none');
      expect(await readState(turnpike, account)).toEqual(before);

      for (const change of changes) expect((await ask(turnpike, change)).status).toBeLessThan(300);
      const after = await readState(turnpike, account);
      const counts = after.lists.map((rows, at) => rows.length - (before.lists[at] as Row[]).length);
      expect(counts).toEqual([1, 1, 1, 2, changes.length]);
      expect(await send(turnpike, secret, true).done).toMatchObject({ status: 401, code: 'key_disabled' });

      for (const change of changes.slice(0, 5)) expect((await ask(turnpike, change)).status).toBeLessThan(300);
      expect(await readState(turnpike, account)).toEqual(after);
      expect((await turnpike.admin('GET', `/accounts/${account}`))['balance']).toBe('12.00');
      expect(await turnpike.check()).toMatchObject({ ok: true });
    });
  }

  test('followed by a kill: a credit with an unknown outcome is given once when it is retried', async () => {
    const amounts: unknown[] = [];
    let turnpike = await startOnDisk(directory);
    const { account } = await turnpike.makeKey({ credit: '0' });
    for (const [at, fault] of (['sync-fails', 'sync-loses', 'power-cut', 'full'] as const).entries()) {
      const credit: Change = {
        method: 'POST',
        path: `/accounts/${account}/credits`,
        body: { amount: '1.00', reference: `invoice ${at}` },
      };
      turnpike.disk.set(fault);
      const status = await ask(turnpike, credit).then(
        (asked) => asked.status,
        () => 'none',
      );
      expect(status).toBe(fault === 'power-cut' ? 'none' : 503);
      await turnpike.kill();
      turnpike = await startOnDisk(directory);
      expect((await ask(turnpike, credit)).status).toBeLessThan(300);
      expect((await ask(turnpike, credit)).answer['repeated']).toBe(true);
      amounts.push((await turnpike.admin('GET', `/accounts/${account}`))['balance']);
    }
    expect(amounts).toEqual(['1.00', '2.00', '3.00', '4.00']);
    expect((await readAll(turnpike, `/accounts/${account}/entries?`)).length).toBe(4);
    expect(await turnpike.check()).toMatchObject({ ok: true });
    await turnpike.stop();
  });
});
