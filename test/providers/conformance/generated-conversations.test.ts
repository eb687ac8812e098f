// Conversations of several turns, generated: what every kind of provider is asked is read back by a reader of its own
// protocol, and holds all that was said and shown, in order, and nothing else. GENERATED_RUNS says how many of each.

import { describe, test } from 'bun:test';
import fc from 'fast-check';
import { dialogueFor } from './dialogue.ts';
import type { Driver } from './driver.ts';
import { drivers } from './drivers.ts';
import { expectCarried } from './expect-carried.ts';

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 60);
const SEED = Number(process.env['GENERATED_SEED'] ?? 20_261_120);

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('is asked with all that was said and shown, in its order, and with nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(dialogueFor(driver.layout.refuses), async (dialogue) => {
        await expectCarried(driver, dialogue);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
