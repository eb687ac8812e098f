// A token count does not fail because of a provider: the next route is tried, and if none can count, the count is
// estimated. It leaves no record, costs nothing, and holds nothing.

import { afterAll, expect, test } from 'bun:test';
import type { Json } from '../post-messages/world.ts';
import { COUNTED_TOKENS } from './dialects.ts';
import { type FailingFault, failing, JSON_TYPE, refusing } from './faults.ts';
import { type Case, COUNT_TOKENS, casesOf, expectRefusal, type Fault, playCases, type Seen } from './two-routes.ts';

const COUNTERS = ['anthropic', 'gemini', 'vertex', 'foundry'];
const hasCounter = ({ dialect, form }: Case) => form === 'whole' && COUNTERS.includes(dialect.kind);
const [refusesContent] = refusing as [Fault];
const fallen: Fault = {
  name: 'fails at both routes',
  play: (dialect) => (wire) => wire.send(500, JSON_TYPE, dialect.error(500)),
};
const bothFail = casesOf([fallen]).map((one) => ({ ...one, second: fallen }));
const played = await playCases(
  [...casesOf([...failing, refusesContent]), ...bothFail].filter(hasCounter),
  { upstream_silence_seconds: 6 },
  COUNT_TOKENS,
);
afterAll(() => played.stop());

function expectCount({ title, response, text, kinds }: Seen, isCounted: boolean): void {
  expect({ title, status: response.status, text }).toMatchObject({ status: 200 });
  const { input_tokens: tokens } = JSON.parse(text) as Json;
  expect({ title, tokens }).toEqual({ title, tokens: expect.any(Number) });
  if (isCounted)
    expect({ title, isOfProvider: tokens === COUNTED_TOKENS }).toEqual({
      title,
      isOfProvider: COUNTERS.includes(kinds[1]),
    });
}

test.each(failing.filter(({ form }) => form !== 'streamed').map((fault) => [fault.name, fault] as const))(
  'if the first provider %s, the next one counts, or the count is estimated',
  (_name, fault: FailingFault) => {
    // The time limit applies to all routes together: if one provider used it up, the count is estimated.
    for (const seen of played.of(fault)) expectCount(seen, fault.result !== 'timeout');
  },
);

test('if no provider can count, the count is estimated', () => {
  for (const seen of played.of(fallen)) expectCount(seen, false);
});

test('a prompt that the first provider rejects is rejected', async () => {
  for (const seen of played.of(refusesContent)) {
    await expectRefusal(seen, 'upstream_rejected');
    expect({ title: seen.title, asked: seen.asked }).toEqual({ title: seen.title, asked: [1, 0] });
  }
});

test('no broken upstream connection is reused', () => played.expectClosed());

test('counting leaves no record, no charge and no hold', () => played.expectLedger());
