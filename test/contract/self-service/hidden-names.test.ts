// With `hidden_from_accounts`, nothing that a key gets names the provider, the upstream model, the group or its multiplier.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, type Json, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld({
  groups: { 'canary-group': { models: ['*'], multiplier: '1.234567' } },
  settings: { hidden_from_accounts: ['provider', 'upstream_model', 'group', 'multiplier'] },
});
afterAll(() => world.stop());

// "first" is the provider of `plain`, an ordinary word: only texts of errors are searched for it.
const NAMES = ['upstream-model', 'canary-group', '1.234567', new URL(world.upstream.url).host];

/** The headers and the body of an answer to the key. */
async function read(secret: string, path: string, body?: Json): Promise<{ text: string; requestId: string }> {
  const headers = { 'content-type': 'application/json', 'x-api-key': secret, authorization: `Bearer ${secret}` };
  const asked = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(world.url + path, asked);
  const text = `${JSON.stringify([...response.headers])} ${await response.text()}`;
  return { text, requestId: response.headers.get('request-id') ?? '' };
}

test('answers, streams, errors, models, limits and usage of a key name nothing that is hidden', async () => {
  const { secret } = await world.makeKey({ groups: ['canary-group'] });
  const words = 'first: upstream-model does not support this, see https://docs.example.com/upstream-model (Anthropic)';
  const asked: Record<string, string> = {};
  for (const stream of [false, true]) {
    const chat = { model: 'plain', stream, messages: [{ role: 'user', content: 'Good morning!' }] };
    for (const isRefused of [false, true]) {
      const kind = `${stream ? 'streamed' : 'whole'}, ${isRefused ? 'refused' : 'answered'}`;
      world.upstream.play(isRefused ? scripts.refusedContent(words) : scripts.good());
      const message = await read(secret, '/v1/messages', bodyOf({ stream }));
      asked[`message, ${kind}`] = message.text;
      asked[`chat, ${kind}`] = (await read(secret, '/v1/chat/completions', chat)).text;
      asked[`response, ${kind}`] = (await read(secret, '/v1/responses', { model: 'plain', stream, input: 'Hi' })).text;
      asked[`usage, ${kind}`] = (await read(secret, `/v1/usage/${message.requestId}`)).text;
      if (!isRefused) continue;
      expect(message.text).toContain('the provider: plain does not support this, see … (the provider)');
    }
  }
  asked['models'] = (await read(secret, '/v1/models')).text;
  asked['model'] = (await read(secret, '/v1/models/plain')).text;
  asked['key'] = (await read(secret, '/v1/key')).text;
  asked['count'] = (await read(secret, '/v1/messages/count_tokens', bodyOf())).text;
  const shown = Object.entries(asked).filter(([, text]) => NAMES.some((name) => text.includes(name)));
  expect(shown).toEqual([]);
});

test('messages whose answers are renamed end with their holds released, however the provider ends them', async () => {
  const { secret, account } = await world.makeKey({ groups: ['canary-group'] });
  const endings = { ...scripts, stays: scripts.hangMidStream };
  for (const ending of ['halfStream', 'dropMidStream', 'resetMidStream', 'garbage', 'errorEvent', 'stays'] as const)
    for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/responses']) {
      world.upstream.play(endings[ending]());
      const body = { ...bodyOf({ stream: true }), ...(path === '/v1/responses' && { input: 'Hi' }) };
      const leaving = new AbortController();
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` };
      const options = { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal };
      const response = await fetch(world.url + path, options).catch(() => null);
      if (ending === 'stays') {
        await response?.body?.getReader().read();
        leaving.abort();
      } else await response?.text().catch(() => '');
    }
  const held = async () => (await world.admin('GET', `/accounts/${account}`))['held'];
  for (let tries = 0; (await held()) !== '0' && tries < 200; tries++) await Bun.sleep(20);
  expect(await held()).toBe('0');
  const { data } = await world.admin('GET', `/usage?account=${account}&limit=100`);
  expect((data as Json[]).length).toBe(18);
});

test('the price of a message is explained by rates after the multiplier, and adds up to its cost', async () => {
  const { secret } = await world.makeKey({ groups: ['canary-group'] });
  world.upstream.play(scripts.good());
  const { requestId } = await read(secret, '/v1/messages', bodyOf());
  const response = await fetch(`${world.url}/v1/usage/${requestId}`, { headers: { 'x-api-key': secret } });
  const record = (await response.json()) as Json & { price: Json & { parts: Json[] }; rates: Json };
  expect(record).toMatchObject({ group: null, cost: '0.000314815', rates: { input: '3.703701', output: '18.518505' } });
  expect(Object.keys(record.rates)).not.toContain('multiplier');
  expect(record.price).toMatchObject({
    multiplier: null,
    before_rounding: '0.000314814585',
    after_rounding: '0.000314815',
  });
  expect(record.price.parts.map(({ rate }) => rate)).toEqual(['3.703701', '18.518505']);
});
