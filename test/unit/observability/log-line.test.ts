// The log: whole lines in order, bounded, and without secrets.

import { expect, test } from 'bun:test';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds, type LogFormat } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { describeFailure, type LogLine, LogWriter, requestLine } from '../../../src/observability/observability.ts';
import { Secret } from '../../../src/secrets/secrets.ts';

const directory = mkdtempSync(join(tmpdir(), 'turnpike-log-'));
let files = 0;

/** The output of a log with these lines. */
function logged(format: LogFormat, lines: LogLine[], bufferBytesMax?: number): string {
  const path = join(directory, `${files++}.log`);
  const descriptor = openSync(path, 'w');
  const log = new LogWriter(format, descriptor, bufferBytesMax);
  for (const line of lines) log.write(line);
  log.flush();
  closeSync(descriptor);
  return readFileSync(path, 'utf8');
}

/** Within the time limit of the test. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(10);
}

/** Reads a pipe that does not block; '' if it is empty. */
function readWaiting(descriptor: number): string {
  const buffer = Buffer.alloc(1_000);
  try {
    return buffer.toString('utf8', 0, readSync(descriptor, buffer));
  } catch {
    return '';
  }
}

test('the format json writes one object per line, in order', () => {
  const text = logged('json', [{ at: 'now', status: 200, model: null }, { code: 'x\ny' }]);
  expect(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([{ at: 'now', status: 200, model: null }, { code: 'x\ny' }]);
});

test('the format pretty writes one line for people, which no value can break or forge', () => {
  const text = logged('pretty', [{ at: '12:00', status: 200, path: '/a', model: 'x\nstatus=500', none: null }]);
  expect(text).toBe('12:00 status=200 path=/a model="x\\nstatus=500"\n');
});

test('the format off writes nothing', () => {
  expect(logged('off', [{ a: 1 }])).toBe('');
});

test('a secret is masked in every format, also when nested', () => {
  for (const format of ['json', 'pretty'] as const) {
    const text = logged(format, [{ key: new Secret('sk-tp-x'), inside: { deep: [new Secret('sk-tp-x')] } }]);
    expect(text).not.toContain('sk-tp-x');
    expect(text).toContain('[secret]');
  }
});

test('a key or a token in an unexpected place is shown by its prefix only', () => {
  const [key, token] = ['sk-tp-Ab3dXXXXXXXXXXXX', 'tk-tp-Cd4eXXXXXXXXXXXX'];
  for (const format of ['json', 'pretty'] as const) {
    const text = logged(format, [{ path: `/v1/${key}/x`, cause: { deep: `no ${token}, no ${key}` } }]);
    expect(text).not.toContain('XXXX');
    expect([text.includes('/v1/sk-tp-Ab3d…/x'), text.includes('tk-tp-Cd4e…, no sk-tp-Ab3d…')]).toEqual([true, true]);
  }
});

test.each([
  '/api/v1/tk-inv-Ab3dXXXXXXXXXXXX',
  '/api/v1/tk-pwd-Ab3dXXXXXXXXXXXX',
  '/api/v1/tk-new-Ab3dXXXXXXXXXXXX',
  '/v1/sk%2Dtp%2dAb3dXXXXXXXXXXXX',
  '/v1/%73k-tp-Ab3d%58XXXXXXXXXXX',
  '/v1/sk%252Dtp-Ab3dXXXXXXXXXXXX',
])('a secret of the service in the path %s is shown by its prefix only', (path) => {
  for (const format of ['json', 'pretty'] as const) {
    const text = logged(format, [{ path }]);
    expect(text).not.toContain('XXX');
    expect(text).toContain('Ab3d…');
  }
});

test('a path with escapes and without a secret is logged as it is', () => {
  expect(logged('json', [{ path: '/v1/a%2Db%20c' }])).toContain('/v1/a%2Db%20c');
});

test('long strings and long lines are cut, and the line stays JSON', () => {
  const long = 'x'.repeat(100_000);
  const text = logged('json', [{ long }, { status: 200, nested: { long }, a: long, code: 'kept' }]);
  const lines = text.trimEnd().split('\n');
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(bounds.logLineCharactersMax);
  expect(JSON.parse(lines[1] as string)).toMatchObject({ status: 200, code: 'kept', shortened: true });
  expect(logged('pretty', [{ nested: { long } }]).length).toBeLessThanOrEqual(bounds.logLineCharactersMax + 1);
});

test('a line with too many fields is cut, too', () => {
  const line = Object.fromEntries(Array.from({ length: 1_000 }, (_, number) => [`name${number}`, 'x'.repeat(100)]));
  const text = logged('json', [{ status: 200, ...line }]);
  expect(text.length).toBeLessThanOrEqual(bounds.logLineCharactersMax);
  expect(JSON.parse(text)).toMatchObject({ status: 200, shortened: true });
});

test('whole numbers beyond 2^53 are written without an error', () => {
  expect(logged('json', [{ units: 2n ** 60n }])).toBe(`{"units":"${2n ** 60n}"}\n`);
});

test('lines that do not fit are dropped, counted and reported', () => {
  const lines = Array.from({ length: 1_000 }, (_, number) => ({ number }));
  const written = logged('json', lines, 100)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const last = written.at(-1);
  expect(last.event).toBe('log_lines_dropped');
  expect(written.length - 1 + last.count).toBe(1_000);
  expect(written.length).toBeLessThan(20);
});

test('lines are written without an explicit flush', async () => {
  const path = join(directory, 'own-accord.log');
  const descriptor = openSync(path, 'w');
  const log = new LogWriter('json', descriptor);
  for (let number = 0; number < 1_000; number++) log.write({ number });
  const linesIn = () => readFileSync(path, 'utf8').trimEnd().split('\n');
  await until(() => linesIn().length === 1_000);
  log.write({ number: 1_000 });
  await until(() => linesIn().at(-1) === '{"number":1000}');
  closeSync(descriptor);
});

test('a blocked reader affects neither the service nor its memory', async () => {
  const program = `
    import { LogWriter } from ${JSON.stringify(join(import.meta.dir, '../../../src/observability/observability.ts'))};
    const log = new LogWriter('json', 1, 100_000);
    const startMs = performance.now();
    for (let round = 0; round < 20; round++) {
      for (let line = 0; line < 10_000; line++) log.write({ line, text: 'x'.repeat(100) });
      await Bun.sleep(20);
    }
    console.error('done', performance.now() - startMs < 5_000);
    process.exit(0);
  `;
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'pipe' });
  expect(await new Response(child.stderr).text()).toStartWith('done true');
  child.kill();
});

test('lines are counted as lost while no reader is connected, and later lines are written to the next reader', async () => {
  const path = join(directory, 'pipe');
  expect(Bun.spawnSync(['mkfifo', path]).exitCode).toBe(0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const log = new LogWriter('json', descriptor);
  closeSync(reader);
  for (let number = 0; number < 3; number++) log.write({ number });
  await until(() => log.droppedCount === 3);
  const next = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  log.write({ number: 3 });
  let text = '';
  await until(() => {
    text += readWaiting(next);
    return text !== '';
  });
  closeSync(descriptor);
  expect(text).toBe('{"number":3}\n');
  expect(log.droppedCount).toBe(3);
  closeSync(next);
});

test('a bug is logged with its stack, and a failure of a provider or a disk without', () => {
  class DiskFull extends Error {
    override name = 'DiskFull';
  }
  const here = /log-line\.test\.ts/;
  expect(describeFailure(new TypeError('no such member'))).toMatch(here);
  expect(describeFailure(new DiskFull('no room'))).toBe('DiskFull: no room');
  expect(describeFailure(new DiskFull('no room', { cause: new TypeError('ENOSPC') }))).toBe(
    'DiskFull: no room\ncaused by TypeError: ENOSPC',
  );
  expect(describeFailure(new Error('it failed', { cause: new DiskFull('no room') }))).toMatch(
    /log-line\.test\.ts.*\ncaused by DiskFull: no room$/s,
  );
});

test('a failure is described with its causes', () => {
  const text = describeFailure(new Error('outer', { cause: new Error('inner', { cause: 'a word' }) }));
  expect(text).toContain('outer');
  expect(text).toContain('caused by Error: inner');
  expect(text).toContain('caused by a word');
});

test('the line of a request has the cause of a failure, and of a model that residency hides, and of no other refusal', () => {
  const causeOf = (failure: TurnpikeError) =>
    requestLine(
      {
        requestId: 'req_1',
        receivedAtMs: 0,
        durationMs: 1,
        method: 'POST',
        path: '/v1/messages',
        address: '127.0.0.1',
        status: failure.status,
        clientRequest: null,
        failure,
      },
      0,
    )['cause'];
  const cause = 'no route is within the residency';
  expect(causeOf(new TurnpikeError('model_not_found', 'the model does not exist', { cause }))).toBe(cause);
  expect(causeOf(new TurnpikeError('model_not_found', 'the model does not exist'))).toBeUndefined();
  expect(causeOf(new TurnpikeError('internal', 'an error', { cause: 'a bug' }))).toBe('a bug');
  expect(causeOf(new TurnpikeError('invalid_request', 'a field', { cause: 'a client' }))).toBeUndefined();
});
