// `npm run test:clients`: installs the clients, runs each unmodified against the running service, and prints the
// counts. `-- NAME…` selects clients, `-- --all` includes those that change rarely or take long to install. Unavailable clients are
// skipped with a message; under CI that is a failure.

import { join } from 'node:path';
import { agents } from './agents.ts';
import { clients, type Need, suites } from './clients.ts';
import { installNeed } from './install-needs.ts';

const given = process.argv.slice(2);
const named = given.filter((word) => word !== '--all');
const known = [...new Set([...clients, ...agents, ...suites].map(({ name }) => name))];
const unknown = named.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no such client: ${unknown.join(', ')}. There are ${known.join(', ')}.`);
  process.exit(2);
}

const isWanted = (name: string, isExtra = false) =>
  named.length > 0 ? named.includes(name) : !isExtra || given.includes('--all');
const selected = clients.filter(({ name, isExtra }) => isWanted(name, isExtra));
const selectedAgents = agents.filter(({ name }) => isWanted(name));
const selectedSuites = suites.filter(({ name }) => isWanted(name, true));
const needs = new Set<Need>([
  ...[...selected, ...selectedSuites].map(({ needs }) => needs),
  ...(selectedAgents.length > 0 ? ['packages' as const] : []),
]);
const missing: Need[] = [];
for (const need of needs) if (!(await installNeed(need))) missing.push(need);

const files = [
  ...(selected.length > 0 ? ['./test/verify/clients/every-client.ts'] : []),
  ...(selectedAgents.length > 0
    ? ['agent', 'sign-in', 'managed-claude', 'managed-codex'].map((of) => `./test/verify/clients/every-${of}.ts`)
    : []),
  ...(selectedSuites.length > 0 ? ['./test/verify/clients/every-suite.ts'] : []),
];
// The test runner counts these too, and treats skipped ones the same.
const child = Bun.spawn([process.execPath, join(import.meta.dir, '..', '..', 'run.ts'), ...files], {
  env: {
    ...process.env,
    CLIENTS_SELECTED: selected.map(({ name }) => name).join(','),
    CLIENTS_MISSING: missing.join(','),
    AGENTS_SELECTED: selectedAgents.map(({ name }) => name).join(','),
    ...(given.includes('--all') && { AGENTS_OVER: 'every-kind' }),
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});
process.exitCode = await child.exited;
