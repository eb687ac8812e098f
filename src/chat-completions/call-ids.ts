// Ids of tool calls as the Messages protocol takes them: of few signs, and each the only one of its name. What other
// services made of them may be otherwise; such an id becomes another, the same one for a call and its result.

import { createHash } from 'node:crypto';

const TAKEN = /^[a-zA-Z0-9_-]+$/;
const MADE_CHARACTERS = 24;
/** Of all calls that are told as `function_call`, which has no id. */
export const FUNCTION_CALL_ID = 'function_call';

/** Of the calls of one id: their ids here, and how many have had their results. */
interface Calls {
  made: string[];
  answeredCount: number;
}

/** The ids of one conversation, asked for in its order. */
export class CallIds {
  readonly #made = new Set<string>();
  /** The last number that was put behind an id. */
  readonly #lastOf = new Map<string, number>();
  /** By the caller's own id. */
  readonly #calls = new Map<string, Calls>();

  /** The id of the next call. One that was there before gets another: some services count from the beginning in every turn. */
  ofCall(id: string): string {
    const made = this.#makeUnique(takenCallId(id));
    const calls = this.#calls.get(id);
    if (calls === undefined) this.#calls.set(id, { made: [made], answeredCount: 0 });
    else calls.made.push(made);
    return made;
  }

  /** The id of the call that this is the result of. */
  ofResult(id: string): string {
    const calls = this.#calls.get(id);
    return calls?.made[calls.answeredCount++] ?? takenCallId(id);
  }

  /** Whether a call of this id waits for its result. */
  isAwaited(id: string): boolean {
    const calls = this.#calls.get(id);
    return calls !== undefined && calls.answeredCount < calls.made.length;
  }

  #makeUnique(id: string): string {
    let made = id;
    let last = this.#lastOf.get(id) ?? 1;
    while (this.#made.has(made)) made = `${id}_${++last}`;
    this.#lastOf.set(id, last);
    this.#made.add(made);
    return made;
  }
}

function takenCallId(id: string): string {
  if (TAKEN.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('base64url').slice(0, MADE_CHARACTERS)}`;
}
