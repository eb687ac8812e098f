// Changes take turns: each reads what stands, decides, and writes, so two at once could undo each other (a renaming would enable
// again a key that was just disabled). Reads do not wait. Nodes do not wait for one another: a change that was decided by what
// another node has changed meanwhile is refused by the store, and made again from its reading.

import type { Context } from 'hono';
import { bounds } from '../config.ts';
import { overloaded } from '../errors.ts';
import { Outpaced } from '../ledger/ledger.ts';
import type { AdminEnvironment } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';

/**
 * Runs a change of the request when it is its turn, and again where it was outpaced: until it has written, it must leave nothing
 * behind that the next try would not do anew. What it decides by must be read from the store. Throws what the change throws, and
 * overloaded where others are faster every time.
 */
export type TakeTurn = <T>(context: Context<AdminEnvironment>, change: () => Promise<T>) => Promise<T>;

/** Runs changes one after another, in the order in which they came. A failed one does not stop the next. */
export function makeTurns({ readEpoch }: Pick<AdminDependencies, 'readEpoch'>): TakeTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (context, change) => {
    const mine = last.then(() => changeAtLast(context, change, readEpoch));
    last = mine.catch(() => undefined); // its caller is told; the next change only needs to know that it is over
    return mine;
  };
}

async function changeAtLast<T>(
  context: Context<AdminEnvironment>,
  change: () => Promise<T>,
  readEpoch: AdminDependencies['readEpoch'],
): Promise<T> {
  for (let tries = 1; ; tries++) {
    context.set('since', (await readEpoch?.()) ?? null); // before anything is read that is decided by
    context.set('records', []); // a try that came to nothing left none
    try {
      return await change();
    } catch (failure) {
      if (!(failure instanceof Outpaced)) throw failure;
      if (tries >= bounds.changeTriesMax)
        throw overloaded('Other nodes make too many changes at the moment. Try again shortly; nothing was changed.');
      await Bun.sleep(Math.random() * bounds.changeRestMsMax);
    }
  }
}
