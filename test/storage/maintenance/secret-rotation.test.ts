// Rotation of the installation's secret: both secrets are accepted meanwhile, an interruption loses nothing, and
// afterwards the former one is no longer needed.

import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeKeySecret } from '../../../src/accounts/accounts.ts';
import type { SecretStatus } from '../../../src/commands/commands.ts';
import { hashSecret, openVault } from '../../../src/secrets/secrets.ts';
import { makeRandom } from '../../support/random.ts';
import { runTurnpike, spawnCommand } from '../../support/run-turnpike.ts';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const CREDENTIAL = 'sk-provider-0123456789';
const KILLS = 4;
const hello = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] };

let data: string;
let upstream: ScriptedUpstream;
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), 'turnpike-rotation-'));
  upstream = await startScriptedUpstream(scripts.good());
});
afterEach(async () => {
  await upstream.close();
  rmSync(data, { recursive: true, force: true });
});

type Environment = Record<string, string>;

function secretCommand(...given: string[]) {
  return runTurnpike(['secret', ...given, '--data', data, '--json']);
}

async function secretStatus(environment: Environment = {}): Promise<SecretStatus> {
  return JSON.parse((await runTurnpike(['secret', 'status', '--data', data, '--json'], environment)).out);
}

/** The doctor's findings without those about this machine. */
async function findingsOf(environment: Environment = {}): Promise<string[]> {
  const { out } = await runTurnpike(['doctor', '--data', data, '--json'], environment);
  const codes = (JSON.parse(out) as { code: string }[]).map(({ code }) => code);
  return codes.filter((code) => !['first_key_file', 'open_files_low', 'service_not_running'].includes(code));
}

const secretFile = () => readFileSync(join(data, 'secret'), 'utf8');

/** A provider with a credential, two keys, a token, and a creation that can be retried. */
async function furnish(turnpike: TurnpikeProcess) {
  await turnpike.admin('POST', '/apply', {
    document: {
      providers: {
        remote: {
          kind: 'anthropic',
          base_url: upstream.url,
          api_key: CREDENTIAL,
          private_network: true,
          credentials: {
            further: { api_key: 'sk-provider-of-a-group', group: 'sandbox' },
            referenced: { auth: { type: 'file', path: '/run/secrets/provider' }, group: 'sandbox' },
          },
        },
      },
      models: { remote: { price: { input: '1', output: '5' }, routes: [{ provider: 'remote' }] } },
    },
  });
  const used = await turnpike.makeKey();
  const unused = await turnpike.makeKey();
  const token = (await turnpike.admin('POST', '/tokens', { role: 'operator' }))['token'] as string;
  return { used: used.secret, unused: unused.secret, token, account: used.account };
}

async function statusOf(turnpike: TurnpikeProcess, secret: string, model = 'sandbox-echo'): Promise<number> {
  const answer = await turnpike.post(secret, { ...hello, model });
  await answer.text();
  return answer.status;
}

async function tokenStatus(turnpike: TurnpikeProcess, token: string): Promise<number> {
  return (await fetch(`${turnpike.url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } })).status;
}

/** Creates a key under one idempotency key, with a token. */
async function createOnce(turnpike: TurnpikeProcess, token: string, account: string): Promise<string> {
  const answer = await fetch(`${turnpike.url}/api/v1/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'the-same' },
    body: JSON.stringify({ account }),
  });
  return ((await answer.json()) as { key: string }).key;
}

/** Replaces the hashes of these secrets by those of a former version, which stored no hash keys. */
function storeAsFormerVersion(secrets: readonly string[]): void {
  const [former] = openVault(Buffer.from(secretFile(), 'base64')).formerHashKeys;
  if (former === undefined) throw new Error('a vault has a former hash key');
  const key = Buffer.from(former.keyBase64, 'base64');
  const database = new Database(join(data, 'turnpike.db'));
  for (const secret of secrets) {
    const hmac = `${former.id}.${createHmac('sha256', key).update(secret).digest('base64url')}`;
    const changes = ['key_secrets SET secret_hash', 'tokens SET secret_hash', 'people SET link_hash'].map((change) => {
      const column = change.split(' ').at(-1);
      return database.run(`UPDATE ${change} = ? WHERE ${column} = ?`, [hmac, hashSecret(secret)]).changes;
    });
    expect(changes.reduce((sum, count) => sum + count)).toBe(1);
  }
  database.run("DELETE FROM installation WHERE name = 'former_hash_keys'");
  database.close();
}

async function linkStatus(turnpike: TurnpikeProcess, secret: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ secret });
  return (await fetch(`${turnpike.url}/api/v1/invitations/show`, { method: 'POST', headers, body })).status;
}

describe('a secret that is kept in a file', () => {
  test('is replaced while the service runs, applies from the next start, and the former one is removed once nothing needs it', async () => {
    let turnpike = await spawnTurnpike(data);
    const { used, unused, token, account } = await furnish(turnpike);
    const created = await createOnce(turnpike, token, account);
    const old = secretFile();
    expect((await secretCommand('rotate')).exitCode).toBe(0);
    expect([secretFile() === old, readFileSync(join(data, 'secret.previous'), 'utf8')]).toEqual([false, old]);
    expect(statSync(join(data, 'secret')).mode & 0o777).toBe(0o600);
    expect(statSync(join(data, 'secret.previous')).mode & 0o777).toBe(0o600);

    // Until the restart everything uses the former one.
    expect(await secretStatus()).toMatchObject({ state: 'at_next_start' });
    expect(await findingsOf()).toEqual(['secret_change_pending']);
    const madeMeanwhile = await turnpike.makeKey();
    expect(await statusOf(turnpike, used)).toBe(200);
    expect((await secretCommand('rotate')).error).toContain('restart the service first');
    expect((await secretCommand('forget-previous')).error).toContain('restart the service first');
    await turnpike.stop();

    turnpike = await spawnTurnpike(data);
    expect(await secretStatus()).toMatchObject({ state: 'in_force', credentials_on_previous: 0 });
    expect(await findingsOf()).toEqual(['previous_secret_not_needed']);
    expect(await statusOf(turnpike, used, 'remote')).toBe(200);
    expect(upstream.requests.at(-1)?.headers['x-api-key']).toBe(CREDENTIAL);
    const { credentials } = await turnpike.admin('GET', '/providers/remote');
    expect(credentials).toContainEqual({
      name: 'referenced',
      auth: 'file',
      failure: expect.stringContaining('does not exist'),
      account: null,
      group: 'sandbox',
    });
    expect([await statusOf(turnpike, used), await statusOf(turnpike, madeMeanwhile.secret)]).toEqual([200, 200]);
    expect(await tokenStatus(turnpike, token)).toBe(200);
    expect(await createOnce(turnpike, token, account)).toBe(created);
    expect(JSON.parse((await secretCommand('forget-previous')).out)).toEqual({ forgotten: true });
    expect(existsSync(join(data, 'secret.previous'))).toBe(false);
    await turnpike.stop();

    turnpike = await spawnTurnpike(data);
    for (const secret of [used, unused, created, madeMeanwhile.secret])
      expect(await statusOf(turnpike, secret)).toBe(200);
    expect([await tokenStatus(turnpike, token), await createOnce(turnpike, token, account)]).toEqual([200, created]);
    expect(await statusOf(turnpike, used, 'remote')).toBe(200);
    expect(await findingsOf()).toEqual([]);
    const { data: records } = await turnpike.admin('GET', '/audit?object=installation');
    expect(records).toMatchObject([{ actor: 'start', role: 'service', action: 'secret.rotate' }]);
    expect(await turnpike.check()).toMatchObject({ ok: true });
    await turnpike.stop();
  });

  test('does not affect keys, tokens and links that a former version stored as HMACs', async () => {
    let turnpike = await spawnTurnpike(data);
    const { used, unused, token } = await furnish(turnpike);
    const invited = await turnpike.admin('POST', '/people', { role: 'viewer', email: 'ann@example.com' });
    const link = String(invited['link_secret']);
    await turnpike.stop();
    storeAsFormerVersion([used, unused, token, link]);
    expect(await findingsOf()).toEqual([]);
    for (let starts = 0; starts < 2; starts++) {
      turnpike = await spawnTurnpike(data);
      for (const secret of [used, unused]) expect(await statusOf(turnpike, secret, 'remote')).toBe(200);
      expect([await tokenStatus(turnpike, token), await linkStatus(turnpike, link)]).toEqual([200, 200]);
      expect(await statusOf(turnpike, makeKeySecret().secret.reveal())).toBe(401);
      expect((await secretCommand('rotate')).exitCode).toBe(0);
      await turnpike.stop();
      turnpike = await spawnTurnpike(data);
      expect((await secretCommand('forget-previous')).exitCode).toBe(0);
      await turnpike.stop();
    }
  });

  test('is needed for a backup as long as it is needed here', async () => {
    let turnpike = await spawnTurnpike(data);
    const { used } = await furnish(turnpike);
    await secretCommand('rotate');
    const copy = join(data, 'copy.db');
    const { out, error } = await runTurnpike(['backup', copy, '--data', data, '--json']);
    expect(JSON.parse(out)).toMatchObject({ previous_secret: `file:${join(data, 'secret.previous')}` });
    expect(error).toContain('still needed as well');
    await turnpike.stop();
    const restored = mkdtempSync(join(tmpdir(), 'turnpike-rotation-'));
    for (const [from, to] of Object.entries({
      'copy.db': 'turnpike.db',
      secret: 'secret',
      'secret.previous': 'secret.previous',
    }))
      copyFileSync(join(data, from), join(restored, to));
    turnpike = await spawnTurnpike(restored);
    expect(await statusOf(turnpike, used, 'remote')).toBe(200);
    await turnpike.stop();
    rmSync(restored, { recursive: true });
  });

  test(`is intact after a rotation that was killed, ${KILLS} times`, async () => {
    let turnpike = await spawnTurnpike(data);
    const { used } = await furnish(turnpike);
    await turnpike.stop();
    const random = makeRandom(5);
    for (let kill = 0; kill < KILLS; kill++) {
      const child = spawnCommand(['secret', 'rotate', '--data', data]);
      await Bun.sleep(90 + random() * 90);
      child.kill('SIGKILL');
      await child.exited;
      expect(['in_force', 'at_next_start']).toContain((await secretStatus()).state);
    }
    turnpike = await spawnTurnpike(data);
    expect(await statusOf(turnpike, used, 'remote')).toBe(200);
    await turnpike.stop();
  });

  test('that was written to both files, but not applied, is still in force', async () => {
    const turnpike = await spawnTurnpike(data);
    const { used } = await furnish(turnpike);
    await turnpike.stop();
    copyFileSync(join(data, 'secret'), join(data, 'secret.previous'));
    expect(await secretStatus()).toMatchObject({ state: 'in_force', previous_secret: null });
    await using again = await spawnTurnpike(data);
    expect(await statusOf(again, used)).toBe(200);
    expect((await secretCommand('rotate')).exitCode).toBe(0);
  });

  test(`is entirely the former or entirely the new one after a start that was killed, ${KILLS} times`, async () => {
    let turnpike = await spawnTurnpike(data);
    const { used, token } = await furnish(turnpike);
    await secretCommand('rotate');
    await turnpike.stop();
    const random = makeRandom(3);
    for (let kill = 0; kill < KILLS; kill++) {
      const child = spawnCommand(['serve', '--listen', '127.0.0.1:0', '--data', data]);
      await Bun.sleep(100 + random() * 150);
      child.kill('SIGKILL');
      await child.exited;
      expect(['in_force', 'at_next_start']).toContain((await secretStatus()).state);
    }
    turnpike = await spawnTurnpike(data);
    expect([await statusOf(turnpike, used, 'remote'), await tokenStatus(turnpike, token)]).toEqual([200, 200]);
    const { data: records } = await turnpike.admin('GET', '/audit?object=installation');
    expect(records).toHaveLength(1);
    await turnpike.stop();
  });
});

describe('a secret that the environment gives', () => {
  const [first, second] = [1, 2].map((fill) => Buffer.alloc(32, fill).toString('base64')) as [string, string];

  test('is replaced there: first both secrets, then the new one alone', async () => {
    let turnpike = await spawnTurnpike(data, { TURNPIKE_SECRET: first });
    const { used, unused, token } = await furnish(turnpike);
    await turnpike.stop();
    const alone = await runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', data], { TURNPIKE_SECRET: second });
    expect([alone.exitCode, alone.error]).toEqual([1, expect.stringContaining('TURNPIKE_PREVIOUS_SECRET')]);
    const both = { TURNPIKE_SECRET: second, TURNPIKE_PREVIOUS_SECRET: first };
    turnpike = await spawnTurnpike(data, both);
    for (const secret of [used, unused, turnpike.key]) expect(await statusOf(turnpike, secret)).toBe(200);
    expect([await tokenStatus(turnpike, token), await statusOf(turnpike, used, 'remote')]).toEqual([200, 200]);
    expect(await secretStatus(both)).toMatchObject({ credentials_on_previous: 0, secret: 'TURNPIKE_SECRET' });
    await turnpike.stop();
    turnpike = await spawnTurnpike(data, { TURNPIKE_SECRET: second });
    expect([await statusOf(turnpike, unused, 'remote'), await tokenStatus(turnpike, token)]).toEqual([200, 200]);
    expect(existsSync(join(data, 'secret'))).toBe(false);
    await turnpike.stop();
  });

  test('is not replaced by the command, which prints how to do it', async () => {
    await (await spawnTurnpike(data, { TURNPIKE_SECRET: first })).stop();
    const given = ['secret', 'rotate', '--data', data];
    const { exitCode, error } = await runTurnpike(given, { TURNPIKE_SECRET: first });
    expect([exitCode, error]).toEqual([1, expect.stringContaining('TURNPIKE_PREVIOUS_SECRET')]);
  });

  test('can come from a former file, or move into one', async () => {
    let turnpike = await spawnTurnpike(data);
    const { used } = await furnish(turnpike);
    await turnpike.stop();
    turnpike = await spawnTurnpike(data, { TURNPIKE_SECRET: second, TURNPIKE_PREVIOUS_SECRET: secretFile().trim() });
    expect(await statusOf(turnpike, used)).toBe(200);
    await turnpike.stop();
    writeFileSync(join(data, 'secret'), `${first}\n`, { mode: 0o600 });
    turnpike = await spawnTurnpike(data, { TURNPIKE_PREVIOUS_SECRET: second });
    expect(await statusOf(turnpike, used, 'remote')).toBe(200);
    await turnpike.stop();
  });

  test('that is repeated, empty or too short is a settings error that does not print it', async () => {
    const faultOf = async (environment: Environment) => {
      const { exitCode, error } = await runTurnpike(['serve', '--listen', '127.0.0.1:0', '--data', data], environment);
      expect(error).not.toContain(first);
      return [exitCode, error.split('\n')[0]];
    };
    expect(await faultOf({ TURNPIKE_SECRET: first, TURNPIKE_PREVIOUS_SECRET: first })).toEqual([
      2,
      'turnpike serve: TURNPIKE_PREVIOUS_SECRET: is the same as TURNPIKE_SECRET; omit it',
    ]);
    for (const previous of ['', 'c2hvcnQ='])
      expect(await faultOf({ TURNPIKE_SECRET: first, TURNPIKE_PREVIOUS_SECRET: previous })).toEqual([
        2,
        expect.stringContaining('TURNPIKE_PREVIOUS_SECRET: '),
      ]);
  });
});
