// Moves of clients. Messages are named by the number of messages sent after them, so that moves can be removed from a
// sequence or inserted into another.

import type { AccountName } from './cast.ts';
import type { ModelName } from './models.ts';
import type { Text } from './texts.ts';

export interface Send {
  move: 'send';
  by: AccountName;
  key: number;
  /** So many at once. */
  times: number;
  model: ModelName;
  isStream: boolean;
  prompt: Text;
  answer: Text;
  maxTokens: number;
  luck: number;
  /** Each under an idempotency key of its own. */
  hasIdempotencyKey: boolean;
  /** Chunks that are read before the client rests; null: all. */
  reads: number | null;
}

/** The account's last `times` messages but for the `back` after them. */
interface OfMessages {
  by: AccountName;
  back: number;
  times: number;
}

export type Move =
  | Send
  /** Only the tokens of the prompt are asked for. */
  | { move: 'count'; by: AccountName; model: ModelName; prompt: Text }
  | ({ move: 'leave' } & OfMessages)
  | ({ move: 'rest' } & OfMessages)
  | ({ move: 'read'; chunks: number | null } & OfMessages)
  /** The same once more under the same idempotency key, but for what changes. */
  | ({ move: 'repeat'; change: 'nothing' | 'beta' | 'body'; reads: number | null; luck: number } & OfMessages)
  | { move: 'wait'; ms: number }
  /** The node stands still while the other goes on. */
  | { move: 'suspend'; ms: number }
  | { move: 'odd'; by: AccountName; body: 'length twice' | 'many members' };

export function describeMove(move: Move): string {
  const { move: name, ...rest } = move;
  const words = Object.entries(rest).map(([member, value]) => `${member} ${describe(value)}`);
  return `${name}: ${words.join(', ')}`;
}

function describe(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.map(([kind, bytes]) => `${bytes} bytes of ${kind}`).join(' and ');
}
