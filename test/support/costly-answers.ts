// Answers of providers of every kind in which costly JSON stands in place of a text, of a tool's input, or of a value
// that no protocol knows. It has no tests of its own.

import type { Driver } from '../unit/providers/conformance/driver.ts';
import { bytesOf } from '../unit/providers/conformance/driver.ts';
import { call, replyOf, TOOL_NAMES, text, thinking } from '../unit/providers/conformance/model-reply.ts';
import { costlyTexts, costlyValues } from './costly-json.ts';

const MARK = 'MARKED'; // short, because a driver cuts texts into pieces
const MARKED = `"${MARK}"`;
const INPUT = MARKED; // a text instead of an object: only its length matters

const replies = {
  text: replyOf([text(MARK)]),
  thinking: replyOf([thinking(MARK), text('so')]),
  'the input of a tool': replyOf([text('so'), call('call_1', TOOL_NAMES[0] as string, INPUT)]),
};

export interface CostlyAnswer {
  name: string;
  /** With a JSON text of about this many bytes; null if this kind cannot have one there. */
  whole(bytes: number): Buffer | null;
  stream(bytes: number): Uint8Array | null;
}

/** Every costly JSON in every place of a kind's answers. */
export function costlyAnswers(driver: Driver): CostlyAnswer[] {
  const found: CostlyAnswer[] = [];
  for (const [place, reply] of Object.entries(replies)) {
    const fitted = driver.fit(reply);
    for (const [name, make] of Object.entries(costlyTexts))
      found.push({
        name: `${name} in ${place}`,
        whole: (bytes) => bufferOf(placeIn(driver.whole(fitted), make(bytes))),
        stream: (bytes) =>
          streamOf(
            driver,
            driver.stream(fitted, () => 0.99),
            (json) => placeIn(json, make(bytes)),
          ),
      });
  }
  const fitted = driver.fit(replies.text);
  for (const [name, make] of Object.entries(costlyValues))
    found.push({
      name: `${name} in an unknown member`,
      whole: (bytes) => bufferOf(addMember(driver.whole(fitted), make(bytes))),
      stream: (bytes) =>
        streamOf(
          driver,
          driver.stream(fitted, () => 0.99),
          (json) => addMember(json, make(bytes)),
        ),
    });
  return found;
}

function bufferOf(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text);
}

/** The events with a text in the place of the mark, or with a member that none of them has; null if there is no place. */
function streamOf(
  driver: Driver,
  events: readonly string[],
  change: (json: string) => string | null,
): Uint8Array | null {
  const { framing } = driver;
  let isChanged = false;
  const changed = events.map((event) => {
    if (isChanged) return event;
    const chunk = /^(chunk )(\{.*"bytes":")([^"]*)(".*)$/s.exec(event); // Claude at Bedrock
    const inside = chunk?.[3] === undefined ? null : Buffer.from(chunk[3], 'base64').toString();
    const written = change(inside ?? event);
    if (written === null) return event;
    isChanged = true;
    return chunk === null ? written : `${chunk[1]}${chunk[2]}${Buffer.from(written).toString('base64')}${chunk[4]}`;
  });
  return isChanged ? bytesOf({ ...(framing !== undefined && { framing }) }, changed) : null;
}

/** A text in the place of the mark, also in JSON that is itself a text; null if there is none. */
function placeIn(json: string, given: string): string | null {
  if (json.includes(MARKED)) return json.replaceAll(MARKED, () => given);
  const inside = JSON.stringify(MARKED).slice(1, -1);
  return json.includes(inside) ? json.replaceAll(inside, () => JSON.stringify(given).slice(1, -1)) : null;
}

function addMember(json: string, given: string): string | null {
  const at = json.indexOf('{');
  return at < 0 ? null : `${json.slice(0, at)}{"unknown":${given},${json.slice(at + 1)}`;
}
