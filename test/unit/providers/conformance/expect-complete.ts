// Checks that a provider's request contains the whole conversation, by an independent reading of the request. It has
// no tests of its own.

import { expect } from 'bun:test';
import type { Dialogue } from './dialogue.ts';
import type { Driver } from './driver.ts';
import { ask, attemptOf, json, TOOLS } from './exchange.ts';
import { type Fact, takeApart } from './facts.ts';
import { replyOf, TOOL_NAMES, text } from './model-reply.ts';
import { writeDialogue } from './write-dialogue.ts';

/**
 * The provider's request as facts; null if it is rightly refused. Throws, with the conversation, if anything was
 * lost, changed, moved or invented.
 */
export async function expectCarried(driver: Driver, dialogue: Dialogue): Promise<Fact[] | null> {
  const { body, facts, refused, callIds } = await writeDialogue(driver, dialogue);
  try {
    const answer = () => json(driver.whole(replyOf([text('.')])));
    const { sent, fault } = await ask(driver, attemptOf(driver, body), answer);
    if (refused.length > 0) {
      expect(fault).toMatchObject({ kind: 'rejected', status: 400 });
      expect(refused.some((path) => fault?.message.startsWith(path))).toBe(true);
      expect(sent).toBeNull();
      return null;
    }
    if (fault !== null) throw fault;
    const { facts: found, tools } = driver.read(sent?.body ?? '');
    expectTools(driver, tools);
    const named = facts.map((fact) =>
      'call' in fact ? { ...fact, name: tools[TOOL_NAMES.indexOf(fact.name)]?.name ?? '' } : fact,
    );
    const received = takeApart(found, driver.layout.adds);
    expect(received).toEqual(takeApart(named, []));
    expect(new Set(callIds).size).toBe(callIds.length);
    return received;
  } catch (thrown) {
    throw new Error(`${String(thrown)}\nin conversation ${body}`, { cause: thrown });
  }
}

/** Every declared tool has a distinct valid name, and its parameters. */
function expectTools({ toolName }: Driver, tools: readonly { name: string; schema: unknown }[]): void {
  expect(tools).toHaveLength(TOOLS.length);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(TOOLS.length);
  for (const { name, schema } of tools) {
    expect(name).toMatch(toolName);
    expect(schema).toMatchObject({ properties: { city: { maxLength: 80 } }, required: ['city'] });
  }
}
