// Checks docs/developer.md: its commands and programs are run against a service, and their output is compared with
// the page.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { type PageBlock, readBlocks } from '../../support/read-blocks.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import type { Turnpike } from '../../support/start-turnpike.ts';

interface Example extends PageBlock {
  /** The JSON block that follows, which is the expected response; null if there is none. */
  answer: unknown;
}

const examples = readExamples(readFileSync(join(rootDirectory, 'docs', 'developer.md'), 'utf8'));
const runnable = examples.filter(({ code }) => !/KEY=sk-tp-…/.test(code));

let turnpike: Turnpike;
let environment: Record<string, string | undefined>;
beforeAll(async () => {
  turnpike = await sharedTurnpike();
  const terms = { name: 'ci', quota: '1.00', quota_period: 'day', rpm: 60 };
  const { secret } = await turnpike.makeKey({ groups: ['sandbox'] }, terms);
  environment = { ...process.env, BASE_URL: turnpike.url, KEY: secret };
});
afterAll(() => turnpike.stop());

test('the page has examples in both languages, and responses to compare', () => {
  expect(examples.length - runnable.length).toBe(1); // the example that says where base URL and key come from
  expect(runnable.filter(({ language }) => language === 'sh').length).toBeGreaterThanOrEqual(3);
  expect(runnable.filter(({ language }) => language === 'ts').length).toBeGreaterThanOrEqual(4);
  expect(runnable.filter(({ answer }) => answer !== null).length).toBe(2);
});

for (const [place, example] of runnable.entries())
  test(`example ${place + 1}, ${example.language} under “${example.heading}”, returns what the page shows`, async () => {
    const printed = await run(example);
    if (example.language === 'ts') expectLines(printed, example.code);
    else {
      const answer: unknown = JSON.parse(printed);
      expect(answer).not.toHaveProperty('error');
      if (example.answer !== null) expect(shapeOf(answer)).toEqual(shapeOf(example.answer));
    }
  });

test('the cost on the page is the cost of that message', async () => {
  const shown = examples.find(({ answer }) => answer !== null && 'cost' in (answer as object))?.answer as Record<
    string,
    unknown
  >;
  const example = runnable.find(({ answer }) => answer === shown) as Example;
  const answered = JSON.parse(await run(example)) as Record<string, unknown>;
  for (const member of Object.keys(shown).filter((name) => !['request_id', 'at', 'latency_ms'].includes(name)))
    expect({ [member]: answered[member] }).toEqual({ [member]: shown[member] });
});

/** The sh and ts blocks in page order, each with the json block that follows it. */
function readExamples(page: string): Example[] {
  const found: Example[] = [];
  for (const block of readBlocks(page)) {
    if (block.language === 'json') (found.at(-1) as Example).answer = JSON.parse(block.code);
    else if (block.language === 'sh' || block.language === 'ts') found.push({ ...block, answer: null });
  }
  return found;
}

/** The output of an example. It runs in a directory where the project's packages are found. */
async function run({ language, code }: Example): Promise<string> {
  const command = language === 'sh' ? ['sh', '-e'] : [process.execPath, 'run', '-'];
  const child = Bun.spawn(command, {
    cwd: rootDirectory,
    env: environment,
    stdin: Buffer.from(code),
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [printed, errors, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' });
  return printed;
}

/** Compares the output, line by line, with the comments "prints: …"; an ellipsis matches any text. */
function expectLines(printed: string, code: string): void {
  const expected = [...code.matchAll(/\/\/ prints: (.*)$/gm)].map(([, line = '']) => line);
  expect(expected.length).toBeGreaterThan(0);
  const lines = printed.trimEnd().split('\n');
  expect(lines.map((line, at) => (matches(line, expected[at]) ? expected[at] : line))).toEqual(expected);
}

function matches(line: string, expected: string | undefined): boolean {
  if (expected === undefined) return false;
  return new RegExp(`^${expected.split('…').map(RegExp.escape).join('.+')}$`).test(line);
}

/** Field names and types of values, so that responses from different times can be compared. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}
