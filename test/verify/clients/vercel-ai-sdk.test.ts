// The Vercel AI SDK, unmodified: its base URL ends in /v1, and it reads answers with schemas of its own.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type AnthropicProvider, createAnthropic } from '@ai-sdk/anthropic';
import { APICallError, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

let turnpike: Turnpike;
let anthropic: AnthropicProvider;
beforeAll(async () => {
  globalThis.AI_SDK_LOG_WARNINGS = false; // it does not know the names of these models, and says so each time
  turnpike = await sharedTurnpike();
  const { secret } = await turnpike.makeKey();
  anthropic = createAnthropic({ baseURL: `${turnpike.url}/v1`, apiKey: secret });
});
afterAll(async () => {
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  await turnpike.stop();
});

const SAID = 'What the user said.';

describe('the Vercel AI SDK', () => {
  test('generates text with its usage and finish reason', async () => {
    const { text, usage, finishReason, response } = await generateText({
      model: anthropic('sandbox-echo'),
      system: 'Repeat it.',
      prompt: SAID,
    });
    expect([text, finishReason]).toEqual([SAID, 'stop']);
    expect(usage).toMatchObject({ inputTokens: Math.ceil((SAID.length + 10) / 4), outputTokens: 5 });
    expect(response.headers?.['request-id']).toMatch(/^req_/);
  });

  test('streams text to its end', async () => {
    const streaming = streamText({ model: anthropic('sandbox-lorem'), prompt: SAID, maxOutputTokens: 20 });
    const parts = await Array.fromAsync(streaming.textStream);
    expect(parts).toHaveLength(5);
    expect(parts.join('')).toHaveLength(80);
    expect([await streaming.finishReason, (await streaming.usage).outputTokens]).toEqual(['length', 20]);
  });

  test('reads thinking as reasoning', async () => {
    const { text, reasoningText } = await generateText({
      model: anthropic('sandbox-thinking'),
      prompt: SAID,
      providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } },
    });
    expect([text, (reasoningText ?? '').length > 0]).toEqual([SAID, true]);
  });

  const tools = {
    weather: tool({
      description: 'The weather of a city',
      inputSchema: z.object({ city: z.string(), days: z.number().int() }),
      execute: async ({ city, days }) => `${city}: sunny for ${days} days`,
    }),
  };

  test('calls tools, streamed and not, until there is a text', async () => {
    const asked = { model: anthropic('sandbox-tool'), prompt: SAID, tools, stopWhen: stepCountIs(3) };
    const streaming = streamText(asked);
    await streaming.consumeStream();
    for (const { text, steps } of [
      await generateText(asked),
      { text: await streaming.text, steps: await streaming.steps },
    ]) {
      expect(steps).toHaveLength(2);
      expect(steps[0]?.toolCalls[0]).toMatchObject({ toolName: 'weather', input: { city: 'text' } });
      expect(text).toMatch(/^text: sunny for -?\d+ days$/);
    }
  });

  test('retries provider failures, and never a refusal', async () => {
    const failure = (model: string, maxRetries: number) =>
      generateText({ model: anthropic(model), prompt: SAID, maxRetries }).catch((thrown) => thrown);
    const unknown = await failure('no-such-model', 2);
    expect(unknown).toBeInstanceOf(APICallError);
    expect(unknown).toMatchObject({ statusCode: 400, isRetryable: false });
    expect(await failure('sandbox-error-529', 0)).toMatchObject({ statusCode: 529, isRetryable: true });
  });

  test('reports a stream that breaks off as an error, never as an end', async () => {
    const errors: unknown[] = [];
    const streaming = streamText({
      model: anthropic('sandbox-cut'),
      prompt: SAID,
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    await streaming.consumeStream();
    expect(errors).toHaveLength(1);
    expect(await streaming.finishReason).toBe('error');
  });
});
