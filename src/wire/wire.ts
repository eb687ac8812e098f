// The door of the Messages protocol: requests, events, token counts, server-sent events. Pure.

export { wrongField } from './check-fields.ts';
export { decodeBody } from './decode-body.ts';
export { exactBody, parseExactly } from './exact-json.ts';
export { MalformedStream, MessageFold } from './fold-events.ts';
export { isJsonObject, jsonObjects } from './json-values.ts';
export type { JsonObject, JsonValue, MemberSpan, MessageRequest, Protocol } from './message-request.ts';
export { parseJson } from './parse-json.ts';
export { parseMessageRequest } from './parse-message-request.ts';
export { type RequestFeatures, readFeatures } from './read-features.ts';
export { rewriteRequest } from './rewrite-request.ts';
export { scanJson } from './scan-json.ts';
export { EventStreamParser, EventTooLong, type ServerSentEvent } from './server-sent-events.ts';
export { encodeEvent, makeEvent, PING_TEXT, type StreamEvent } from './stream-event.ts';
export { NO_TOKENS, promptTokens, type TokenCounts } from './token-counts.ts';
export { unfoldMessage } from './unfold-message.ts';
export { findBlock } from './walk-blocks.ts';
