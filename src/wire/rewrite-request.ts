// New values for top-level members of a request, spliced into the caller's own text: whatever is not
// changed stays byte for byte, because a provider's prompt cache depends on it.

import type { JsonValue, MemberSpan, MessageRequest } from './message-request.ts';

/**
 * The request's text with `changes` made: a value replaces a member or is added at the end, undefined
 * removes it. The request itself is not changed.
 */
export function rewriteRequest(
  request: Pick<MessageRequest, 'text' | 'members'>,
  changes: Record<string, JsonValue | undefined>,
): string {
  const { text, members } = request;
  const firstFrom = text.indexOf('{') + 1;
  let written = text.slice(0, firstFrom);
  let previousEnd = firstFrom; // in the text, of the member before, kept or not
  let isFirst = true;
  for (const [name, span] of members) {
    const isChanged = Object.hasOwn(changes, name);
    const value = changes[name];
    if (!isChanged || value !== undefined) {
      written += text.slice(isFirst ? afterComma(text, previousEnd, span) : previousEnd, span.start);
      written += isChanged ? JSON.stringify(value) : text.slice(span.start, span.end);
      isFirst = false;
    }
    previousEnd = span.end;
  }
  for (const name of Object.keys(changes)) {
    if (members.has(name) || changes[name] === undefined) continue;
    written += `${isFirst ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(changes[name])}`;
    isFirst = false;
  }
  return written + text.slice(previousEnd);
}

/** Where the text of a member begins that became the first: after the comma that parted it from a removed one. */
function afterComma(text: string, previousEnd: number, span: MemberSpan): number {
  const comma = text.indexOf(',', previousEnd);
  return comma >= 0 && comma < span.from ? comma + 1 : previousEnd;
}
