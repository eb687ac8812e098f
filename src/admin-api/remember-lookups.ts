// Names of hosts, each asked for once and not waited for without end: a change is planned ahead of its turn
// and within it, and no other change is to wait for a name service.

import { setTimeout as sleep } from 'node:timers/promises';
import { bounds } from '../config.ts';
import type { AdminDependencies } from './dependencies.ts';

type Lookup = AdminDependencies['lookup'];

/** A name that is not answered in time has no addresses, as one that does not resolve: there is nothing to reach now. */
export function rememberLookups(lookup: Lookup, msMax: number = bounds.nameLookupMsMax): Lookup {
  const asked = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const answer = asked.get(hostname) ?? Promise.race([lookup(hostname), sleep(msMax, [], { ref: false })]);
    asked.set(hostname, answer);
    return answer;
  };
}
