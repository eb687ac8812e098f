// Whether a provider is asked with all that a conversation says, held against an independent reading of the request.
// Not a test.

import { expect } from 'bun:test';
import type { Dialogue } from './dialogue.ts';
import type { Driver } from './driver.ts';
import { ask, attemptOf, json, TOOLS } from './exchange.ts';
import { type Fact, takeApart } from './facts.ts';
import { sayingOf, TOOL_NAMES, text } from './saying.ts';
import { writeDialogue } from './write-dialogue.ts';

/**
 * What the provider was asked, fact by fact; null where it is rightly refused. Throws where anything was lost, changed,
 * moved or invented, with the conversation that it was of.
 */
export async function expectCarried(driver: Driver, dialogue: Dialogue): Promise<Fact[] | null> {
  const { body, facts, refused, callIds } = await writeDialogue(driver, dialogue);
  try {
    const answer = () => json(driver.whole(sayingOf([text('.')])));
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
    const heard = takeApart(found, driver.layout.adds);
    expect(heard).toEqual(takeApart(named, []));
    expect(new Set(callIds).size).toBe(callIds.length);
    return heard;
  } catch (thrown) {
    throw new Error(`${String(thrown)}\nin the conversation ${body}`, { cause: thrown });
  }
}

/** Every tool that was declared has a name of its own that is taken there, and its parameters. */
function expectTools({ toolName }: Driver, tools: readonly { name: string; schema: unknown }[]): void {
  expect(tools).toHaveLength(TOOLS.length);
  expect(new Set(tools.map(({ name }) => name)).size).toBe(TOOLS.length);
  for (const { name, schema } of tools) {
    expect(name).toMatch(toolName);
    expect(schema).toMatchObject({ properties: { city: { maxLength: 80 } }, required: ['city'] });
  }
}
