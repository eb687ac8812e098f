// Embeddings have the form that the client asked for, base64 or floats, whatever form the provider sends, for every kind
// that has embeddings.

import { afterAll, describe, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Json, sharedWorld } from '../post-messages/world.ts';

const FLOATS = [
  [0.5, 0.25],
  [-1, 1e-10],
];
const base64Of = (floats: number[]) => Buffer.from(new Float32Array(floats).buffer).toString('base64');
const PACKED = FLOATS.map(base64Of);
/** Single-precision, as base64 has them, in the 9 digits that tell them apart. */
const READ = FLOATS.map((floats) => [...new Float32Array(floats)].map((float) => Number(float.toPrecision(9))));

type Vectors = readonly unknown[];
const ofOpenAi = (vectors: Vectors): Json => ({
  object: 'list',
  data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
  model: 'm',
  usage: { prompt_tokens: 8, total_tokens: 8 },
});
/** Vectors in the forms in which providers send them; nested in those of some local servers. */
const SENT: Readonly<Record<string, Vectors>> = {
  float: FLOATS,
  base64: PACKED,
  nested: FLOATS.map((floats) => [floats]),
};
const OPENAI = { members: {}, forms: ['float', 'base64', 'nested'], answer: ofOpenAi };
const KINDS: Readonly<Record<string, { members: Json; forms: string[]; answer: (vectors: Vectors) => Json }>> = {
  openai: OPENAI,
  'openai-responses': OPENAI,
  foundry: OPENAI,
  gemini: {
    members: {},
    forms: ['float'],
    answer: (vectors) => ({ embeddings: vectors.map((values) => ({ values })) }),
  },
  vertex: {
    members: { region: 'us-east5', project: 'our-project' },
    forms: ['float'],
    answer: (vectors) => ({
      predictions: vectors.map((values) => ({ embeddings: { values, statistics: { token_count: 4 } } })),
    }),
  },
};

const world = await sharedWorld();
afterAll(() => world.stop());
const names = Object.keys(KINDS);
await world.admin('POST', '/apply', {
  document: {
    providers: Object.fromEntries(
      Object.entries(KINDS).map(([kind, { members }]) => [
        `embeds-${kind}`,
        { kind, base_url: world.upstream.url, private_network: true, api_key: 'k', ...members },
      ]),
    ),
    models: Object.fromEntries(
      names.map((kind) => [
        `embeds-${kind}`,
        { serves: 'embeddings', price: { input: '0.02' }, routes: [{ provider: `embeds-${kind}`, model: 'm' }] },
      ]),
    ),
  },
});
const ask = (secret: string, kind: string, encoding_format: string | undefined) =>
  fetch(`${world.url}/v1/embeddings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: `embeds-${kind}`, input: ['one', 'two'], encoding_format }),
  });

describe.each(names)('%s', (kind) => {
  const { forms, answer } = KINDS[kind] as (typeof KINDS)[string];
  test.each(forms.flatMap((sent) => ['float', 'base64', undefined].map((asked) => [sent, asked] as const)))(
    'sends %s, and the client that asked for %s gets that',
    async (sent, asked) => {
      world.upstream.play(scripts.json(JSON.stringify(answer(SENT[sent] ?? []))));
      const { secret } = await world.makeKey();
      const body = (await (await ask(secret, kind, asked)).json()) as { data: { embedding: unknown; index: number }[] };
      const vectors = body.data.map(({ embedding }) => embedding);
      expect(vectors).toEqual(asked === 'base64' ? PACKED : sent === 'base64' ? READ : FLOATS);
      expect(body.data.map(({ index }) => index)).toEqual([0, 1]);
      expect(body).toMatchObject({ object: 'list', model: 'm', usage: { prompt_tokens: expect.any(Number) } });
    },
  );
});

const NAN = Buffer.from(new Float32Array([Number.NaN]).buffer).toString('base64');
test.each<[string, Vectors]>([
  ['text that is not whole floats', ['AAAA', 'AAAA']],
  ['floats that are no numbers', [NAN, NAN]],
  ['two forms', [PACKED[0], FLOATS[1]]],
  ['no vectors', [[], '']],
  ['empty lists of vectors', [[[]], [[]]]],
  ['two vectors for an input', [FLOATS, FLOATS]],
  ['one vector too few', [PACKED[0]]],
])('a provider that sends %s has failed', async (_, vectors) => {
  const { secret } = await world.makeKey();
  for (const kind of ['openai', 'openai-responses', 'foundry']) {
    world.upstream.play(scripts.json(JSON.stringify(ofOpenAi(vectors))));
    await expectError(chatCompletions, await ask(secret, kind, 'float'), 'upstream_failed');
  }
});
