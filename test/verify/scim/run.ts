// `npm run test:scim`: all checks of scim2-tester, an independent client for Python, against a service that runs: once with users that
// wait without a place, once with a place for everybody. Prints one line with the counts. Where Python or its packages cannot be had it
// says so, which is a failure under CI.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const INSTALL_MS_MAX = 240_000;
const RUN_MS_MAX = 240_000;
const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);

interface Result {
  status: string;
  check: string;
  resource: string | null;
  reason: string;
}

const directory = mkdtempSync(join(tmpdir(), 'scim-'));
try {
  const python = await installTester();
  if (python === null) {
    console.log(`${'!'.repeat(20)} SKIPPED: for want of Python 3 with venv, or of its packages ${'!'.repeat(20)}`);
    process.exitCode = isCi ? 1 : 0;
  } else await run(python);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** The Python of an environment of its own, or null where it cannot be had. */
async function installTester(): Promise<string | null> {
  const python = join(directory, 'venv', 'bin', 'python');
  const requirements = join(import.meta.dir, 'requirements.txt');
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--no-compile', '--disable-pip-version-check'];
  const isThere =
    (await isDone(['python3', '-m', 'venv', join(directory, 'venv')])) &&
    (await isDone([python, ...pip, '-r', requirements]));
  return isThere ? python : null;
}

async function isDone(command: string[]): Promise<boolean> {
  try {
    return (await Bun.spawn(command, { stdin: 'ignore', timeout: INSTALL_MS_MAX }).exited) === 0;
  } catch {
    return false; // no such program
  }
}

async function run(python: string): Promise<void> {
  await using turnpike = await spawnTurnpike();
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'scim', name: 'tester' });
  const waiting = await judge(python, turnpike, String(token));
  const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'company' });
  await turnpike.admin('POST', '/directory-groups', { name: '*', source: 'scim', role: 'member', account });
  const placed = await judge(python, turnpike, String(token));
  const results = [...waiting, ...placed];
  for (const result of results.filter(({ status }) => status !== 'SUCCESS')) console.log(JSON.stringify(result));
  const count = (wanted: (status: string) => boolean) => results.filter(({ status }) => wanted(status)).length;
  const { ok } = await turnpike.check();
  const passed = count((status) => status === 'SUCCESS');
  const failed = count((status) => status !== 'SUCCESS' && status !== 'SKIPPED') + (ok ? 0 : 1);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

async function judge(python: string, { url }: TurnpikeProcess, token: string): Promise<Result[]> {
  const child = Bun.spawn([python, '-W', 'ignore', join(import.meta.dir, 'judge.py')], {
    env: { ...process.env, SCIM_URL: `${url}/scim/v2`, SCIM_TOKEN: token },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: RUN_MS_MAX,
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error('the tester ended with an error');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Result);
}
