// The provider's own counter of prompts: free of charge, and null where a server has none.

import { expect, test } from 'bun:test';
import { openaiResponses } from '../../../../src/providers/openai-responses/openai-responses.ts';
import { scanJson } from '../../../../src/wire/wire.ts';
import { scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { makeAttempt } from '../make-attempt.ts';

const BODY = {
  model: 'gpt',
  max_tokens: 100,
  stream: true,
  temperature: 0.5,
  system: 'Be brief.',
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [{ name: 'look', input_schema: { type: 'object' } }],
};

test('the prompt is counted with its tools, and without what it does not contain', async () => {
  await using upstream = await startScriptedUpstream(
    scripts.json('{"object":"response.input_tokens","input_tokens":2095}'),
  );
  expect(await openaiResponses.countTokens(makeAttempt(upstream.url, BODY, { upstreamModel: 'real' }))).toBe(2_095);
  expect(upstream.requests[0]?.path).toBe('/v1/responses/input_tokens');
  const sent = JSON.parse(upstream.requests[0]?.body ?? '');
  expect(Object.keys(sent).toSorted()).toEqual(['input', 'instructions', 'model', 'tools']);
  expect(sent).toMatchObject({ model: 'real', instructions: 'Be brief.', tools: [{ name: 'look' }] });
});

test('a body of the protocol itself is counted as it is, for the route’s model', async () => {
  const text = '{"model":"gpt", "input":[ {"role":"user","content":"Hi"} ],"store":false,"max_output_tokens":7}';
  await using upstream = await startScriptedUpstream(scripts.json('{"input_tokens":9}'));
  const attempt = makeAttempt(upstream.url, BODY, { upstreamModel: 'real' });
  const native = { kind: 'openai-responses', text, members: scanJson(text) };
  const request = { ...attempt.request, native };
  expect(await openaiResponses.countTokens({ ...attempt, request })).toBe(9);
  expect(upstream.requests[0]?.body).toContain('"input":[ {"role":"user","content":"Hi"} ]');
  expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual({
    model: 'real',
    input: [{ role: 'user', content: 'Hi' }],
  });
});

test('a server without the counter is a fault, for which the gateway estimates', async () => {
  await using upstream = await startScriptedUpstream(scripts.html(404));
  const count = () => openaiResponses.countTokens(makeAttempt(upstream.url, BODY));
  await expect(count()).rejects.toMatchObject({ kind: 'not_found' });
  upstream.play(scripts.html(405));
  await expect(count()).rejects.toMatchObject({ kind: 'failed' });
  upstream.play(scripts.html(503));
  await expect(count()).rejects.toMatchObject({ kind: 'overloaded' });
});
