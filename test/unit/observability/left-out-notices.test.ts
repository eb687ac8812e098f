// Fields that were left out are noticed once a minute for each provider and set, and never without bound.

import { expect, test } from 'bun:test';
import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds, type Config } from '../../../src/config/config.ts';
import type { MessageReport } from '../../../src/gateway/gateway.ts';
import { emptyRecord } from '../../../src/ledger/ledger.ts';
import { LeftOutNotices, LogWriter } from '../../../src/observability/observability.ts';
import { openObservers, reportMessage } from '../../../src/server/observe.ts';

test('a set of fields is noticed once a minute for each provider, in any order', () => {
  const notices = new LeftOutNotices();
  expect(notices.take('local', ['a', 'b'], 0)).toBe(true);
  expect(notices.take('local', ['b', 'a'], 59_999)).toBe(false);
  expect(notices.take('local', ['a'], 59_999)).toBe(true);
  expect(notices.take('other', ['a', 'b'], 59_999)).toBe(true);
  expect(notices.take('local', ['a', 'b'], 60_000)).toBe(true);
});

test('a client that invents names gets no more notices than the bound in a minute', () => {
  const notices = new LeftOutNotices();
  const taken = Array.from({ length: 2 * bounds.leftOutNoticesMax }, (_, place) => notices.take('p', [`x${place}`], 0));
  expect(taken.filter(Boolean)).toHaveLength(bounds.leftOutNoticesMax);
  expect(notices.take('p', ['y'], 60_000)).toBe(true);
});

test('a message names the fields in its line, and the first of a minute in a line of their own', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'turnpike-left-out-')), 'log');
  const descriptor = openSync(path, 'w');
  const log = new LogWriter('json', descriptor);
  const observers = await openObservers({ telemetry: null } as Config, 'test', log, { nowMs: () => 0 }, []);
  const known = { requestId: 'req_1', account: 1, key: 1, group: 'default', model: 'llama', stream: false };
  const report = {
    record: { ...emptyRecord(known), provider: 'local' },
    clientRequest: { address: null, times: {} },
    code: null,
    cause: null,
    disbelieved: [],
    contradicted: [],
    unknown: [],
    tagsInMetrics: [],
    caller: { above: [], person: null },
  } as unknown as MessageReport;
  for (const leftOut of [['min_p'], ['min_p'], []]) reportMessage(observers, { ...report, leftOut });
  log.flush();
  closeSync(descriptor);
  const lines = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ event, left_out, fields }) => [event, left_out ?? fields])).toEqual([
    ['message', ['min_p']],
    ['fields_left_out', ['min_p']],
    ['message', ['min_p']],
    ['message', undefined],
  ]);
  expect(lines[1]).toMatchObject({ provider: 'local', model: 'llama' });
});
