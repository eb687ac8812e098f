// Moves of the people of a company, of their programs, and of those around them.

import type { Wanted } from '../answers.ts';
import type { LeavePoint } from '../moves.ts';
import type { CoalitionName, PersonName } from './company.ts';
import type { CallShape } from './operations.ts';

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

export type CompanyMove =
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
