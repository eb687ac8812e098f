// `npm run economy`: episodes from ECONOMY_SEED on, for ECONOMY_SECONDS, in turn of messages and of a company (--only names one kind).
// Stops at the first in which somebody got or paid what they should not, and shows the least moves that do it (--brief: only what was
// broken). `--seed N` repeats that episode; --episodes K runs that many; --holes puts back what attackers once used, one after another
// (or those named), and expects that each is found.

import { parseArgs } from 'node:util';
import { type Played, playAny, shrinkPlayed } from './economies.ts';
import { isEconomy } from './hole.ts';
import { runHoles } from './holes.ts';
import { watchParser } from './judge-node.ts';

const SEED_STEP = 1_000_000; // between runs of other seeds, so that they have no episode in common

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    episodes: { type: 'string' },
    go: { type: 'boolean', default: false },
    only: { type: 'string' },
    brief: { type: 'boolean', default: false },
    holes: { type: 'boolean', default: false },
  },
});
if (values.holes)
  process.exit(await runHoles(positionals, wholeNumber('HOLES_SEEDS', process.env['HOLES_SEEDS'] ?? '3')));
const first =
  values.seed === undefined
    ? wholeNumber('ECONOMY_SEED', process.env['ECONOMY_SEED'] ?? '1') * SEED_STEP
    : wholeNumber('--seed', values.seed);
const episodesMax =
  values.episodes === undefined
    ? values.seed === undefined
      ? Number.POSITIVE_INFINITY
      : 1
    : wholeNumber('--episodes', values.episodes);
const { only = null } = values;
if (only !== null && !isEconomy(only)) {
  console.error(`--only: must be messages or company, not "${only}"`);
  process.exit(2);
}
const secondsMax = wholeNumber('ECONOMY_SECONDS', process.env['ECONOMY_SECONDS'] ?? '60');

watchParser();
const elapsed = performance.now.bind(performance);
const startedMs = elapsed();
const trace = new Bun.CryptoHasher('sha256');
const rules = new Map<string, { count: number; seed: number; seconds: number }>();
let [passed, failed, messages] = [0, 0, 0];
let found: { seed: number; result: Played } | null = null;
for (let seed = first; seed < first + episodesMax && (elapsed() - startedMs) / 1000 < secondsMax; seed++) {
  const result = playAny(seed, only);
  trace.update(result.hash);
  messages += result.messages;
  if (result.finding === null) {
    passed++;
    continue;
  }
  failed++;
  const rule = ruleOf(result.finding);
  const known = rules.get(rule);
  if (known !== undefined) known.count++;
  else {
    rules.set(rule, { count: 1, seed, seconds: (elapsed() - startedMs) / 1000 });
    if (values.go) console.log(`${((elapsed() - startedMs) / 1000).toFixed(1)} s, seed ${seed}: ${result.finding}`);
  }
  found ??= { seed, result };
  if (!values.go) break;
}
const seconds = (elapsed() - startedMs) / 1000;
if (found !== null && values.brief) console.log(found.result.finding);
else if (found !== null && !values.go) tell(found.seed, found.result);
for (const [rule, { count, seed, seconds: after }] of rules)
  console.log(`${rule}: ${count} times, first in episode ${seed} after ${after.toFixed(1)} s`);
console.log(`trace ${trace.digest('hex').slice(0, 16)}`);
console.log(`${seconds.toFixed(1)} s, ${passed + failed} episodes, ${messages} messages`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function tell(seed: number, result: Played): void {
  const { finding, moves, economy } = result;
  const rule = ruleOf(finding);
  const least = shrinkPlayed(result, (broken) => ruleOf(broken) === rule);
  console.log(`\nepisode ${seed}: ${finding}`);
  console.log(`\n${least.moves.length} of its ${moves.length} moves are enough: ${least.finding}`);
  for (const move of least.moves) console.log(`  ${move}`);
  const of = only === null ? '' : ` --only ${economy}`;
  console.log(`\nto repeat it: npm run economy -- --seed ${seed}${of}\n`);
}

/** The first word of a finding names the rule. */
function ruleOf(finding: string | null): string {
  return finding?.split(':')[0] ?? '';
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  console.error(`${name}: must be a whole number, not "${text}"`);
  process.exit(2);
}
