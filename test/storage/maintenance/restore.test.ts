// A backup restored on another machine: with the secret everything works as before; without it the service does not
// start and the doctor names what is missing.

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseId } from '../../../src/base/ids.ts';
import type { Finding } from '../../../src/commands/commands.ts';
import { bounds } from '../../../src/config/config.ts';
import { GroupCommit } from '../../../src/ledger/ledger.ts';
import {
  ConnectionWriter,
  databasePath,
  openForWriting,
  SqliteLedgerStore,
} from '../../../src/storage/sqlite/sqlite.ts';
import { NO_LIMITS } from '../../money/ledger/workbench.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const RESERVED_NANO = 500_000_000;
const CREDENTIAL = 'sk-provider-0123456789';
const hello = { model: 'remote', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] };
const long = { model: 'sandbox-lorem', max_tokens: 20_000, stream: true, messages: [{ role: 'user', content: 'go' }] };

let directory: string;
let upstream: ScriptedUpstream;
let first: TurnpikeProcess;
let made: { account: string; key: string; secret: string };
let token: string;
let openRequestId: string;
let backupFile: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-restore-'));
  upstream = await startScriptedUpstream(scripts.good());
  first = await spawnTurnpike(join(directory, 'first'));
  await first.admin('POST', '/apply', {
    document: {
      providers: {
        remote: { kind: 'anthropic', base_url: upstream.url, api_key: CREDENTIAL, private_network: true },
      },
      models: { remote: { price: { input: '1', output: '5' }, routes: [{ provider: 'remote' }] } },
    },
  });
  made = await first.makeKey({ credit: '10.00' });
  token = (await first.admin('POST', '/tokens', { role: 'viewer' }))['token'] as string;
  await takeBackupUnderLoad();
});
afterAll(async () => {
  await first.stop();
  await upstream.close();
  rmSync(directory, { recursive: true, force: true });
});
afterEach(() => rmSync(join(directory, 'second'), { recursive: true, force: true }));

/** One message is mid-stream while others start and end. */
async function takeBackupUnderLoad(): Promise<void> {
  let isOver = false;
  const loops = Array.from({ length: 4 }, async () => {
    while (!isOver) await (await first.post(made.secret, hello)).text();
  });
  const open = await first.post(made.secret, long);
  openRequestId = open.headers.get('request-id') ?? '';
  await first.admin('GET', `/accounts/${made.account}`); // such a read writes the hold, which may be in memory only
  backupFile = join(directory, 'backup.db');
  const { exitCode, out } = await runTurnpike(['backup', backupFile, '--data', first.dataDirectory, '--json']);
  expect([exitCode, JSON.parse(out).check.open_holds]).toEqual([0, expect.any(Number)]);
  expect(JSON.parse(out).check.open_holds).toBeGreaterThan(0);
  isOver = true;
  await Promise.all(loops);
  await open.body?.cancel();
}

/** Follows docs/operating.md: an empty directory, the copy, the secret. */
function restore(secretFile: string | null): string {
  const data = join(directory, 'second');
  mkdirSync(data, { mode: 0o700 });
  copyFileSync(backupFile, join(data, 'turnpike.db'));
  if (secretFile !== null) copyFileSync(secretFile, join(data, 'secret'));
  return data;
}

async function diagnose(data: string, environment: Record<string, string> = {}) {
  const { exitCode, out, error } = await runTurnpike(['doctor', '--data', data, '--json'], environment);
  const findings = JSON.parse(out) as Finding[];
  return { exitCode, findings, codes: findings.map(({ code }) => code), error };
}

/** As a batch had, whose reserve is older than any node without a lease may leave a hold. */
async function reserveIn(data: string): Promise<void> {
  const database = openForWriting(databasePath(data));
  const clock = { nowMs: () => Date.now() - 2 * bounds.holdEndMsMax };
  const gate = new GroupCommit(new SqliteLedgerStore(database, clock, new ConnectionWriter(database)));
  const [account, key] = [parseId('acct', made.account) ?? 0, parseId('key', made.key) ?? 0];
  const of = {
    requestId: 'rsv_5000000000_0',
    account,
    key,
    group: 'default',
    limits: NO_LIMITS,
    amount: RESERVED_NANO,
  };
  const draft = { model: 'remote', stream: false };
  expect(await gate.submit({ operations: [{ kind: 'reserve', ...of, draft }] })).toMatchObject([{ ok: true }]);
  database.close();
}

test('with the secret, the ledger check passes, keys, tokens and credentials work, and open holds but reserves are released', async () => {
  const data = restore(join(first.dataDirectory, 'secret'));
  await reserveIn(data);
  const check = await runTurnpike(['check', '--data', data, '--json']);
  expect([check.exitCode, JSON.parse(check.out)]).toMatchObject([0, { ok: true, faults: [] }]);
  expect((await diagnose(data)).findings.filter(({ severity }) => severity === 'error')).toEqual([]);

  await using second = await spawnTurnpike(data);
  const answer = await second.post(made.secret, hello);
  expect(answer.status).toBe(200);
  await answer.text();
  expect(upstream.requests.at(-1)?.headers['x-api-key']).toBe(CREDENTIAL);
  const me = await fetch(`${second.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
  expect(await me.json()).toMatchObject({ role: 'viewer' });
  expect(await second.admin('GET', `/usage/${openRequestId}`)).toMatchObject({ outcome: 'service_cut' });
  expect(await second.admin('GET', `/accounts/${made.account}`)).toMatchObject({ held: '0.50' });
  expect(await second.check()).toMatchObject({ ok: true, open_holds: 1 });
  expect((await diagnose(data)).exitCode).toBe(0);
});

test('without the secret the service does not start, and the doctor names what is missing with the remedy', async () => {
  const data = restore(null);
  const serve = await runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', data]);
  expect([serve.exitCode, serve.out]).toEqual([1, '']);
  expect(serve.error).toContain(`the file ${join(data, 'secret')} is missing`);
  const { exitCode, findings, error } = await diagnose(data);
  expect([exitCode, error]).toEqual([1, '']);
  const [finding] = findings.filter(({ severity }) => severity === 'error');
  expect(finding).toMatchObject({ code: 'secret_missing', subject: `file ${join(data, 'secret')}` });
  expect(finding?.remedy).toContain('TURNPIKE_SECRET');
  const inWords = await runTurnpike(['doctor', '--data', data]);
  expect([inWords.exitCode, inWords.out]).toEqual([1, expect.stringContaining('Remedy: Restore the file "secret"')]);
  // With the secret, it works again.
  copyFileSync(join(first.dataDirectory, 'secret'), join(data, 'secret'));
  expect((await diagnose(data)).exitCode).toBe(0);
});

test.each(['file', 'environment'] as const)(
  'with another secret in its %s the service does not start either',
  async (place) => {
    const other = Buffer.alloc(32, 9).toString('base64');
    const data = restore(null);
    if (place === 'file') writeFileSync(join(data, 'secret'), other, { mode: 0o600 });
    const environment: Record<string, string> = place === 'file' ? {} : { TURNPIKE_SECRET: other };
    const serve = await runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', data], environment);
    expect([serve.exitCode, serve.out]).toEqual([1, '']);
    expect(serve.error).toContain('this is not the secret of the installation');
    const { exitCode, codes, findings } = await diagnose(data, environment);
    expect([exitCode, codes[0]]).toEqual([1, 'secret_wrong']);
    expect(JSON.stringify([findings, serve.error])).not.toContain(other);
  },
);

test('restored files that other users can read are reported', async () => {
  const data = restore(join(first.dataDirectory, 'secret'));
  chmodSync(join(data, 'secret'), 0o644);
  const { exitCode, findings } = await diagnose(data);
  expect(exitCode).toBe(1);
  expect(findings).toContainEqual(
    expect.objectContaining({ code: 'open_to_others', remedy: `chmod 600 ${join(data, 'secret')}` }),
  );
});
