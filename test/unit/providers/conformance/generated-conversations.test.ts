// Generated conversations of several turns: the request to every kind of provider is read by an independent reader,
// and contains the whole conversation, in order, and nothing else. GENERATED_RUNS sets the number of each;
// test/verify/providers runs more.

import { describe, test } from 'bun:test';
import fc from 'fast-check';
import { dialogueFor } from './dialogue.ts';
import type { Driver } from './driver.ts';
import { drivers } from './drivers.ts';
import { expectCarried } from './expect-complete.ts';

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 25);
const SEED = Number(process.env['GENERATED_SEED'] ?? 20_261_120);

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('gets the whole conversation in its request, in order, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(dialogueFor(driver.layout.refuses), async (dialogue) => {
        await expectCarried(driver, dialogue);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
