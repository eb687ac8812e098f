// `turnpike licenses`, as text and as JSON.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeAll(async () => {
  world = await makeCommandWorld();
});
afterAll(() => world[Symbol.dispose]());

test('prints each text with its packages and their license, and asks no service', async () => {
  const { exitCode, out, error } = await world.run('licenses');
  expect([exitCode, error, world.requests]).toEqual([0, '', []]);
  expect(out).toBe(`Turnpike 1.2.3 is licensed under the Apache License 2.0. It contains the following software.

${'-'.repeat(78)}
zod 4.6.7, hono 4.13.19
License: MIT

Permission is granted
`);
});

test('--json prints one array', async () => {
  const { out } = await world.run('licenses', '--json');
  expect(JSON.parse(out)).toEqual([
    { packages: ['zod 4.6.7', 'hono 4.13.19'], license: 'MIT', text: 'Permission is granted' },
  ]);
});
