// How a root's failure is told: in its own words. Where it was thrown is of use for our mistakes alone.

import { BrokenInvariant } from '../base/assert.ts';
import { TurnpikeError } from '../errors.ts';
import { CommandFailed } from './command.ts';

/** Throws what was thrown again, as the end of the command. */
export function inWords(thrown: unknown): never {
  const isMistake = [BrokenInvariant, TypeError, ReferenceError, RangeError].some((kind) => thrown instanceof kind);
  if (isMistake || !(thrown instanceof Error)) throw thrown;
  throw new CommandFailed(thrown instanceof TurnpikeError ? withCause(thrown) : thrown.message);
}

/** What callers are told leaves out why; whoever runs the service is to know it. */
function withCause({ message, cause }: TurnpikeError): string {
  if (cause === undefined || cause === null) return message;
  return `${message} (${cause instanceof Error ? cause.message : String(cause)})`;
}
