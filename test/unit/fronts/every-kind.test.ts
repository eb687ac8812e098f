// Generated conversations of several turns, as clients of each front write them: each kind of provider gets the whole
// conversation and nothing else, by independent readers of both requests. GENERATED_RUNS sets the number of each; test/verify/providers runs
// more.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { chatCompletions } from '../../../src/fronts/chat-completions/chat-completions.ts';
import type { Front } from '../../../src/fronts/front.ts';
import { gemini } from '../../../src/fronts/gemini/gemini.ts';
import { responses } from '../../../src/fronts/responses/responses.ts';
import { convertBody as convertGemini } from '../../../src/providers/gemini/convert-request.ts';
import { convertBody as convertChat } from '../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../src/providers/openai/profile.ts';
import { convertBody as convertResponses } from '../../../src/providers/openai-responses/convert-request.ts';
import type { Attempt } from '../../../src/providers/provider.ts';
import { dialogueFor } from '../providers/conformance/dialogue.ts';
import type { Driver } from '../providers/conformance/driver.ts';
import { kinds } from '../providers/conformance/drivers.ts';
import { ask, attemptOf, json } from '../providers/conformance/exchange.ts';
import { type Fact, takeApart } from '../providers/conformance/facts.ts';
import { replyOf, text } from '../providers/conformance/model-reply.ts';
import { writeDialogue } from '../providers/conformance/write-dialogue.ts';
import { translateBytes } from './translate-bytes.ts';

interface Spoken {
  front: Front;
  /** The provider kind of the same protocol, which writes and reads the client's requests. */
  kind: string;
  convert(attempt: Attempt): unknown;
}

const FRONTS: readonly Spoken[] = [
  {
    front: chatCompletions,
    kind: 'openai',
    convert: (attempt) => convertChat(attempt, chooseProfile(attempt.provider.baseUrl, attempt.upstreamModel)),
  },
  { front: responses, kind: 'openai-responses', convert: (attempt) => convertResponses(attempt) },
  { front: gemini, kind: 'gemini', convert: (attempt) => convertGemini(attempt) },
];

/**
 * Facts that all protocols have. Thoughts and names of tools are tested elsewhere. OpenAI's protocols have no field for the
 * error of a tool, some kinds have no system text in the middle, and some order a turn differently.
 */
function factsOf({ read }: Driver, adds: readonly RegExp[], body: string): string[] {
  let isBegun = false;
  const facts = takeApart(read(body).facts, adds).flatMap((fact): Fact[] => {
    if ('thought' in fact) return [];
    isBegun ||= !('by' in fact) || fact.by !== 'system';
    if ('by' in fact && fact.by === 'system' && isBegun) return [{ ...fact, by: 'user' }];
    if ('isError' in fact) return [{ ...fact, isError: false }];
    return ['call' in fact ? { ...fact, name: '', seal: null } : fact];
  });
  return facts.map((fact) => JSON.stringify(fact)).sort();
}

const RUNS = Number(process.env['GENERATED_RUNS'] ?? 8);

/** The end of a document's name, and the name of one without a title, in the protocols that require them. */
const FILE_NAME = /\s*(?:document)?\.pdf\s*/g;
const REFUSED = /^messages\.[\w.]+: the provider of this model (?:accepts only|does not accept PDFs|does not fetch)\b/;

const cases = FRONTS.flatMap((spoken) =>
  kinds.map((driver) => [spoken.front.protocol, driver.kind, spoken, driver] as const),
);

test.each(cases)('a conversation of a client of %s reaches the kind %s whole', async (_, __, spoken, driver) => {
  const { front, kind, convert } = spoken;
  const writer = kinds.find((one) => one.kind === kind) as Driver;
  const refuses = [...writer.layout.refuses, ...driver.layout.refuses];
  const adds = [...driver.layout.adds, ...writer.layout.adds, FILE_NAME];
  let callCount = 0;
  await fc.assert(
    fc.asyncProperty(dialogueFor(refuses), async (dialogue) => {
      const { body, refused } = await writeDialogue(writer, dialogue);
      fc.pre(refused.length === 0);
      const converted = convert(attemptOf(writer, body));
      const written = typeof converted === 'string' ? converted : JSON.stringify(converted);
      const operation = { asks: 'message', model: 'm', stream: false } as const;
      const { message } = translateBytes(front, new TextEncoder().encode(written), { operation });
      const answer = () => json(driver.whole(replyOf([text('.')])));
      const { sent, fault } = await ask(driver, attemptOf(driver, JSON.stringify(message)), answer);
      // The kind refuses by name, because it does not have such content.
      fc.pre(fault === null || !REFUSED.test(fault.message));
      if (fault !== null) throw fault;
      const given = factsOf(writer, adds, written);
      expect(factsOf(driver, adds, sent?.body ?? '')).toEqual(given);
      callCount += given.filter((fact) => fact.startsWith('{"call"')).length;
    }),
    { numRuns: RUNS, seed: 20_261_124 },
  );
  expect(callCount).toBeGreaterThan(0);
});
