// A counter of a provider that refuses to count is not a refusal of the prompt: the count is estimated, for every kind that
// has a counter, and the message is sent all the same.

import { afterAll, expect, test } from 'bun:test';
import { type Answer, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, type Json, sharedWorld } from '../post-messages/world.ts';

interface Kind {
  members: Json;
  model: string;
  path: RegExp;
  error(status: number, message: string): Json;
}

const ofAnthropic = (_: number, message: string) => ({
  type: 'error',
  error: { type: 'invalid_request_error', message },
});
const ofGoogle = (code: number, message: string) => ({ error: { code, message, status: 'INVALID_ARGUMENT' } });
const ofOpenAi = (_: number, message: string) => ({ error: { message, type: 'invalid_request_error', code: null } });
const ofAws = (_: number, message: string) => ({ __type: 'ValidationException', message });

const KINDS: Readonly<Record<string, Kind>> = {
  anthropic: { members: {}, model: 'm', path: /\/count_tokens$/, error: ofAnthropic },
  gemini: { members: {}, model: 'gemini-2.5-pro', path: /:countTokens$/, error: ofGoogle },
  'openai-responses': { members: {}, model: 'm', path: /\/input_tokens$/, error: ofOpenAi },
  bedrock: {
    members: { region: 'us-east-1' },
    model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
    path: /\/count-tokens$/,
    error: ofAws,
  },
  vertex: {
    members: { region: 'us-east5', project: 'our-project' },
    model: 'claude-sonnet-4-5',
    path: /\/count-tokens:rawPredict$/,
    error: ofGoogle,
  },
  foundry: { members: {}, model: 'claude-sonnet-4-5', path: /\/count_tokens$/, error: ofAnthropic },
};
const STATUSES = [400, 404, 405, 413, 422, 501];
const WORDS = [
  "The provided model doesn't support counting tokens.",
  'model: m is not supported for count_tokens',
  'messages.0.content.0.cache_control: Extra inputs are not permitted',
  '',
];

const world = await sharedWorld();
afterAll(() => world.stop());
const price = { input: '3', output: '15' };
const names = Object.keys(KINDS);
await world.admin('POST', '/apply', {
  document: {
    providers: Object.fromEntries(
      Object.entries(KINDS).map(([kind, { members }]) => [
        `counts-${kind}`,
        { kind, base_url: world.upstream.url, private_network: true, api_key: 'k', ...members },
      ]),
    ),
    models: Object.fromEntries(
      Object.entries(KINDS).map(([kind, { model }]) => [
        `counts-${kind}`,
        { price, routes: [{ provider: `counts-${kind}`, model }] },
      ]),
    ),
  },
});
const count = (secret: string, model: string) =>
  fetch(`${world.url}/v1/messages/count_tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': secret },
    body: JSON.stringify(bodyOf({ model })),
  });
const answering = (status: number, body: Json) => (answer: Answer) =>
  answer.send(status, { 'content-type': 'application/json' }, JSON.stringify(body));

test.each(names.flatMap((kind) => STATUSES.map((status) => [kind, status] as const)))(
  '%s: a counter that answers %d leads to an estimate',
  async (kind, status) => {
    const { path, error } = KINDS[kind] as Kind;
    const { secret } = await world.makeKey();
    for (const words of WORDS) {
      world.upstream.play(answering(status, error(status, words)));
      const response = await count(secret, `counts-${kind}`);
      const { input_tokens } = (await response.json()) as { input_tokens: number };
      expect(input_tokens).toBeWithin(1, 60);
      expect(world.upstream.requests.at(-1)?.path).toMatch(path);
    }
  },
);

test('a counter that names a field of the prompt refuses the prompt', async () => {
  const { secret } = await world.makeKey();
  for (const path of ['messages', 'messages.0.content.1', 'tools.0.name', 'system.2.text', 'tool_choice']) {
    world.upstream.play(scripts.refusedContent(`${path}: bad`));
    await expectError(await count(secret, 'counts-anthropic'), 400, 'invalid_request_error', 'upstream_rejected');
  }
});
