// The door of the Messages protocol: requests, events, token counts, server-sent events. Pure.

export { exactBody, parseExactly } from './exact-json.ts';
export type { StreamEvent } from './fold-events.ts';
export {
  encodeEvent,
  encodeNative,
  laterCounts,
  MalformedStream,
  MessageFold,
  makeEvent,
  onOneLine,
  PING,
  splitBlock,
  unfoldMessage,
} from './fold-events.ts';
export { isOfGoogle, NO_THOUGHT_SIGNATURE } from './gemini-facts.ts';
export { type ImageSize, parseImageSize, readImageSize } from './image-size.ts';
export { InnerJson } from './inner-json.ts';
export { isLong, pauseAfter } from './long-texts.ts';
export { mediaTypeOf, PDF } from './media-type.ts';
export {
  decodeBody,
  decodeBytes,
  EXTRA_MEMBER,
  isJsonObject,
  isSound,
  isSpokenAnswer,
  isThinking,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  type MemberSpan,
  type MessageRequest,
  type NativeBody,
  NO_TOKENS,
  OTHER_USES,
  type OtherUse,
  objectOf,
  type Protocol,
  parseJson,
  promptTokens,
  type ReceivedBody,
  SERVES,
  type Serves,
  type SpokenAnswers,
  servesOf,
  sizeOf,
  type TokenCounts,
  textOf,
} from './message-request.ts';
export {
  makeMessageRequest,
  parseInTurns,
  parseMessageRequest,
  remakeRequest,
  requireList,
  requireText,
  requireToolName,
  rewriteRequest,
  wrongField,
} from './parse-message-request.ts';
export { type DeltaKind, encodePiece, PlainDeltas, type StreamPiece } from './plain-deltas.ts';
export { findBlock, type RequestFeatures, readFeatures } from './read-features.ts';
export { readAnyLines, readLines } from './read-lines.ts';
export { closingQuote, findCost, isTooDeep, JsonWeight, scanJson, TOO_ESCAPED, weighJson } from './scan-json.ts';
export {
  type FormField,
  fileInMemory,
  type MeasuredFile,
  type MeasuredForm,
  type SentFile,
  type SentForm,
} from './sent-form.ts';
export { EventStreamParser, EventTooLong, type ServerSentEvent } from './server-sent-events.ts';
export {
  dearerTier,
  PRICED_TIERS,
  type PricedTier,
  SERVICE_TIERS,
  type ServiceTier,
  servedTier,
  tierOf,
} from './service-tier.ts';
export {
  placeSignature,
  readSignature,
  signatureForCall,
  signatureMember,
  signatureOfChatCall,
  UNSIGNED_THOUGHT,
} from './thought-signatures.ts';
export {
  divideCost,
  UNITS,
  type Unbounded,
  type Unit,
  type UnitCounts,
  type Units,
  unitEntries,
  unitsOf,
} from './units.ts';
