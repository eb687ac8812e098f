// Models that refuse parameters of reasoning: thinking is a hint, and a model whose name does not tell is asked once more without it.

import { afterAll, expect, test } from 'bun:test';
import { openaiResponses } from '../../../../src/providers/openai-responses/openai-responses.ts';
import type { Script } from '../../../support/scripted-upstream.ts';
import { startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { faultOf, makeAttempt } from '../make-attempt.ts';
import { answering, messageItem } from './scripted-responses.ts';

const upstream = await startScriptedUpstream(answering(messageItem('Hello.')));
afterAll(() => upstream.close());

const refusing =
  (message: string): Script =>
  (answer) =>
    answer.send(400, { 'content-type': 'application/json' }, JSON.stringify({ error: { message } }));

const BODY = {
  model: 'gpt',
  max_tokens: 2_000,
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  messages: [{ role: 'user', content: 'Hi' }],
};
const submit = (upstreamModel: string) => {
  upstream.requests.length = 0;
  return openaiResponses.submit(makeAttempt(upstream.url, BODY, { upstreamModel }));
};

test.each([
  "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
  'Encrypted content is not supported with this model.',
])('a model that refuses them is tried once more without them, if its name is unknown: %s', async (message) => {
  upstream.play(refusing(message), answering(messageItem('Hello.')));
  expect(await submit('our-deployment')).toMatchObject({ message: { content: [{ type: 'text', text: 'Hello.' }] } });
  const bodies = upstream.requests.map(({ body }) => JSON.parse(body));
  expect(bodies).toHaveLength(2);
  expect(bodies[0]).toContainAllKeys([...Object.keys(bodies[1]), 'reasoning', 'include']);
  upstream.play(refusing(message));
  expect(await faultOf(submit('our-deployment'))).toMatchObject({ kind: 'rejected', message });
  expect(upstream.requests).toHaveLength(2);
  expect((await faultOf(submit('gpt-5'))).kind).toBe('rejected');
  expect(upstream.requests).toHaveLength(1);
});
