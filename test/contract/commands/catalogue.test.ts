// `turnpike catalogue`: a newer price list from a file or a signed URL, shown, confirmed and taken.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { includedPriceList } from '../../../src/catalog/catalog.ts';
import { bounds } from '../../../src/config/config.ts';
import type { Json } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

const FILE = `
providers:
  vendor: { kind: anthropic, base_url: https://api.example.com }
models:
  claude-opus-5-5: { catalogue: true, routes: [{ provider: vendor, cost: catalogue }] }
  ours: { price: { input: 1, output: 2 }, aliases: [claude-opus-5], routes: [{ provider: vendor }] }
`;
const NEWEST = includedPriceList().asOf;
const NEXT = new Date(Date.parse(NEWEST) + 86_400_000).toISOString().slice(0, 10);
const row = { display_name: 'Claude', source: 'https://vendor.example/prices' };
const price = { input: '4', output: '21', cache_read: '0.2', cache_write_5m: '5', cache_write_1h: '8' };
const listOf = (changes: object = {}) => ({
  anthropic: {
    source: 'the test',
    models: {
      'claude-opus-5-5': { ...row, as_of: NEXT, price, ...changes },
      'claude-opus-5': { ...row, as_of: NEXT, price },
    },
  },
});

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
  const { clock } = world.installation;
  clock.advance(Math.max(0, Date.parse(NEXT) - clock.nowMs()));
  const { exitCode, error } = await world.run('apply', world.writeFile('turnpike.yaml', FILE));
  if (exitCode !== 0) throw new Error(error);
});
afterEach(() => world[Symbol.dispose]());

const fileOf = (list: unknown) => world.writeFile('list.json', typeof list === 'string' ? list : JSON.stringify(list));
const modelNamed = async (name: string) => (await world.runJson('model', 'show', name)) as Json;
const outputOf = async (name: string) => ((await modelNamed(name))['price'] as Json)['output'];

describe('an update of the price list', () => {
  test('shows what changes, and changes nothing without confirmation', async () => {
    const from = fileOf(listOf());
    const asked: string[] = [];
    world.world.confirm = async (question) => {
      asked.push(question);
      return false;
    };
    const refused = await world.run('catalogue', 'update', '--from', from);
    expect(refused.exitCode).toBe(1);
    expect(refused.error).toContain('no price was changed: confirm, or add --yes');
    expect(refused.out.split('\n').map((line) => line.split(/ {2,}/))).toContainEqual([
      'claude-opus-5-5',
      'output',
      '-',
      '20',
      '21',
      NEXT,
    ]);
    expect(asked).toEqual([`Take the prices of the list of ${NEXT} (models: 1)?`]);
    expect((await world.run('catalogue', 'update', '--from', from, '--dry-run')).exitCode).toBe(0);
    expect((await world.run('catalogue', 'update', '--from', from, '--json')).exitCode).toBe(1);
    expect(await outputOf('claude-opus-5-5')).toBe('20');
  });

  test('takes what was confirmed, for models whose price comes from a list, and makes the list the one in use', async () => {
    world.world.confirm = async () => true;
    const { exitCode, error } = await world.run('catalogue', 'update', '--from', fileOf(listOf()));
    expect([exitCode, error]).toEqual([0, `Took the prices of the list of ${NEXT} (models: 1).\n`]);
    expect(await modelNamed('claude-opus-5-5')).toMatchObject({
      price: { output: '21' },
      price_source: { catalogue: NEXT },
      routes: [{ cost: { output: '21' } }],
    });
    expect(await outputOf('ours')).toBe('2');
    const again = await world.runJson('catalogue', 'update', '--yes');
    expect(again).toMatchObject({ as_of: NEXT, models: [], changes: [] });
    // A file that takes prices from the list takes them from the newer one.
    expect((await world.run('apply', world.writeFile('again.yaml', FILE))).out).not.toContain('price');
    expect(await outputOf('claude-opus-5-5')).toBe('21');
    const audit = (await world.runJson('audit')) as unknown as Json[];
    expect(
      audit
        .slice(0, 2)
        .map(({ action, object }) => `${action} ${object}`)
        .sort(),
    ).toEqual(['model.update model claude-opus-5-5', 'price_list.update price_list']);
  });

  test('refuses a list that is older than the one in use, from the future, or faulty, with the paths', async () => {
    const errorOf = async (list: unknown) => {
      const { exitCode, error } = await world.run('catalogue', 'update', '--yes', '--from', fileOf(list));
      expect(exitCode).toBe(1);
      return error;
    };
    const older = { anthropic: { source: 's', models: { m: { ...row, as_of: '2026-10-01', price } } } };
    expect(await errorOf(older)).toContain(`list: is of 2026-10-01, older than the list in use, of ${NEWEST}`);
    expect(await errorOf(listOf({ as_of: '2999-01-01' }))).toContain('list: is of 2999-01-01, which is in the future');
    expect(await errorOf(listOf({ price: { input: '1' } }))).toContain(
      'list.anthropic.models.claude-opus-5-5.price.output: is missing',
    );
    expect(await errorOf('{')).toContain('is not JSON');
    expect((await world.run('catalogue', 'update', '--from', `${world.directory}/none.json`)).error).toContain(
      'cannot read',
    );
    expect(await outputOf('claude-opus-5-5')).toBe('20');
  });

  test('without --from takes the list in use, as after an upgrade', async () => {
    const { exitCode, out, error } = await world.run('catalogue', 'update', '--dry-run');
    expect([exitCode, out]).toEqual([0, '']);
    expect(error).toContain('No price changes.');
  });
});

describe('a list from a URL', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const keyText = (key: KeyObject) => key.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
  const text = JSON.stringify(listOf());
  let files: Record<string, string | Uint8Array<ArrayBuffer>> = {};
  const publisher = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const file = files[new URL(request.url).pathname];
      if (file === undefined) return new Response('', { status: 404 });
      return file === 'redirect' ? Response.redirect('/moved.json') : new Response(file);
    },
  });
  const url = `http://127.0.0.1:${publisher.port}/list.json`;
  const update = (...more: string[]) => world.run('catalogue', 'update', '--yes', '--from', url, ...more);
  const errorOf = async (...more: string[]) => {
    const { exitCode, error } = await update(...more);
    expect([exitCode, await outputOf('claude-opus-5-5')]).toEqual([1, '20']);
    return error;
  };
  const trust = async (key: string) => {
    const file = world.writeFile('key.yaml', `settings: { price_list_key: "${key}" }`);
    return (await world.run('apply', file)).exitCode;
  };
  const signature = (bytes: string, key = privateKey) => Uint8Array.from(sign(null, Buffer.from(bytes), key));
  beforeEach(() => {
    files = { '/list.json': text, '/list.json.sig': signature(text) };
  });

  test('is taken with the signature of the trusted key, in bytes or base64', async () => {
    expect(await trust(keyText(publicKey))).toBe(0);
    expect((await update('--private-network', '--dry-run')).exitCode).toBe(0);
    files['/list.json.sig'] = `${Buffer.from(signature(text)).toString('base64')}\n`;
    const { exitCode, error } = await update('--private-network');
    expect([exitCode, error]).toEqual([0, expect.stringContaining('models: 1')]);
    expect(await outputOf('claude-opus-5-5')).toBe('21');
  });

  test('is refused without a trusted key, and at a private address', async () => {
    expect(await errorOf('--private-network')).toContain('needs the public key of its publisher: set price_list_key');
    expect(await trust('too short')).toBe(1);
    await trust(keyText(publicKey));
    expect(await errorOf()).toContain('is at 127.0.0.1 in a private network: add --private-network to allow it');
  });

  test('is refused with another signature, a changed list, or no signature', async () => {
    await trust(keyText(publicKey));
    const wrong = 'is not by the key of the setting price_list_key';
    files['/list.json.sig'] = signature(text, generateKeyPairSync('ed25519').privateKey);
    expect(await errorOf('--private-network')).toContain(wrong);
    files['/list.json.sig'] = 'not a signature';
    expect(await errorOf('--private-network')).toContain(wrong);
    files = { '/list.json': text.replace('"21"', '"22"'), '/list.json.sig': signature(text) };
    expect(await errorOf('--private-network')).toContain(wrong);
    files = { '/list.json': text };
    expect(await errorOf('--private-network')).toContain(`cannot fetch ${url}.sig: status 404`);
  });

  test('is refused if it is too large or moved', async () => {
    await trust(keyText(publicKey));
    files['/list.json'] = new Uint8Array(bounds.priceListBytesMax + 1);
    expect(await errorOf('--private-network')).toContain(`larger than ${bounds.priceListBytesMax} bytes`);
    files = { ...files, '/list.json': 'redirect', '/moved.json': text };
    expect(await errorOf('--private-network')).toContain(`cannot fetch ${url}`);
  });
});

test('an export is the list in use as a file that an update reads', async () => {
  const { out } = await world.run('catalogue', 'export');
  const exported = JSON.parse(out) as Record<string, { models: Record<string, Json> }>;
  expect(Object.keys(exported)).toEqual(expect.arrayContaining(['anthropic', 'openai', 'mistral']));
  expect(exported['anthropic']?.models['claude-opus-5-5']).toMatchObject({ price: { output: '20' } });
  const { exitCode, error } = await world.run('catalogue', 'update', '--dry-run', '--from', fileOf(exported));
  expect([exitCode, error]).toEqual([0, 'No price changes.\n']);
});
