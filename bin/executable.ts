// The entry point of the executable that bin/build.ts makes: does the work of bin/with-bun, then runs the command line.
// The runtime reads some variables only when it starts, so the process exec's itself with them; its id stays the same.

import { writeSync } from 'node:fs';

/** bin/with-bun gives the reasons. */
const forced = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };
const defaults = {
  BUN_JSC_forceRAMSize: '402653184',
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '1000000',
  DO_NOT_TRACK: '1',
  NODE_ENV: 'production',
};

const wanted: NodeJS.ProcessEnv = { ...defaults, ...process.env, ...forced };
const isSet = Object.entries(wanted).every(([name, value]) => process.env[name] === value);
if (!isSet) startAnew();

await import('../src/main.ts');

/** Takes a few milliseconds. Does not return. */
function startAnew(): void {
  try {
    process.execve?.(process.execPath, [process.argv0, ...process.argv.slice(2)], wanted);
  } catch (failure) {
    writeSync(process.stderr.fd, `turnpike: cannot start: ${(failure as Error).message}\n`);
  }
  process.exit(1); // without them, only 256 provider requests could run concurrently
}
