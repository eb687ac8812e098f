// Counts of what the provider did not report. A count that cannot be made never makes a message cheaper: the upper bound is
// billed, and corrected once the count is made.

import { expect, test } from 'bun:test';
import { type Attempt, type Provider, ProviderFault } from '../../../src/providers/providers.ts';
import type { SliceCounter } from '../../../src/tokenizer/token-counter.ts';
import { countSlice, Tokenizer } from '../../../src/tokenizer/tokenizer.ts';
import { makeEvent } from '../../../src/wire/wire.ts';
import {
  type ControlledService,
  EVENTS,
  startControlled,
  streamOf,
} from '../../contract/post-messages/controlled-service.ts';
import { countText } from '../../support/count-text.ts';
import { inPlaceTokenizer } from '../../support/in-place-tokenizer.ts';

const TEXT = 'Hello'.repeat(100);
const PROMPT_COST = 25 * 3_000;
const TOKEN_COST = 15_000;

const brokenOff = [
  ...EVENTS.slice(0, 2),
  makeEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } }),
];

/** Fails so many times, then counts. */
class Slices implements SliceCounter {
  readonly #failures: number;
  asked = 0;

  constructor(failures: number) {
    this.#failures = failures;
  }

  count(...[slice]: Parameters<SliceCounter['count']>): Promise<number> {
    return this.asked++ < this.#failures ? Promise.reject(new Error('the thread died')) : countSlice(slice);
  }

  close(): void {}
}

async function breakOff(service: ControlledService): Promise<void> {
  const response = await service.post(await service.makeKey(), { stream: true, max_tokens: 1_000 });
  await response.text();
}

const answer = async () => streamOf(brokenOff);

test('a stream that breaks off is billed by the tokenizer', async () => {
  await using service = await startControlled({ answer, countsText: false });
  await breakOff(service);
  const output = countText(TEXT);
  const cost = PROMPT_COST + output * TOKEN_COST;
  expect(await service.records()).toMatchObject([{ outcome: 'upstream_cut', outputTokens: output, cost }]);
});

const textOfPrompt: Provider['countTokens'] = async ({ request }) => {
  const [{ content }] = request.body['messages'] as [{ content: string }];
  return 7 + content.length - 1; // seven for the prompt itself, whose first character is there in any case
};

test("the output is counted by the provider's own counter if the vocabulary is not the model's", async () => {
  await using service = await startControlled({ answer, countsText: false, countTokens: textOfPrompt });
  service.gateway.counting.noteCounter('hand-made');
  await breakOff(service);
  const cost = PROMPT_COST + TEXT.length * TOKEN_COST;
  expect(await service.records()).toMatchObject([{ outcome: 'upstream_cut', outputTokens: TEXT.length, cost }]);
});

test('a provider that has counted nothing before is not asked for the output', async () => {
  await using service = await startControlled({ answer, countsText: false, countTokens: textOfPrompt });
  await breakOff(service);
  expect(await service.records()).toMatchObject([{ outputTokens: countText(TEXT) }]);
});

test.each([
  ['nothing', async () => 7],
  ['more tokens than bytes', async (attempt: Attempt) => 3 * ((await textOfPrompt(attempt)) ?? 0)],
  ['a count that falls', async (attempt: Attempt) => 10_000 - ((await textOfPrompt(attempt)) ?? 0)],
  ['an error', () => Promise.reject(new ProviderFault('failed', 'no counter'))],
] as const)('a provider counter that gives %s is not believed: the tokenizer counts', async (_, countTokens) => {
  await using service = await startControlled({ answer, countsText: false, countTokens });
  service.gateway.counting.noteCounter('hand-made');
  await breakOff(service);
  expect(await service.records()).toMatchObject([{ outputTokens: countText(TEXT) }]);
});

test('without a count the upper bound is billed, after further tries', async () => {
  const slices = new Slices(Number.POSITIVE_INFINITY);
  await using service = await startControlled({ answer, countsText: false, tokenizer: new Tokenizer(slices) });
  await breakOff(service);
  const cost = PROMPT_COST + TEXT.length * TOKEN_COST;
  expect(await service.records()).toMatchObject([{ usageSource: 'estimated', outputTokens: TEXT.length, cost }]);
  expect(slices.asked).toBe(3);
  expect(service.gateway.running.corrections.taken).toBe(0);
});

test('a bill by the upper bound is corrected when the count is made', async () => {
  const tokenizer = new Tokenizer(new Slices(4)); // three tries before the bill, and one after it
  const correctionPausesMs = [1, 1, 1];
  await using service = await startControlled({ answer, countsText: false, tokenizer, correctionPausesMs });
  await breakOff(service);
  while (service.gateway.running.corrections.taken > 0) await Bun.sleep(2);
  const [record] = await service.records();
  expect(record?.cost).toBe(PROMPT_COST + countText(TEXT) * TOKEN_COST);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('a counter that fails unexpectedly does not make a message free', async () => {
  const tokenizer = Object.assign(inPlaceTokenizer(), { count: () => Promise.reject(new RangeError('too deep')) });
  await using service = await startControlled({ answer, countsText: false, tokenizer });
  await breakOff(service);
  const cost = PROMPT_COST + TEXT.length * TOKEN_COST;
  expect(await service.records()).toMatchObject([{ outcome: 'upstream_cut', cost }]);
  expect(await service.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test.each([true, false])(
  'a prompt for which there is no room is counted during the answer (stream: %s)',
  async (stream) => {
    const usage = { output_tokens: 12 };
    const [, ...rest] = EVENTS;
    const begin = makeEvent({ type: 'message_start', message: { type: 'message', role: 'assistant', content: [] } });
    const message = { type: 'message', content: [], stop_reason: 'end_turn', usage };
    const whole = { form: 'message' as const, message, text: JSON.stringify(message), upstreamRequestId: null };
    await using service = await startControlled({
      answer: async () => (stream ? streamOf([begin, ...rest]) : whole),
      countTokens: async () => 42,
    });
    service.gateway.running.uncountedPrompts.take = () => 'full';
    const response = await service.post(await service.makeKey(), { stream });
    expect(await response.text()).toContain('end_turn');
    const cost = 42 * 3_000 + 12 * TOKEN_COST;
    expect(await service.records()).toMatchObject([{ outcome: 'completed', inputTokens: 42, outputTokens: 12, cost }]);
  },
);
