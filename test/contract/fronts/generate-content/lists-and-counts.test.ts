// Guarantees of Gemini's protocol alone: streams as one list, its lists of models, and its counts of tokens.

import { expect, test } from 'bun:test';
import { scripts } from '../../../support/scripted-upstream.ts';
import { chunksOf, textOf } from '../../../unit/fronts/gemini/chunks.ts';
import { expectMoney, GOOD } from '../../post-messages/world.ts';
import { generateContent } from '../drivers/generate-content.ts';
import type { Json, Prompt } from '../front-driver.ts';
import { expectError, post, sentOf, startFronts } from '../front-world.ts';

const world = await startFronts();

/** Without `alt=sse`. */
const listing = { ...generateContent, path: () => '/v1beta/models/plain:streamGenerateContent' };
const counting = { ...generateContent, path: () => '/v1beta/models/plain:countTokens' };
const ask = (secret: string, prompt: Prompt = {}) => post(generateContent, world, secret, prompt);

test('a stream is a list of the same chunks where the client does not ask for events', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey();
  const events = await (await ask(caller.secret, { stream: true })).text();
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
  expect(text).not.toMatch(/finishReason|usageMetadata/);
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
