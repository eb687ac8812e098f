// `turnpike provider-bill`: sources, imports from files and from the vendor's API, and what they print.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { ADMIN_KEYS, startBillingApis } from '../../support/billing-apis.ts';
import { type CommandWorld, makeCommandWorld } from './command-world.ts';

let world: CommandWorld;
beforeEach(async () => {
  world = await makeCommandWorld();
});
afterEach(() => world[Symbol.dispose]());

const bill = (...given: string[]) => world.run('provider-bill', ...given);

test('a bill in a file is imported, listed and shown by model and feature', async () => {
  expect((await bill('configure', 'sandbox', 'anthropic', '--models', 'Haiku=claude-haiku')).out).toMatch(
    /^MODELS +Haiku=claude-haiku$/m,
  );
  const file = world.writeFile('bill.csv', 'usage_date_utc,model,token_type,cost_usd\n2026-11-01,Haiku,output,1.25\n');
  const { out, exitCode } = await bill('import', 'sandbox', file);
  expect(exitCode).toBe(0);
  expect(out).toMatch(/^sandbox:2026-11-01 +1\.25 +0 +1\.25 +0 +0 +0 +1\.25 +0 +0$/m);
  expect((await bill('list', '--provider', 'sandbox')).out).toBe(out);
  const { out: shown } = await bill('show', 'sandbox:2026-11-01');
  expect(shown).toMatch(/^claude-haiku +output +1\.25 +0 +1\.25 +- +0$/m);
  const listed = await world.runJson('provider-bill', 'show', 'sandbox:2026-11-01');
  expect(listed).toMatchObject({ billed: '1.25', models: [{ billed_as: ['Haiku'] }] });
});

test('a bill is read from the vendor with a credential from a file, which no output has', async () => {
  await using apis = await startBillingApis();
  const key = world.writeFile('key', `${ADMIN_KEYS.openai}\n`);
  const place = ['--credential-file', key, '--base-url', apis.url, '--private-network', '--schedule', 'never'];
  const configured = await bill('configure', 'sandbox', 'openai', ...place);
  const fetched = await bill('fetch', 'sandbox', '--since', '2026-11-01', '--until', '2026-11-02');
  expect(fetched.out).toMatch(/^sandbox:2026-11-01 +2\.13080588340307526 /m);
  expect((await bill('sources')).out).toMatch(/^sandbox +openai +http:\/\/127\.0\.0\.1:\d+ +yes +never$/m);
  expect(JSON.stringify([configured, fetched])).not.toContain(ADMIN_KEYS.openai);
});

test('faults are printed with their place', async () => {
  await bill('configure', 'sandbox', 'aws');
  expect((await bill('import', 'sandbox', 'no-such-file')).error).toContain('cannot read no-such-file');
  const file = world.writeFile('bill.csv', 'a,b\n1,2\n');
  expect(await bill('import', 'sandbox', file)).toMatchObject({
    exitCode: 1,
    error: expect.stringContaining('the column line_item_usage_start_date is missing'),
  });
  expect((await bill('configure', 'sandbox', 'aws', '--models', 'x')).exitCode).toBe(2);
  expect((await bill('configure', 'sandbox', 'aws', '--credential-file', '/no-such')).error).toContain('cannot read');
});
