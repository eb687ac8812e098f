// `turnpike model`: costs and margins of routes, and differences from the price list.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Json } from '../admin-api/installation.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

const FILE = `
providers:
  vendor: { kind: anthropic, base_url: https://api.example.com }
models:
  claude-opus-5:
    catalogue: true
    routes: [{ provider: vendor, cost: catalogue }]
  claude-sonnet-4-5:
    price: { input: 2.5, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6, web_search_per_thousand: 10,
             long_context: { above: 200000, input: 6, output: 22.5, cache_read: 0.6, cache_write_5m: 7.5, cache_write_1h: 12 } }
    routes:
      - { provider: vendor, cost: { input: 3, output: 15 } }
      - { provider: vendor, model: cheap }
  llama:
    price: { input: 1, output: 2 }
    routes: [{ provider: vendor, model: llama3.2 }]
`;

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

async function applied(text = FILE): Promise<void> {
  const { exitCode, error } = await world.run('apply', world.writeFile('turnpike.yaml', text));
  if (exitCode !== 0) throw new Error(error);
}

test('model list shows cost and margin of every route in order', async () => {
  await applied();
  const { out } = await world.run('model', 'list');
  const lines = out.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines[0]?.slice(-3)).toEqual(['ROUTES', 'COSTS', 'MARGINS']);
  const ending = (name: string) => lines.find((cells) => cells[0] === name)?.slice(-3);
  expect(ending('claude-opus-5')).toEqual(['vendor/claude-opus-5', '5/25', '0/0']);
  expect(ending('claude-sonnet-4-5')).toEqual(['vendor/claude-sonnet-4-5,vendor/cheap', '3/15,-', '-0.5/0,-']);
});

test('model show shows the price in force, and what prices and costs will be and from when', async () => {
  const file = FILE.replace(
    'price: { input: 1, output: 2 }',
    'price: { input: 1, output: 2 }\n    price_changes: [{ from: 2026-10-01, input: 3, output: 2 }, { from: 2999-01-01, input: 4, output: 2 }]',
  ).replace(
    'model: llama3.2 }',
    'model: llama3.2, cost: { input: 1, output: 1 }, cost_changes: [{ from: 2999-02-01, input: 2, output: 1, fast: { input: 5, output: 6 } }] }',
  );
  await applied(file);
  const { exitCode, out } = await world.run('model', 'show', 'llama');
  expect(exitCode).toBe(0);
  const cells = out.split('\n').map((line) => line.trim().split(/ {2,}/));
  expect(cells).toContainEqual(['INPUT', '3']);
  expect(cells).toContainEqual(['PRICE FROM', '2026-10-01T00:00:00.000Z']);
  const changes = cells.slice(cells.findIndex(([first]) => first === 'FROM') + 1);
  expect(changes.slice(0, 3)).toEqual([
    ['2999-01-01T00:00:00.000Z', 'price', 'input', '3', '4'],
    ['2999-01-01T00:00:00.000Z', 'price', 'cache_read', '3', '4'],
    ['2999-01-01T00:00:00.000Z', 'price', 'cache_write_5m', '3', '4'],
  ]);
  const costs = changes.filter(([, of]) => of === 'cost of vendor/llama3.2').map(([, , ...rest]) => rest);
  expect(costs).toContainEqual(['input', '1', '2']);
  expect(costs).toContainEqual(['fast.output', '-', '6']);
  const shown = (await world.runJson('model', 'show', 'llama')) as Json;
  expect(shown).toMatchObject({
    price: { input: '3' },
    price_changes: [{ from: '2999-01-01T00:00:00.000Z', input: '4' }],
  });
  expect((await world.run('model', 'show', 'nothing')).exitCode).toBe(1);
});

describe('model compare', () => {
  test('prints a line for each part that differs, and facts about the price list on stderr', async () => {
    await applied(FILE.replace('cost: { input: 3, output: 15 }', 'cost: catalogue'));
    const { exitCode, out, error } = await world.run('model', 'compare');
    expect(exitCode).toBe(0);
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['MODEL', 'ROUTE', 'PART', 'CONFIGURED', 'LISTED', 'FROM', 'LIST OF', 'TAKEN FROM LIST OF'],
      ['claude-sonnet-4-5', '-', 'input', '2.5', '3', '-', '2026-11-20', '-'],
      ['claude-sonnet-4-5', '-', 'long_context.above', '200000', '-', '-', '2026-11-20', '-'],
      [''],
    ]);
    expect(error).toMatch(/^Price list of anthropic, .*, 2026-11-20: list prices in USD/);
    expect(error).toContain('claude-sonnet-4-5: its provider retires vendor/claude-sonnet-4-5 on 2026-11-30.\n');
    expect(error).toContain('Not on the list, so not compared: llama\n');
  });

  test('with --json prints the differences, also of costs, as one array', async () => {
    await applied();
    const rows = (await world.runJson('model', 'compare')) as unknown as Json[];
    const priced = { model: 'claude-sonnet-4-5', route: null, part: 'input', configured: '2.5', listed: '3' };
    expect(rows[0]).toEqual({ ...priced, from: null, as_of: '2026-11-20', price_source: null });
    const parts = rows.map(({ route, part }) => `${route} ${part}`);
    expect(parts).toContain('vendor/claude-sonnet-4-5 cache_read');
    expect(parts).toContain('vendor/claude-sonnet-4-5 web_search_per_thousand');
  });

  test('reports that nothing differs, with --json as an empty array', async () => {
    const { exitCode, out, error } = await world.run('model', 'compare');
    expect([exitCode, out]).toEqual([0, '']);
    expect(error).toEndWith('No configured price or cost differs from the price list.\n');
    expect((await world.run('model', 'compare', '--json')).out).toBe('[]\n');
  });
});

test('a file that takes an unknown price from the list is refused with the line', async () => {
  const text = FILE.replace('price: { input: 1, output: 2 }', 'catalogue: true').replace(
    'model: cheap',
    'model: cheap, cost: catalogue',
  );
  const file = world.writeFile('turnpike.yaml', text.replace('catalogue: true', 'catalogue: true\n    price: {}'));
  const { exitCode, error } = await world.run('apply', file);
  expect(exitCode).toBe(1);
  const lines = error.split('\n').filter((line) => line.startsWith(`${file}:`));
  expect(lines.map((line) => line.slice(file.length + 1).replace(/(?<=^\d+: [^ ]+) .*/, ''))).toEqual([
    '6: models.claude-opus-5.catalogue:',
    '7: models.claude-opus-5.price.input:',
    '7: models.claude-opus-5.price.output:',
    '14: models.claude-sonnet-4-5.routes.1.cost:',
    '16: models.llama.catalogue:',
  ]);
});
