// The interface of fronts. A front is a protocol that clients use instead of Messages: its requests are translated to
// messages, and the answers back. It is pure; public-api serves its paths.

import type { Clock } from '../base/clock.ts';
import type { TurnpikeError } from '../errors.ts';
import type {
  JsonObject,
  JsonWeight,
  MeasuredForm,
  MemberSpan,
  NativeBody,
  Protocol,
  SentFile,
  Unbounded,
  Units,
} from '../wire/wire.ts';
import type { AnswerWriter } from './answer-stream.ts';
import type { Origins } from './origins.ts';

/** The operation of a path. `model` and `stream` are set where the path has them instead of the body. */
export type Operation =
  | { asks: 'message'; model?: string; stream?: boolean; form?: FormKind; isCompaction?: true }
  | { asks: 'count'; model?: string }
  | { asks: 'models' }
  | { asks: 'model'; id: string };

/** The body is a form instead of JSON. */
export interface FormKind {
  /** The name of the operation, which may share its front with others. */
  name: string;
  filesMax: number;
  /** The content of its files, which decides what is measured. */
  of: 'sound' | 'images';
  /** The body may also be JSON, which `Front.translate` reads. Absent: no. */
  orJson?: true;
}

export interface Front {
  /** Recorded with the message. */
  readonly protocol: Protocol;
  /** Whether clients read OpenAI's `x-request-id` and `x-ratelimit-…` headers. */
  readonly hasOpenAiHeaders: boolean;
  /** A header for the key besides those of all paths; null: none. */
  readonly keyHeader: string | null;
  /**
   * Whether a path is the front's, existing or not: its errors have the front's format. `path` is canonical. The head
   * distinguishes clients on paths that protocols share.
   */
  owns(path: string, head: RequestHead): boolean;
  /** null: there is no such path. `path` is canonical, and decoded. */
  findOperation(path: string): Operation | null;
  /** Adds the JSON texts inside a body to its weight. Throws invalid_request. */
  weigh(body: JsonObject, weight: JsonWeight): void;
  /** Throws invalid_request (the message begins with the field's path) and feature_unavailable. */
  translate(body: JsonObject, asked: Asked): Translated;
  /** As `translate`, for a form. Present if an operation takes one. */
  translateForm?(form: MeasuredForm, kind: FormKind): Omit<Translated, 'native'>;
  /** The form of the answer to a message whose model makes images. Absent: such models are not found. */
  imagesForm?(asked: Pick<Asked, 'operation' | 'query'>): ImagesForm;
  /** The JSON of an error. */
  errorBody(error: TurnpikeError, requestId: string): string;
  /** The JSON of other answers, from those of the Messages protocol: a token count, a list of models, one model. */
  countBody?(count: JsonObject): string;
  modelsBody?(list: JsonObject): string;
  modelBody?(model: JsonObject): string;
}

/** Form of an answer with images: of generateContent, whole and in its two kinds of streams, or of Messages. */
export type ImagesForm = 'content' | 'event' | 'list' | 'message' | 'message_events';

export interface RequestHead {
  headers: Headers;
  /** Without the question mark. */
  query: string;
}

/** A request as it was asked. */
export interface Asked extends RequestHead {
  operation: Operation;
  requestId: string;
  receivedAtMs: number;
  clock: Clock;
  /** The body as received, and its top-level members. */
  text: string;
  members: Map<string, MemberSpan>;
}

export interface Translated {
  /** The Messages request. Deterministic: equal requests have equal messages. */
  message: JsonObject;
  /** For providers of the front's own protocol; null: they get the message, too. */
  native: NativeBody | null;
  answer: AnswerTranslator;
  /** The most units that the request may use; absent: none. */
  units?: Units;
  /** Units that it may use without a known most; absent: none. */
  unbounded?: Unbounded;
  /** The protocol of the request, if its body chooses another one than the front's; absent: that of the front. */
  protocol?: Protocol;
  /** Files that are sent in a form, although the request came as JSON; absent: none. */
  files?: readonly SentFile[];
}

/** Translates the answer to one request. Small, because a stream may last much longer than its request is kept. */
export interface AnswerTranslator {
  /** The content type of a whole answer; absent: JSON. */
  readonly contentType?: string;
  /** Headers of a stream that is not one of events. */
  readonly streamHeaders?: Readonly<Record<string, string>>;
  /** For paths of errors. */
  readonly origins: Origins;
  /** The JSON of a whole answer. Long numbers of the message are exact. */
  message(message: JsonObject): string;
  /** Called once, for a stream. */
  writer(): AnswerWriter;
}
