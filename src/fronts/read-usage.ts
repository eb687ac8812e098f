// The token counts of a message, for the usage of other protocols.

import { countsOfMessage } from '../protocols/token-counts.ts';
import { isJsonObject, type JsonObject, type JsonValue, laterCounts } from '../wire/wire.ts';

export function readUsage(usage: JsonObject) {
  const { cacheRead: cached, cacheWrite: written, ...counts } = countsOfMessage(usage);
  return { ...counts, cached, written };
}

/** Adds later counts of a stream, which are cumulative. A stream may begin with estimates. */
export function addCounts(usage: JsonObject, counts: JsonValue | undefined): void {
  if (isJsonObject(counts)) Object.assign(usage, laterCounts(usage, counts, true));
}
