// Files at web addresses: those in messages are fetched for providers whose setting says so, and so are images in answers.

import { afterAll, expect, test } from 'bun:test';
import { fetchFile } from '../../../src/base/fetch-file.ts';
import { makePdf } from '../../support/make-pdf.ts';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { responses } from '../fronts/drivers/responses.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';

/** A pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF = Buffer.from(makePdf(['Good morning!']).file).toString('base64');
const fetched: string[] = [];
const files = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch(request) {
    const { pathname, search } = new URL(request.url);
    fetched.push(pathname + search);
    const redirects = /^\/redirect\/(\d)$/.exec(pathname)?.[1];
    if (redirects !== undefined)
      return Response.redirect(redirects === '0' ? '/pixel.png' : `/redirect/${Number(redirects) - 1}`);
    const [type, body] = FILES[pathname] ?? [];
    if (body === undefined) return new Response('missing', { status: 404 });
    return new Response(Buffer.from(body, 'base64'), { headers: { 'content-type': type ?? '' } });
  },
});
const FILES: Readonly<Record<string, readonly [type: string, base64: string]>> = {
  '/pixel.png': ['text/html', PNG], // its beginning shows what it is
  '/terms.pdf': ['application/octet-stream', PDF],
  '/terms.txt': ['text/plain; charset=utf-8', Buffer.from('Grüße').toString('base64')],
  '/page.html': ['text/html', Buffer.from('<html>').toString('base64')],
  '/program': ['application/octet-stream', Buffer.from('MZ').toString('base64')],
};
const at = (path: string) => new URL(path, files.url).href;

const json = (value: unknown): string => JSON.stringify(value);
const answers =
  (value: unknown): Script =>
  (answer) =>
    answer.send(200, { 'content-type': 'application/json' }, json(value));
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
const CHAT = answers({
  choices: [{ index: 0, message: { role: 'assistant', content: 'A pixel' }, finish_reason: 'stop' }],
  usage,
});
const upstream = await startScriptedUpstream(CHAT);
const of = (kind: string, fetch_urls?: string) => ({
  kind,
  base_url: upstream.url,
  api_key: 'k',
  private_network: true,
  ...(fetch_urls !== undefined && { fetch_urls }),
});
const PRICE = { input: '1', output: '2' };
const through = (...providers: string[]) => ({
  price: PRICE,
  max_input_tokens: 100_000,
  routes: providers.map((provider) => ({ provider, model: 'model' })),
});
const world = await sharedWorld({
  providers: {
    any: of('openai', 'any'),
    public: of('openai', 'public'),
    off: of('openai'),
    'any-responses': of('openai-responses', 'any'),
    'any-google': of('gemini', 'any'),
  },
  models: {
    any: through('any'),
    public: through('public'),
    off: through('off'),
    mixed: through('any', 'public'),
    'any-responses': through('any-responses'),
    'any-google': through('any-google'),
    painter: { serves: 'images', price: { units: { per_image: '0.04' } }, routes: [{ provider: 'off' }] },
    'any-painter': { serves: 'images', price: { units: { per_image: '0.04' } }, routes: [{ provider: 'any' }] },
  },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
  await files.stop(true);
});

const post = ({ secret }: Caller, path: string, body: Json, headers: Record<string, string> = {}) =>
  fetch(world.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body: json(body),
  });
const picture = (url: string): Json => ({ type: 'image_url', image_url: { url } });
const ask = (caller: Caller, model: string, content: Json[], headers: Record<string, string> = {}) =>
  post(caller, '/v1/chat/completions', { model, max_tokens: 10, messages: [{ role: 'user', content }] }, headers);
const sent = (): Json => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
const PIXEL = `data:image/png;base64,${PNG}`;

test('the provider gets the bytes of an image, by what the file is, and each address is fetched once', async () => {
  const caller = await world.makeKey();
  upstream.play(CHAT);
  fetched.length = 0;
  const url = at('/pixel.png?once#part');
  expect((await ask(caller, 'any', [picture(url), picture(at('/redirect/2')), picture(url)])).status).toBe(200);
  const parts = [PIXEL, PIXEL, PIXEL].map((one) => ({ type: 'image_url', image_url: { url: one } }));
  expect(sent()['messages']).toEqual([{ role: 'user', content: parts }]);
  expect(fetched).toEqual(['/pixel.png?once', '/redirect/2', '/redirect/1', '/redirect/0', '/pixel.png']);
  await expectMoney(world, caller, [{ input_tokens: 10, cost: '0.000014' }]);
});

test('documents are fetched as well, in Messages and for Gemini', async () => {
  const caller = await world.makeKey();
  const candidates = [{ content: { role: 'model', parts: [{ text: 'Terms' }] }, finishReason: 'STOP' }];
  upstream.play(answers({ candidates, usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2 } }));
  const content = ['/terms.pdf', '/terms.txt'].map((path) => ({
    type: 'document',
    source: { type: 'url', url: at(path) },
  }));
  const messages = [{ role: 'user', content }];
  expect((await post(caller, '/v1/messages', { model: 'any-google', max_tokens: 10, messages })).status).toBe(200);
  expect(sent()['contents']).toEqual([
    { role: 'user', parts: [{ inlineData: { mimeType: 'application/pdf', data: PDF } }, { text: 'Grüße' }] },
  ]);
  await expectMoney(world, caller, [{ cost: '0.000014' }]);
});

test('a provider of the client’s own protocol gets its body with the bytes', async () => {
  const caller = await world.makeKey();
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A pixel' }] }];
  upstream.play(
    answers({ id: 'r', status: 'completed', output, usage: { input_tokens: 10, output_tokens: 2, total_tokens: 12 } }),
  );
  const content = [
    { type: 'input_image', image_url: at('/pixel.png'), detail: 'low' },
    { type: 'input_file', file_url: at('/terms.pdf') },
  ];
  const body = { model: 'any-responses', max_output_tokens: 16, input: [{ role: 'user', content }] };
  expect((await post(caller, '/v1/responses', body)).status).toBe(200);
  expect(sent()['input']).toEqual([
    {
      role: 'user',
      content: [
        { type: 'input_image', image_url: PIXEL, detail: 'low' },
        { type: 'input_file', filename: 'document.pdf', file_data: `data:application/pdf;base64,${PDF}` },
      ],
    },
  ]);
  await expectMoney(world, caller, [{ cost: '0.000014' }]);
});

test('without the setting, an address is forwarded and not fetched', async () => {
  const caller = await world.makeKey();
  upstream.play(CHAT);
  fetched.length = 0;
  expect((await ask(caller, 'off', [picture(at('/pixel.png'))])).status).toBe(200);
  expect(sent()['messages']).toEqual([{ role: 'user', content: [picture(at('/pixel.png'))] }]);
  expect(fetched).toEqual([]);
});

test.each<[string, string, string]>([
  ['in a private network', 'public', at('/pixel.png')],
  ['in a private network, if one route has only the internet', 'mixed', at('/pixel.png')],
  ['of this machine by its name', 'public', 'http://localhost/pixel.png'],
  ['of a link-local service', 'public', 'http://169.254.169.254/latest/meta-data'],
  ['in another notation', 'public', 'http://0x7f000001/pixel.png'],
  ['with a password', 'any', at('/pixel.png').replace('http://', 'http://a:b@')],
  ['that is missing', 'any', at('/missing.png')],
  ['of a page', 'any', at('/page.html')],
  ['of a program', 'any', at('/program')],
  ['of a text in place of an image', 'any', at('/terms.txt')],
  ['that redirects too often', 'any', at('/redirect/3')],
])('an address %s is refused by its field, and nothing is billed', async (_, model, url) => {
  const caller = await world.makeKey();
  const before = upstream.requests.length;
  const path = 'messages.0.content.0.image_url.url';
  await expectError(chatCompletions, await ask(caller, model, [picture(url)]), 'invalid_request', path);
  expect(upstream.requests).toHaveLength(before);
  await expectNoTrace(world, caller);
});

test('more addresses than are fetched are refused', async () => {
  const caller = await world.makeKey();
  const many = Array.from({ length: 21 }, (_, index) => ({
    type: 'input_image',
    image_url: at(`/pixel.png?${index}`),
  }));
  const body = { model: 'any-responses', max_output_tokens: 16, input: [{ role: 'user', content: many }] };
  await expectError(
    responses,
    await post(caller, '/v1/responses', body),
    'invalid_request',
    'input.0.content.0.image_url',
  );
  await expectNoTrace(world, caller);
});

test('a retry with an idempotency key gets the stored answer, though the file has changed', async () => {
  const caller = await world.makeKey();
  upstream.play(CHAT);
  const headers = { 'idempotency-key': crypto.randomUUID() };
  for (let count = 0; count < 2; count++)
    expect((await ask(caller, 'any', [picture(at('/pixel.png'))], headers)).status).toBe(200);
  await expectMoney(world, caller, [{ cost: '0.000014' }]);
});

test.each<[string, Json, string | null]>([
  ['if the client asks for base64', { model: 'painter', response_format: 'b64_json' }, PNG],
  ['not if it asks for addresses', { model: 'any-painter', response_format: 'url' }, null],
  ['by the setting', { model: 'any-painter' }, PNG],
  ['not without it', { model: 'painter' }, null],
])('images at addresses in an answer become base64 %s', async (_, members, base64) => {
  const caller = await world.makeKey();
  const address = at('/pixel.png');
  upstream.play(answers({ created: 1, data: [{ url: address, revised_prompt: 'a dot' }] }));
  const reachable = members['model'] === 'any-painter'; // the other setting does not lead into this network
  const response = await post(caller, '/v1/images/generations', { prompt: 'dot', ...members });
  const image = base64 === null || !reachable ? { url: address } : { b64_json: base64 };
  expect(await response.json()).toEqual({ created: 1, data: [{ revised_prompt: 'a dot', ...image }] });
  await expectMoney(world, caller, [{ units: { images: 1 }, cost: '0.04' }]);
});

const edits = (caller: Caller, model: string, members: Json) =>
  post(caller, '/v1/images/edits', { model, prompt: 'a dot', ...members });
const sentForm = async () => {
  const { bytes, headers } = upstream.requests.at(-1) ?? {};
  const form = await new Response(new Uint8Array(bytes ?? []), { headers: headers ?? {} }).formData();
  const read = async (value: string | File) =>
    typeof value === 'string' ? value : [value.type, Buffer.from(await value.arrayBuffer()).toString('base64')];
  return Promise.all([...form].map(async ([name, value]) => [name, await read(value)]));
};
const DRAWN = answers({ created: 1, data: [{ b64_json: PNG }] });

test('an edit in JSON is sent as a form, with images from data URLs, files and addresses', async () => {
  const caller = await world.makeKey();
  const form = new FormData();
  form.append('purpose', 'vision');
  form.append('file', new File([Buffer.from(PNG, 'base64')], 'dot.png', { type: 'image/png' }));
  const uploaded = await fetch(`${world.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.secret}` },
    body: form,
  });
  const { id } = (await uploaded.json()) as { id: string };
  upstream.play(DRAWN);
  const images = [{ image_url: PIXEL }, { file_id: id }, { image_url: at('/pixel.png') }];
  const response = await edits(caller, 'any-painter', { images, mask: { image_url: PIXEL }, n: 1, quality: 'high' });
  expect(await response.json()).toEqual({ created: 1, data: [{ b64_json: PNG }] });
  expect(upstream.requests.at(-1)?.path).toBe('/v1/images/edits');
  const file = ['image/png', PNG];
  expect(await sentForm()).toEqual([
    ['model', 'any-painter'],
    ['prompt', 'a dot'],
    ['n', '1'],
    ['quality', 'high'],
    ['image[]', file],
    ['image[]', file],
    ['image[]', file],
    ['mask', file],
  ]);
  await expectMoney(world, caller, [{ endpoint: 'images', units: { images: 1 }, cost: '0.04' }]);
});

test('a retry of an edit in JSON gets the stored answer, and one with another image is another request', async () => {
  const caller = await world.makeKey();
  upstream.play(DRAWN);
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const ask = (url: string) =>
    post(caller, '/v1/images/edits', { model: 'painter', prompt: 'a dot', images: [{ image_url: url }] }, headers);
  expect((await ask(PIXEL)).status).toBe(200);
  expect((await ask(PIXEL)).status).toBe(200);
  await expectError(chatCompletions, await ask(PIXEL.replace('png', 'webp')), 'idempotency_mismatch');
  await expectMoney(world, caller, [{ cost: '0.04' }]);
});

test.each<[string, Json, string, 'invalid_request' | 'feature_unavailable']>([
  ['no images', {}, 'images', 'invalid_request'],
  ['an empty list', { images: [] }, 'images', 'invalid_request'],
  [
    'seventeen images',
    { images: Array.from({ length: 17 }, () => ({ image_url: PIXEL })) },
    'images',
    'invalid_request',
  ],
  ['an image without content', { images: [{}] }, 'images.0.image_url', 'invalid_request'],
  ['an image that is none', { images: [{ image_url: 'dot.png' }] }, 'images.0.image_url', 'invalid_request'],
  ['a file of a provider', { images: [{ file_id: 'file-abc' }] }, 'images.0.file_id', 'feature_unavailable'],
  [
    'an address that is not fetched',
    { images: [{ image_url: at('/pixel.png') }] },
    'images.0.image_url',
    'feature_unavailable',
  ],
])('an edit in JSON with %s is refused by the path of its field', async (_, members, path, code) => {
  const caller = await world.makeKey();
  await expectError(chatCompletions, await edits(caller, 'painter', members), code, path);
  await expectNoTrace(world, caller);
});

test('an address of an edit without an image is refused', async () => {
  const caller = await world.makeKey();
  const response = await edits(caller, 'any-painter', {
    images: [{ image_url: PIXEL }],
    mask: { image_url: at('/terms.txt') },
  });
  await expectError(chatCompletions, response, 'invalid_request', 'mask.image_url');
  await expectNoTrace(world, caller);
});

test('a file is bounded in bytes, each redirect is checked, and a name is resolved once', async () => {
  const limits = { isPrivateAllowed: true, isPlainAllowed: true, bytesMax: 100, redirectsMax: 1 };
  const names: string[] = [];
  const lookup = async (name: string) => {
    names.push(name);
    return ['127.0.0.1'];
  };
  const signal = AbortSignal.timeout(10_000);
  const named = `http://files.example:${files.port}`;
  const get = (url: string, more = {}) => fetchFile(url, { ...limits, lookup, ...more }, signal);
  expect(await get(`${named}/pixel.png`)).toMatchObject({ contentType: 'text/html' });
  expect(names).toEqual(['files.example']);
  expect(await get(at('/pixel.png'), { bytesMax: 10 })).toEqual({ error: 'it has more than 10 bytes' });
  expect(await get(at('/redirect/0'))).toHaveProperty('bytes');
  expect(await get(at('/redirect/1'))).toEqual({ error: 'it redirects more than 1 times' });
  expect(await get(`${named}/pixel.png`, { isPrivateAllowed: false })).toEqual({
    error: 'the host has a private address',
  });
});
