// A provider whose credential is a file: the service follows the file, and shows nothing of it anywhere.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const FIRST = 'sk-upstream-first-6b1f0c';
const SECOND = 'sk-upstream-second-93ad2e';
const OWN = 'sk-upstream-of-acme-5d20e7';
const MESSAGE = { model: 'claude', max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] };

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-credential-')));
const path = join(directory, 'key');
const seen: string[] = [];
let upstream: ScriptedUpstream;
let turnpike: TurnpikeProcess;
let stderr: Promise<string>;

const documentWith = (auth: object) => ({
  providers: { vendor: { kind: 'anthropic', base_url: upstream.url, private_network: true, auth } },
  models: { claude: { price: { input: '3', output: '15' }, routes: [{ provider: 'vendor' }] } },
  groups: { default: { models: ['*'] } },
});
const keysSent = () =>
  upstream.requests.filter(({ method }) => method === 'POST').map((one) => one.headers['x-api-key']);

async function admin(method: 'GET' | 'POST', place: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await turnpike.admin(method, place, body);
  seen.push(JSON.stringify(answer));
  return answer;
}

async function post(secret: string): Promise<number> {
  const response = await turnpike.post(secret, MESSAGE);
  seen.push(JSON.stringify([...response.headers]), await response.text());
  return response.status;
}

beforeAll(async () => {
  upstream = await startScriptedUpstream(scripts.message());
  writeFileSync(path, `${FIRST}\n`);
  turnpike = await spawnTurnpike(undefined, {
    TURNPIKE_LOG: 'json',
    TURNPIKE_CREDENTIAL_DIRECTORIES: directory,
    TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
    ACME_API_KEY: OWN,
  });
  stderr = new Response(turnpike.process.stderr).text();
});
afterAll(async () => {
  await turnpike.stop();
  await upstream.close();
  rmSync(directory, { recursive: true });
});

describe('a credential in a file', () => {
  test('is used, and replaced once the file is; a lost file leaves the last one in use', async () => {
    await admin('POST', '/apply', { document: documentWith({ type: 'file', path }) });
    const { secret } = await turnpike.makeKey();
    expect(await post(secret)).toBe(200);
    writeFileSync(path, SECOND);
    await admin('POST', '/providers/vendor/test', {}); // reads it at once, and not only at the next interval
    expect(await post(secret)).toBe(200);
    expect(keysSent()).toEqual([FIRST, SECOND]);
    rmSync(path);
    const lost = await admin('POST', '/providers/vendor/test', {});
    expect(lost).toMatchObject({
      ok: false,
      fault: 'credentials',
      message: `The credential cannot be read: the file ${path} does not exist.`,
    });
    expect(await admin('GET', '/providers/vendor')).toMatchObject({
      credentials: [{ name: 'default', auth: 'file', failure: `the file ${path} does not exist` }],
    });
    expect(await post(secret)).toBe(200);
    expect(keysSent()).toEqual([FIRST, SECOND, SECOND]);
    upstream.play((answer, request) => {
      const echo = `no such key: ${request.headers['x-api-key']}`;
      answer.send(
        401,
        { 'content-type': 'application/json', 'x-echo': echo },
        JSON.stringify({ error: { message: echo } }),
      );
    });
    expect(await post(secret)).toBeGreaterThanOrEqual(500);
    writeFileSync(path, SECOND);
    expect(await admin('POST', '/providers/vendor/test', {})).toMatchObject({ ok: false, fault: 'credentials' });
  });

  test('is listed by its type, exported as it was applied, and unchanged when that is applied again', async () => {
    const auth = { type: 'file', path };
    const provider = await admin('GET', '/providers/vendor');
    expect(provider['credentials']).toMatchObject([{ name: 'default', auth: 'file', account: null, group: null }]);
    const exported = (await admin('GET', '/catalogue')) as { document?: object };
    const document = (exported.document ?? exported) as Record<string, Record<string, unknown>>;
    expect(document['providers']?.['vendor']).toMatchObject({ auth });
    expect(await admin('POST', '/apply', { document })).toMatchObject({ changes: [] });
  });

  test('of an account alone is a reference of its own', async () => {
    upstream.play(scripts.message());
    const { secret, account } = await turnpike.makeKey();
    const { providers, ...others } = documentWith({ type: 'file', path });
    const credentials = { acme: { auth: { type: 'env', name: 'ACME_API_KEY' }, account } };
    await admin('POST', '/apply', {
      document: { providers: { vendor: { ...providers.vendor, credentials } }, ...others },
    });
    expect(await post(secret)).toBe(200);
    expect(keysSent().at(-1)).toBe(OWN);
  });

  test('outside the directories is refused with the path of the fault', async () => {
    const refused = turnpike.admin('POST', '/apply', { document: documentWith({ type: 'file', path: '/etc/passwd' }) });
    await expect(refused).rejects.toThrow('"providers","vendor","auth","path"');
  });

  test('is in no log, answer, list or metric; the log has one line for each change of state', async () => {
    for (const place of ['/audit', '/usage', '/attention', '/events']) await admin('GET', place).catch(() => undefined);
    seen.push(await (await turnpike.scrape()).text());
    turnpike.process.kill('SIGTERM');
    await turnpike.process.exited;
    const log = await stderr;
    for (const text of [...seen, log]) for (const key of [FIRST, SECOND, OWN]) expect(text).not.toContain(key.slice(3));
    const lines = log.split('\n').filter((line) => line.includes('"credential_'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        event: 'credential_failed',
        provider: 'vendor',
        credential: 'default',
        auth: 'file',
        cause: `the file ${path} does not exist`,
      },
      { event: 'credential_resumed', provider: 'vendor', credential: 'default', auth: 'file' },
    ]);
  });
});
