// The doctor on real installations: sound and broken ones, with and without their service.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../../../src/commands/commands.ts';
import { readText } from '../../sources.ts';
import { runTurnpike, spawnCommand } from '../../support/run-turnpike.ts';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { selfSigned } from '../../support/self-signed.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

const OF_THIS_MACHINE = ['open_files_low', 'disk_nearly_full'];

let directory: string;
let sound: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-doctor-'));
  sound = join(directory, 'sound');
  await (await spawnTurnpike(sound)).stop();
  rmSync(join(sound, 'first-key.txt'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A copy of a sound, stopped installation. */
function copyOf(name: string): string {
  const data = join(directory, name);
  cpSync(sound, data, { recursive: true });
  chmodSync(data, 0o700);
  return data;
}

/** Runs it in both formats, and returns the findings without those about this machine. */
async function examine(data: string, environment: Record<string, string> = {}, ...flags: string[]) {
  const given = ['doctor', '--data', data, ...flags];
  const [json, words] = await Promise.all([
    runTurnpike([...given, '--json'], environment),
    runTurnpike(given, environment),
  ]);
  expect([json.exitCode, json.error]).toEqual([words.exitCode, words.error]);
  expect(json.out + json.error + words.out).not.toMatch(/^\s+at .*\.ts:\d+/m);
  const findings = JSON.parse(json.out) as Finding[];
  for (const { code, message, remedy } of findings)
    expect(words.out).toContain(`(${code})\n  ${message}\n  Remedy: ${remedy}\n`);
  expect(json.exitCode).toBe(findings.some(({ severity }) => severity === 'error') ? 1 : 0);
  const codes = findings.map(({ code }) => code).filter((code) => !OF_THIS_MACHINE.includes(code));
  return { exitCode: json.exitCode, codes, words: words.out, notes: words.error };
}

describe('a sound installation', () => {
  test('that is stopped has only that finding, and is not changed', async () => {
    const data = copyOf('stopped');
    const before = readdirSync(data).sort();
    expect(await examine(data)).toMatchObject({ exitCode: 0, codes: ['service_not_running'] });
    const isOwn = (name: string) => !/-(?:shm|wal|journal)$/.test(name); // SQLite creates these while it reads.
    expect(readdirSync(data).filter(isOwn).sort()).toEqual(before.filter(isOwn));
  });

  test('that runs has no findings', async () => {
    const data = copyOf('running');
    await using _turnpike = await spawnTurnpike(data);
    const { exitCode, codes, words } = await examine(data);
    expect([exitCode, codes]).toEqual([0, []]);
    if (!words.includes('open_files_low')) expect(words).toBe(`No problems found in ${data}.\n`);
  });

  test('has only files that the documentation lists', async () => {
    const chapter = (readText('docs/operating.md') ?? '').split('\n## The data directory')[1]?.split('\n## ')[0] ?? '';
    const rows = [...chapter.matchAll(/^\| (`[^|]*`) \|/gm)].map(([, names = '']) => names);
    const documented = rows.flatMap((names) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string));
    await using turnpike = await spawnTurnpike(join(directory, 'listed'));
    expect(readdirSync(turnpike.dataDirectory).filter((name) => !documented.includes(name))).toEqual([]);
  });

  test('can be started while the doctor runs', async () => {
    const data = copyOf('glanced-at');
    let isOver = false;
    const glances = (async () => {
      while (!isOver) await runTurnpike(['doctor', '--data', data, '--json']);
    })();
    for (let start = 0; start < 3; start++) await (await spawnTurnpike(data)).stop();
    isOver = true;
    await glances;
  });

  test("after its first start is warned about the first key's file", async () => {
    await using turnpike = await spawnTurnpike(join(directory, 'new'));
    expect(await examine(turnpike.dataDirectory)).toMatchObject({ exitCode: 0, codes: ['first_key_file'] });
  });
});

describe('a broken installation', () => {
  test('without a data directory or a database', async () => {
    expect(await examine(join(directory, 'nowhere'))).toMatchObject({ exitCode: 1, codes: ['directory_missing'] });
    expect(existsSync(join(directory, 'nowhere'))).toBe(false);
    mkdirSync(join(directory, 'empty'), { mode: 0o700 });
    expect(await examine(join(directory, 'empty'))).toMatchObject({ exitCode: 1, codes: ['database_missing'] });
    writeFileSync(join(directory, 'a-file'), 'no directory');
    expect((await examine(join(directory, 'a-file'))).exitCode).toBe(1);
  });

  test('whose database is another file, truncated or empty', async () => {
    const data = copyOf('foreign');
    writeFileSync(join(data, 'turnpike.db'), 'this is something else, and long enough to be looked at'.repeat(100));
    expect(await examine(data)).toMatchObject({ exitCode: 1, codes: ['database_unreadable', 'service_not_running'] });
    const cut = copyOf('cut');
    truncateSync(join(cut, 'turnpike.db'), 40_000);
    const { exitCode, codes } = await examine(cut);
    expect([exitCode, ['database_unreadable', 'database_broken'].includes(codes[0] ?? '')]).toEqual([1, true]);
    const hollow = copyOf('hollow');
    truncateSync(join(hollow, 'turnpike.db'), 0);
    expect((await examine(hollow)).codes).toEqual([
      'commits_lost',
      'database_of_earlier_version',
      'service_not_running',
    ]);
  });

  test('with a damaged sign-in database', async () => {
    const data = copyOf('signless');
    writeFileSync(join(data, 'sign-in.db'), 'this is something else, and long enough to be looked at'.repeat(100), {
      mode: 0o600,
    });
    expect(await examine(data)).toMatchObject({ exitCode: 1, codes: ['sign_in_broken', 'service_not_running'] });
  });

  test('whose secret is missing, another one, or invalid', async () => {
    const data = copyOf('secretless');
    rmSync(join(data, 'secret'));
    expect(await examine(data)).toMatchObject({ exitCode: 1, codes: ['secret_missing', 'service_not_running'] });
    writeFileSync(join(data, 'secret'), Buffer.alloc(32, 4).toString('base64'), { mode: 0o600 });
    expect(await examine(data)).toMatchObject({ exitCode: 1, codes: ['secret_wrong', 'service_not_running'] });
    writeFileSync(join(data, 'secret'), 'hello');
    expect(await examine(data)).toMatchObject({ exitCode: 1, codes: ['secret_unreadable', 'service_not_running'] });
  });

  test('of an earlier release, also without its secret', async () => {
    const data = copyOf('earlier');
    setVersion(data, 1);
    const codes = ['database_of_earlier_version', 'service_not_running'];
    expect(await examine(data)).toMatchObject({ exitCode: 0, codes });
    rmSync(join(data, 'secret'));
    expect(await examine(data)).toMatchObject({ exitCode: 1, codes: ['secret_missing', ...codes] });
    setVersion(data, 1_000);
    expect((await examine(data)).codes.slice(0, 2)).toEqual(['secret_missing', 'database_of_later_version']);
  });

  test('whose settings are wrong, all of them at once', async () => {
    const environment = { TURNPIKE_LOGG: 'json', TURNPIKE_SECRET: 'short' };
    const { exitCode, codes, words } = await examine(copyOf('settings'), environment);
    expect([exitCode, codes]).toEqual([1, ['setting_wrong', 'setting_wrong', 'service_not_running']]);
    expect(words).toContain('TURNPIKE_LOGG: unknown setting');
  });

  test('whose files others can read', async () => {
    const data = copyOf('open');
    chmodSync(data, 0o755);
    chmodSync(join(data, 'secret'), 0o604);
    expect(await examine(data)).toMatchObject({
      exitCode: 1,
      codes: ['open_to_others', 'open_to_others', 'service_not_running'],
    });
  });

  test('whose service was killed', async () => {
    const turnpike = await spawnTurnpike(copyOf('killed'));
    turnpike.process.kill('SIGKILL');
    await turnpike.process.exited;
    expect(await examine(turnpike.dataDirectory)).toMatchObject({
      exitCode: 0,
      codes: ['service_not_running', 'operator_file_stale'],
    });
  });

  test('whose service hangs, or does not answer at the given address', async () => {
    const turnpike = await spawnTurnpike(copyOf('hanging'));
    turnpike.process.kill('SIGSTOP');
    try {
      expect(await examine(turnpike.dataDirectory)).toMatchObject({ exitCode: 1, codes: ['service_unreachable'] });
    } finally {
      turnpike.process.kill('SIGCONT');
    }
    const elsewhere = await examine(turnpike.dataDirectory, {}, '--url', 'http://127.0.0.1:9');
    expect(elsewhere).toMatchObject({ exitCode: 1, codes: ['service_unreachable'] });
    await turnpike.stop();
  });
});

describe('a service that runs', () => {
  test('reports which provider is down', async () => {
    await using upstream = await startScriptedUpstream(scripts.unauthorized());
    await using turnpike = await spawnTurnpike(copyOf('down'));
    await turnpike.admin('POST', '/apply', {
      document: {
        providers: { remote: { kind: 'anthropic', base_url: upstream.url, api_key: 'sk-x', private_network: true } },
        models: { remote: { price: { input: '1', output: '5' }, routes: [{ provider: 'remote' }] } },
      },
    });
    const { secret } = await turnpike.makeKey();
    for (let attempt = 0; attempt < 6; attempt++) await (await turnpike.post(secret, hello('remote'))).text();
    const { exitCode, codes, words } = await examine(turnpike.dataDirectory);
    expect([exitCode, codes]).toEqual([0, ['provider_down']]);
    expect(words).toContain('turnpike provider test remote');
  });

  test('with its secret in its environment has no finding for that', async () => {
    const environment = { TURNPIKE_SECRET: Buffer.alloc(32, 6).toString('base64') };
    await using turnpike = await spawnTurnpike(join(directory, 'environment'), environment);
    const codes = async (given: Record<string, string>) => (await examine(turnpike.dataDirectory, given)).codes;
    expect(await codes({})).toEqual(['first_key_file', 'secret_not_given']);
    expect(await codes(environment)).toEqual(['first_key_file']);
  });

  test('over TLS shows when its certificate expires, and one that others reach without TLS is reported', async () => {
    const data = copyOf('tls');
    for (const [name, text] of Object.entries({ 'a.crt': selfSigned.cert, 'a.key': selfSigned.key }))
      writeFileSync(join(directory, name), text);
    const tls = ['--tls-certificate', join(directory, 'a.crt'), '--tls-key', join(directory, 'a.key')];
    expect(await whileServing(['--listen', '0.0.0.0:0', '--data', data, ...tls], () => examine(data))).toMatchObject({
      exitCode: 0,
      codes: [], // The certificate is valid for a hundred years.
    });
    expect(await whileServing(['--listen', '0.0.0.0:0', '--data', data], () => examine(data))).toMatchObject({
      exitCode: 0,
      codes: ['listens_without_tls'],
    });
  });
});

function setVersion(data: string, version: number): void {
  using database = new Database(join(data, 'turnpike.db'));
  database.run(`PRAGMA user_version = ${version}`);
}

const hello = (model: string) => ({ model, max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] });

async function whileServing<Value>(given: string[], look: () => Promise<Value>): Promise<Value> {
  const child = spawnCommand(['serve', ...given]);
  for await (const chunk of child.stdout) if (Buffer.from(chunk).includes('listening on')) break;
  try {
    return await look();
  } finally {
    child.kill('SIGTERM');
    await child.exited;
  }
}
