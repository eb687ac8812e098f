// The interface of a front in this suite: how its clients write a request, and how they read an answer, a stream and an
// error. Written from the protocols' documentation. It has no tests of its own.

export type Json = Record<string, unknown>;

/** A request in neutral words. */
export interface Prompt {
  /** Defaults to `plain`. */
  model?: string;
  stream?: boolean;
  /** Defaults to 64. */
  maxTokens?: number;
  system?: string;
  /** Defaults to one small text of the user. */
  turns?: readonly Turn[];
  tools?: readonly Tool[];
  /** Asks to see thinking. */
  thinking?: boolean;
  /** Fields in the front's own words, which replace or add. */
  members?: Json;
}

export type Turn =
  | { user: string }
  /** The base64 of a PNG. */
  | { image: string }
  /** An answer, sent back as it came. */
  | { own: readonly Json[] }
  | { result: string; of: Call };

export interface Tool {
  name: string;
  description: string;
  schema: Json;
}

export interface Call {
  id: string;
  name: string;
  /** JSON, with every digit. */
  input: string;
}

/** An answer as a client reads it. */
export interface Answer {
  /** Without the prefix of its protocol. */
  id: string;
  model: string;
  text: string;
  thinking: string;
  calls: Call[];
  /** In the front's own words. */
  stop: string;
  usage: { prompt: number; cached: number; output: number; total: number };
  /** The parts that a client sends back. */
  own: readonly Json[];
}

/** A stream as a client reads it. */
export interface Streamed {
  /** The text, as it was split. */
  pieces: string[];
  /** null: it has no normal end. */
  answer: Answer | null;
  /** The error at its end, in the form of `errorBody`. */
  error: Json | null;
}

/** The facts of an error. */
export interface Told {
  code: string;
  status: number;
  type: string;
  message: string;
  /** The path of the field that is wrong. */
  param: string | null;
  requestId: string | null;
  /** The seconds to wait before a retry. */
  retryAfter: string | null;
}

export interface FrontDriver {
  name: string;
  /** Whether a request is one text: what else a prompt has is left out. */
  isTextOnly: boolean;
  path(prompt: Prompt): string;
  body(prompt: Prompt): Json;
  /** The ways to send a key; the first is the usual one. */
  keyHeaders(secret: string): [Record<string, string>, ...Record<string, string>[]];
  /** The forms of the path that serve a small request for `plain`. */
  paths: readonly string[];
  /** Paths of the front that do not exist. */
  unknownPaths: readonly string[];
  /** Whether answers have the `x-request-id` and `x-ratelimit-…` headers of OpenAI. */
  hasOpenAiHeaders: boolean;
  /** Reads the JSON of a whole answer, in which numbers keep every digit. */
  read(answer: Json): Answer;
  /** Throws if it is not well formed, has more than one end, or anything after its end. */
  readStream(text: string): Streamed;
  /** The end of a stream's text after two keep-alives. */
  pings: string;
  /** By the stop reason of a message. */
  stops: Readonly<Record<'end_turn' | 'tool_use' | 'max_tokens' | 'refusal', string>>;
  /** The complete JSON of an error. */
  errorBody(told: Told): Json;
  /** Whether an error has the path of the field that is wrong besides its message. */
  hasParam: boolean;
  /** Invalid fields, with the path that names each. */
  invalid: readonly [members: Json, path: string][];
  /** Fields that this service refuses, each with the code of the error and the path that names it. */
  notOffered: readonly [members: Json, code: string, path: string][];
  /** The path of the image after a system prompt and nothing else. */
  imagePath: string;
}
