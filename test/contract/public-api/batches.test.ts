// Batches by the official SDKs of both protocols, over a real socket: their lives, their money, and who sees what.

import { afterAll, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, type Caller, expectError, type Json, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const anthropicOf = (apiKey: string) => new Anthropic({ baseURL: world.url, apiKey, maxRetries: 0 });
const openaiOf = (apiKey: string) => new OpenAI({ baseURL: `${world.url}/v1`, apiKey, maxRetries: 0 });

type MessageRequest = Anthropic.Messages.BatchCreateParams.Request;
const requestOf = (custom_id: string, members: Json = {}) => ({ custom_id, params: bodyOf(members) }) as unknown as MessageRequest;

async function untilEnded(client: Anthropic, id: string): Promise<Anthropic.Messages.MessageBatch> {
  for (;;) {
    const batch = await client.messages.batches.retrieve(id);
    if (batch.processing_status === 'ended') return batch;
    await Bun.sleep(20);
  }
}

async function accountOf({ account }: Caller) {
  const { balance, held } = (await world.admin('GET', `/accounts/${account}`)) as { balance: string; held: string };
  return { balance, held };
}

test('a batch of messages runs to its end, and is billed like messages', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const client = anthropicOf(caller.secret);
  const requests = [
    requestOf('first'),
    requestOf('unknown', { model: 'nonesuch' }),
    requestOf('streamed', { stream: true }),
    requestOf('last'),
  ];
  const made = await client.messages.batches.create({ requests });
  expect(made).toMatchObject({ type: 'message_batch', processing_status: 'in_progress', results_url: null });
  const ended = await untilEnded(client, made.id);
  expect(ended.request_counts).toEqual({ processing: 0, succeeded: 2, errored: 2, canceled: 0, expired: 0 });
  const results = await Array.fromAsync(await client.messages.batches.results(made.id));
  expect(results.map(({ custom_id, result }) => [custom_id, result.type])).toEqual([
    ['first', 'succeeded'],
    ['unknown', 'errored'],
    ['streamed', 'errored'],
    ['last', 'succeeded'],
  ]);
  expect(results[1]?.result).toMatchObject({ error: { type: 'error', error: { code: 'model_not_found' } } });
  expect(results[2]?.result).toMatchObject({ error: { error: { message: expect.stringContaining('stream') } } });
  expect(await accountOf(caller)).toEqual({ balance: '9.99949', held: '0' });
});
