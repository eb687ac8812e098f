// A service whose providers run batches, and clients that make some. It has no tests of its own.

import Anthropic from '@anthropic-ai/sdk';
import { cloudMembers } from '../../support/batch-clouds.ts';
import { type BatchProvider, startBatchProvider } from '../../support/batch-provider.ts';
import { setBounds } from '../../support/set-bounds.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

const KINDS = ['anthropic', 'openai', 'gemini'];
const price = { input: '3', output: '15' };
const cost = { input: '2', output: '10' };
const COST = 255_000; // 25 × 3 + 12 × 15 millionths, in nanodollars

export const MODELS = {
  anthropic: 'claude',
  openai: 'gpt',
  gemini: 'gemini-pro',
  bedrock: 'claude-aws',
  vertex: 'gemini-google',
};
export const DIALECTS = ['anthropic', 'openai', 'gemini', 'bedrock', 'vertex'] as const;

export const requestOf = (custom_id: string, model = 'claude') => ({
  custom_id,
  params: { model, max_tokens: 64, messages: [{ role: 'user' as const, content: custom_id }] },
});

export async function until<Value>(read: () => Value | Promise<Value>, is: (value: Value) => boolean): Promise<Value> {
  for (;;) {
    const value = await read();
    if (is(value)) return value;
    await Bun.sleep(10);
  }
}

/** The balance of an account that had 10 dollars. */
export const balanceAfter = (requests: number) => String((10_000_000_000 - requests * COST) / 1_000_000_000);

function documentFor(provider: BatchProvider, models: object) {
  const at = { base_url: provider.url, api_key: 'secret-of-the-operator', private_network: true, batches: true };
  return {
    providers: { ...Object.fromEntries(KINDS.map((kind) => [kind, { kind, ...at }])), ...cloudMembers(provider.url) },
    models: {
      claude: { price, routes: [{ provider: 'anthropic', model: 'claude-upstream', cost }] },
      gpt: { price, routes: [{ provider: 'openai', model: 'gpt-upstream', cost }] },
      'gemini-pro': { price, routes: [{ provider: 'gemini', model: 'gemini-upstream', cost }] },
      'claude-aws': { price, routes: [{ provider: 'bedrock', model: 'anthropic.claude-upstream', cost }] },
      'nova-aws': { price, routes: [{ provider: 'bedrock', model: 'amazon.nova-upstream', cost }] },
      'gemini-google': { price, routes: [{ provider: 'vertex', model: 'gemini-upstream', cost }] },
      'claude-google': { price, routes: [{ provider: 'vertex', model: 'claude-upstream@1', cost }] },
      ...models,
    },
  };
}

/** The service that `open` starts with a document, which has these members, too. */
export async function openBatchWorld(open: (document: object) => Promise<Turnpike>, more: object = {}) {
  const provider = startBatchProvider();
  const quick = setBounds({ batchesPollMs: 20, batchItemPauseMs: 20, batchAgainMs: 20, bedrockBatchRequestsMin: 1 });
  const documentOf = (models: object = {}) => ({ ...documentFor(provider, models), ...more });
  const turnpike = await open(documentOf());
  async function start(
    requests: Anthropic.Messages.BatchCreateParams.Request[],
    account: object = { credit: '10.00' },
  ) {
    const caller = await turnpike.makeKey(account);
    const client = new Anthropic({ baseURL: turnpike.url, apiKey: caller.secret, maxRetries: 0 });
    const { id } = await client.messages.batches.create({ requests });
    const ended = () =>
      until(
        () => client.messages.batches.retrieve(id),
        (batch) => batch.processing_status === 'ended',
      );
    const results = async () => Array.fromAsync(await client.messages.batches.results(id));
    const wallet = async () => {
      const { balance, held } = (await turnpike.admin('GET', `/accounts/${caller.account}`)) as Record<string, string>;
      return { balance, held };
    };
    const records = async () =>
      (await turnpike.admin('GET', `/usage?account=${caller.account}`))['data'] as Record<string, unknown>[];
    const shown = () => turnpike.admin('GET', `/batches/${id}`);
    return { caller, client, id, ended, results, wallet, records, shown };
  }
  const untilGiven = (count = 1) =>
    until(
      () => provider.batches,
      (batches) => batches.length >= count,
    );
  const stop = async () => {
    await turnpike.stop();
    quick[Symbol.dispose]();
    await provider[Symbol.asyncDispose]();
  };
  return { provider, turnpike, documentOf, start, untilGiven, stop };
}
