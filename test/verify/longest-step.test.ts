// No request and no answer of a provider makes the event loop work for long without a pause, whatever it contains. Counted,
// not timed: `npm run bench steps` has the times. The sizes and their bounds are a fraction of the real ones.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { bounds } from '../../src/config/config.ts';
import { costlyAnswers } from '../support/costly-answers.ts';
import { costlyRequests } from '../support/costly-requests.ts';
import { readAnswer, readRequest } from '../support/read-costly.ts';
import { setBounds } from '../support/set-bounds.ts';
import { longestStepOf, type Step } from '../support/watch-steps.ts';
import { bedrockClaudeDriver } from '../unit/providers/conformance/bedrock-wire.ts';
import { kinds } from '../unit/providers/conformance/drivers.ts';

const FRACTION = 1 / 4;
const REQUEST_BYTES = FRACTION * 12_000_000;
const WHOLE_BYTES = FRACTION * 10_000_000;
const EVENT_BYTES = FRACTION * 9_000_000;
const CHUNK_BYTES = FRACTION * 4_000_000;
const lowered = {
  bodyBytesMax: FRACTION * bounds.bodyBytesMax,
  bodyBytesAtOnceMax: FRACTION * bounds.bodyBytesAtOnceMax,
};
const MOST: Step = {
  characters: 2 * lowered.bodyBytesMax,
  values: 2 * bounds.jsonValuesMax,
  replaced: lowered.bodyBytesAtOnceMax,
};

let changed: Disposable;
beforeAll(() => {
  changed = setBounds(lowered);
});
afterAll(() => changed[Symbol.dispose]());

function expectShort(step: Step): void {
  for (const name of Object.keys(MOST) as (keyof Step)[]) expect(step[name], name).toBeLessThanOrEqual(MOST[name]);
}

describe('a request', () => {
  test.each(costlyRequests().map((request) => [request.name, request] as const))('%s', async (_, { path, body }) => {
    const bytes = Buffer.from(body(REQUEST_BYTES));
    expectShort(await longestStepOf(() => readRequest(path, bytes).catch(() => undefined)));
  });
});

describe.each([...kinds, bedrockClaudeDriver].map((driver) => [driver.name, driver] as const))(
  'an answer of %s',
  (_, driver) => {
    const answers = costlyAnswers(driver);
    test.each(answers.map((answer) => [answer.name, answer] as const))('%s, whole', async (_name, { whole }) => {
      const bytes = whole(WHOLE_BYTES);
      if (bytes !== null) expectShort(await longestStepOf(() => readAnswer(driver, bytes, false, CHUNK_BYTES)));
    });

    test.each(answers.map((answer) => [answer.name, answer] as const))('%s, streamed', async (_name, { stream }) => {
      const bytes = stream(EVENT_BYTES);
      if (bytes !== null) expectShort(await longestStepOf(() => readAnswer(driver, bytes, true, CHUNK_BYTES)));
    });

    test('most places exist in both forms', () => {
      expect(answers.filter(({ whole }) => whole(8) !== null).length).toBeGreaterThan(answers.length / 2);
      expect(answers.filter(({ stream }) => stream(8) !== null).length).toBeGreaterThan(answers.length / 2);
    });
  },
);
