// The door of the Messages protocol: requests, events, token counts, server-sent events. Pure.

export type { JsonObject, JsonValue, MemberSpan, MessageRequest } from './message-request.ts';
export { encodeEvent, makeEvent, PING_TEXT, type StreamEvent } from './stream-event.ts';
export { NO_TOKENS, promptTokens, type TokenCounts } from './token-counts.ts';
