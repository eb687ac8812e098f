// Fields beyond the protocols of other uses than messages: a provider gets those that its settings name, and no others.

import { afterAll, expect, test } from 'bun:test';
import { scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { type Json, sharedWorld } from '../post-messages/world.ts';

const PIXEL = Buffer.from('picture').toString('base64');
const USES: Readonly<Record<string, { path: string; body: Json; answer: Json }>> = {
  embeddings: {
    path: 'embeddings',
    body: { input: 'text' },
    answer: { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } },
  },
  rerank: {
    path: 'rerank',
    body: { query: 'text', documents: ['text'] },
    answer: { results: [{ index: 0, relevance_score: 1 }] },
  },
  moderation: { path: 'moderations', body: { input: 'text' }, answer: { results: [{ flagged: false }] } },
  images: { path: 'images/generations', body: { prompt: 'a dot' }, answer: { data: [{ b64_json: PIXEL }] } },
  edits: {
    path: 'images/edits',
    body: { prompt: 'a dot', images: [{ image_url: `data:image/png;base64,${PIXEL}` }] },
    answer: { data: [{ b64_json: PIXEL }] },
  },
  speech: { path: 'audio/speech', body: { input: 'text', voice: 'a' }, answer: {} },
};
const upstream = await startScriptedUpstream(scripts.json('{}'));
const provider = (passthrough: unknown) => ({
  kind: 'openai',
  base_url: upstream.url,
  api_key: 'k',
  private_network: true,
  passthrough,
});
const servesOf = (use: string) => (use === 'edits' ? 'images' : use);
const PRICES: Readonly<Record<string, Json>> = {
  embeddings: { input: '1' },
  rerank: { units: { per_thousand_searches: '2' } },
  moderation: { input: '1' },
  images: { units: { per_image: '0.01' } },
  speech: { units: { per_million_characters: '15' } },
  transcription: { input: '1', units: { audio_input: '1' } },
};
const modelsOf = (name: string) =>
  Object.entries(PRICES).map(([serves, price]) => [
    `${serves}-${name}`,
    { serves, price, routes: [{ provider: name, model: 'm' }] },
  ]);
const world = await sharedWorld({
  providers: { names: provider(['input_type', 'seed', 'options']), passes: provider('all') },
  models: Object.fromEntries([...modelsOf('names'), ...modelsOf('passes')]),
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

test.each(Object.keys(USES))('%s: only fields that the operator names are passed on', async (use) => {
  const { path, body, answer } = USES[use] as (typeof USES)[string];
  const { secret } = await world.makeKey();
  const play = () =>
    use === 'speech'
      ? upstream.play((reply) => reply.send(200, { 'content-type': 'audio/mpeg' }, 'sound'))
      : upstream.play(scripts.json(JSON.stringify(answer)));
  const extra = { input_type: 'query', options: { a: [1], model: 'other' }, steps: 50, extra_body: { seed: 7 } };
  const post = async (name: string) => {
    play();
    const response = await fetch(`${world.url}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: `${servesOf(use)}-${name}`, ...body, ...extra }),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    const { body: text = '', bytes, headers } = upstream.requests.at(-1) ?? {};
    if (use !== 'edits') return JSON.parse(text) as Json;
    const form = await new Response(new Uint8Array(bytes ?? []), { headers: headers ?? {} }).formData();
    return Object.fromEntries([...form].map(([key, value]) => [key, typeof value === 'string' ? value : 'a file']));
  };
  const named = await post('names');
  const isForm = use === 'edits';
  expect(named).toMatchObject({
    model: 'm',
    input_type: 'query',
    seed: isForm ? '7' : 7,
    options: isForm ? '{"a":[1]}' : { a: [1] },
  });
  expect(named).not.toContainAnyKeys(['steps', 'extra_body']);
  expect(await post('passes')).not.toContainAnyKeys(['input_type', 'seed', 'options', 'steps', 'extra_body']);
});

test.each([
  ['images/edits', 'images', { prompt: 'a dot' }, { data: [{ b64_json: PIXEL }] }],
  ['audio/transcriptions', 'transcription', { 'chunking_strategy[type]': 'server_vad' }, { text: 'Hello' }],
])('a form to %s has them, too', async (path, use, members, answer) => {
  const { secret } = await world.makeKey();
  upstream.play(scripts.json(JSON.stringify(answer)));
  const form = new FormData();
  const fields = { model: `${use}-names`, ...members, seed: '7', steps: '50' };
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(use === 'images' ? 'image' : 'file', new File([new Uint8Array(wav())], 'a.wav'));
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(`${world.url}/v1/${path}`, { method: 'POST', headers, body: form });
  expect([response.status, await response.text()]).toEqual([200, JSON.stringify(answer)]);
  const { bytes, headers: sent } = upstream.requests.at(-1) ?? {};
  const given = await new Response(new Uint8Array(bytes ?? []), { headers: sent ?? {} }).formData();
  expect(Object.fromEntries(given)).toMatchObject({ model: 'm', ...members, seed: '7' });
  expect(given.has('steps')).toBe(false);
});

/** A second of sound. */
function wav(): Buffer {
  const file = Buffer.alloc(144, 0x80);
  file.write('RIFF\0\0\0\0WAVEfmt ', 'latin1');
  file.writeUInt32LE(16, 16);
  file.set([1, 0, 1, 0, 100, 0, 0, 0, 100, 0, 0, 0, 1, 0, 8, 0], 20);
  file.write('data', 36, 'latin1');
  file.writeUInt32LE(100, 40);
  return file;
}
