// Moves of clients. Messages are named by the number of messages sent after them, so that moves can be removed from a
// sequence or inserted into another.

import type { Wanted } from './answers.ts';
import type { AccountName, PlanName } from './cast.ts';
import type { ModelName } from './models.ts';
import type { Text } from './texts.ts';
import type { Reversal } from './till.ts';

/** Where a client leaves its stream: when that was read, or after so many pieces of text. */
export type LeavePoint = 'begin' | 'last text' | 'counts' | number;

export interface Send extends Omit<Wanted, 'isBetaBad'> {
  move: 'send';
  by: AccountName;
  key: number;
  /** So many at once. */
  times: number;
  isStream: boolean;
  /** Each under an idempotency key of its own. */
  hasIdempotencyKey: boolean;
  /** Chunks that are read before the client rests; null: all. */
  reads: number | null;
  /** null: it stays, unless it makes the move. */
  leavesAt: LeavePoint | null;
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
  /** The same once more under the same idempotency key, but for what changes; better: the model may end it otherwise. */
  | ({
      move: 'repeat';
      change: 'nothing' | 'beta' | 'body' | 'better';
      reads: number | null;
      luck: number;
    } & OfMessages)
  | { move: 'wait'; ms: number }
  /** The owner of a key revokes it, and ends what runs. */
  | { move: 'revoke'; by: AccountName; key: number }
  /** The account changes to another plan of the same price. */
  | { move: 'plan'; by: AccountName; plan: PlanName }
  /** The account pays so many cents, and gets a bonus. */
  | { move: 'pay'; by: AccountName; cents: number }
  /** So many cents of a payment are taken back: of the last one, but for so many after it. */
  | { move: 'reverse'; by: AccountName; how: Reversal; payment: number; cents: number }
  /** The service ends everything that runs, as when it stops. */
  | { move: 'drain' }
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
