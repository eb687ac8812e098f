// Generated conversations of several turns, as clients of Gemini write them: each kind of provider gets the whole
// conversation and nothing else, by independent readers of both requests.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { convertBody } from '../../../../src/providers/gemini/convert-request.ts';
import { dialogueFor } from '../../providers/conformance/dialogue.ts';
import type { Driver } from '../../providers/conformance/driver.ts';
import { kinds } from '../../providers/conformance/drivers.ts';
import { ask, attemptOf, json } from '../../providers/conformance/exchange.ts';
import { type Fact, takeApart } from '../../providers/conformance/facts.ts';
import { geminiDriver } from '../../providers/conformance/gemini-wire.ts';
import { replyOf, text } from '../../providers/conformance/model-reply.ts';
import { writeDialogue } from '../../providers/conformance/write-dialogue.ts';
import { messageText } from './read-gemini.ts';

/** Facts that both protocols have: thoughts and names of tools are tested elsewhere, and some kinds order a turn differently. */
function factsOf({ read, layout }: Driver, body: string): string[] {
  const adds = [...layout.adds, ...geminiDriver.layout.adds];
  const facts = takeApart(read(body).facts, adds).flatMap((fact): Fact[] => {
    if ('thought' in fact) return [];
    return ['call' in fact ? { ...fact, name: '', seal: null } : fact];
  });
  return facts.map((fact) => JSON.stringify(fact)).sort();
}

test.each(kinds.map((driver) => [driver.kind, driver] as const))(
  'a conversation of a client of Gemini reaches the kind %s whole',
  async (_, driver) => {
    const refuses = [...geminiDriver.layout.refuses, ...driver.layout.refuses];
    let callCount = 0;
    await fc.assert(
      fc.asyncProperty(dialogueFor(refuses), async (dialogue) => {
        const { body, refused } = await writeDialogue(geminiDriver, dialogue);
        fc.pre(refused.length === 0);
        const written = convertBody(attemptOf(geminiDriver, body));
        const answer = () => json(driver.whole(replyOf([text('.')])));
        const { sent, fault } = await ask(driver, attemptOf(driver, messageText(written)), answer);
        if (fault !== null) throw fault;
        const given = factsOf(geminiDriver, written);
        expect(factsOf(driver, sent?.body ?? '')).toEqual(given);
        callCount += given.filter((fact) => fact.startsWith('{"call"')).length;
      }),
      { numRuns: 15, seed: 20_261_124 },
    );
    expect(callCount).toBeGreaterThan(0);
  },
);
