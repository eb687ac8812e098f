// POST /v1/images/generations and /v1/images/edits: what providers are sent, what clients get, and what is held and charged.

import { afterAll, describe, expect, test } from 'bun:test';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { expectError } from '../fronts/front-world.ts';
import {
  type Caller,
  expectMoney,
  expectNoTrace,
  type Json,
  sharedWorld,
  untilUnattended,
} from '../post-messages/world.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const answers =
  (status: number, body: unknown): Script =>
  (answer) =>
    answer.send(status, JSON_HEADERS, typeof body === 'string' ? body : JSON.stringify(body));
/** Server-sent events, each in a piece of its own, then the end; or a connection that breaks once `cut` is resolved. */
const streams =
  (events: Json[], cut: Promise<void> | null = null): Script =>
  async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const event of events) await answer.write(`event: ${event['type']}\ndata: ${JSON.stringify(event)}\n\n`);
    await cut;
    if (cut === null) answer.end();
    else answer.drop();
  };

/** The beginning of a PNG file of this size. */
function pngOf(width: number, height: number): string {
  const head = Buffer.alloc(24);
  head.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  head.write('IHDR', 12, 'latin1');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head.toString('base64');
}
const SQUARE = pngOf(1_024, 1_024);
const usageOf = (text: number, image: number): Json => ({
  input_tokens: text,
  output_tokens: image,
  total_tokens: text + image,
  input_tokens_details: { text_tokens: text, image_tokens: 0 },
});
const imagesOf = (images: Json[], rest: Json = {}): Json => ({ created: 1_790_000_000, data: images, ...rest });

const upstream = await startScriptedUpstream(answers(200, imagesOf([{ b64_json: SQUARE }])));
const second = await startScriptedUpstream(answers(200, imagesOf([{ b64_json: SQUARE }])));
const ROWS: Readonly<Record<string, string>> = {
  '1024x1024 low': '0.011',
  '1024x1024 high': '0.167',
  '1536x1024 low': '0.016',
  '1536x1024 high': '0.25',
};
const openAi = (url: string, kind = 'openai') => ({ kind, base_url: url, api_key: 'k', private_network: true });
const drawing = (price: Json, ...providers: string[]) => ({
  serves: 'images',
  price,
  routes: providers.map((provider, priority) => ({ provider, model: 'drawer', priority })),
});
const GOOGLE = { region: 'us-east5', project: 'our-project' };
const google = (kind: string, more: Json = {}) => ({
  kind,
  base_url: upstream.url,
  api_key: 'k',
  private_network: true,
  ...more,
});
const world = await sharedWorld({
  providers: {
    draws: openAi(upstream.url),
    'draws-too': openAi(second.url, 'openai-responses'),
    gemini: google('gemini'),
    vertex: google('vertex', GOOGLE),
  },
  models: {
    'by-table': drawing({ units: { per_image: ROWS } }, 'draws'),
    flat: drawing({ units: { per_image: '0.04' } }, 'draws'),
    'by-tokens': drawing({ input: '5', units: { image_output: '40' } }, 'draws'),
    'edits-by-tokens': drawing({ input: '5', units: { image_input: '8', image_output: '40' } }, 'draws'),
    ...Object.fromEntries(
      ['gemini', 'vertex'].flatMap((provider) =>
        ['gemini-3-pro-image', 'imagen-4'].map((model) => [
          `${model} of ${provider}`.replaceAll(' ', '-'),
          {
            serves: 'images',
            price:
              model === 'imagen-4'
                ? { units: { per_image: { '2K': '0.06', '*': '0.04' } } }
                : { input: '2', units: { image_output: '120' } },
            routes: [{ provider, model }],
          },
        ]),
      ),
    ),
    paired: drawing({ units: { per_image: '0.04' } }, 'draws', 'draws-too'),
  },
  groups: { halved: { models: ['*'], multiplier: '0.5' } },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
  await second.close();
});

const post = ({ secret }: Caller, members: Json, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${world.url}/v1/images/generations`, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: `Bearer ${secret}`, ...headers },
    body: JSON.stringify({ model: 'flat', prompt: 'a red bicycle', ...members }),
    ...(signal !== undefined && { signal }),
  });
/** As amounts are written: two decimals at least. */
const usd = (amount: number) => (Number.isInteger(amount * 100) ? amount.toFixed(2) : String(amount));
const sent = () => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;

test('the request is sent as it came, and the answer is the provider’s own', async () => {
  const caller = await world.makeKey();
  const answer = imagesOf([{ url: 'https://files.example/1.png', revised_prompt: 'a bicycle' }]);
  upstream.play(answers(200, answer));
  const fields = {
    size: '1024x1024',
    quality: 'hd',
    response_format: 'url',
    style: 'vivid',
    background: 'opaque',
    moderation: 'low',
    output_format: 'jpeg',
    output_compression: 80,
  };
  const response = await post(caller, { ...fields, n: 1, user: 'someone', negative_prompt: 'cars' });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual(answer);
  expect(upstream.requests.at(-1)?.path).toBe('/v1/images/generations');
  const { user, ...others } = sent();
  expect(others).toEqual({ model: 'drawer', prompt: 'a red bicycle', n: 1, ...fields });
  expect(user).toMatch(/^[0-9a-f]{64}$/);
  const [record] = await expectMoney(world, caller, [
    { model: 'flat', endpoint: 'images', units: { images: 1 }, image: '1024x1024 hd', cost: '0.04' },
  ]);
  const receipt = await fetch(`${world.url}/v1/usage/${record?.['request_id']}`, {
    headers: { authorization: `Bearer ${caller.secret}` },
  });
  expect(await receipt.json()).toMatchObject({ endpoint: 'images', units: { images: 1 }, cost: '0.04' });
});

test.each(Object.entries(ROWS))('the row %s is billed for each image', async (row, price) => {
  const caller = await world.makeKey();
  const [size = '', quality = ''] = row.split(' ');
  const [width = 0, height = 0] = size.split('x').map(Number);
  const image = { b64_json: pngOf(width, height) };
  // By the request, by what the answer states, and by the file and the answer.
  upstream.play(
    answers(200, imagesOf([image, image], { size, quality })),
    answers(200, imagesOf([image], { size, quality })),
    answers(200, imagesOf([image], { quality })),
  );
  expect((await post(caller, { model: 'by-table', n: 2, size, quality })).status).toBe(200);
  expect((await post(caller, { model: 'by-table', size: 'auto', quality: 'auto' })).status).toBe(200);
  expect((await post(caller, { model: 'by-table' })).status).toBe(200);
  const micros = Math.round(Number(price) * 1e6);
  const costs = [1, 1, 2].map((count) => ({ cost: usd((count * micros) / 1e6), units: { images: count }, image: row }));
  await expectMoney(world, caller, costs);
});

test.each([
  ['a dearer image', { size: '1536x1024', quality: 'high' }],
  ['a size without a row', { size: '99999x99999', quality: 'low' }],
  ['words that are none', { size: '<b>', quality: 7 }],
])('a provider that reports %s is not paid more than was held', async (_, reported) => {
  const caller = await world.makeKey();
  upstream.play(answers(200, imagesOf([{ url: 'https://files.example/1.png' }], reported)));
  expect((await post(caller, { model: 'by-table', size: '1024x1024', quality: 'low' })).status).toBe(200);
  await expectMoney(world, caller, [{ cost: '0.011', image: '1024x1024 low' }]);
});

test('more images than were requested are not billed, and fewer are billed as they are', async () => {
  const caller = await world.makeKey();
  const image = { b64_json: SQUARE };
  upstream.play(answers(200, imagesOf([image, image, image])), answers(200, imagesOf([image])));
  expect((await post(caller, { n: 2 })).status).toBe(200);
  expect((await post(caller, { n: 2 })).status).toBe(200);
  await expectMoney(world, caller, [{ cost: '0.04' }, { cost: '0.08' }]);
});

test.each([
  [{ n: 10, model: 'flat' }, '0.4'],
  [{ n: 10, model: 'by-table' }, '2.5'], // the dearest row
  [{ n: 2, model: 'by-table', quality: 'low' }, '0.032'], // the dearest of that quality
  [{ n: 2, model: 'by-table', size: '1024x1024', quality: 'low' }, '0.022'],
  [{ n: 1, model: 'by-tokens', size: '1024x1024', quality: 'low', partial_images: 2 }, '0.01888'], // (272 + 200) × 40
  [{ n: 1, model: 'by-tokens' }, '0.94876'], // 23,719 × 40: any size, high
])('%j needs the worst case before anything is sent', async (members, held) => {
  // Text tokens of the prompt are held as well where they have a price.
  const rest = members.model === 'by-tokens' ? 0.01 : 0;
  const short = await world.makeKey({ credit: (Number(held) - 0.000001).toFixed(6) });
  const before = upstream.requests.length;
  await expectError(chatCompletions, await post(short, members), 'insufficient_user_quota');
  expect(upstream.requests).toHaveLength(before);
  const enough = await world.makeKey({ credit: (Number(held) + rest).toFixed(6) });
  upstream.play(answers(200, imagesOf([{ b64_json: SQUARE }], { usage: usageOf(10, 20) })));
  expect((await post(enough, members)).status).toBe(200);
});

test('tokens are billed as they are reported, and never above their most', async () => {
  const caller = await world.makeKey();
  const asked = { model: 'by-tokens', size: '1024x1024', quality: 'low' };
  const reports = [usageOf(12, 272), usageOf(12, 1e9), usageOf(12, -5)];
  upstream.play(
    ...(reports.map((usage) => answers(200, imagesOf([{ b64_json: SQUARE }], { usage }))) as [Script, ...Script[]]),
    answers(200, imagesOf([{ b64_json: SQUARE }])),
  );
  for (let count = 0; count < 4; count++) expect((await post(caller, asked)).status).toBe(200);
  const most = 272;
  const receipt = (input: number, output: number) => String((input * 5 + output * 40) / 1e6);
  const records = await expectMoney(world, caller, [
    { units: { images: 1, output_image_tokens: most }, usage_source: 'estimated' },
    { units: { images: 1, output_image_tokens: most } },
    { units: { images: 1, output_image_tokens: most }, cost: receipt(12, most) },
    { units: { images: 1, output_image_tokens: 272 }, cost: receipt(12, 272), usage_source: 'reported' },
  ]);
  expect(records).toHaveLength(4);
});

test('a size whose tokens are not known is refused where tokens have a price', async () => {
  const caller = await world.makeKey();
  const before = upstream.requests.length;
  const response = await post(caller, { model: 'by-tokens', size: '99999x99999' });
  expect(await expectError(chatCompletions, response, 'feature_not_priced', 'size')).toStartWith('size: ');
  const unlisted = await post(caller, { model: 'by-table', size: '99999x99999', quality: 'low' });
  expect(await expectError(chatCompletions, unlisted, 'feature_not_priced', 'size')).toStartWith('size: ');
  expect(upstream.requests).toHaveLength(before);
  await expectNoTrace(world, caller);
});

test.each<[Json, string]>([
  [{ prompt: undefined }, 'prompt'],
  [{ prompt: ['a', 'list'] }, 'prompt'],
  [{ prompt: '' }, 'prompt'],
  [{ image: 'https://pictures.example/a.png' }, 'image'],
  [{ images: [{ image_url: 'data:image/png;base64,AA==' }] }, 'images'],
  [{ n: 0 }, 'n'],
  [{ n: 11 }, 'n'],
  [{ n: 1e15 }, 'n'],
  [{ n: '2' }, 'n'],
  [{ size: 1024 }, 'size'],
  [{ size: 'a\r\nb' }, 'size'],
  [{ quality: 'High!' }, 'quality'],
  [{ stream: 'true' }, 'stream'],
  [{ partial_images: 4 }, 'partial_images'],
  [{ output_compression: 101 }, 'output_compression'],
  [{ response_format: {} }, 'response_format'],
])('%j is refused by the path of its field', async (members, path) => {
  const caller = await world.makeKey();
  const response = await post(caller, members);
  expect(await expectError(chatCompletions, response, 'invalid_request', path)).toStartWith(`${path}: `);
  await expectNoTrace(world, caller);
});

test.each<[string, unknown]>([
  ['no images', imagesOf([])],
  ['an image without content', imagesOf([{ revised_prompt: 'x' }])],
  ['a page', '<html>sign in</html>'],
  ['a list', [1]],
  ['an error with status 200', { error: { message: 'no' } }],
])('a provider that sends %s has failed, and nothing is charged', async (_, answer) => {
  const caller = await world.makeKey();
  upstream.play(answers(200, answer));
  await expectError(chatCompletions, await post(caller, {}), 'upstream_failed');
  await expectMoney(world, caller, [{ cost: '0' }]);
});

test('another provider draws what the first one cannot, at the multiplier of the group', async () => {
  const caller = await world.makeKey({ groups: ['halved'] });
  upstream.play(answers(503, { error: { message: 'busy' } }));
  second.play(answers(200, imagesOf([{ b64_json: SQUARE }])));
  expect((await post(caller, { model: 'paired' })).status).toBe(200);
  await expectMoney(world, caller, [{ provider: 'draws-too', cost: '0.02' }]);
});

test('ten large images are one answer', async () => {
  const caller = await world.makeKey();
  const image = SQUARE + 'A'.repeat(4_000_000);
  upstream.play(answers(200, imagesOf(Array.from({ length: 10 }, () => ({ b64_json: image })))));
  const body = (await (await post(caller, { n: 10 })).json()) as { data: { b64_json: string }[] };
  expect(body.data.map(({ b64_json }) => b64_json.length)).toEqual(Array.from({ length: 10 }, () => image.length));
  await expectMoney(world, caller, [{ cost: '0.40', units: { images: 10 } }]);
});

describe.each(['gemini', 'vertex'])('%s', (kind) => {
  const inline = (data: string) => ({ inlineData: { mimeType: 'image/png', data } });
  const candidates = [
    { content: { parts: [{ text: 'Here.' }, { ...inline('AAAA'), thought: true }, inline(SQUARE)] } },
  ];

  test('draws with its models that converse', async () => {
    const caller = await world.makeKey();
    const usageMetadata = {
      promptTokenCount: 12,
      candidatesTokenCount: 1_130,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1_120 }],
    };
    upstream.play(answers(200, { candidates, usageMetadata }));
    const response = await post(caller, { model: `gemini-3-pro-image-of-${kind}`, size: '1792x1024' });
    expect(await response.json()).toMatchObject({ data: [{ b64_json: SQUARE }], usage: { output_tokens: 1_130 } });
    expect(upstream.requests.at(-1)?.path).toEndWith('/models/gemini-3-pro-image:generateContent');
    expect(sent()).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'a red bicycle' }] }],
      generationConfig: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    });
    const cost = String((12 * 2 + 1_120 * 120) / 1e6);
    await expectMoney(world, caller, [{ units: { images: 1, output_image_tokens: 1_120 }, image: '1024x1024', cost }]);
  });

  test('draws with Imagen, in the vendor’s words for sizes', async () => {
    const caller = await world.makeKey();
    const predictions = [SQUARE, SQUARE].map((bytesBase64Encoded) => ({ bytesBase64Encoded, mimeType: 'image/png' }));
    upstream.play(answers(200, { predictions }));
    const asked = { model: `imagen-4-of-${kind}`, n: 2, size: '1024x1536', response_format: 'url' };
    const url = `data:image/png;base64,${SQUARE}`;
    expect(await (await post(caller, asked)).json()).toMatchObject({ data: [{ url }, { url }] });
    expect(upstream.requests.at(-1)?.path).toEndWith('/models/imagen-4:predict');
    expect(sent()).toEqual({
      instances: [{ prompt: 'a red bicycle' }],
      parameters: { sampleCount: 2, aspectRatio: '3:4' },
    });
    expect((await post(caller, { model: `imagen-4-of-${kind}`, size: '2K' })).status).toBe(200);
    expect(sent()['parameters']).toEqual({ sampleCount: 1, sampleImageSize: '2K' });
    await expectMoney(world, caller, [{ cost: '0.06' }, { cost: '0.08' }]);
  });

  test('refuses more images than it makes, and a prompt that it does not draw', async () => {
    const caller = await world.makeKey();
    const before = upstream.requests.length;
    const several = await post(caller, { model: `gemini-3-pro-image-of-${kind}`, n: 2 });
    expect(await expectError(chatCompletions, several, 'upstream_rejected', 'n')).toStartWith('n: ');
    expect(upstream.requests).toHaveLength(before);
    upstream.play(answers(200, { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }));
    const blocked = await post(caller, { model: `gemini-3-pro-image-of-${kind}` });
    expect(await expectError(chatCompletions, blocked, 'upstream_rejected', 'prompt')).toStartWith('prompt: ');
    await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
  });
});

const edit = ({ secret }: Caller, parts: Readonly<Record<string, string | readonly Blob[]>>, headers: Json = {}) => {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: 'flat', prompt: 'a red bicycle', image: [PICTURE], ...parts }))
    if (typeof value === 'string') form.append(name, value);
    else for (const one of value) form.append(name, one);
  return fetch(`${world.url}/v1/images/edits`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, ...(headers as Record<string, string>) },
    body: form,
  });
};
const PICTURE = new File([new Uint8Array(Buffer.from(SQUARE, 'base64'))], 'bicycle.png', { type: 'image/png' });
const MASK = new File(['mask'], 'mask.png', { type: 'image/png' });
const sentForm = async () => {
  const { bytes, headers } = upstream.requests.at(-1) ?? {};
  const form = await new Response(new Uint8Array(bytes ?? []), { headers: headers ?? {} }).formData();
  const read = async (value: string | Blob) => (typeof value === 'string' ? value : await value.text());
  return Promise.all([...form].map(async ([name, value]) => [name, await read(value)]));
};

test('an edit is sent as a form with its images in order, and billed like other images', async () => {
  const caller = await world.makeKey();
  const answer = imagesOf([{ b64_json: SQUARE }]);
  upstream.play(answers(200, answer));
  const fields = { n: '1', size: '1024x1024', quality: 'high', input_fidelity: 'high', background: 'opaque' };
  const images = [PICTURE, new File(['second'], 'second.webp')];
  const response = await edit(caller, {
    ...fields,
    image: [],
    'image[]': images,
    mask: [MASK],
    other: 'x',
    user: 'me',
  });
  expect(await response.json()).toEqual(answer);
  expect(upstream.requests.at(-1)?.path).toBe('/v1/images/edits');
  const sent = await sentForm();
  const { user, ...texts } = Object.fromEntries(sent.filter(([name]) => !/^image|^mask/.test(name ?? '')));
  expect(texts).toEqual({ model: 'drawer', prompt: 'a red bicycle', ...fields });
  expect(user).not.toBe('me');
  expect(sent.filter(([name]) => /^image|^mask/.test(name ?? ''))).toEqual([
    ['image[]', await PICTURE.text()],
    ['image[]', 'second'],
    ['mask', 'mask'],
  ]);
  await expectMoney(world, caller, [{ endpoint: 'images', units: { images: 1 }, cost: '0.04' }]);
});

test('tokens of images that are edited are billed as they are reported, and never above their most', async () => {
  const caller = await world.makeKey();
  const usage = (image: number) => ({
    input_tokens: 20 + image,
    output_tokens: 100,
    input_tokens_details: { text_tokens: 20, image_tokens: image },
  });
  const ask = async (image: number) => {
    upstream.play(answers(200, imagesOf([{ b64_json: SQUARE }], { usage: usage(image) })));
    expect((await edit(caller, { model: 'edits-by-tokens', mask: [MASK] })).status).toBe(200);
  };
  await ask(800);
  await ask(1e6);
  upstream.play(answers(200, imagesOf([{ b64_json: SQUARE }])));
  expect((await edit(caller, { model: 'edits-by-tokens' })).status).toBe(200);
  await expectMoney(world, caller, [
    { units: { input_image_tokens: 7_000 } },
    { units: { input_image_tokens: 14_000 } },
    {
      units: { images: 1, input_image_tokens: 800, output_image_tokens: 100 },
      input_tokens: 20,
      cost: String((20 * 5 + 800 * 8 + 100 * 40) / 1e6),
    },
  ]);
});

test('the most tokens of the images that are edited are held, for each result', async () => {
  const held = (2 * 2 * 7_000 * 8 + 2 * 272 * 40) / 1e6;
  const short = await world.makeKey({ credit: (held - 0.000001).toFixed(6) });
  const before = upstream.requests.length;
  const asked = { model: 'edits-by-tokens', n: '2', mask: [MASK], size: '1024x1024', quality: 'low' };
  await expectError(chatCompletions, await edit(short, asked), 'insufficient_user_quota');
  expect(upstream.requests).toHaveLength(before);
  const enough = await world.makeKey({ credit: (held + 0.01).toFixed(6) });
  upstream.play(answers(200, imagesOf([{ b64_json: SQUARE }, { b64_json: SQUARE }])));
  expect((await edit(enough, asked)).status).toBe(200);
});

test('events of an edit are relayed, and a provider without events is relayed as one', async () => {
  const caller = await world.makeKey();
  const events = [
    { type: 'image_edit.partial_image', b64_json: SQUARE, partial_image_index: 0 },
    { type: 'image_edit.completed', b64_json: SQUARE, size: '1024x1024' },
  ];
  upstream.play(streams(events));
  const relayed = await (await edit(caller, { stream: 'true', partial_images: '1' })).text();
  expect(relayed).toBe(events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join(''));
  upstream.play(answers(200, imagesOf([{ b64_json: SQUARE }])));
  expect(await (await edit(caller, { stream: 'true' })).text()).toStartWith('event: image_edit.completed\n');
  await expectMoney(world, caller, [{ cost: '0.04' }, { cost: '0.04' }]);
});

test.each<[string, Parameters<typeof edit>[1], string]>([
  ['no image', { image: [] }, 'image'],
  ['an empty image', { image: [new File([], 'a.png')] }, 'image'],
  ['seventeen images', { image: Array.from({ length: 17 }, () => MASK) }, 'image'],
  ['two masks', { mask: [MASK, MASK] }, 'mask'],
  ['another file', { picture: [MASK] }, 'body'],
  ['no prompt', { prompt: '' }, 'prompt'],
  ['a number that is none', { n: 'two' }, 'n'],
  ['a flag that is none', { stream: 'maybe' }, 'stream'],
  ['another fidelity', { input_fidelity: 'best' }, 'input_fidelity'],
])('an edit with %s is refused by the path of its field', async (_, parts, path) => {
  const caller = await world.makeKey();
  await expectError(chatCompletions, await edit(caller, parts), 'invalid_request', path);
  await expectNoTrace(world, caller);
});

test('Gemini’s image models get the images before the prompt, and report their tokens', async () => {
  const caller = await world.makeKey();
  const usageMetadata = {
    promptTokenCount: 270,
    candidatesTokenCount: 1_290,
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 12 },
      { modality: 'IMAGE', tokenCount: 258 },
    ],
  };
  const parts = [{ inlineData: { mimeType: 'image/png', data: SQUARE } }];
  upstream.play(answers(200, { candidates: [{ content: { parts } }], usageMetadata }));
  expect((await edit(caller, { model: 'gemini-3-pro-image-of-gemini' })).status).toBe(200);
  expect(sent()['contents']).toEqual([
    { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: SQUARE } }, { text: 'a red bicycle' }] },
  ]);
  const masked = await edit(caller, { model: 'gemini-3-pro-image-of-gemini', mask: [MASK] });
  await expectError(chatCompletions, masked, 'upstream_rejected', 'mask');
  const imagen = await edit(caller, { model: 'imagen-4-of-gemini' });
  await expectError(chatCompletions, imagen, 'upstream_rejected', 'image');
  await expectMoney(world, caller, [
    { cost: '0' },
    { cost: '0' },
    {
      units: { images: 1, input_image_tokens: 258, output_image_tokens: 1_290 },
      input_tokens: 12,
      cost: String((12 * 2 + 258 * 2 + 1_290 * 120) / 1e6),
    },
  ]);
});

test('the sandbox draws another image for another file, and a retry with its idempotency key gets the same', async () => {
  const caller = await world.makeKey();
  const ask = async (parts: Parameters<typeof edit>[1], headers: Json = {}) =>
    (await edit(caller, { model: 'sandbox-image', size: '64x64', ...parts }, headers)).text();
  const imageOf = (text: string) => (JSON.parse(text) as { data: [{ b64_json: string }] }).data[0].b64_json;
  const once = { 'idempotency-key': 'edited' };
  const first = await ask({}, once);
  expect(await ask({}, once)).toBe(first);
  expect(imageOf(await ask({ image: [MASK] }))).not.toBe(imageOf(first));
  expect(await ask({ image: [MASK] }, once)).toContain('idempotency_mismatch');
  await expectMoney(world, caller, [{ cost: '0.01' }, { cost: '0.01' }]);
});

test('an idempotency key is charged once, and its answer is repeated', async () => {
  const caller = await world.makeKey();
  const answer = imagesOf([{ b64_json: SQUARE }]);
  upstream.play(answers(200, answer));
  for (let count = 0; count < 2; count++)
    expect(await (await post(caller, {}, { 'idempotency-key': 'once' })).json()).toEqual(answer);
  await expectMoney(world, caller, [{ cost: '0.04' }]);
});

const partial = (index: number): Json => ({
  type: 'image_generation.partial_image',
  partial_image_index: index,
  b64_json: SQUARE,
});
const completed = (rest: Json = {}): Json => ({ type: 'image_generation.completed', b64_json: SQUARE, ...rest });
const STREAM = { model: 'by-tokens', stream: true, partial_images: 2, size: '1024x1024', quality: 'low' };
const eventsIn = (text: string) =>
  text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as Json);

test('a stream is relayed event by event, and billed by the report of its last one', async () => {
  const caller = await world.makeKey();
  const events = [partial(0), partial(1), completed({ usage: usageOf(12, 472) })];
  upstream.play(streams(events));
  const response = await post(caller, STREAM);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(eventsIn(await response.text())).toEqual(events);
  expect(sent()).toMatchObject({ stream: true, partial_images: 2 });
  await expectMoney(world, caller, [
    {
      units: { images: 1, output_image_tokens: 472 },
      cost: String((12 * 5 + 472 * 40) / 1e6),
      usage_source: 'reported',
    },
  ]);
});

test('a provider that does not stream is relayed as one event', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(200, imagesOf([{ b64_json: SQUARE }], { usage: usageOf(12, 272) })));
  const events = eventsIn(await (await post(caller, STREAM)).text());
  expect(events).toMatchObject([{ type: 'image_generation.completed', b64_json: SQUARE, usage: usageOf(12, 272) }]);
  await expectMoney(world, caller, [{ cost: String((12 * 5 + 272 * 40) / 1e6) }]);
});

test('a stream that breaks off is billed for its partial images', async () => {
  const caller = await world.makeKey();
  const received = Promise.withResolvers<void>();
  upstream.play(streams([partial(0), partial(1)], received.promise));
  const reader = (await post(caller, STREAM)).body?.getReader();
  await reader?.read(); // the first event is sent once the second has arrived
  received.resolve();
  expect(await reader?.read().catch(() => 'broken')).toBe('broken');
  const [record] = await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
  expect(record?.['units']).toEqual({ images: 0, output_image_tokens: 200 });
});

test('a stream that fails before its first event leaves the answer to the next provider', async () => {
  const caller = await world.makeKey();
  upstream.play(streams([{ type: 'error', error: { message: 'no' } }]));
  second.play(streams([completed()]));
  const response = await post(caller, { model: 'paired', stream: true });
  expect(eventsIn(await response.text())).toEqual([completed()]);
  await expectMoney(world, caller, [{ provider: 'draws-too', cost: '0.04', outcome: 'completed' }]);
});

test('a client that disconnects mid-stream pays for the image that was drawn', async () => {
  const caller = await world.makeKey();
  const disconnected = Promise.withResolvers<void>();
  upstream.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const event of [partial(0), partial(1)]) await answer.write(`data: ${JSON.stringify(event)}\n\n`);
    await disconnected.promise;
    await answer.write(`data: ${JSON.stringify(completed({ usage: usageOf(12, 472) }))}\n\n`);
    answer.end();
  });
  const leaving = new AbortController();
  const response = await post(caller, STREAM, {}, leaving.signal);
  await response.body?.getReader().read();
  leaving.abort();
  await untilUnattended(world, 1);
  disconnected.resolve();
  await expectMoney(world, caller, [{ outcome: 'client_gone', cost: String((12 * 5 + 472 * 40) / 1e6) }]);
});

test('a stream is not stored: a retry with its idempotency key is refused, and charged once', async () => {
  const caller = await world.makeKey();
  upstream.play(streams([completed()]));
  const headers = { 'idempotency-key': 'streamed' };
  expect((await (await post(caller, { stream: true }, headers)).text()).length).toBeGreaterThan(0);
  await expectMoney(world, caller, [{ cost: '0.04' }]);
  await expectError(chatCompletions, await post(caller, { stream: true }, headers), 'idempotency_answer_gone');
  await expectMoney(world, caller, [{ cost: '0.04' }]);
});

test('a kind without images is refused by name', async () => {
  const caller = await world.makeKey();
  await expectError(chatCompletions, await post(caller, { model: 'plain' }), 'model_not_found', 'model');
  await expectNoTrace(world, caller);
});

test.each([
  ['300x200', 300, 200],
  [undefined, 1_024, 1_024],
])('the sandbox draws a PNG of the size %s, the same each time', async (size, width, height) => {
  const caller = await world.makeKey();
  const draw = async (prompt: string) => {
    const response = await post(caller, { model: 'sandbox-image', prompt, n: 2, size });
    return ((await response.json()) as { data: { b64_json: string }[] }).data.map(({ b64_json }) => b64_json);
  };
  const [drawn, again, other] = [await draw('a'), await draw('a'), await draw('b')];
  expect(again).toEqual(drawn);
  expect(new Set([...drawn, ...other]).size).toBe(4);
  const file = Buffer.from(drawn[0] as string, 'base64');
  expect([file.readUInt32BE(16), file.readUInt32BE(20)]).toEqual([width, height]);
  await expectMoney(world, caller, [{ cost: '0.02' }, { cost: '0.02' }, { cost: '0.02', image: `${width}x${height}` }]);
});
