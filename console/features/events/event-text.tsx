// The description of an event, with times in the format of the console and names in place of ids.

import { Fragment } from 'react';
import { useActors, useNames } from '../../names.ts';
import { When } from '../../parts/times.tsx';

/** Times in UTC; and ids of people, tokens and keys whose name is not before them. */
export const KNOWN =
  /([A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M UTC|(?<!\()\b(?:person|tok|key)_[0-9A-Za-z]{9}\b)/;

export function EventText({ text }: { text: string }) {
  const parts = text.split(KNOWN);
  const known = parts.filter((_, at) => isKnown(at));
  const actorName = useActors(known);
  const names = useNames(known.filter((id) => id.startsWith('key_')).map((key) => ({ key, account: null })));
  return parts.map((part, at) => {
    const key = `${at} ${part}`;
    if (!isKnown(at)) return <Fragment key={key}>{part}</Fragment>;
    if (part.endsWith(' UTC')) return <Time key={key} text={part} />;
    return <Fragment key={key}>{part.startsWith('key_') ? names.key(part) : actorName(part)}</Fragment>;
  });
}

/** A provider's words may look like a time that there is none of. */
function Time({ text }: { text: string }) {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : <When at={new Date(ms).toISOString()} />;
}

/** What is known is at the odd places. */
function isKnown(at: number): boolean {
  return at % 2 === 1;
}
