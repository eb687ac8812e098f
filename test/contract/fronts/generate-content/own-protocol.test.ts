// Guarantees of Gemini's protocol alone: streams as one list, lists of models, counts of tokens, and signatures at a provider of it.

import { expect, test } from 'bun:test';
import { encodeThinking } from '../../../../src/fronts/gemini/carried-thinking.ts';
import { scripts } from '../../../support/scripted-upstream.ts';
import { chunksOf, textOf } from '../../../unit/fronts/gemini/chunks.ts';
import { expectMoney, GOOD } from '../../post-messages/world.ts';
import { generateContent } from '../drivers/generate-content.ts';
import { nativeGemini } from '../drivers/native-gemini.ts';
import type { Json } from '../front-driver.ts';
import { expectError, post, sentOf } from '../front-world.ts';
import { postNative, startNative, streamText } from '../native-driver.ts';

const world = await startNative([nativeGemini]);
const { native } = world;

const pathOf = (method: string) => ({ ...generateContent, path: () => `/v1beta/models/${method}` });
/** Without `alt=sse`. */
const listing = pathOf('plain:streamGenerateContent');
const counting = pathOf('plain:countTokens');

test('a stream is a list of the same chunks where the client does not ask for events', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const events = await (await post(generateContent, world, caller.secret, { stream: true })).text();
  const response = await post(listing, world, caller.secret);
  expect(response.headers.get('content-type')).toBe('application/json');
  const list = (await response.json()) as Json[];
  expect(list).toEqual(chunksOf(events));
  expect(textOf(list)).toBe('Hello there, world!');
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('a list that breaks off midway ends with an error and without an end', async () => {
  world.upstream.play(scripts.halfStream());
  const caller = await world.makeKey();
  const text = await (await post(listing, world, caller.secret)).text();
  expect(JSON.parse(text).at(-1)).toMatchObject({ error: { details: [{ metadata: { code: 'upstream_failed' } }] } });
  expect(text).not.toMatch(/finishReason|candidatesTokenCount/);
  await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
});

test('models are listed and found by name and alias, on the path that other protocols share, too', async () => {
  const { secret } = await world.makeKey();
  const [own, bearer] = generateContent.keyHeaders(secret);
  const get = (path: string, headers = own) => fetch(world.url + path, { headers });
  for (const base of ['/v1beta/models', '/v1/models']) {
    const { models } = (await (await get(base)).json()) as { models: Json[] };
    expect(models.map(({ name }) => name)).toEqual(expect.arrayContaining(['models/plain', 'models/paired']));
    for (const name of ['plain', 'plain-latest', 'models/plain'])
      expect(await (await get(`${base}/${name}`)).json()).toMatchObject({
        name: 'models/plain',
        baseModelId: 'plain',
        supportedGenerationMethods: expect.arrayContaining(['generateContent', 'countTokens']),
      });
  }
  expect(await (await get('/v1/models', bearer)).json()).toHaveProperty('data');
  const unknown = await get('/v1beta/models/none');
  expect(unknown.status).toBe(404);
  expect(await unknown.json()).toMatchObject({
    error: { code: 404, details: [{ metadata: { code: 'model_not_found' } }] },
  });
  await expectError(generateContent, await get('/v1beta/models', {}), 'key_missing');
});

test('tokens are counted free of charge, for contents and for a whole request', async () => {
  world.upstream.play(scripts.json('{"input_tokens":7}'));
  const caller = await world.makeKey();
  const { contents, ...whole } = generateContent.body({ system: 'Be brief.' });
  for (const body of [{ contents }, { generateContentRequest: { contents, ...whole, model: 'models/x' } }]) {
    const response = await post(counting, world, caller.secret, {}, { body: JSON.stringify(body) });
    expect(await response.json()).toEqual({ totalTokens: 7 });
    expect(world.upstream.requests.at(-1)?.path).toBe('/v1/messages/count_tokens');
  }
  expect(sentOf(world)).toMatchObject({ system: [{ type: 'text', text: 'Be brief.' }] });
  await expectMoney(world, caller, []);
});

test('a stream is relayed as one list where the client does not ask for events', async () => {
  const { begun, end } = nativeGemini.events(['Hello ', 'there, world!']);
  const stream = [...begun, ...end].join('');
  native.play(streamText(stream));
  const caller = await world.makeKey();
  expect(await (await post(pathOf('gemini-own:streamGenerateContent'), world, caller.secret)).json()).toEqual(
    chunksOf(stream),
  );
  await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed' }]);
});

const called = (thoughtSignature: string) => ({
  contents: [
    { parts: [{ text: 'go' }] },
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature }] },
    { parts: [{ functionResponse: { name: 'f', response: { output: 'done' } } }] },
  ],
});

test('another provider answers after a failure: it gets a message, and no signature of Google', async () => {
  native.play(scripts.overloaded());
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const response = await postNative(nativeGemini, world, secret, { model: 'either', members: called('R29vZ2xl') });
  expect(await response.json()).toMatchObject({ responseId: 'upstream' });
  expect(JSON.parse(world.upstream.requests.at(-1)?.body ?? '')).toMatchObject({
    messages: [
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'f' }] },
      { role: 'user', content: [{ type: 'tool_result', content: 'done' }] },
    ],
  });
});

test('a provider of Gemini gets no thinking of another one as a signature', async () => {
  world.upstream.play(scripts.overloaded());
  native.play(scripts.json(JSON.stringify(nativeGemini.answer)));
  const { secret } = await world.makeKey();
  const carried = encodeThinking([{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }]) as string;
  const { contents } = called(carried);
  const said = { role: 'model', parts: [{ text: 'Yes.' }, { text: '', thoughtSignature: carried }] };
  const members = { contents: [...contents, said, { parts: [{ text: 'And?' }] }] };
  const response = await postNative(nativeGemini, world, secret, { model: 'other', members });
  expect(await response.json()).toEqual(nativeGemini.answer);
  const sent = native.requests.at(-1)?.body ?? '';
  expect(sent).toContain('"thoughtSignature":"skip_thought_signature_validator"');
  expect(sent).not.toContain(carried);
  expect(JSON.parse(sent).contents[3].parts).toEqual([{ text: 'Yes.' }]);
});

test('tokens of the client’s own body are counted by the provider', async () => {
  native.play(scripts.json('{"totalTokens":777}'));
  const { secret } = await world.makeKey();
  const body = '{"contents":[{"parts":[{"text":"a\\u0020b"}]}]}';
  const response = await post(pathOf('gemini-own:countTokens'), world, secret, {}, { body });
  expect(await response.json()).toEqual({ totalTokens: 777 });
  expect(native.requests.at(-1)).toMatchObject({
    path: '/v1beta/models/gemini-3-flash:countTokens',
    body: `{"generateContentRequest":${body.slice(0, -1)},"model":"models/gemini-3-flash"}}`,
  });
});

test('each request forbids Google to store it, from its own clients and from others, unless the provider allows that', async () => {
  native.play(scripts.json(JSON.stringify(nativeGemini.answer)));
  const { secret } = await world.makeKey();
  const provider = { kind: 'gemini', base_url: native.url, api_key: 'key', private_network: true };
  const models = {
    kept: { price: { input: '3', output: '15' }, routes: [{ provider: 'kept', model: 'gemini-3-flash' }] },
  };
  const apply = (allow_storage: boolean) =>
    world.admin('POST', '/apply', { document: { providers: { kept: { ...provider, allow_storage } }, models } });
  const stores = async () => {
    const own = await post(pathOf('kept:generateContent'), world, secret);
    const message = { model: 'kept', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
    const translated = await world.post(secret, JSON.stringify(message));
    expect([own.status, translated.status]).toEqual([200, 200]);
    return native.requests.slice(-2).map(({ body }) => JSON.parse(body)['store']);
  };
  await apply(false);
  expect(await stores()).toEqual([false, false]);
  await apply(true);
  expect(await stores()).toEqual([undefined, undefined]);
  const { document } = await world.admin('GET', '/catalogue');
  expect((document as { providers: Json }).providers['kept']).toMatchObject({ allow_storage: true });
});
