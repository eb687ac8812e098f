// The entry of the one executable that bin/build.ts makes: what bin/with-bun does for a checkout, then the command line.
// The runtime reads some of its environment when it starts and at no other time: where that is not set, the process
// becomes itself anew with it. It keeps its id, so that signals, and whoever waits for it, know nothing of it.

import { writeSync } from 'node:fs';

/** As in bin/with-bun, which says why. */
const forced = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };
const defaults = { BUN_JSC_forceRAMSize: '402653184', DO_NOT_TRACK: '1', NODE_ENV: 'production' };

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
  process.exit(1); // without it, no more than 256 messages could be at providers at once
}
