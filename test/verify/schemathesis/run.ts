// `npm run test:api`: schemathesis against the OpenAPI document of a service that runs, all of its checks, for each
// role in turn, for SCHEMATHESIS_SECONDS (60) in all. Prints one line with the counts. Where Python or its packages
// cannot be had it says so, which is a failure under CI.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { type Asker, makeAskers } from './askers.ts';

const INSTALL_MS_MAX = 240_000;
const SECONDS_LEAST = 12; // in less it does not come to every operation
const AGAIN_TIMES = 4;
const RUN_MS_GRACE = 60_000; // what schemathesis takes beyond its time, to shrink and to report
const seconds = Number(process.env['SCHEMATHESIS_SECONDS'] ?? 60);
/** Without one every run asks something else. */
const seed = process.env['SCHEMATHESIS_SEED'];
const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);

interface Counts {
  passed: number;
  failed: number;
}

const directory = mkdtempSync(join(tmpdir(), 'schemathesis-'));
try {
  const command = await installSchemathesis(directory);
  const counts = command === null ? skip() : await runAll(command);
  console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function skip(): Counts {
  console.log(
    `\n${'!'.repeat(20)} SKIPPED: schemathesis, for want of Python 3 with venv, or of its packages ${'!'.repeat(20)}`,
  );
  return { passed: 0, failed: isCi ? 1 : 0 };
}

/** The command in an environment of its own, or null where it cannot be had. */
async function installSchemathesis(parent: string): Promise<string | null> {
  const environment = join(parent, 'venv');
  const requirements = join(import.meta.dir, 'requirements.txt');
  const pip = [join(environment, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  const isThere =
    (await runQuietly(['python3', '-m', 'venv', environment])) &&
    (await runQuietly([...pip, '--no-input', '--requirement', requirements]));
  return isThere ? join(environment, 'bin/schemathesis') : null;
}

async function runQuietly(command: readonly string[]): Promise<boolean> {
  try {
    const child = Bun.spawn([...command], {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      timeout: INSTALL_MS_MAX,
    });
    return (await child.exited) === 0;
  } catch (fault) {
    console.log(String(fault)); // no such program
    return false;
  }
}

/** Every role in turn on one service, whose books must be right in the end. */
async function runAll(command: string): Promise<Counts> {
  const stripe = new ScriptedStripe();
  const listening = await stripe.listen();
  await using _stripe = { [Symbol.asyncDispose]: listening.stop };
  await using turnpike = await spawnTurnpike(undefined, {
    TURNPIKE_TRUSTED_PROXIES: '127.0.0.1',
    TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
    TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
    TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    TURNPIKE_STRIPE_API_URL: listening.url,
    TURNPIKE_SMTP_URL: 'smtp://127.0.0.1:1', // mails are set up, and none leaves
    TURNPIKE_MAIL_FROM: 'turnpike@example.com',
  });
  const total: Counts = { passed: 0, failed: 0 };
  for await (const asker of makeAskers(turnpike)) {
    let counts = await runOne(command, turnpike, asker, 1);
    // A busy machine may spend the time before the first request.
    if (counts.requests === 0) counts = await runOne(command, turnpike, asker, AGAIN_TIMES);
    total.passed += counts.passed;
    total.failed += counts.failed;
  }
  const { ok, faults } = await turnpike.check();
  console.log(ok ? 'the ledger is right' : `THE LEDGER IS WRONG: ${JSON.stringify(faults)}`);
  return ok ? { ...total, passed: total.passed + 1 } : { ...total, failed: total.failed + 1 };
}

/** One role; what schemathesis prints is shown where it found something. */
async function runOne(
  command: string,
  { url }: TurnpikeProcess,
  asker: Asker,
  times: number,
): Promise<Counts & { requests: number }> {
  const place = join(directory, asker.name.replaceAll(' ', '-'));
  mkdirSync(place, { recursive: true });
  for (const file of ['hooks.py', 'schemathesis.toml']) cpSync(join(import.meta.dir, file), join(place, file));
  for (const [name, text] of Object.entries(asker.files)) writeFileSync(join(place, name), text);
  writeFileSync(
    join(place, 'schemathesis.toml'),
    `${readFileSync(join(place, 'schemathesis.toml'), 'utf8')}\n${asker.settings}`,
  );
  const timeMax = Math.max(SECONDS_LEAST, Math.round(seconds * asker.share)) * times;
  const child = Bun.spawn(
    [
      ...[command, 'run', `${url}/api/v1/openapi.json`, '--checks=all', `--max-time=${timeMax}`, '--no-color'],
      ...(seed === undefined ? [] : [`--seed=${seed}`]),
      ...['--generation-database=none', '--report=json', '--report-json-path=report.json'],
    ],
    {
      cwd: place,
      env: { ...process.env, PYTHONPATH: place, SCHEMATHESIS_ACCOUNT: asker.account },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
      timeout: timeMax * 1_000 + RUN_MS_GRACE,
    },
  );
  const output = await new Response(child.stdout).text();
  const exitCode = await child.exited;
  const counts = readCounts(join(place, 'report.json'), exitCode);
  if (counts.failed > 0) console.log(output);
  console.log(
    `${asker.name}: ${counts.requests} requests, ${counts.passed} operations as documented, ${counts.failed} failures`,
  );
  return counts;
}

interface Report {
  test_cases: { generated: number; unique_failures: number; errored: number };
  operations: { selected: number; tested: number };
  failures: { operations: string[] }[];
}

/** Passed are operations that were asked, without any failure. A run that ended early has failed, and one that came to nothing. */
function readCounts(path: string, exitCode: number): Counts & { requests: number } {
  let report: Report;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as Report;
  } catch {
    return { passed: 0, failed: 1, requests: 0 };
  }
  const { generated: requests, unique_failures: failures, errored } = report.test_cases;
  const { selected, tested } = report.operations;
  const faulty = new Set(report.failures.flatMap(({ operations }) => operations));
  if (tested < selected) console.log(`${selected - tested} of ${selected} operations were not reached`);
  const failed = failures + errored + (tested === 0 ? 1 : 0);
  return { passed: tested - faulty.size, failed: failed === 0 && exitCode !== 0 ? 1 : failed, requests };
}
