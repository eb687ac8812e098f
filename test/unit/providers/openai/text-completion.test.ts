// Text completions at providers of Chat Completions: which of them get the prompt itself, and how their answers are read.

import { describe, expect, test } from 'bun:test';
import { completions } from '../../../../src/fronts/completions/completions.ts';
import { openai } from '../../../../src/providers/openai/openai.ts';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import { completionUrl, convertCompletion } from '../../../../src/providers/openai/text-completion.ts';
import type { Attempt } from '../../../../src/providers/provider.ts';
import { parseMessageRequest } from '../../../../src/wire/wire.ts';
import { type Script, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { translateBytes } from '../../fronts/translate-bytes.ts';
import { faultOf, makeAttempt, readAll } from '../make-attempt.ts';

type Json = Record<string, unknown>;
const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function attemptAt(baseUrl: string, members: Json = {}, upstreamModel = 'm'): Attempt {
  const body = { model: 'm', prompt: 'a\n', max_tokens: 10, ...members };
  const { message, native } = translateBytes(completions, encode(body));
  const request = { ...parseMessageRequest(encode(message), 'completions'), native };
  const { provider } = makeAttempt(baseUrl, message);
  return makeAttempt(baseUrl, message, { provider: { ...provider, kind: 'openai' }, request, upstreamModel });
}

function convertAt(baseUrl: string, members: Json, model = 'm') {
  const attempt = attemptAt(baseUrl, members, model);
  return convertCompletion(attempt, chooseProfile(baseUrl, model));
}

test('a compatible server gets the prompt itself, with the settings that it knows', () => {
  const settings = { temperature: 0.5, seed: 1, stop: ['\n'], stream: true, user: 'ann' };
  expect(convertAt('http://localhost:8000/v1', settings)).toEqual({
    path: '/completions',
    body: {
      model: 'm',
      prompt: 'a\n',
      max_tokens: 10,
      temperature: 0.5,
      seed: 1,
      stop: ['\n'],
      stream: true,
      stream_options: { include_usage: true },
    },
  });
});

test.each([
  ['http://localhost:8000/v1', 'm', '/completions', null],
  ['http://localhost:11434/v1', 'qwen2.5-coder', '/completions', '/completions'],
  ['https://api.openai.com/v1', 'gpt-3.5-turbo-instruct', '/completions', '/completions'],
  ['https://api.openai.com/v1', 'davinci-002', '/completions', null],
  ['https://api.openai.com/v1', 'gpt-5.5', null, null],
  ['https://api.mistral.ai/v1', 'codestral-2508', '/fim/completions', '/fim/completions'],
  ['https://api.mistral.ai/v1', 'mistral-large-latest', null, null],
  ['https://api.deepseek.com', 'deepseek-v4-pro', '/beta/completions', '/beta/completions'],
  ['https://api.deepseek.com', 'deepseek-reasoner', null, null],
  ['https://api.x.ai/v1', 'grok-4', null, null],
  ['https://openrouter.ai/api/v1', 'm', null, null],
])('%s has for %s the endpoint %s, and with a suffix %s', (baseUrl, model, plain, filling) => {
  expect(convertAt(baseUrl, {}, model)?.path ?? null).toBe(plain);
  const filled = convertAt(baseUrl, { suffix: ' b' }, model);
  expect(filled?.path ?? null).toBe(filling);
  if (filled !== null) expect(filled.body).toMatchObject({ prompt: 'a\n', suffix: ' b' });
});

test('DeepSeek completes at its beta, up to its limit', () => {
  for (const base of ['https://api.deepseek.com/v1', 'https://api.deepseek.com/beta', 'https://api.deepseek.com'])
    expect(completionUrl(`${base}/beta/completions`)).toBe('https://api.deepseek.com/beta/completions');
  expect(convertAt('https://api.deepseek.com', { max_tokens: 9_000 }, 'deepseek-chat')?.body['max_tokens']).toBe(4_096);
});

test('a message of any other protocol stays one', () => {
  const attempt = makeAttempt('http://localhost:8000/v1', { model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
  expect(convertCompletion(attempt, chooseProfile('http://localhost:8000/v1', 'm'))).toBeNull();
});

const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 };
const answer = (choice: Json) => ({
  id: 'c',
  model: 'm-2026',
  choices: [{ index: 0, logprobs: null, ...choice }],
  usage,
});
const texts = [
  { choices: [{ index: 0, text: 'Hel', finish_reason: null }] },
  { choices: [{ index: 0, text: 'lo.', finish_reason: null }] },
  { choices: [{ index: 0, text: '', finish_reason: 'length' }] },
  { choices: [], usage },
];
const stream: Script = (reply) =>
  reply.send(
    200,
    { 'content-type': 'text/event-stream' },
    [...texts.map((chunk) => JSON.stringify({ model: 'm-2026', ...chunk })), '[DONE]']
      .map((data) => `data: ${data}\n\n`)
      .join(''),
  );
const said = {
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'max_tokens',
  usage: expect.objectContaining({ input_tokens: 8, output_tokens: 2 }),
};

describe('an answer', () => {
  test.each<[form: string, choice: Json]>([
    ['text', { text: 'Hello.', finish_reason: 'length' }],
    ['message', { message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'length' }],
  ])('with a %s is a message', async (_, choice) => {
    await using upstream = await startScriptedUpstream(scripts.json(JSON.stringify(answer(choice))));
    const reply = await openai.submit(attemptAt(upstream.url));
    if (reply.form !== 'message') expect.unreachable();
    expect(reply.message).toMatchObject(said);
    expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/completions']);
  });

  test('in chunks is a stream of the same', async () => {
    await using upstream = await startScriptedUpstream(stream);
    const reply = await openai.submit(attemptAt(upstream.url, { stream: true }));
    if (reply.form !== 'stream') expect.unreachable();
    const events = await readAll(reply.events);
    const pieces = events.flatMap(({ value }) => (value['delta'] as Json | undefined)?.['text'] ?? []);
    expect(pieces).toEqual(['Hel', 'lo.']);
    const { stop_reason, usage } = said;
    expect(events.find(({ name }) => name === 'message_delta')?.value).toMatchObject({ delta: { stop_reason }, usage });
  });
});

test.each([404, 405, 501])('a server without the endpoint (%s) gets the message', async (status) => {
  const whole = answer({ message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'length' });
  await using upstream = await startScriptedUpstream(
    (reply) => reply.send(status, { 'content-type': 'application/json' }, '{"error":{"message":"Not Found"}}'),
    scripts.json(JSON.stringify(whole)),
  );
  const reply = await openai.submit(attemptAt(upstream.url));
  if (reply.form !== 'message') expect.unreachable();
  expect(reply.message).toMatchObject(said);
  expect(upstream.requests.map(({ path }) => path)).toEqual(['/v1/completions', '/v1/chat/completions']);
  expect(JSON.parse(upstream.requests[1]?.body ?? '')).toMatchObject({ messages: [{ role: 'user', content: 'a\n' }] });
});

test('any other refusal is final', async () => {
  await using upstream = await startScriptedUpstream((reply) =>
    reply.send(400, { 'content-type': 'application/json' }, '{"error":{"message":"prompt: too long"}}'),
  );
  const fault = await faultOf(openai.submit(attemptAt(upstream.url)));
  expect(fault).toMatchObject({ kind: 'rejected', message: 'prompt: too long' });
  expect(upstream.requests).toHaveLength(1);
});
