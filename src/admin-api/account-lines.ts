// Requests that show a token of an account: a few of each account are answered at a time and the others wait, so
// that messages and other accounts have the rest of the processor. No token has more than a part of its account's
// places: a member cannot shut out the owner who would revoke it. The installation's own requests never wait.

import { bounds } from '../config.ts';
import { overloaded } from '../errors.ts';

interface Waiting {
  token: string;
  begin: () => void;
}

interface Line {
  answering: Map<string, number>;
  waiting: Waiting[];
}

export class AccountLines {
  readonly #lines = new Map<number, Line>();

  /** How many accounts have a request under way. */
  get size(): number {
    return this.#lines.size;
  }

  /** Resolves when it is the request's turn, which lasts until what it resolves to is disposed of. Rejects with overloaded when too many wait. */
  async enter(accountId: number, token: string): Promise<Disposable> {
    const line = this.#lines.get(accountId) ?? { answering: new Map(), waiting: [] };
    this.#lines.set(accountId, line);
    if (mayBegin(line, token)) count(line, token, 1);
    else await wait(line, token);
    return {
      [Symbol.dispose]: () => {
        count(line, token, -1);
        beginNext(line);
        if (line.answering.size === 0) this.#lines.delete(accountId);
      },
    };
  }
}

function mayBegin({ answering }: Line, token: string): boolean {
  const all = answering.values().reduce((sum, ofToken) => sum + ofToken, 0);
  return all < bounds.adminAnswersPerAccountMax && (answering.get(token) ?? 0) < bounds.adminAnswersPerTokenMax;
}

/** A token that has a request waiting has as many under way as it may, so that nobody overtakes by coming later. */
function wait({ waiting }: Line, token: string): Promise<void> {
  const ofToken = waiting.filter((other) => other.token === token).length;
  if (ofToken >= bounds.adminWaitingPerTokenMax || waiting.length >= bounds.adminWaitingPerAccountMax)
    throw overloaded('Too many requests of this account are waiting. Try again in a moment.');
  return new Promise((begin) => waiting.push({ token, begin }));
}

function beginNext(line: Line): void {
  const at = line.waiting.findIndex(({ token }) => mayBegin(line, token));
  const [next] = at < 0 ? [] : line.waiting.splice(at, 1);
  if (next === undefined) return;
  count(line, next.token, 1);
  next.begin();
}

function count({ answering }: Line, token: string, more: 1 | -1): void {
  const ofToken = (answering.get(token) ?? 0) + more;
  if (ofToken === 0) answering.delete(token);
  else answering.set(token, ofToken);
}
