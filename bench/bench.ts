// Measures Turnpike and prints a table. Exits with 1 if a figure exceeds its gate (gates.ts) by more than its noise.
// Arguments select sections.

import { cpus } from 'node:os';
import { measureAgentTurns } from './agent-turn.ts';
import { measureCompanies } from './companies.ts';
import { exceedsGate, type Figure, rowOf } from './figures.ts';
import { measureMessages } from './messages.ts';
import { measureNodes } from './nodes.ts';
import { measureRefusals } from './refusals.ts';
import { measureStart } from './start.ts';
import { measureSteps } from './steps.ts';
import { measureEvents, measureOpenStreams } from './streams.ts';

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);

const sections: Readonly<Record<string, () => Promise<Figure[]>>> = {
  messages: () => measureMessages(rounds),
  companies: () => measureCompanies(rounds),
  'agent-turns': () => measureAgentTurns(rounds),
  events: () => measureEvents(rounds),
  'open-streams': measureOpenStreams,
  start: () => measureStart(rounds),
  refusals: () => measureRefusals(rounds),
  nodes: () => measureNodes(rounds),
  steps: measureSteps,
};

const selected = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(sections);
const figures: Figure[] = [];
console.log(`${cpus().length} cores (${cpus()[0]?.model}), ${rounds} rounds, Bun ${Bun.version}\n`);
console.log('| | figure | noise | gate |\n|---|---|---|---|');
for (const name of selected) {
  const measure = sections[name];
  if (measure === undefined) throw new Error(`${name}: sections are ${Object.keys(sections).join(', ')}`);
  const measured = await measure();
  figures.push(...measured);
  for (const figure of measured) console.log(rowOf(figure));
}
const exceeded = figures.filter(exceedsGate);
console.log(`\n${exceeded.length} of ${figures.filter(({ gate = null }) => gate !== null).length} gates exceeded`);
process.exitCode = exceeded.length === 0 ? 0 : 1;
