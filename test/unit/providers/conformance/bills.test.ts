// The bill of an answer of every kind of provider is within the bounds of a small model, which is written from
// docs/ledger.md and without src/usage: for each way to end, each place of the end, and each order of the reported counts.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { endingOf, VENDORS } from '../../../../src/protocols/stop-words.ts';
import { type Ending, MessageCounter, NOTHING_COUNTED } from '../../../../src/usage/usage.ts';
import type { StreamEvent } from '../../../../src/wire/wire.ts';
import { type CountedAnswer, type CountWire, countWireOf, leastUsed, type Report, type Used } from './count-wires.ts';
import { bytesOf, type Driver } from './driver.ts';
import { drivers } from './drivers.ts';
import { ask, attemptOf, type Outcome, streamed } from './exchange.ts';

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 60);
const SEED = Number(process.env['GENERATED_SEED'] ?? 20_261_128);

const MAX_TOKENS = 100_000;
const HELD = { inputTokens: 70_000, outputTokens: 2_000, webSearches: 0 };
/** The rate of the tokenizer that counts what the provider does not. */
const BYTES_PER_TOKEN = 3;
const COUNTED_PROMPT = 33_333;

const endings = ['client', 'revoked', 'money', 'service', 'provider'] as const satisfies readonly Ending[];

const anyReportOf = ({ has }: CountWire): fc.Arbitrary<Report> => {
  const count = fc.oneof(fc.constant(0), fc.nat(50_000));
  const members = Object.fromEntries(has.filter((name) => name !== 'thinking').map((name) => [name, count]));
  return fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<Report>;
};

const anyAnswerOf = (wire: CountWire, words = [ordinaryEnd(wire)]): fc.Arbitrary<CountedAnswer> => {
  const report = fc.option(anyReportOf(wire));
  const text = fc.constantFrom('', 'Hi', 'Grüße aus dem Hafen');
  return fc.record({
    pieces: fc.array(fc.record({ text, report }), { minLength: 1, maxLength: 6 }),
    word: fc.constantFrom(...words),
    last: report,
  });
};

/** The word of an answer that ends as it should. */
function ordinaryEnd({ protocol }: CountWire): string {
  return { chat: 'stop', gemini: 'STOP', converse: 'end_turn', responses: 'completed', messages: 'end_turn' }[protocol];
}

/** Words with which a model leaves no usable answer, and one that no vendor lists. These protocols have none. */
function unusableEnds({ protocol }: CountWire): string[] {
  if (protocol === 'messages' || protocol === 'responses') return [];
  const words = VENDORS.filter((vendor) => vendor.protocol === protocol).flatMap((vendor) => Object.keys(vendor.words));
  return [...words.filter((word) => endingOf(word, protocol) === 'unusable'), 'A_NEW_WORD'];
}

async function streamedOutcome(driver: Driver, pieces: readonly string[]): Promise<Outcome> {
  const bytes = pieces.map((piece) => bytesOf(driver, [piece]));
  return await ask(driver, attemptOf(driver, { stream: true }), () => streamed(driver, bytes));
}

function reportsOf({ pieces, last }: CountedAnswer, { protocol }: CountWire): Report[] {
  const running = pieces.map(({ report }) => report);
  const sent = protocol === 'messages' ? running.slice(0, 1) : running; // it has no place for others
  return [...sent, last].filter((report) => report !== null);
}

function textOf(events: readonly StreamEvent[]): string {
  const deltas = events.map(({ value }) => (value['delta'] as { text?: unknown } | undefined)?.text);
  return deltas.filter((text) => typeof text === 'string').join('');
}

/** The real bill of what was received. */
function billed(ending: Ending, { events, fault }: Outcome, isCounted: boolean): Used {
  const counter = new MessageCounter({ elapsedMs: () => 0 });
  for (const event of events) counter.observe(event);
  if (ending === 'unusable') counter.observeUnusable(fault?.usage ?? null);
  const tokens = Math.ceil(Buffer.byteLength(textOf(events)) / BYTES_PER_TOKEN);
  const made = isCounted ? { prompt: COUNTED_PROMPT, output: { text: tokens, thinking: 0 } } : NOTHING_COUNTED;
  const { counts } = counter.bill(ending, { held: HELD, outputTokensMax: MAX_TOKENS }, false, made);
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = counts;
  return { prompt: input + cacheRead + cacheWrite5m + cacheWrite1h, output };
}

interface Bounds {
  least: Used;
  most: Used;
}

/**
 * The bounds of the bill: no less than any report, no less than was counted where nothing was reported, and no more than
 * the larger of both.
 */
function boundsOf(
  ending: Ending,
  text: string,
  reports: readonly Report[],
  wire: CountWire,
  isCounted: boolean,
): Bounds {
  const known = leastUsed(reports, wire);
  const knownOnTheWay = reports.map((_, at) => leastUsed(reports.slice(0, at + 1), wire).output);
  const bytes = Buffer.byteLength(text);
  const made = {
    prompt: isCounted ? COUNTED_PROMPT : HELD.inputTokens,
    output: isCounted ? Math.ceil(bytes / BYTES_PER_TOKEN) : bytes,
  };
  const total = Math.max(0, ...reports.map((report) => report.total ?? 0)); // the prompt may be what it has besides the output
  const says = (name: keyof Used) => reports.some((report) => report[name] !== undefined || report.total !== undefined);
  const isCovered = ending === 'money' || ending === 'service'; // what is beyond the hold was not relayed
  const covered = (output: number) => (isCovered ? Math.min(output, HELD.outputTokens) : output);
  return {
    least: {
      prompt: known.prompt > 0 ? known.prompt : says('prompt') ? 0 : made.prompt,
      output: covered(says('output') ? known.output : made.output),
    },
    most: {
      prompt: Math.max(total, known.prompt > 0 ? known.prompt : made.prompt),
      output: covered(Math.max(made.output, ...knownOnTheWay)),
    },
  };
}

function expectWithin({ prompt, output }: Used, { least, most }: Bounds): void {
  expect(prompt).toBeGreaterThanOrEqual(least.prompt);
  expect(prompt).toBeLessThanOrEqual(most.prompt);
  expect(output).toBeGreaterThanOrEqual(least.output);
  expect(output).toBeLessThanOrEqual(most.output);
}

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  const wire = countWireOf(driver);
  const settings = { numRuns: RUNS, seed: SEED };

  test('a whole answer is billed by the largest of its counts, and otherwise as it was counted', async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswerOf(wire), fc.boolean(), async (answer, isCounted) => {
        const outcome = await streamedOutcome(driver, wire.stream(answer));
        fc.pre(outcome.fault === null);
        const bounds = boundsOf('answered', textOf(outcome.events), reportsOf(answer, wire), wire, isCounted);
        expectWithin(billed('answered', outcome, isCounted), bounds);
      }),
      settings,
    );
  });

  test('a broken answer is billed by the largest of what came, for each way to break and each place', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyAnswerOf(wire),
        fc.nat(),
        fc.constantFrom(...endings),
        fc.boolean(),
        async (answer, place, ending, isCounted) => {
          const pieces = answer.pieces.slice(0, 1 + (place % answer.pieces.length));
          const begun = { ...answer, pieces, last: null };
          const sent = wire.stream(begun);
          const cut = sent.slice(0, sent.length - (wire.protocol === 'chat' ? 2 : 1));
          const outcome = await streamedOutcome(driver, cut);
          fc.pre(outcome.events.some(({ name }) => name === 'message_start'));
          const bounds = boundsOf(ending, textOf(outcome.events), reportsOf(begun, wire), wire, isCounted);
          expectWithin(billed(ending, outcome, isCounted), bounds);
        },
      ),
      settings,
    );
  });

  const unusable = unusableEnds(wire);
  if (unusable.length === 0) return;
  test('an answer that the model leaves unusable is billed like a whole one', async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswerOf(wire, unusable), fc.boolean(), async (answer, isCounted) => {
        const outcome = await streamedOutcome(driver, wire.stream(answer));
        fc.pre(outcome.fault?.kind === 'unusable'); // an unknown word without output is a failure
        fc.pre(outcome.events.some(({ name }) => name === 'message_start'));
        const bounds = boundsOf('unusable', textOf(outcome.events), reportsOf(answer, wire), wire, isCounted);
        expectWithin(billed('unusable', outcome, isCounted), bounds);
      }),
      settings,
    );
  });
});
