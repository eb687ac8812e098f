// Counts and endings of every kind of provider: whatever the order of its reports and the word of its end, all that it
// reported reaches the gateway, with the events, the message or the fault.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type Ending, endingOf, VENDORS } from '../../../../src/protocols/stop-words.ts';
import { type CountedAnswer, type CountWire, countWireOf, leastUsed, type Report, type Used } from './count-wires.ts';
import { bytesOf, type Driver, type Json } from './driver.ts';
import { drivers } from './drivers.ts';
import { ask, attemptOf, json, type Outcome, streamed } from './exchange.ts';

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 60);
const SEED = Number(process.env['GENERATED_SEED'] ?? 20_261_128);

const object = (value: unknown) => (typeof value === 'object' && value !== null ? value : {}) as Json;
const count = (value: unknown) => (typeof value === 'number' ? value : 0);

function used(usage: unknown): Used {
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = object(usage);
  return {
    prompt: count(input_tokens) + count(cache_creation_input_tokens) + count(cache_read_input_tokens),
    output: count(output_tokens),
  };
}

/** The largest counts in all that the gateway got. */
function evidence({ events, text, fault }: Outcome): Used {
  const reports = [
    ...events.flatMap(({ usage, value }) => [usage, value['usage'], object(value['message'])['usage']]),
    text === null ? null : object(JSON.parse(text))['usage'],
    fault?.usage,
  ].map(used);
  const most = (name: keyof Used) => Math.max(0, ...reports.map((report) => report[name]));
  return { prompt: most('prompt'), output: most('output') };
}

async function streamedOutcome(driver: Driver, pieces: readonly string[]): Promise<Outcome> {
  const bytes = pieces.map((piece) => bytesOf(driver, [piece]));
  return await ask(driver, attemptOf(driver, { stream: true }), () => streamed(driver, bytes));
}

const anyCount = fc.oneof(fc.constant(0), fc.nat(50_000));
const anyReportOf = ({ has }: CountWire): fc.Arbitrary<Report> =>
  fc.record(Object.fromEntries(has.map((name) => [name, anyCount])), { requiredKeys: [] }) as fc.Arbitrary<Report>;

/** Reports that grow together and add up, as an honest provider has them. */
const honestReportsOf = (wire: CountWire): fc.Arbitrary<Report[]> =>
  fc
    .tuple(fc.integer({ min: 1, max: 50_000 }), fc.array(fc.tuple(fc.nat(900), fc.nat(900)), { maxLength: 5 }))
    .map(([prompt, growth]) => {
      let [output, thinking] = [0, 0];
      return growth.map(([words, thoughts]) => {
        output += words + (wire.isThinkingBeside === true ? 0 : thoughts);
        thinking += thoughts;
        const all = output + (wire.isThinkingBeside === true ? thinking : 0);
        return reportOf(wire, { prompt, output, thinking, total: prompt + all });
      });
    });

function reportOf({ has }: CountWire, report: Report): Report {
  return Object.fromEntries(Object.entries(report).filter(([name]) => has.includes(name as keyof Report)));
}

const anyText = fc.constantFrom('', 'Hi', 'Grüße 🗼');
const capitals: readonly ((word: string) => string)[] = [
  (word) => word,
  (word) => word.toLowerCase(),
  (word) => word.toUpperCase(),
];

function wordsOf({ protocol }: CountWire): string[] {
  const known = VENDORS.filter((vendor) => vendor.protocol === protocol).flatMap(({ words }) => Object.keys(words));
  if (protocol === 'messages') return known; // words of this protocol pass through
  if (protocol === 'responses') return [...known, 'completed'];
  return [...known.flatMap((word) => capitals.map((change) => change(word))), 'A_NEW_WORD', 'eos_token'];
}

/** Expects the outcome that an ending of this meaning must have. */
function expectEnd(outcome: Outcome, ending: Ending, hasOutput: boolean): void {
  if (ending === 'unusable' || (ending === 'unclear' && hasOutput)) expect(outcome.fault?.kind).toBe('unusable');
  else if (ending === 'unclear') expect(outcome.fault?.kind).toBe('failed');
  else if (ending === 'failed' || ending === 'overloaded') expect(outcome.fault?.kind).toBe(ending);
  else expect(stopReasonOf(outcome)).toBe(ending);
}

function stopReasonOf({ events, text, fault }: Outcome): unknown {
  expect(fault).toBeNull();
  if (text !== null) return object(JSON.parse(text))['stop_reason'];
  return object(events.find(({ name }) => name === 'message_delta')?.value['delta'])['stop_reason'];
}

/** Words of a protocol's incomplete answers always cut it; "tool_use" without a call only ends the turn. */
function meaningOf({ protocol }: CountWire, word: string): Ending {
  if (protocol === 'messages') return word as Ending;
  if (protocol === 'responses')
    return word === 'completed' ? 'end_turn' : word === 'content_filter' ? 'refusal' : 'max_tokens';
  const ending = endingOf(word, protocol);
  return protocol !== 'converse' && ending === 'tool_use' ? 'end_turn' : ending;
}

const anyAnswerOf = (wire: CountWire): fc.Arbitrary<CountedAnswer> => {
  const report = fc.option(anyReportOf(wire));
  return fc.record({
    pieces: fc.array(fc.record({ text: anyText, report }), { minLength: 1, maxLength: 6 }),
    word: fc.constantFrom(...wordsOf(wire)),
    last: report,
  });
};

const reportsIn = ({ pieces, last }: CountedAnswer, wire: CountWire): Report[] => {
  const running = pieces.map(({ report }) => report);
  const sent = wire.protocol === 'messages' ? running.slice(0, 1) : running; // it has no place for others
  return [...sent, last].filter((report) => report !== null);
};

function expectAll({ prompt, output }: Used, least: Used): void {
  expect(prompt).toBeGreaterThanOrEqual(least.prompt);
  expect(output).toBeGreaterThanOrEqual(least.output);
}

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  const wire = countWireOf(driver);
  const settings = { numRuns: RUNS, seed: SEED };

  test('loses no count, whatever the order of its reports and the word of its end', async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswerOf(wire), async (answer) => {
        const outcome = await streamedOutcome(driver, wire.stream(answer));
        const least = leastUsed(reportsIn(answer, wire), wire);
        expectAll(evidence(outcome), least);
        const isProduced = answer.pieces.some(({ text }) => text !== '') && least.prompt + least.output > 0;
        expectEnd(outcome, meaningOf(wire, answer.word), isProduced || least.output > 0);
      }),
      settings,
    );
  });

  test('reports every count that came before a stream broke', async () => {
    await fc.assert(
      fc.asyncProperty(anyAnswerOf(wire), fc.nat(), async (answer, place) => {
        const pieces = answer.pieces.slice(0, 1 + (place % answer.pieces.length));
        const sent = wire.stream({ ...answer, pieces, last: null });
        const outcome = await streamedOutcome(driver, sent.slice(0, sent.length - (wire.protocol === 'chat' ? 2 : 1)));
        expectAll(evidence(outcome), leastUsed(reportsIn({ ...answer, pieces, last: null }, wire), wire));
      }),
      settings,
    );
  });

  test('reports exactly what an honest provider counts, streamed and whole', async () => {
    await fc.assert(
      fc.asyncProperty(honestReportsOf(wire), fc.constantFrom(...wordsOf(wire)), async (reports, word) => {
        const last = reports.at(-1) ?? null;
        const pieces = [...reports.slice(0, -1), null].map((report) => ({ text: 'Hi', report }));
        const outcome = await streamedOutcome(driver, wire.stream({ pieces, word, last }));
        const exact = leastUsed(last === null ? [] : [last], wire);
        expect(evidence(outcome)).toEqual(exact);
        const whole = await ask(driver, attemptOf(driver, {}), () => json(wire.whole('Hi', word, last)));
        expectEnd(whole, meaningOf(wire, word), last !== null);
        if (!['failed', 'overloaded'].includes(whole.fault?.kind ?? '')) expect(evidence(whole)).toEqual(exact);
      }),
      settings,
    );
  });
});
