// Files by the official SDKs of both protocols, over a real socket: what they see, who sees what, and files in messages.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import EarlierAnthropic from 'anthropic-sdk-0';
import OpenAI from 'openai';
import { bodyOf, type Caller, expectError, type Json, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const anthropicOf = (apiKey: string) => new Anthropic({ baseURL: world.url, apiKey, maxRetries: 0 });
const openaiOf = (apiKey: string) => new OpenAI({ baseURL: `${world.url}/v1`, apiKey, maxRetries: 0 });
const keptFiles = () => readdirSync(join(world.dataDirectory, 'files'));
const PDF = Buffer.from('%PDF-1.4\n%…\n');
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const statusOf = (asking: Promise<unknown>) =>
  asking.then(
    () => 200,
    ({ status, code, error }) => [status, code ?? error?.error?.code],
  );

let caller: Caller;
beforeAll(async () => {
  caller = await world.makeKey();
});

test('OpenAI’s SDK uploads, lists by pages, describes, downloads and deletes', async () => {
  const { secret } = await world.makeKey();
  const { files } = openaiOf(secret);
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const first = await files.create({ file: new File(['one'], 'ünö.jsonl'), purpose: 'batch' });
  expect(first).toMatchObject({
    object: 'file',
    bytes: 3,
    filename: 'ünö.jsonl',
    purpose: 'batch',
    status: 'processed',
  });
  expect(first.id).toMatch(/^file-[\dA-Za-z]{9}$/);
  expect(first.created_at).toBeWithin(nowSeconds - 1, nowSeconds + 60);
  expect((first.expires_at ?? 0) - first.created_at).toBe(30 * 24 * 60 * 60);
  const expires_after = { anchor: 'created_at', seconds: 3_600 } as const;
  const second = await files.create({ file: new File([PDF], 'a.pdf'), purpose: 'user_data', expires_after });
  expect((second.expires_at ?? 0) - second.created_at).toBe(3_600);
  const third = await files.create({ file: new File([''], 'empty'), purpose: 'vision' });
  expect(third.expires_at).toBeNull();
  const idsOf = async (query: OpenAI.FileListParams) => (await Array.fromAsync(files.list(query))).map(({ id }) => id);
  expect(await idsOf({ limit: 1 })).toEqual([third.id, second.id, first.id]);
  expect(await idsOf({ limit: 2, order: 'asc' })).toEqual([first.id, second.id, third.id]);
  expect(await idsOf({ purpose: 'batch' })).toEqual([first.id]);
  expect(await files.retrieve(second.id)).toEqual(second);
  expect(Buffer.from(await (await files.content(second.id)).arrayBuffer())).toEqual(PDF);
  expect(await (await files.content(third.id)).text()).toBe('');
  expect(await files.delete(first.id)).toEqual({ id: first.id, object: 'file', deleted: true });
  expect(keptFiles()).not.toContain(first.id.replace('-', '_'));
  expect(await statusOf(files.retrieve(first.id))).toEqual([404, 'object_not_found']);
  expect(await statusOf(files.delete(first.id))).toEqual([404, 'object_not_found']);
  expect(await idsOf({})).toEqual([third.id, second.id]);
});

describe.each([
  ['present', anthropicOf],
  ['earlier', (apiKey: string) => new EarlierAnthropic({ baseURL: world.url, apiKey, maxRetries: 0 }) as never],
] as const)('Anthropic’s %s SDK', (_, clientOf) => {
  test('uploads, lists by pages, describes, downloads and deletes', async () => {
    const { secret } = await world.makeKey();
    const { files } = clientOf(secret).beta;
    const made = [];
    for (const name of ['a.pdf', 'b.txt', 'c.png']) made.push(await files.upload({ file: new File([PDF], name) }));
    const [first, second, third] = made as [
      Anthropic.Beta.BetaFileMetadata,
      Anthropic.Beta.BetaFileMetadata,
      Anthropic.Beta.BetaFileMetadata,
    ];
    expect(first).toMatchObject({
      type: 'file',
      filename: 'a.pdf',
      mime_type: 'application/pdf',
      size_bytes: PDF.length,
    });
    expect(first).toMatchObject({ downloadable: true, expires_at: null });
    expect(first.id).toMatch(/^file_[\dA-Za-z]{9}$/);
    expect(Date.parse(first.created_at)).toBeWithin(Date.now() - 60_000, Date.now() + 60_000);
    expect([second.mime_type, third.mime_type]).toEqual(['text/plain', 'image/png']);
    const list = await Array.fromAsync(files.list({ limit: 2 }));
    expect(list.map(({ id }) => id)).toEqual([third.id, second.id, first.id]);
    expect(await files.retrieveMetadata(first.id)).toEqual(first);
    expect(Buffer.from(await (await files.download(first.id)).arrayBuffer())).toEqual(PDF);
    expect(await files.delete(first.id)).toMatchObject({ id: first.id, type: 'file_deleted' });
    expect(keptFiles()).not.toContain(first.id);
    expect(await statusOf(files.retrieveMetadata(first.id))).toEqual([404, 'object_not_found']);
  });
});

const headersOf = (secret: string): Record<string, string> => ({
  'x-api-key': secret,
  'anthropic-version': '2023-06-01',
});
const get = (path: string, secret: string = caller.secret) => fetch(world.url + path, { headers: headersOf(secret) });
const upload = (form: FormData, headers: Record<string, string>) =>
  fetch(`${world.url}/v1/files`, { method: 'POST', body: form, headers });
const formOf = (members: Readonly<Record<string, string | File>>) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(members)) form.append(name, value);
  return form;
};
const uploaded = async (secret: string, file = new File(['text'], 'a.txt')) =>
  ((await (await upload(formOf({ file }), headersOf(secret))).json()) as { id: string }).id;

test('pages of Anthropic’s form lead forth and back, and ids select files', async () => {
  const { secret } = await world.makeKey();
  const ids: string[] = [];
  for (let at = 0; at < 4; at++) ids.unshift(await uploaded(secret));
  const page = async (query: string) => {
    const { data, ...rest } = (await (await get(`/v1/files?${query}`, secret)).json()) as { data: { id: string }[] };
    return { ids: data.map(({ id }) => ids.indexOf(id)), ...rest } as Json;
  };
  const [at0, at1, at2] = ids;
  expect(await page('limit=2')).toEqual({ ids: [0, 1], first_id: at0, last_id: at1, has_more: true, next_page: at1 });
  expect(await page(`limit=2&page=${at1}`)).toMatchObject({ ids: [2, 3], has_more: false, next_page: null });
  expect(await page(`limit=2&after_id=${at0}`)).toMatchObject({ ids: [1, 2], has_more: true });
  expect(await page(`limit=1&before_id=${at2}`)).toMatchObject({ ids: [1], has_more: true });
  expect(await page(`limit=9&before_id=${at2}`)).toMatchObject({ ids: [0, 1], has_more: false });
  expect(await page(`ids[]=${at2}&ids[]=${at0}&ids[]=${at0}&ids[]=file_000000000`)).toMatchObject({
    ids: [2, 0],
    has_more: false,
  });
  expect(await page('limit=&after_id=&before_id=')).toMatchObject({ ids: [0, 1, 2, 3], has_more: false });
  for (const [query, path] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['after_id=file_000000000', 'after_id'],
    [`after_id=${at0}&before_id=${at0}`, 'before_id'],
  ] as const)
    await expectError(
      await get(`/v1/files?${query}`, secret),
      400,
      'invalid_request_error',
      'invalid_request',
      new RegExp(`^${path}: `),
    );
});

test('an upload that is wrong is refused in the form of its protocol, naming the field', async () => {
  const file = new File(['text'], 'a.txt');
  const asOpenAi = { authorization: `Bearer ${caller.secret}` };
  for (const [members, path] of [
    [{ purpose: 'user_data' }, 'file'],
    [{ file }, 'purpose'],
    [{ file, purpose: 'other' }, 'purpose'],
    [{ file, purpose: 'batch', 'expires_after[anchor]': 'now' }, 'expires_after.anchor'],
    [{ file, purpose: 'batch', 'expires_after[seconds]': '3599' }, 'expires_after.seconds'],
  ] as const) {
    const answer = await upload(formOf(members), asOpenAi);
    expect([answer.status, ((await answer.json()) as Json)['error']]).toMatchObject([
      400,
      { type: 'invalid_request_error', code: 'invalid_request', param: path },
    ]);
  }
  const faults = formOf({ file, expires_in_seconds: 'soon' });
  await expectError(
    await upload(faults, headersOf(caller.secret)),
    400,
    'invalid_request_error',
    'invalid_request',
    /^expires_in_seconds: /,
  );
  const json = { ...headersOf(caller.secret), 'content-type': 'application/json' };
  const unsupported = await fetch(`${world.url}/v1/files`, { method: 'POST', body: '{}', headers: json });
  await expectError(unsupported, 415, 'invalid_request_error', 'content_type_unsupported');
  const put = await fetch(`${world.url}/v1/files`, { method: 'PUT', headers: headersOf(caller.secret) });
  expect(put.headers.get('allow')).toBe('GET, HEAD, POST, OPTIONS');
  await expectError(put, 405, 'invalid_request_error', 'method_not_allowed');
});

test('limits of the installation refuse larger files and more of them', async () => {
  const { secret } = await world.makeKey();
  const set = (settings: object) => world.admin('POST', '/apply', { document: { settings } });
  await set({ file_bytes_max: 1_000, files_bytes_max: 1_500, files_max: 2 });
  try {
    const send = (bytes: number) => upload(formOf({ file: new File(['x'.repeat(bytes)], 'a') }), headersOf(secret));
    await expectError(await send(1_001), 413, 'request_too_large', 'body_too_large', /^file: /);
    expect((await send(1_000)).status).toBe(200);
    await expectError(await send(501), 403, 'permission_error', 'file_quota_exceeded', /1500 bytes/);
    expect((await send(500)).status).toBe(200);
    await expectError(await send(0), 403, 'permission_error', 'file_quota_exceeded', /2 files/);
  } finally {
    await set({ file_bytes_max: 512 * 1024 * 1024, files_bytes_max: 10 * 1024 ** 3, files_max: 10_000 });
  }
});

test('a file is for the keys of its account, and exists for no other key', async () => {
  const id = await uploaded(caller.secret);
  const sibling = (await world.admin('POST', '/keys', { account: caller.account }))['key'] as string;
  const { account: parent, secret: above } = await world.makeKey();
  const below = await world.makeKey({ parent });
  const belowId = await uploaded(below.secret);
  const other = await world.makeKey();
  const message = (file_id: string) =>
    bodyOf({ messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id } }] }] });
  const matrix: [secret: string, file: string, isAllowed: boolean][] = [
    [caller.secret, id, true],
    [sibling, id, true],
    [other.secret, id, false],
    [above, id, false],
    [below.secret, id, false],
    [below.secret, belowId, true],
    [above, belowId, false],
  ];
  for (const [secret, file, isAllowed] of matrix) {
    const listed = (await (await get('/v1/files', secret)).json()) as { data: { id: string }[] };
    expect(listed.data.some((one) => one.id === file)).toBe(isAllowed);
    const statuses = [
      (await get(`/v1/files/${file}`, secret)).status,
      (await get(`/v1/files/${file}/content`, secret)).status,
      (await world.post(secret, message(file))).status,
      (await get(`/v1/files?limit=1&after_id=${file}`, secret)).status,
    ];
    expect(statuses).toEqual(isAllowed ? [200, 200, 200, 200] : [404, 404, 400, 400]);
    if (isAllowed) continue;
    const deletion = await fetch(`${world.url}/v1/files/${file}`, { method: 'DELETE', headers: headersOf(secret) });
    const unknown = await get(`/v1/files/file_000000000`, secret);
    const withoutId = (body: Json) => ({ ...body, request_id: '' });
    expect(withoutId((await deletion.json()) as Json)).toEqual(withoutId((await unknown.json()) as Json));
  }
  await world.admin('PATCH', `/keys/${caller.key}`, { status: 'disabled' });
  await expectError(await get(`/v1/files/${id}`), 401, 'authentication_error', 'key_disabled');
  expect((await get(`/v1/files/${id}`, sibling)).status).toBe(200);
  await world.admin('PATCH', `/keys/${caller.key}`, { status: 'enabled' });
  for (const path of ['/v1/files', `/v1/files/${id}`, `/v1/files/${id}/content`])
    await expectError(await get(path, 'sk-tp-wrong'), 401, 'authentication_error', 'key_invalid');
});

describe('in messages', () => {
  const sent = () => JSON.parse(world.upstream.requests.at(-1)?.body ?? '{}') as { messages: { content: Json[] }[] };
  const text = new File(['the words of the file'], 'notes.md', { type: 'text/markdown' });
  const pdf = new File([PDF], 'report.pdf');
  const png = new File([PNG], 'dot.png');
  const base64 = (media_type: string, bytes: Buffer) => ({
    type: 'base64',
    media_type,
    data: bytes.toString('base64'),
  });
  const document = { type: 'document', source: base64('application/pdf', PDF), title: 'report.pdf' };
  const textDocument = {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: 'the words of the file' },
    title: 'notes.md',
  };
  const image = { type: 'image', source: base64('image/png', PNG) };

  test('Anthropic’s SDK names files in content and in results of tools, and the provider gets their content', async () => {
    const client = anthropicOf(caller.secret);
    const [t, d, i] = await Promise.all([text, pdf, png].map((file) => uploaded(caller.secret, file)));
    const part = (type: string, file_id = '') => ({ type, source: { type: 'file', file_id } }) as never;
    const tool_use = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { file_id: d } } as const;
    const tools = [{ name: 'read', input_schema: { type: 'object' } }] as never;
    await client.messages.create({
      ...{ model: 'plain', max_tokens: 9, tools },
      messages: [
        { role: 'user', content: [part('document', t), part('document', d), part('image', i)] },
        { role: 'assistant', content: [tool_use] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [part('image', i)] }] },
      ],
    });
    const [first, second, third] = sent().messages;
    expect(first?.content).toEqual([textDocument, document, image]);
    expect(second?.content).toMatchObject([{ input: { file_id: d } }]); // the arguments of a tool stay
    expect(third?.content).toMatchObject([{ content: [image] }]);
    const counted = await client.messages.countTokens({
      model: 'plain',
      messages: [{ role: 'user', content: [part('document', t)] }],
    });
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  test('OpenAI’s SDK names files in Responses and Chat Completions', async () => {
    const client = openaiOf(caller.secret);
    const create = async (file: File) => (await client.files.create({ file, purpose: 'user_data' })).id;
    const [t, d, i] = [await create(text), await create(pdf), await create(png)];
    await client.responses.create({
      model: 'plain',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_file', file_id: t },
            { type: 'input_file', file_id: d },
            { type: 'input_image', file_id: i, detail: 'auto' },
          ],
        },
      ],
    });
    expect(sent().messages[0]?.content).toEqual([textDocument, document, image]);
    const parts = [t, d, i].map((file_id) => ({ type: 'file', file: { file_id } }) as const);
    await client.chat.completions.create({ model: 'plain', messages: [{ role: 'user', content: parts }] });
    expect(sent().messages[0]?.content).toEqual([textDocument, document, image]);
    const missing = { type: 'file', file: { file_id: 'file-000000000' } } as const;
    const refused = await client.chat.completions
      .create({ model: 'plain', messages: [{ role: 'user', content: [missing] }] })
      .catch((failure) => failure);
    expect(refused).toMatchObject({ status: 400, code: 'invalid_request', param: 'messages.0.content.0.file.file_id' });
  });

  test('Gemini’s clients name files by their ids', async () => {
    const [t, d, i] = await Promise.all([text, pdf, png].map((file) => uploaded(caller.secret, file)));
    const ask = (parts: Json[], method = 'generateContent') =>
      fetch(`${world.url}/v1beta/models/plain:${method}`, {
        method: 'POST',
        headers: { 'x-goog-api-key': caller.secret, 'content-type': 'application/json' },
        body: JSON.stringify({ contents: [{ role: 'user', parts }] }),
      });
    const fileData = (fileUri = '') => ({ fileData: { fileUri } });
    const named = [fileData(t), { file_data: { file_uri: `files/${d}` } }, fileData(`files/${i}`)];
    expect((await ask(named)).status).toBe(200);
    expect(sent().messages[0]?.content).toEqual([textDocument, document, image]);
    expect((await ask(named, 'countTokens')).status).toBe(200);
    const missing = (await (await ask([fileData('file_000000000')])).json()) as { error: { message: string } };
    expect(missing.error.message).toBe('contents.0.parts.0.fileData.fileUri: No such file');
    const foreign = await ask([fileData('https://generativelanguage.googleapis.com/v1beta/files/file-123456789')]);
    expect(foreign.status).toBe(400);
  });

  test('what a file costs is held, and a request with files is as limited as any other', async () => {
    const poor = await world.makeKey({ credit: '0.01' });
    const id = await uploaded(poor.secret, new File(['word '.repeat(20_000)], 'long.txt'));
    const ask = (secret: string, content: Json[]) =>
      world.post(secret, bodyOf({ messages: [{ role: 'user', content }] }));
    const named = (file_id: string) => ({ type: 'document', source: { type: 'file', file_id } });
    expect((await ask(poor.secret, [{ type: 'text', text: 'Hi' }])).status).toBe(200);
    await expectError(await ask(poor.secret, [named(id)]), 400, 'billing_error', 'insufficient_user_quota');
    const large = await uploaded(caller.secret, new File([Buffer.alloc(13 * 1024 * 1024)], 'a.pdf'));
    const tooLarge = await ask(caller.secret, [named(large), named(large)]);
    await expectError(
      tooLarge,
      413,
      'request_too_large',
      'body_too_large',
      /^messages\.0\.content\.1\.source\.file_id: /,
    );
    const latin = await uploaded(caller.secret, new File([Buffer.from('ä', 'latin1')], 'a.txt'));
    await expectError(
      await ask(caller.secret, [named(latin)]),
      400,
      'invalid_request_error',
      'invalid_request',
      /not UTF-8$/,
    );
    const many = Array.from({ length: 101 }, () => named(id));
    await expectError(await ask(poor.secret, many), 400, 'invalid_request_error', 'invalid_request', /100 files/);
    // A file at a provider is not one of ours.
    const foreign = await ask(caller.secret, [named('file_011CNha8iCJcU1wXNR6q4V8w')]);
    await expectError(foreign, 400, 'invalid_request_error', 'feature_unavailable');
  });
});
