// `npm run replay -- DIRECTORY [NAME…]`: replays the cases of a folder against a service of its own, and prints what was sent to
// the provider, what came back and what was recorded. It fails if a fact that a README names was not seen.

import { startTurnpike } from '../../support/start-turnpike.ts';
import { describeCase, findCases, replayCase } from './replay-cases.ts';

const [directory, ...names] = process.argv.slice(2);
const cases = directory === undefined ? [] : findCases(directory, names);
if (cases.length === 0) {
  console.error(
    'usage: npm run replay -- DIRECTORY [NAME…]   (a folder with cases, or one case; test/verify/cases/replay-cases.ts)',
  );
  process.exit(2);
}

await using turnpike = await startTurnpike(undefined);
let failedCount = 0;
for (const one of cases) {
  const replayed = await replayCase(turnpike, one);
  console.log(`${describeCase(replayed)}\n`);
  if (replayed.unseen.length > 0) failedCount++;
}
console.log(`${cases.length} replayed, ${failedCount} with something that was not seen`);
process.exitCode = failedCount === 0 ? 0 : 1;
