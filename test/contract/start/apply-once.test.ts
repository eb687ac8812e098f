// A file that a start applies: once, so that a restart keeps what was changed since.

import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const modelsOf = async (turnpike: Turnpike) => {
  const { data } = await turnpike.admin('GET', '/groups');
  return (data as { name: string; models: string[] }[]).find(({ name }) => name === 'vip')?.models;
};

const change = (turnpike: Turnpike, models: string[]) =>
  turnpike.admin('POST', '/apply', { document: { groups: { vip: { models } } } });

test('a restart keeps later changes of an applied file, and applies a changed one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-apply-'));
  const file = join(directory, 'turnpike.yaml');
  const write = (models: string) => writeFileSync(file, `groups:\n  vip:\n    models: ["${models}"]\n`);
  const serve = () => spawnTurnpike(directory, {}, ['--apply', file]);
  try {
    write('a*');
    {
      await using turnpike = await serve();
      expect(await modelsOf(turnpike)).toEqual(['a*']);
      await change(turnpike, ['b*']);
    }
    {
      await using turnpike = await serve();
      expect(await modelsOf(turnpike)).toEqual(['b*']);
    }
    write('c*');
    {
      await using turnpike = await serve();
      expect(await modelsOf(turnpike)).toEqual(['c*']);
    }
    write('a*');
    await using turnpike = await serve();
    expect(await modelsOf(turnpike)).toEqual(['a*']);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
