// Moves of the people of a company, of their programs, and of those around them.

import type { Wanted } from '../answers.ts';
import type { LeavePoint } from '../moves.ts';
import type { BulkWish } from './bulk.ts';
import type { CoalitionName, PersonName } from './company.ts';
import type { Wish } from './goods.ts';
import type { REQUESTS } from './objects.ts';
import type { CallShape } from './operations.ts';
import type { BatchTerms } from './world.ts';

export interface SendMessages {
  move: 'send';
  /** The place of the key's secret among those that they know. */
  secret: number;
  times: number;
  isStream: boolean;
  wanted: Wanted;
  leavesAt: LeavePoint | null;
  /** Under an idempotency key each. */
  hasIdempotencyKey: boolean;
  /** The header with the client's tags. */
  tags: string | null;
}

export interface MakeBatch {
  move: 'batch';
  secret: number;
  /** Messages in Anthropic's form; others by a file in OpenAI's. */
  form: 'messages' | 'chat' | 'images' | 'moderations';
  items: readonly (Wanted | Wish | BulkWish)[];
  /** One of its requests is as no request of a batch may be. */
  odd: 'streamed' | 'unknown' | 'twice' | null;
}

export interface Upload {
  move: 'upload';
  secret: number;
  purpose: 'batch' | 'user_data';
  bytes: number;
  /** Until it expires; null: later than the episode ends. */
  seconds: number | null;
}

/** `place`: of the id among those that they know; below 0, from the end of their own. */
export interface AskObject {
  move: 'ask';
  secret: number;
  what: keyof typeof REQUESTS;
  place: number;
}

/** Uses of files, batches and goods, and what happens to batches meanwhile. */
export type ObjectMove =
  | MakeBatch
  | Upload
  | AskObject
  /** A batch of a file that they know. */
  | { move: 'reuse'; secret: number; place: number }
  | { move: 'buy'; secret: number; wish: Wish }
  /** Operators sell the requests of batches at other prices from now on, also of those that were made. */
  | ({ move: 'price' } & BatchTerms)
  /** Another node sends the requests of batches from now on. */
  | { move: 'restart' }
  /** The node that sends them is killed, now or after so many steps, and another goes on. */
  | { move: 'kill'; steps?: number }
  /** Somebody of another company makes a batch. */
  | { move: 'batch beside'; items: readonly Wanted[] };

export type CompanyMove =
  | ObjectMove
  /** Who acts together; the first move. */
  | { move: 'begin'; coalition: CoalitionName }
  /** `by`: the place of the credential among theirs. */
  | ({ move: 'call'; by: number; operation: string } & CallShape)
  | SendMessages
  /** They leave the last messages but for the `back` after them. */
  | { move: 'leave'; back: number; times: number }
  /** The last messages but for the `back` after them once more, under the same idempotency keys; their providers may do better now. */
  | { move: 'again'; back: number; times: number; luck: number }
  | { move: 'wait'; ms: number }
  /** The directory deactivates a person. */
  | { move: 'deactivate'; person: PersonName }
  /** Somebody of another company sends a message, and reads all of it. */
  | { move: 'beside'; isStream: boolean; wanted: Wanted };

export function describeCompanyMove({ move, ...rest }: CompanyMove): string {
  return `${move}: ${JSON.stringify(rest)}`;
}
