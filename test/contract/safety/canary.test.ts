// Secrets stay where they belong: one secret of each kind is used in every way that works and in many that fail, and
// then searched for in everything that the service wrote and sent.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { makeKeySecret, makeLinkSecret } from '../../../src/accounts/accounts.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import {
  type RecordedRequest,
  type Script,
  type ScriptedUpstream,
  scripts,
  startScriptedUpstream,
  upstreamEvents,
} from '../../support/scripted-upstream.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { isOverPostgres, readRows, storeVariables } from '../../support/test-store.ts';
import { type Canary, encodingsOf, findCanaries } from './encodings.ts';

/** Letters and digits only: a parser that quotes the word then quotes all of it. */
const canaryText = (name: string) => `canary${name.replaceAll('-', '')}${randomBytes(12).toString('hex')}`;
const MEANT_FOR_SECRETS = ['secret', 'secret.previous', 'operator.json', 'first-key.txt', 'first-operator.txt'];

test('a canary is found in every encoding, without false positives', () => {
  const canary = { name: 'it', text: 'canary-of-the-test-0123456789abcdef' };
  const encoded = Buffer.from(`Basic: user:${canary.text}:more`);
  const places = {
    plain: `x${canary.text}x`,
    masked: `${canary.text.slice(3, -3)}…`,
    base64: encoded.toString('base64'),
    shifted: Buffer.concat([Buffer.from('1'), encoded]).toString('base64url'),
    'shifted again': Buffer.concat([Buffer.from('12'), encoded]).toString('base64'),
    hex: encoded.toString('hex'),
    nothing: 'canary-of-another-test',
  };
  expect(findCanaries(places, [canary])).toEqual(
    ['plain', 'masked', 'base64', 'shifted', 'shifted again', 'hex'].map((place) => `${place}: it`),
  );
  expect(encodingsOf('short').every((disguise) => disguise.length > 0)).toBe(true);
});

/**
 * Everything that the service and its commands returned, by request. The response that shows a new secret is not
 * kept.
 */
class Outputs {
  readonly places: Record<string, string> = {};

  keep(place: string, text: string): string {
    this.places[`${place} #${Object.keys(this.places).length}`] = text;
    return text;
  }

  async keepAnswer(place: string, answer: Response): Promise<string> {
    return this.keep(place, `${JSON.stringify([...answer.headers])}\n${await answer.text()}`);
  }

  async keepCommand(given: string[], environment: Record<string, string> = {}): Promise<void> {
    const { out, error } = await runTurnpike(given, environment);
    this.keep(`turnpike ${given.slice(0, 2).join(' ')}`, `${out}\n${error}`);
  }
}

/** A collector of traces and metrics that keeps the bodies it receives. */
function startCollector() {
  const received: Buffer[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      received.push(Buffer.from(await request.arrayBuffer()));
      return new Response(new Uint8Array());
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, received, stop: () => server.stop(true) };
}

const credentialOf = (request: RecordedRequest) => request.headers['x-api-key'] ?? '';
const json = { 'content-type': 'application/json' };

/** Refuses with the credential in every field of the response and in its headers. */
const echoCredential =
  (status: number): Script =>
  (answer, request) => {
    const credential = credentialOf(request);
    const encoded = Buffer.from(`key:${credential}`).toString('base64');
    const error = {
      type: `error_of_${credential}`,
      message: `messages.0: ${credential} is wrong, and so is ${encoded}`,
    };
    const headers = { ...json, 'request-id': `req_${credential}`, 'x-echo': credential, 'retry-after': credential };
    answer.send(status, headers, JSON.stringify({ type: 'error', error, request_id: credential, key: credential }));
  };

/** Interrupts a stream with an error of the provider that repeats the credential. */
const echoInStream: Script = async (answer, request) => {
  const credential = credentialOf(request);
  answer.begin(200, { 'content-type': 'text/event-stream', 'request-id': `req_${credential}` });
  await answer.write(upstreamEvents().slice(0, 5).join(''));
  const error = { type: 'error', error: { type: 'invalid_request_error', message: `the key ${credential} is spent` } };
  await answer.write(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
  answer.end();
};

const echoBroken: Script = (answer, request) =>
  answer.send(200, json, `{"type":"message","key":"${credentialOf(request)}"`);
const echoHtml: Script = (answer, request) =>
  answer.send(500, { 'content-type': 'text/html' }, `<h1>${credentialOf(request)}</h1>`);
const echoRedirect: Script = (answer, request) =>
  answer.send(307, { location: `http://127.0.0.1:9/?key=${credentialOf(request)}` }, '');
const echoGarbage: Script = (answer, request) =>
  scripts.rawStream(`event: message_start\ndata: {"key": ${credentialOf(request)}\n\n`)(answer, request);

const FAILURES: readonly Script[] = [
  ...[400, 401, 403, 404, 413, 422, 429, 500, 502, 529].map(echoCredential),
  echoBroken,
  echoHtml,
  echoRedirect,
  echoInStream,
  echoGarbage,
  scripts.resetBeforeHead(),
  scripts.dropMidStream(),
];

describe.each(['json', 'pretty'] as const)('with a log in %s', (format) => {
  const text = Object.fromEntries(
    [
      'credential',
      'further-credential',
      'other-credential',
      'message',
      'wrong-key',
      'cookie',
      'token',
      'password',
      'collector',
      'base-url',
      'database',
    ].map((name) => [name, canaryText(name)]),
  ) as Record<string, string>;
  const word = (name: string) => text[name] as string;
  const secret = randomBytes(32);
  const formerSecret = randomBytes(32);
  const shaped = makeKeySecret().secret.reveal(); // a well-formed key that was never issued
  const outputs = new Outputs();
  const shown: Canary[] = []; // the response of each creation shows its secret once
  let data: string;
  let upstream: ScriptedUpstream;
  let collector: ReturnType<typeof startCollector>;
  let environment: Record<string, string>;
  let operatorToken: string;
  const logs: Record<string, string> = {};

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'turnpike-canary-'));
    upstream = await startScriptedUpstream(scripts.good());
    collector = startCollector();
    environment = {
      ...(await databaseVariables()),
      TURNPIKE_LOG: format,
      TURNPIKE_SECRET: formerSecret.toString('base64'),
      ANTHROPIC_API_KEY: word('other-credential'),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${word('collector')}`,
    };
    await serveWhile('first run', useEverything);
    // Restarts with another installation secret; data created with the former one still exists.
    const former = formerSecret.toString('base64');
    environment = { ...environment, TURNPIKE_SECRET: secret.toString('base64'), TURNPIKE_PREVIOUS_SECRET: former };
    await serveWhile('second run', useAgain);
    await askCommands();
  });
  afterAll(async () => {
    await upstream.close();
    collector.stop();
    rmSync(data, { recursive: true, force: true });
  });

  /** A PostgreSQL database with a password. */
  async function databaseVariables(): Promise<Record<string, string>> {
    const { TURNPIKE_DATABASE_URL: url } = await storeVariables(data);
    if (url === undefined) return {};
    return {
      TURNPIKE_DATABASE_URL: url.replace('@', `:${word('database')}@`),
      TURNPIKE_FILES: join(data, 'files'),
    };
  }

  async function serveWhile(run: string, use: (turnpike: TurnpikeProcess) => Promise<void>): Promise<void> {
    const turnpike = await spawnTurnpike(data, environment);
    const log = new Response(turnpike.process.stderr).text();
    operatorToken = JSON.parse(readFileSync(join(data, 'operator.json'), 'utf8')).token;
    shown.push({ name: `operator token of the ${run}`, text: operatorToken });
    try {
      await use(turnpike);
    } finally {
      await turnpike.stop();
      logs[`log of the ${run}`] = await log;
    }
  }

  const messageTo = (model: string, more: object = {}) => ({
    model,
    max_tokens: 50,
    messages: [{ role: 'user', content: `please keep ${word('message')} to yourself` }],
    ...more,
  });

  async function useEverything(turnpike: TurnpikeProcess): Promise<void> {
    shown.push({ name: 'first key', text: turnpike.key });
    const [, firstLink = ''] = readFileSync(join(data, 'first-operator.txt'), 'utf8').trimEnd().split('#');
    shown.push({ name: 'first link', text: firstLink });
    await apply(turnpike, word('credential'));
    const { secret: key, account } = await turnpike.makeKey();
    shown.push({ name: 'key', text: key });
    const made = await turnpike.admin('POST', '/tokens', { role: 'viewer' });
    shown.push({ name: 'token', text: made['token'] as string });
    await sendMessages(turnpike, key);
    await useFiles(turnpike, key);
    await useForms(turnpike, key);
    await sendWrongKeys(turnpike);
    await failAtAdmin(turnpike, account);
    await usePeople(turnpike);
    await readAdmin(turnpike, made['token'] as string);
  }

  /** The key and the token created before, and the credential that was sealed again. */
  async function useAgain(turnpike: TurnpikeProcess): Promise<void> {
    const [key, token] = ['key', 'token'].map((name) => shown.find((canary) => canary.name === name)?.text ?? '');
    upstream.play(scripts.good());
    const answer = await turnpike.post(key as string, messageTo('remote'));
    expect([answer.status, upstream.requests.at(-1)?.headers['x-api-key']]).toEqual([200, word('credential')]);
    await answer.text();
    expect(await readFile(turnpike.url, key as string)).toContain(word('message')); // under the former secret before
    await readAdmin(turnpike, token as string);
    await outputs.keepCommand(['backup', join(data, 'backup.db'), '--data', data], environment);
    await outputs.keepCommand(['doctor', '--data', data, '--json'], environment);
    upstream.play(scripts.json('{"data":[],"has_more":false}'));
    await outputs.keepCommand(['provider', 'test', 'remote', '--data', data]);
    upstream.play(echoCredential(401));
    await outputs.keepCommand(['provider', 'test', 'remote', '--data', data]);
  }

  const apply = (turnpike: TurnpikeProcess, credential: string) =>
    turnpike.admin('POST', '/apply', {
      document: {
        providers: {
          remote: { kind: 'anthropic', base_url: upstream.url, api_key: credential, private_network: true },
        },
        models: { remote: { price: { input: '1', output: '5' }, routes: [{ provider: 'remote' }] } },
      },
    });

  async function sendMessages(turnpike: TurnpikeProcess, key: string): Promise<void> {
    const headers = { cookie: `session=${word('cookie')}`, 'x-forwarded-authorization': word('cookie') };
    const send = async (body: unknown, more: RequestInit = { headers }) =>
      outputs.keepAnswer('message', await turnpike.post(key, body, more));
    for (const model of ['sandbox-tool', 'sandbox-error-500', 'sandbox-cut', 'no-such-model']) {
      const answer = await turnpike.post(key, messageTo(model), { headers });
      await answer.text(); // the text of a model is the client's own data
    }
    for (const failure of FAILURES)
      for (const stream of [false, true]) {
        upstream.play(failure);
        await send(messageTo('remote', { stream }));
      }
    upstream.play(echoCredential(400));
    await outputs.keepAnswer(
      'count',
      await fetch(`${turnpike.url}/v1/messages/count_tokens`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'remote', messages: messageTo('remote').messages }),
      }),
    );
    // Invalid requests of the client that contain the key and the text.
    await send(`{"model": "remote", "key": "${key}", "messages": [${word('message')}`);
    await send(messageTo('remote', { max_tokens: `many, says ${word('message')}` }));
    await send(messageTo('remote', { [key]: word('message'), messages: word('message') }));
    await send(messageTo('remote'), { headers: { 'content-type': `text/${word('cookie')}` } });
    // A key in the path appears in the error for the client; the log does not contain it.
    await (await fetch(`${turnpike.url}/v1/${key}?key=${key}`, { headers: { 'x-api-key': key } })).text();
    await outputs.keepAnswer(
      'own key',
      await fetch(`${turnpike.url}/v1/key?k=${key}`, { headers: { 'x-api-key': key } }),
    );
  }

  /** A file that stays, is named in messages, and one that is refused. */
  async function useFiles({ url, post }: TurnpikeProcess, key: string): Promise<void> {
    const send = async (file: File, members: Record<string, string> = {}) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(members)) form.append(name, value);
      form.append('file', file);
      return (await fetch(`${url}/v1/files`, { method: 'POST', body: form, headers: { 'x-api-key': key } })).text();
    };
    const file = new File([`please keep ${word('message')} to yourself`.repeat(5_000)], 'a.txt');
    const kept = outputs.keep('upload', await send(file));
    outputs.keep('refused upload', await send(file, { expires_in_seconds: 'soon' }));
    const source = { type: 'file', file_id: JSON.parse(kept).id };
    for (const model of ['sandbox-echo', 'sandbox-error-500', 'no-such-model']) {
      const answer = await post(
        key,
        messageTo(model, { messages: [{ role: 'user', content: [{ type: 'document', source }] }] }),
      );
      await answer.text();
    }
    expect(await readFile(url, key)).toBe(await file.text());
  }

  /** Files of requests, whose names and content are the client's. */
  async function useForms({ url }: TurnpikeProcess, key: string): Promise<void> {
    const said = `please keep ${word('message')} to yourself`;
    const head = Buffer.from(
      'RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\0\x20\0\0\0\x20\0\0\x01\0\x08\0data\0\0\0\0',
      'latin1',
    );
    const sound = new File([new Uint8Array(head), said.repeat(5_000)], `${word('message')}.wav`);
    const send = async (path: string, members: Readonly<Record<string, string | File>>) => {
      const form = new FormData();
      for (const [name, value] of Object.entries({ prompt: said, ...members })) form.append(name, value);
      const answer = await fetch(`${url}/v1/${path}`, { method: 'POST', body: form, headers: { 'x-api-key': key } });
      await outputs.keepAnswer(path, answer);
      return answer.status;
    };
    const heard = { model: 'sandbox-transcription', file: sound };
    const transcribe = (members: Readonly<Record<string, string | File>>) =>
      send('audio/transcriptions', { ...heard, ...members });
    expect(await transcribe({})).toBe(200);
    expect(await transcribe({ response_format: said })).toBe(400);
    expect(await transcribe({ temperature: said })).toBe(400);
    expect(await transcribe({ file: new File([said], `${word('message')}.txt`) })).toBe(400);
    expect(await transcribe({ model: 'sandbox-image' })).toBe(400);
    expect(await send('images/edits', { model: 'sandbox-image', size: '8x8', image: sound })).toBe(200);
    expect(await send('images/edits', { model: 'sandbox-image', n: said, image: sound })).toBe(400);
  }

  async function readFile(url: string, key: string): Promise<string> {
    const headers = { 'x-api-key': key };
    const { data: files } = (await (await fetch(`${url}/v1/files`, { headers })).json()) as { data: { id: string }[] };
    return (await fetch(`${url}/v1/files/${files[0]?.id}/content`, { headers })).text();
  }

  async function sendWrongKeys(turnpike: TurnpikeProcess): Promise<void> {
    for (const wrong of [word('wrong-key'), shaped, `${shaped}, ${shaped}`, `sk-tp-${word('wrong-key')}`])
      await outputs.keepAnswer('wrong key', await turnpike.post(wrong, messageTo('remote')));
    const headers = { authorization: `Basic ${Buffer.from(`user:${word('wrong-key')}`).toString('base64')}` };
    const body = JSON.stringify(messageTo('remote'));
    await outputs.keepAnswer('basic', await fetch(`${turnpike.url}/v1/messages`, { method: 'POST', headers, body }));
  }

  async function failAtAdmin(turnpike: TurnpikeProcess, account: string): Promise<void> {
    const ask = async (method: string, path: string, body?: string, token = operatorToken) =>
      outputs.keepAnswer(
        `${method} ${path.split('?')[0]}`,
        await fetch(`${turnpike.url}/api/v1${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', cookie: word('cookie') },
          ...(body === undefined ? {} : { body }),
        }),
      );
    const wrong = { name: 'x', account, [word('token')]: 1, api_key: word('token'), quota: word('token') };
    await ask('GET', '/accounts', undefined, word('token'));
    await ask('GET', '/accounts', undefined, `tk-tp-${word('token')}`);
    await ask('GET', `/keys?account=${account}`, undefined, makeKeySecret().secret.reveal());
    await ask('POST', '/apply', `{"document": {"providers": {"p": {"api_key": "${word('token')}"`);
    for (const provider of [
      { kind: 'anthropic', api_key: `${word('token')} with spaces` },
      { kind: 'anthropic', api_key: [word('token')] },
      { kind: 'anthropic', api_key: `\${${word('token')}} ${word('token')}` },
      { kind: 'anthropic', base_url: `https://user:${word('base-url')}@example.com`, api_key: word('token') },
      { kind: 'sandbox', api_key: word('token') },
      { kind: 'anthropic', credentials: { further: { api_key: `${word('token')} x` }, text: word('token') } },
      { kind: 'anthropic', credentials: { further: { api_key: word('token'), account: word('token') } } },
    ])
      await ask('POST', '/apply', JSON.stringify({ document: { providers: { other: provider } } }));
    const { [word('token')]: _, ...known } = wrong; // the error repeats a field name that the client chose
    await ask('POST', '/keys', JSON.stringify(known));
    await ask('POST', '/tokens', JSON.stringify({ role: word('token') }));
    const changed = { providers: { remote: { kind: 'anthropic', api_key: word('token'), private_network: true } } };
    await ask('POST', '/apply', JSON.stringify({ document: changed, dry_run: true }));
  }

  /** Invites a person, shows the link, uses a mistyped link, sets a password, and creates another link. */
  async function usePeople({ url }: TurnpikeProcess): Promise<void> {
    const ask = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${url}/api/v1${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      });
    const asOperator = { authorization: `Bearer ${operatorToken}`, 'idempotency-key': 'once' };
    const invited = await ask('/people', { role: 'viewer', email: 'ada@example.com' }, asOperator);
    const { id, link_secret: link } = (await invited.json()) as Record<'id' | 'link_secret', string>;
    shown.push({ name: 'link', text: link });
    const wrong = makeLinkSecret().reveal();
    shown.push({ name: 'an invalid link', text: wrong });
    const [name, password] = ['Ada', word('password')];
    for (const [path, body] of [
      ['/invitations/show', { secret: wrong }],
      ['/invitations/show', { secret: [link] }],
      ['/invitations/accept', { secret: wrong, name, password }],
      ['/invitations/accept', { secret: link, name, password: password.repeat(5) }],
      ['/invitations/accept', { secret: link, name, password: [password] }],
      ['/invitations/accept', { secret: link, name, password, email: 'other@example.com' }],
      ['/invitations/show', { secret: link }],
      ['/invitations/accept', { secret: link, name, password }],
      ['/invitations/accept', { secret: link, name, password }],
    ] as const)
      await outputs.keepAnswer(path, await ask(path, body));
    const again = await ask(`/people/${id}/link`, {}, { ...asOperator, 'idempotency-key': 'again' });
    shown.push({ name: 'another link', text: ((await again.json()) as { link_secret: string }).link_secret });
  }

  async function readAdmin(turnpike: TurnpikeProcess, token: string): Promise<void> {
    for (const path of [
      '/api/v1/audit?limit=1000',
      '/api/v1/usage',
      '/api/v1/keys',
      '/api/v1/tokens',
      '/api/v1/people',
      '/api/v1/sign-in',
      '/api/v1/providers',
      '/api/v1/models',
      '/metrics',
      '/readyz',
    ])
      await outputs.keepAnswer(
        path,
        await fetch(turnpike.url + path, { headers: { authorization: `Bearer ${token}` } }),
      );
  }

  /** Runs commands with the service stopped, and with secrets where commands do not expect them. */
  async function askCommands(): Promise<void> {
    await outputs.keepCommand(['check', '--data', data], environment);
    await outputs.keepCommand(['secret', 'status', '--data', data], environment);
    await outputs.keepCommand(['secret', 'rotate', '--data', data], environment);
    await outputs.keepCommand(['doctor', '--data', data, '--token', word('token')], environment);
    await outputs.keepCommand(['account', 'list', '--url', 'http://127.0.0.1:9', '--token', word('token')]);
    for (const name of ['TURNPIKE_SECRET', 'TURNPIKE_PREVIOUS_SECRET'])
      for (const command of ['serve', 'doctor', 'backup'])
        await outputs.keepCommand([command, ...(command === 'backup' ? [join(data, 'no.db')] : []), '--data', data], {
          [name]: `${word('token')} is too short`,
        });
    const unreachable = `postgres://turnpike:${word('database')}@127.0.0.1:9/turnpike`;
    for (const url of [
      unreachable,
      unreachable.replace('postgres:', 'postgrs:'),
      unreachable.replace('turnpike:', '%zz:'),
    ])
      for (const command of ['serve', 'check', 'doctor'])
        await outputs.keepCommand([command, '--data', data], {
          ...environment,
          TURNPIKE_DATABASE_URL: url,
          TURNPIKE_DATABASE_WAIT_SECONDS: '0',
        });
    const file = join(data, 'apply.yaml');
    writeFileSync(file, `providers:\n  p: { kind: anthropic, api_key: "${word('token')} x", more: 1 }\n`);
    await outputs.keepCommand(['apply', file, '--data', data]);
    rmSync(file);
  }

  /** The files on the disk, except those meant to hold a secret, and the content of the database, if there is one. */
  async function filesOf(): Promise<Record<string, Buffer>> {
    const names = readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !MEANT_FOR_SECRETS.includes(entry.name))
      .map(({ parentPath, name }) => relative(data, join(parentPath, name)));
    expect(names.filter((name) => name.startsWith('files/'))).toHaveLength(1);
    const files = Object.fromEntries(names.map((name) => [`file ${name}`, readFileSync(join(data, name))]));
    return isOverPostgres ? { ...files, ...(await tablesOf()) } : files;
  }

  async function tablesOf(): Promise<Record<string, Buffer>> {
    const tables: Record<string, Buffer> = {};
    const found = "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'";
    for (const { name } of await readRows<{ name: string }>(data, found)) {
      const rows = await readRows<{ text: string }>(data, `SELECT one::text AS text FROM "${name}" AS one`);
      tables[`table ${name}`] = Buffer.from(rows.map(({ text }) => text).join('\n'));
    }
    return tables;
  }

  function canaries(): Canary[] {
    const ofSecret = (name: string, bytes: Buffer) => [
      { name, text: bytes.toString('base64') },
      { name: `${name} in hex`, text: bytes.toString('hex') },
    ];
    return [
      ...shown,
      ...[
        'credential',
        'further-credential',
        'other-credential',
        'wrong-key',
        'cookie',
        'token',
        'password',
        'collector',
        'base-url',
        'database',
      ].map((name) => ({
        name,
        text: word(name),
      })),
      { name: 'an invalid key', text: shaped },
      ...ofSecret('secret', secret),
      ...ofSecret('former secret', formerSecret),
    ];
  }

  test('the log contains no secret and no message text', () => {
    for (const log of Object.values(logs)) expect(log.split('\n').length).toBeGreaterThan(5);
    expect(findCanaries(logs, [...canaries(), { name: 'message', text: word('message') }])).toEqual([]);
  });

  test('the data directory and backups contain no secret outside of the files meant for it, and no message text', async () => {
    const files = await filesOf();
    const places = isOverPostgres ? ['table catalog', 'table usage_records'] : ['file turnpike.db', 'file backup.db'];
    expect(Object.keys(files)).toEqual(expect.arrayContaining(places));
    for (const place of places) expect([place, files[place]?.length]).not.toEqual([place, 0]);
    expect(findCanaries(files, [...canaries(), { name: 'message', text: word('message') }])).toEqual([]);
    const raw = Object.entries(files).filter(([, bytes]) => bytes.includes(secret) || bytes.includes(formerSecret));
    expect(raw.map(([name]) => name)).toEqual([]);
  });

  test('no response to clients or operators and no command output contains a secret', () => {
    expect(Object.keys(outputs.places).length).toBeGreaterThan(80);
    expect(findCanaries(outputs.places, canaries())).toEqual([]);
  });

  test('exported traces and metrics contain no secret and no message text', () => {
    const sent = Object.fromEntries(collector.received.map((bytes, at) => [`export ${at}`, bytes]));
    expect(Object.keys(sent).length).toBeGreaterThan(0);
    expect(findCanaries(sent, [...canaries(), { name: 'message', text: word('message') }])).toEqual([]);
  });
});
