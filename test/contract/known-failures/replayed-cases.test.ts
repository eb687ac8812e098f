// `npm run replay` on a case of its own: what it sends and shows, and that it notices a result that is not the right one.

import { expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { describeCase, findCases, replayCase } from '../../verify/cases/replay-cases.ts';

const casesDirectory = join(import.meta.dir, '..', '..', 'verify', 'cases');
const example = join(casesDirectory, 'example');

test('a case is sent to the path of its readme, and its facts are found in what was sent and recorded', async () => {
  await using turnpike = await sharedTurnpike();
  expect(findCases(casesDirectory)).toEqual([example]);
  const replayed = await replayCase(turnpike, example);
  expect(replayed).toMatchObject({ name: 'example', printed: null, unseen: [] });
  const [request] = replayed.requests;
  expect(request).toMatchObject({ name: 'request.json', path: '/v1/chat/completions', status: 200 });
  expect(request?.sent).toStartWith('/v1/messages {"model":"claude-sonnet-4-5"');
  expect(request?.came).toContain('"content":"It is empty."');
  expect(request?.recorded).toMatchObject({ input_tokens: 40, charged: '0.00006' });
  expect(describeCase(replayed)).not.toContain('NOT SEEN');
});

test('a fact that is in no result is named, and so is an unexpected refusal', async () => {
  await using turnpike = await sharedTurnpike();
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-cases-'));
  try {
    cpSync(example, directory, { recursive: true });
    const readme = readFileSync(join(example, 'readme.md'), 'utf8');
    writeFileSync(
      join(directory, 'readme.md'),
      readme.replace(/- Right: .*/, '- Right: "pdf" and "application/pdf", input_tokens 41, charged 0.00006'),
    );
    writeFileSync(join(directory, 'request-second.json'), '{"model":"example-claude","messages":[]}');
    const replayed = await replayCase(turnpike, directory);
    expect(replayed.requests.map(({ status }) => status)).toEqual([200, 400]);
    expect(replayed.unseen).toEqual(['input_tokens 41', '"pdf"', 'a success']);
    expect(describeCase(replayed)).toContain('NOT SEEN  input_tokens 41, "pdf", a success');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('a program of a case is given the address and the key', async () => {
  await using turnpike = await sharedTurnpike();
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-cases-'));
  try {
    writeFileSync(join(directory, 'readme.md'), '# Says what it is given\n');
    writeFileSync(join(directory, 'run.sh'), 'echo "$BASE $PORT"; test -n "$KEY" && test -n "$TOKEN"\n');
    const { port } = new URL(turnpike.url);
    expect((await replayCase(turnpike, directory)).printed).toBe(`${turnpike.url} ${port}\nended with 0`);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
