// Conversations of several turns, generated: what every kind of provider is asked is read back by a reader of its own
// protocol, and holds all that was said and shown, in order, and nothing else. GENERATED_RUNS says how many of each.

import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { dialogueFor } from './dialogue.ts';
import type { Driver } from './driver.ts';
import { drivers } from './drivers.ts';
import { ask, attemptOf, json, TOOLS } from './exchange.ts';
import { takeApart } from './facts.ts';
import { sayingOf, TOOL_NAMES, text } from './saying.ts';
import { type Written, writeDialogue } from './write-dialogue.ts';

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 25);
const SEED = Number(process.env['GENERATED_SEED'] ?? 20_261_120);

async function expectCarried(driver: Driver, { body, facts, refused, callIds }: Written): Promise<void> {
  const { sent, fault } = await ask(driver, attemptOf(driver, body), () => json(driver.whole(sayingOf([text('.')]))));
  if (refused.length > 0) {
    expect(fault).toMatchObject({ kind: 'rejected', status: 400 });
    expect(refused.some((path) => fault?.message.startsWith(path))).toBe(true);
    expect(sent).toBeNull();
    return;
  }
  if (fault !== null) throw fault;
  const { facts: found, tools } = driver.read(sent?.body ?? '');
  expect(tools).toHaveLength(TOOLS.length);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(TOOLS.length);
  for (const { name } of tools) expect(name).toMatch(driver.toolName);
  const named = facts.map((fact) =>
    'call' in fact ? { ...fact, name: tools[TOOL_NAMES.indexOf(fact.name)]?.name ?? '' } : fact,
  );
  expect(takeApart(found, driver.layout.adds)).toEqual(takeApart(named, []));
  expect(new Set(callIds).size).toBe(callIds.length);
}

describe.each(drivers.map((driver): [string, Driver] => [driver.name, driver]))('%s', (_name, driver) => {
  test('is asked with all that was said and shown, in its order, and with nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(dialogueFor(driver.layout.refuses), async (dialogue) => {
        const written = await writeDialogue(driver, dialogue);
        try {
          await expectCarried(driver, written);
        } catch (thrown) {
          throw new Error(`${String(thrown)}\nin the conversation ${written.body}`, { cause: thrown });
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });
});
