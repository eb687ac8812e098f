// The shape of a message request after parsing. It keeps the caller's own text, so that what
// travels on to a provider of the same protocol is what was sent, byte for byte.

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

/** Where a top-level member stands in the text: its value is text.slice(start, end); `from` is where its key begins. */
export interface MemberSpan {
  from: number;
  start: number;
  end: number;
}

/** In whose words a request came. Whatever they were, it is a Messages request now. */
export type Protocol = 'messages' | 'chat-completions';

export interface MessageRequest {
  /** The body as received: valid JSON without duplicate keys. */
  text: string;
  /** The length of the body in bytes of UTF-8. */
  bytes: number;
  body: JsonObject;
  members: Map<string, MemberSpan>;
  model: string;
  stream: boolean;
  /** Null when the request names none. */
  maxTokens: number | null;
  /** What is usual differs: what a request leaves open, and what of it a provider may be spared. */
  protocol: Protocol;
}
